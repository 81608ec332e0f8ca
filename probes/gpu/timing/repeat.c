#include "gpu/timing/repeat.h"

#include "common/clock.h"

bool gpu_repeat(gpu_measurement once, void *arg, int64_t budget_ns,
                struct probe_summary *ret_summary, struct gpu_err *err)
{
    int64_t end_ns = probe_clock_ns() + budget_ns;
    double samples[PROBE_STATS_MAX];
    unsigned n = 0;
    bool enough = false, ok = once(arg, &samples[0], err);
    while (ok && !enough) {
        ok = once(arg, &samples[n], err);
        n++;
        enough = ok && probe_stats_enough(samples, n, probe_clock_ns() >= end_ns);
    }
    if (ok)
        *ret_summary = probe_stats_quantile(samples, n, 0.5);
    return ok;
}
