#include "gpu/cells/transfer.h"

#include "gpu/timing/curve.h"

static void scale(struct probe_summary *summary, unsigned factor)
{
    summary->value *= factor;
    summary->low *= factor;
    summary->high *= factor;
}

bool gpu_transfer_rate(struct gpu_run *run, const struct gpu_cell *cell,
                       const struct probe_axes *axes, const struct gpu_transfer *transfer,
                       int64_t budget_ns, struct probe_summary *ret_rate)
{
    bool is_peer = cell->from >= 0 && cell->to >= 0 && cell->from != cell->to;
    const struct gpu_legs legs = {.trial = run->trial,
                                  .leg_ns = cell->is_stepped ? run->stepped_leg_ns
                                            : is_peer        ? run->peer_leg_ns
                                                             : run->leg_ns,
                                  .least = transfer->least,
                                  .budget_ns = budget_ns};
    const struct gpu_path *path = transfer->path, *back = transfer->back;
    struct gpu_flow flows[2];
    struct probe_summary rates[2], sum;
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    if (!gpu_path_flow(run->buffers, path, cell->from, cell->to, &flows[0], &err.why) ||
        (back != NULL &&
         !gpu_path_flow(run->buffers, back, cell->to, cell->from, &flows[1], &err.why)) ||
        !gpu_rate_concurrent(&legs, flows, back == NULL ? 1 : 2, rates, &sum, &err))
        return gpu_run_failed(run, cell, axes, &err);
    scale(&sum, transfer->factor);
    if (ret_rate != NULL)
        *ret_rate = sum;
    return gpu_run_value(run, cell, axes, &sum);
}

bool gpu_transfer_curve(struct gpu_run *run, const struct gpu_cell *cell,
                        const struct probe_axes *axes, const struct gpu_path *path, uint64_t most,
                        bool few, int64_t budget_ns)
{
    struct gpu_flow flow;
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    if (!gpu_path_flow(run->buffers, path, cell->from, cell->to, &flow, &err.why))
        return gpu_run_failed(run, cell, axes, &err);
    struct gpu_curve curve = gpu_curve_of(most < flow.span ? most : flow.span, few);
    const struct gpu_timing timing = gpu_run_timing(run, flow.op.device, budget_ns);
    if (!gpu_curve_measure(&timing, &flow, &curve, &err))
        return gpu_run_failed(run, cell, axes, &err);
    return gpu_report_samples(run->report, run->node,
                              &(struct gpu_report_series){cell->metric, cell->from, cell->to, axes},
                              curve.samples, curve.count, &curve.starts);
}

bool gpu_transfer_latency(struct gpu_run *run, const struct gpu_cell *cell,
                          const struct probe_axes *axes, const struct gpu_path *path,
                          int64_t budget_ns)
{
    struct gpu_flow flow;
    struct probe_sample sample = {.bytes = GPU_RATE_LATENCY_BYTES};
    struct probe_summary call, low;
    struct probe_axes called = *axes;
    size_t one = 1;
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    probe_axes_add(&called, "clock", "call");
    if (!gpu_path_flow(run->buffers, path, cell->from, cell->to, &flow, &err.why))
        return gpu_run_failed(run, cell, axes, &err) && gpu_run_failed(run, cell, &called, &err);
    flow.op.bytes = GPU_RATE_LATENCY_BYTES;
    const struct gpu_timing timing = gpu_run_timing(run, flow.op.device, budget_ns / 2);
    bool ok = gpu_rate_times(&timing, &flow.op, flow.span, &sample, &one, &err)
                  ? gpu_run_value(run, cell, axes, &sample.ns)
                  : gpu_run_failed(run, cell, axes, &err);
    if (!ok)
        return false;
    return gpu_rate_call(&timing, &flow.op, &call, &low, &err)
               ? gpu_run_value(run, cell, &called, &low)
               : gpu_run_failed(run, cell, &called, &err);
}

bool gpu_transfer_called_rate(struct gpu_run *run, const struct gpu_cell *cell,
                              const struct probe_axes *axes, const struct gpu_path *path,
                              int64_t budget_ns)
{
    struct gpu_flow flow;
    struct probe_summary rate;
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    if (!gpu_path_flow(run->buffers, path, cell->from, cell->to, &flow, &err.why))
        return gpu_run_failed(run, cell, axes, &err);
    const struct gpu_timing timing = gpu_run_timing(run, flow.op.device, budget_ns);
    return gpu_rate_called(&timing, &flow, &rate, &err) ? gpu_run_value(run, cell, axes, &rate)
                                                        : gpu_run_failed(run, cell, axes, &err);
}
