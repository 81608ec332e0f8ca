#include "gpu_transfer.h"

#include <math.h>

#include "gpu_calls.h"
#include "gpu_chain.h"
#include "gpu_rate.h"
#include "probe_clock.h"

#define LEAST_BYTES  4096
#define FEW_BYTES    GPU_CALLS_BYTES
#define FEW_STEP     64
#define CALLED_SHORT (UINT64_C(4) << 20)
#define CALLED_LONG  (UINT64_C(32) << 20)
#define CALLED_SEAT  2 /* from one seat, one after the other */

static void scale(struct probe_summary *summary, unsigned factor)
{
    summary->value *= factor;
    summary->low *= factor;
    summary->high *= factor;
}

bool gpu_transfer_rate(struct gpu_run *run, const struct gpu_cell *cell, const struct probe_axes *axes,
                       const struct gpu_path *path, const struct gpu_path *back, unsigned factor, uint64_t least,
                       int64_t budget_ns, struct probe_summary *ret_rate)
{
    bool is_peer = cell->from >= 0 && cell->to >= 0 && cell->from != cell->to;
    double leg_ns = cell->is_stepped ? run->stepped_leg_ns : is_peer ? run->peer_leg_ns : run->leg_ns;
    struct gpu_flow flows[2];
    struct probe_summary rates[2], sum;
    struct probe_why why = {0};
    enum gpu_fault fault = GPU_FAULT_OTHER;
    if (!gpu_path_flow(run->buffers, path, cell->from, cell->to, &flows[0], &why) ||
        (back != NULL && !gpu_path_flow(run->buffers, back, cell->to, cell->from, &flows[1], &why)) ||
        !gpu_rate_together(run->trial, flows, back == NULL ? 1 : 2, leg_ns, least, budget_ns, rates, &sum, &fault, &why))
        return gpu_run_failed(run, cell, axes, fault, &why);
    scale(&sum, factor);
    if (ret_rate != NULL)
        *ret_rate = sum;
    return gpu_run_value(run, cell, axes, &sum);
}

size_t gpu_transfer_sizes(uint64_t most, bool few, struct probe_sample *ret_samples)
{
    size_t count = 0;
    uint64_t bytes = few ? FEW_BYTES : LEAST_BYTES;
    for (uint64_t step = few ? FEW_STEP : 4; bytes < most && count < (few ? 1 : GPU_RATE_SIZES_MAX - 1); bytes *= step)
        ret_samples[count++] = (struct probe_sample){.bytes = (int64_t)bytes};
    ret_samples[count++] = (struct probe_sample){.bytes = (int64_t)(bytes < most ? bytes : most)};
    return count;
}

/* As pieces of a way through several memories, of what moves bytes. Of 64 KiB, because a few bytes would be in the queue itself. */
static bool find_chain(struct gpu_run *run, const struct gpu_flow *flow, const struct probe_sample *samples, size_t count,
                       struct gpu_starts *starts, enum gpu_fault *ret_fault, struct probe_why *why)
{
    struct gpu_op op = flow->op;
    struct gpu_chain chain;
    size_t i = 0;
    while (i < count && samples[i].bytes != FEW_BYTES)
        i++;
    if (i == count || run->node->kernels_why.text[0] != '\0' || (op.mechanism == GPU_BY_KERNEL && op.how != GPU_HOW_COPY))
        return true;
    op.bytes = FEW_BYTES;
    if (!gpu_chain_measure(run->trial, &op, flow->span, samples[i].ns.value, &chain, ret_fault, why))
        return false;
    starts->chain_ns = starts->queue_ns + fmax(chain.wait_ns, 0);
    starts->behind_ns = isnan(chain.behind_ns) ? 0 : starts->queue_ns + fmax(chain.behind_ns, 0);
    starts->launch_ns = chain.launch_ns;
    starts->end_ns = chain.end_ns;
    return true;
}

/* Half of the calls before the curve, half of them behind it. */
static bool measure_curve(struct gpu_run *run, struct gpu_flow *flow, struct probe_sample *samples, size_t *count, int64_t budget_ns,
                          struct gpu_starts *starts, enum gpu_fault *ret_fault, struct probe_why *why)
{
    const struct gpu_seats *seats = gpu_run_seats(run, flow->op.device);
    struct probe_sample least = {.bytes = GPU_TRANSFER_LATENCY_BYTES};
    struct gpu_calls calls = gpu_calls_of(&flow->op, samples, *count);
    size_t one = 1;
    int64_t calls_ns = budget_ns / 50 * (int64_t)calls.op_count; /* of a half */
    if (!gpu_calls_make(&calls, 0, run->trial, seats, calls_ns, ret_fault, why) ||
        !gpu_rate_times(run->trial, &flow->op, flow->span, samples, count, &run->random, budget_ns * 8 / 10, ret_fault, why) ||
        !gpu_rate_times(run->trial, &flow->op, flow->span, &least, &one, &run->random, budget_ns / 10, ret_fault, why) ||
        !gpu_calls_make(&calls, 1, run->trial, seats, calls_ns, ret_fault, why))
        return false;
    struct probe_summary more = gpu_calls_more(&calls, samples, *count);
    double queue_ns = least.ns.value;
    starts->call = (struct probe_summary){fmax(queue_ns + more.value, 0), fmax(queue_ns + more.low, 0), fmax(queue_ns + more.high, 0), more.n};
    starts->queue_ns = queue_ns;
    return find_chain(run, flow, samples, *count, starts, ret_fault, why);
}

