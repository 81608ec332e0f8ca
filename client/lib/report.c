/* Calls berth_report and berth_list_reports, with the release of the latter's reply. */
#include "lib/read.h"
#include "lib/write.h"

static const char *const method_names[] = {"", "bind", "route", "allocate", NULL};
static const char *const reporter_names[] = {"", "own", "root", NULL};

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

static void fill_kind(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_report_kind *)ret = (struct berth_report_kind){
        .method = (enum berth_method)lib_read_enum(read, item, "method", method_names),
        .form = lib_read_text(read, item, "form"),
        .users = lib_read_integer(read, item, "users"),
        .bytes = lib_read_integer(read, item, "bytes"),
        .reports = lib_read_integer(read, item, "reports"),
        .source = (enum berth_source)lib_read_enum(read, item, "source", lib_source_names),
        .by = (enum berth_reporter)lib_read_enum(read, item, "by", reporter_names),
        .error_before = lib_read_number(read, item, "error_before"),
        .error_after = lib_read_number(read, item, "error_after"),
        .factor = lib_read_factor(read, item),
    };
}

static void fill_reports(struct lib_read *read, const json_t *reply, void *ret)
{
    struct berth_reports *reports = ret;
    reports->kinds = lib_read_array(read, reply, "kinds", sizeof *reports->kinds, fill_kind,
                                    &reports->kind_count);
}

int berth_list_reports(struct berth *berth, struct berth_reports **ret_reports)
{
    return lib_ask(berth, "io.berth.Placement.ListReports", json_object(), sizeof **ret_reports,
                   fill_reports, ret_reports);
}

void berth_reports_free(struct berth_reports *reports) { lib_result_free(reports); }
