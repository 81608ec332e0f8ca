#include "gpu/timing/call_overhead.h"

#include <math.h>

#define BELOW 0.025 /* fraction of all calls, and as many above */
#define EACH  (GPU_RATE_CALLS / GPU_CALL_OVERHEAD_SIZES) /* calls of a size in a half */

struct gpu_call_overhead gpu_call_overhead_begin(const struct gpu_op *op,
                                                 const struct probe_sample *samples, size_t count)
{
    struct gpu_call_overhead calls = {.op_count = 0};
    for (size_t i = 0; i < count && calls.op_count < GPU_CALL_OVERHEAD_SIZES; i++) {
        if (i > 0 && samples[i].bytes != (int64_t)GPU_CALL_OVERHEAD_BYTES)
            continue;
        calls.op[calls.op_count] = *op;
        calls.op[calls.op_count].bytes = (uint64_t)samples[i].bytes;
        calls.sample[calls.op_count++] = i;
    }
    return calls;
}

bool gpu_call_overhead_measure(struct gpu_call_overhead *calls, int half,
                               const struct gpu_timing *timing, struct gpu_err *err)
{
    calls->n[half] = (unsigned)calls->op_count * EACH;
    return gpu_rate_calls(timing, calls->op, calls->op_count, calls->ns[half], &calls->n[half],
                          err);
}

/* Collects the calls of one size, of both halves. */
static unsigned collect(const struct gpu_call_overhead *calls, size_t op, double queued_ns,
                        double *ret_more)
{
    unsigned n = 0;
    for (int half = 0; half < 2; half++)
        for (unsigned i = 0; i < calls->n[half]; i++)
            if (i % calls->op_count == op)
                ret_more[n++] = calls->ns[half][i] - queued_ns;
    return n;
}

struct probe_summary gpu_call_overhead_summary(const struct gpu_call_overhead *calls,
                                               const struct probe_sample *samples, size_t count)
{
    double all[2 * GPU_RATE_CALLS], sum = 0;
    unsigned n = 0, sizes = 0;
    for (size_t op = 0; op < calls->op_count && calls->sample[op] < count; op++) {
        unsigned more = collect(calls, op, samples[calls->sample[op]].ns.value, &all[n]);
        sum += probe_stats_quantile(&all[n], more, 0.5).value;
        n += more;
        sizes++;
    }
    double value = sum / sizes, low = probe_stats_quantile(all, n, BELOW).value,
           high = probe_stats_quantile(all, n, 1 - BELOW).value;
    return (struct probe_summary){value, fmin(low, value), fmax(high, value), n};
}
