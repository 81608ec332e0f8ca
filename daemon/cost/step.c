#include "cost/step.h"

#include <math.h>

#include "cost/limits.h"
#include "cost/load_table.h"

static void prepare_step(struct load_scratch *scratch, const struct step_flow *flows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct load_transfer *transfer = &scratch->table->transfer[i];
        double bytes = flows[i].bytes, time_ns = transfer_queued_ns(&transfer->alone, bytes),
               start_ns = bytes > 0 ? fmin(transfer->start_ns, time_ns) : time_ns;
        plan_load_set_flow(scratch, i, transfer, bytes, bytes > 0 ? time_ns - start_ns : 1);
        scratch->flow[i].bytes_per_s = fmax(scratch->flow[i].bytes_per_s, 1);
        scratch->flow[i].begin_ns = flows[i].begin_ns;
        scratch->flow[i].start_ns = start_ns;
        scratch->flow[i].queue = 0;
        scratch->flow[i].limit_count = bytes > 0 ? transfer->use_count : 0;
    }
    plan_load_limit_by_kinds(scratch, count);
}

static void take_step(struct load_scratch *scratch, struct step_flow *flows, size_t count)
{
    bool is_uneven = false;
    for (size_t i = 0; i < count; i++) {
        struct step_flow *flow = &flows[i];
        const struct load_resource *shared = plan_load_shared(scratch, i);
        double time_ns = scratch->flow[i].end_ns - flow->begin_ns,
               spread = plan_load_spread(scratch, i);
        flow->is_nominal = shared != NULL && shared->is_nominal;
        flow->shared = shared != NULL && shared->limit != NULL ? shared->limit->name : NULL;
        flow->time = estimate_of(time_ns, time_ns * (1 - fmin(spread, 1)), time_ns * (1 + spread));
        flow->time.low_ns = isnan(spread) ? spread : flow->time.low_ns;
        flow->soonest_ns = flow->latest_ns = time_ns;
        is_uneven =
            is_uneven || (shared != NULL && !shared->is_nominal && shared->limit->is_uneven);
    }
    for (int from_last = 0; from_last <= 1 && is_uneven; from_last++) {
        plan_load_run_in_order(scratch, count, from_last);
        for (size_t i = 0; i < count; i++) {
            double time_ns = scratch->flow[i].end_ns - flows[i].begin_ns;
            flows[i].soonest_ns = fmin(flows[i].soonest_ns, time_ns);
            flows[i].latest_ns = fmax(flows[i].latest_ns, time_ns);
        }
    }
}

enum berth_code plan_step(const struct snapshot *snap, struct step_flow *flows, size_t count,
                          struct berth_err *err)
{
    const struct transfer *transfer[STEP_FLOWS_MAX];
    for (size_t i = 0; i < count; i++)
        transfer[i] = flows[i].transfer;
    struct load_table *table = plan_load_table_of(snap, transfer, count);
    struct load_scratch *scratch = table != NULL ? plan_load_scratch_new(table, count) : NULL;
    bool ok = scratch != NULL;
    if (ok) {
        prepare_step(scratch, flows, count);
        sim_run(scratch->sim, scratch->limit, scratch->flow, count);
        take_step(scratch, flows, count);
    }
    plan_load_scratch_free(scratch);
    plan_load_free(table);
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for transfers");
}