bool gpu_transfer_curve(struct gpu_run *run, const struct gpu_cell *cell, const struct probe_axes *axes,
                        const struct gpu_path *path, uint64_t most, bool few, int64_t budget_ns)
{
    struct gpu_flow flow;
    struct probe_sample samples[GPU_RATE_SIZES_MAX];
    struct gpu_starts starts = {0};
    struct probe_why why = {0};
    enum gpu_fault fault = GPU_FAULT_OTHER;
    if (!gpu_path_flow(run->buffers, path, cell->from, cell->to, &flow, &why))
        return gpu_run_failed(run, cell, axes, fault, &why);
    size_t count = gpu_transfer_sizes(most < flow.span ? most : flow.span, few, samples);
    flow.op.bytes = GPU_TRANSFER_LATENCY_BYTES;
    if (!measure_curve(run, &flow, samples, &count, budget_ns, &starts, &fault, &why))
        return gpu_run_failed(run, cell, axes, fault, &why);
    return gpu_report_samples(run->report, run->node, cell->metric, cell->from, cell->to, axes, samples, count, &starts);
}

bool gpu_transfer_latency(struct gpu_run *run, const struct gpu_cell *cell, const struct probe_axes *axes,
                          const struct gpu_path *path, int64_t budget_ns)
{
    struct gpu_flow flow;
    struct probe_sample sample = {.bytes = GPU_TRANSFER_LATENCY_BYTES};
    struct probe_summary call, low;
    struct probe_axes called = *axes;
    size_t one = 1;
    struct probe_why why = {0};
    enum gpu_fault fault = GPU_FAULT_OTHER;
    probe_axes_add(&called, "clock", "call");
    if (!gpu_path_flow(run->buffers, path, cell->from, cell->to, &flow, &why))
        return gpu_run_failed(run, cell, axes, fault, &why) && gpu_run_failed(run, cell, &called, fault, &why);
    flow.op.bytes = GPU_TRANSFER_LATENCY_BYTES;
    bool ok = gpu_rate_times(run->trial, &flow.op, flow.span, &sample, &one, &run->random, budget_ns / 2, &fault, &why)
                  ? gpu_run_value(run, cell, axes, &sample.ns)
                  : gpu_run_failed(run, cell, axes, fault, &why);
    if (!ok)
        return false;
    return gpu_rate_call(run->trial, &flow.op, gpu_run_seats(run, flow.op.device), budget_ns / 2, &call, &low, &fault, &why)
               ? gpu_run_value(run, cell, &called, &low)
               : gpu_run_failed(run, cell, &called, fault, &why);
}

/* Rates by the difference of two copies, from one seat after the other. */
static bool call_rates(struct gpu_run *run, struct gpu_flow *flow, int64_t end_ns, double *ret_samples, unsigned *ret_count,
                       enum gpu_fault *ret_fault, struct probe_why *why)
{
    uint64_t bytes[2] = {CALLED_SHORT, flow->span < CALLED_LONG ? flow->span : CALLED_LONG};
    double ns[2];
    unsigned n = 0, turns = 0;
    for (bool enough = false; !enough && turns < PROBE_STATS_MAX; turns++) {
        gpu_seats_take(gpu_run_seats(run, flow->op.device), turns);
        /* The first is for the runtime's staging buffers, and for this CPU's caches. */
        for (int i = -1; !enough && i < CALLED_SEAT; i++) {
            for (int leg = 0; leg < 2; leg++) {
                flow->op.bytes = bytes[leg];
                if (!gpu_trial_call(run->trial, &flow->op, &ns[leg], ret_fault, why))
                    return false;
            }
            if (i < 0 || !(ns[1] > ns[0]))
                continue;
            ret_samples[n++] = (double)(bytes[1] - bytes[0]) * 1e9 / (ns[1] - ns[0]);
            enough = n == PROBE_STATS_MAX ||
                     (n >= GPU_SEATS_MAX * CALLED_SEAT && probe_stats_enough(ret_samples, n, probe_clock_ns() >= end_ns));
        }
    }
    *ret_count = n;
    return true;
}

bool gpu_transfer_called_rate(struct gpu_run *run, const struct gpu_cell *cell, const struct probe_axes *axes,
                              const struct gpu_path *path, int64_t budget_ns)
{
    struct gpu_flow flow;
    double samples[PROBE_STATS_MAX];
    struct probe_why why = {0};
    enum gpu_fault fault = GPU_FAULT_OTHER;
    unsigned n;
    if (!gpu_path_flow(run->buffers, path, cell->from, cell->to, &flow, &why))
        return gpu_run_failed(run, cell, axes, fault, &why);
    bool ok = call_rates(run, &flow, probe_clock_ns() + budget_ns, samples, &n, &fault, &why);
    gpu_seats_leave(gpu_run_seats(run, flow.op.device));
    if (ok && n < PROBE_STATS_MIN) {
        fault = GPU_FAULT_OTHER;
        ok = probe_why_set(&why, "more bytes do not take more time");
    }
    if (!ok)
        return gpu_run_failed(run, cell, axes, fault, &why);
    struct probe_summary rate = probe_stats_quantile(samples, n, 0.5);
    return gpu_run_value(run, cell, axes, &rate);
}
