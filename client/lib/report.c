/* Call berth_report. */
#include "lib/lib.h"
#include "lib/write.h"

int berth_report(struct berth *berth, const char *answer, int64_t observed_ns, int64_t bytes)
{
    if (answer == NULL || observed_ns < 1)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "a report has the id of a prediction and a time of at least 1 ns");
    struct lib_write write = lib_write_begin();
    lib_write_text(&write, write.parameters, "answer", answer);
    lib_write_integer(&write, write.parameters, "observed_ns", observed_ns);
    lib_write_integer(&write, write.parameters, "bytes", bytes > 0 ? bytes : -1);
    json_t *parameters, *reply = NULL;
    int status = lib_write_end(berth, &write, &parameters);
    if (status == BERTH_DONE)
        status = lib_call(berth, "io.berth.Placement.Report", parameters, &reply);
    json_decref(reply);
    return status;
}
