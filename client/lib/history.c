/* Call berth_get_history: request, reply and its release. */
#include "lib/read.h"
#include "lib/write.h"

#define METHOD "io.berth.Fabric.History"

static void fill_point(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_point *)ret = (struct berth_point){
        .measured_at_s = lib_read_integer(read, item, "measured_at_s"),
        .value = lib_read_number(read, item, "value"),
        .low = lib_read_maybe_number(read, item, "low"),
        .high = lib_read_maybe_number(read, item, "high"),
        .run = lib_read_integer(read, item, "run"),
        .values = lib_read_maybe_integer(read, item, "values"),
        .conditions = lib_read_pairs(read, item, "conditions"),
    };
}

static void fill_history(struct lib_read *read, const json_t *reply, void *ret)
{
    struct berth_history *history = ret;
    history->points = lib_read_array(read, reply, "points", sizeof *history->points, fill_point,
                                     &history->point_count);
}

int berth_get_history(struct berth *berth, const struct berth_history_request *request,
                      struct berth_history **ret_history)
{
    if (request->metric == NULL || request->from == NULL || request->to == NULL)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "a history is of a metric from one place to another");
    struct lib_write write = lib_write_begin();
    lib_write_text(&write, write.parameters, "metric", request->metric);
    lib_write_text(&write, write.parameters, "from", request->from);
    lib_write_text(&write, write.parameters, "to", request->to);
    lib_write_pairs(&write, write.parameters, "where", &request->where);
    lib_write_integer(&write, write.parameters, "since_s",
                      request->since_s == 0 ? -1 : request->since_s);
    json_t *parameters;
    int status = lib_write_end(berth, &write, &parameters);
    return status != BERTH_DONE ? status
                                : lib_ask(berth, METHOD, parameters, sizeof **ret_history,
                                          fill_history, ret_history);
}

void berth_history_free(struct berth_history *history) { lib_result_free(history); }
