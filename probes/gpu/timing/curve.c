#include "gpu/timing/curve.h"

#include <math.h>

#include "gpu/timing/call_overhead.h"
#include "gpu/timing/chain.h"

#define LEAST_BYTES 4096
#define FEW_BYTES   GPU_CALL_OVERHEAD_BYTES
#define FEW_STEP    64

struct gpu_curve gpu_curve_of(uint64_t most, bool few)
{
    struct gpu_curve curve = {0};
    uint64_t bytes = few ? FEW_BYTES : LEAST_BYTES;
    for (uint64_t step = few ? FEW_STEP : 4;
         bytes < most && curve.count < (few ? 1 : GPU_RATE_SIZES_MAX - 1); bytes *= step)
        curve.samples[curve.count++] = (struct probe_sample){.bytes = (int64_t)bytes};
    curve.samples[curve.count++] =
        (struct probe_sample){.bytes = (int64_t)(bytes < most ? bytes : most)};
    return curve;
}

/* Measures the flow as one piece of a path through several memories, where it moves bytes. Takes 64
 * KiB, because drivers write a few bytes into the queue itself. */
static bool find_chain(const struct gpu_timing *timing, const struct gpu_flow *flow,
                       struct gpu_curve *curve, struct gpu_err *err)
{
    struct gpu_op op = flow->op;
    struct gpu_chain chain;
    struct gpu_starts *starts = &curve->starts;
    size_t i = 0;
    while (i < curve->count && curve->samples[i].bytes != FEW_BYTES)
        i++;
    if (i == curve->count || gpu_trial_node(timing->trial)->kernels_why.text[0] != '\0' ||
        (op.mechanism == GPU_BY_KERNEL && op.operation != GPU_OPERATION_COPY))
        return true;
    op.bytes = FEW_BYTES;
    if (!gpu_chain_measure(timing->trial, &op, flow->span, curve->samples[i].ns.value, &chain, err))
        return false;
    starts->chain_ns = starts->queue_ns + fmax(chain.wait_ns, 0);
    starts->behind_ns = isnan(chain.behind_ns) ? 0 : starts->queue_ns + fmax(chain.behind_ns, 0);
    starts->launch_ns = chain.launch_ns;
    starts->end_ns = chain.end_ns;
    return true;
}

/* Makes half of the calls before the curve and half behind it, so that drift falls on both. */
bool gpu_curve_measure(const struct gpu_timing *timing, const struct gpu_flow *flow,
                       struct gpu_curve *curve, struct gpu_err *err)
{
    struct gpu_op op = flow->op;
    struct probe_sample least = {.bytes = GPU_RATE_LATENCY_BYTES};
    op.bytes = GPU_RATE_LATENCY_BYTES;
    struct gpu_call_overhead calls = gpu_call_overhead_begin(&op, curve->samples, curve->count);
    size_t one = 1;
    struct gpu_timing half = *timing, curve_timing = *timing, least_timing = *timing;
    half.budget_ns = timing->budget_ns / 50 * (int64_t)calls.op_count;
    curve_timing.budget_ns = timing->budget_ns * 8 / 10;
    least_timing.budget_ns = timing->budget_ns / 10;
    if (!gpu_call_overhead_measure(&calls, 0, &half, err) ||
        !gpu_rate_times(&curve_timing, &op, flow->span, curve->samples, &curve->count, err) ||
        !gpu_rate_times(&least_timing, &op, flow->span, &least, &one, err) ||
        !gpu_call_overhead_measure(&calls, 1, &half, err))
        return false;
    struct probe_summary more = gpu_call_overhead_summary(&calls, curve->samples, curve->count);
    double queue_ns = least.ns.value;
    curve->starts.queue_ns = queue_ns;
    curve->starts.call =
        (struct probe_summary){fmax(queue_ns + more.value, 0), fmax(queue_ns + more.low, 0),
                               fmax(queue_ns + more.high, 0), more.n};
    return find_chain(timing, flow, curve, err);
}
