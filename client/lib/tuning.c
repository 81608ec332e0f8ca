/* Call berth_get_tuning: request, reply and its release. */
#include "lib/read.h"
#include "lib/write.h"

#define METHOD "io.berth.Fabric.GetTuning"

static const char *const operation_names[] = {"", "read", "write", "copy", "pull", NULL};

static enum berth_mechanism read_mechanism(struct lib_read *read, const json_t *object,
                                           const char *key)
{
    return (enum berth_mechanism)lib_read_maybe_enum(read, object, key, lib_mechanism_names);
}

static void fill_tuned(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_tuned *)ret = (struct berth_tuned){
        .value = lib_read_maybe_integer(read, item, "value"),
        .why_not = lib_read_maybe_text(read, item, "why_not"),
        .by = read_mechanism(read, item, "by"),
        .from = lib_read_maybe_text(read, item, "from"),
        .to = lib_read_maybe_text(read, item, "to"),
        .bytes_per_s = lib_read_maybe_number(read, item, "bytes_per_s"),
        .low = lib_read_maybe_number(read, item, "low"),
        .high = lib_read_maybe_number(read, item, "high"),
        .next_bytes_per_s = lib_read_maybe_number(read, item, "next_bytes_per_s"),
        .measured_at_s = lib_read_maybe_integer(read, item, "measured_at_s"),
    };
}

static struct berth_tuned read_tuned(struct lib_read *read, const json_t *item, const char *key)
{
    struct berth_tuned tuned = {0};
    lib_read_object(read, item, key, fill_tuned, &tuned);
    return tuned;
}

static void fill_tuning(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_tuning *)ret = (struct berth_tuning){
        .place = lib_read_text(read, item, "place"),
        .to = lib_read_text(read, item, "to"),
        .operation = (enum berth_operation)lib_read_enum(read, item, "operation", operation_names),
        .grid = read_tuned(read, item, "grid"),
        .block = read_tuned(read, item, "block"),
        .unroll = read_tuned(read, item, "unroll"),
        .chunk_bytes = read_tuned(read, item, "chunk_bytes"),
        .streams = read_tuned(read, item, "streams"),
        .threshold_bytes = read_tuned(read, item, "threshold_bytes"),
        .certain_below_bytes = lib_read_maybe_integer(read, item, "certain_below_bytes"),
        .below = read_mechanism(read, item, "below"),
        .above = read_mechanism(read, item, "above"),
        .conditions = lib_read_pairs(read, item, "conditions"),
        .stale = lib_read_maybe_text(read, item, "stale"),
    };
}

static void fill_tunings(struct lib_read *read, const json_t *reply, void *ret)
{
    struct berth_tunings *tunings = ret;
    tunings->tunings = lib_read_array(read, reply, "tunings", sizeof *tunings->tunings, fill_tuning,
                                      &tunings->tuning_count);
    tunings->basis = lib_read_basis(read, reply);
}

int berth_get_tuning(struct berth *berth, const struct berth_tuning_request *request,
                     struct berth_tunings **ret_tunings)
{
    struct lib_write write = lib_write_begin();
    lib_write_text(&write, write.parameters, "place", request->place);
    lib_write_text(&write, write.parameters, "to", request->to);
    lib_write_enum(&write, write.parameters, "operation", (int)request->operation, operation_names,
                   BERTH_OPERATION_PULL + 1);
    json_t *parameters;
    int status = lib_write_end(berth, &write, &parameters);
    return status != BERTH_DONE ? status
                                : lib_ask(berth, METHOD, parameters, sizeof **ret_tunings,
                                          fill_tunings, ret_tunings);
}

void berth_tunings_free(struct berth_tunings *tunings) { lib_result_free(tunings); }
