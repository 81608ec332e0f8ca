#include "gpu/timing/repeat.h"

#include "common/clock.h"

bool gpu_repeat(gpu_measurement once, void *arg, int64_t budget_ns,
                struct probe_summary *ret_summary, enum gpu_fault *ret_fault, struct probe_why *why)
{
    int64_t end_ns = probe_clock_ns() + budget_ns;
    double samples[PROBE_STATS_MAX];
    unsigned n = 0;
    bool enough = false, ok = once(arg, &samples[0], ret_fault, why);
    while (ok && !enough) {
        ok = once(arg, &samples[n], ret_fault, why);
        n++;
        enough = ok && probe_stats_enough(samples, n, probe_clock_ns() >= end_ns);
    }
    if (ok)
        *ret_summary = probe_stats_quantile(samples, n, 0.5);
    return ok;
}
