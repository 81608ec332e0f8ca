/* Call berth_get_contention: request, reply and its release. */
#include "lib/read.h"
#include "lib/write.h"

#define METHOD "io.berth.Fabric.GetContention"

static void fill_transfer(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_concurrent_transfer *)ret = (struct berth_concurrent_transfer){
        .from = lib_read_text(read, item, "from"),
        .to = lib_read_text(read, item, "to"),
        .axes = lib_read_pairs(read, item, "axes"),
        .bytes_per_s = lib_read_number(read, item, "bytes_per_s"),
        .low = lib_read_maybe_number(read, item, "low"),
        .high = lib_read_maybe_number(read, item, "high"),
        .predicted_bytes_per_s = lib_read_maybe_number(read, item, "predicted_bytes_per_s"),
    };
}

static void fill_run(struct lib_read *read, const json_t *item, void *ret)
{
    struct berth_concurrent_run *run = ret;
    *run = (struct berth_concurrent_run){
        .metric = lib_read_text(read, item, "metric"),
        .source = (enum berth_source)lib_read_enum(read, item, "source", lib_source_names),
        .measured_at_s = lib_read_maybe_integer(read, item, "measured_at_s"),
        .reproduced = lib_read_maybe_bool(read, item, "reproduced"),
    };
    run->flows =
        lib_read_array(read, item, "flows", sizeof *run->flows, fill_transfer, &run->flow_count);
}

static void fill_capacity(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_capacity *)ret = (struct berth_capacity){
        .transfers = lib_read_integer(read, item, "transfers"),
        .bytes_per_s = lib_read_number(read, item, "bytes_per_s"),
        .low = lib_read_maybe_number(read, item, "low"),
        .high = lib_read_maybe_number(read, item, "high"),
    };
}

static void fill_limit(struct lib_read *read, const json_t *item, void *ret)
{
    struct berth_shared_limit *limit = ret;
    *limit = (struct berth_shared_limit){
        .name = lib_read_text(read, item, "name"),
        .metric = lib_read_text(read, item, "metric"),
        .users = lib_read_texts(read, item, "users"),
        .alternatives = lib_read_texts(read, item, "alternatives"),
    };
    limit->capacities = lib_read_array(read, item, "capacities", sizeof *limit->capacities,
                                       fill_capacity, &limit->capacity_count);
}

static void fill_contention(struct lib_read *read, const json_t *reply, void *ret)
{
    struct berth_contention *contention = ret;
    contention->runs = lib_read_array(read, reply, "runs", sizeof *contention->runs, fill_run,
                                      &contention->run_count);
    contention->shared = lib_read_array(read, reply, "shared", sizeof *contention->shared,
                                        fill_limit, &contention->shared_count);
    contention->basis = lib_read_basis(read, reply);
}

int berth_get_contention(struct berth *berth, const char *metric,
                         struct berth_contention **ret_contention)
{
    struct lib_write write = lib_write_begin();
    lib_write_text(&write, write.parameters, "metric", metric);
    json_t *parameters;
    int status = lib_write_end(berth, &write, &parameters);
    return status != BERTH_DONE ? status
                                : lib_ask(berth, METHOD, parameters, sizeof **ret_contention,
                                          fill_contention, ret_contention);
}

void berth_contention_free(struct berth_contention *contention) { lib_result_free(contention); }
