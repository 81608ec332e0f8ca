#include "health/judge_limits.h"

#include <string.h>

/* Relative standard deviations from run to run. */
#define HOST_PAGES 0.25 /* of copies that depend on the pages of ordinary host memory */
static const double floors[JUDGE_KIND_COUNT] = {
    [JUDGE_BANDWIDTH] = 0.01, [JUDGE_LATENCY] = 0.01, [JUDGE_PINGPONG] = 0.03};

struct judge_limits judge_limits_of(const struct config *config)
{
    return (struct judge_limits){
        .mads = (double)config->drift_mads,
        .drift = {[JUDGE_BANDWIDTH] = (double)config->drift_bandwidth_percent / 100,
                  [JUDGE_LATENCY] = (double)config->drift_latency_percent / 100,
                  [JUDGE_PINGPONG] = (double)config->drift_pingpong_percent / 100},
        .peers = {[JUDGE_BANDWIDTH] = (double)config->peers_bandwidth_percent / 100,
                  [JUDGE_LATENCY] = (double)config->peers_latency_percent / 100,
                  [JUDGE_PINGPONG] = (double)config->peers_pingpong_percent / 100},
        .nominal = (double)config->nominal_percent / 100,
    };
}

/* Returns the kind. Transfers between cores are a kind of their own: they vary with the path on the
 * mesh and the position of the cache line. */
enum judge_kind judge_limits_kind(enum metric metric)
{
    const struct metric_info *info = metric_info(metric);
    if (strncmp(info->name, "cpu_", 4) == 0)
        return JUDGE_PINGPONG;
    return strcmp(info->unit, "bytes_per_s") == 0 ? JUDGE_BANDWIDTH : JUDGE_LATENCY;
}

double judge_limits_floor(enum metric metric)
{
    bool is_by_pages =
        metric == METRIC_KIND_COPY || metric == METRIC_ALLOCATION || metric == METRIC_SHARED_WRITE;
    return is_by_pages ? HOST_PAGES : floors[judge_limits_kind(metric)];
}

double judge_limits_spread(enum metric metric, const char *axes)
{
    bool is_by_pages = strstr(axes, "=pageable") != NULL || strstr(axes, "=managed") != NULL;
    return is_by_pages ? HOST_PAGES : judge_limits_floor(metric);
}

/* Returns no limit for copy engines, which are narrower than their links by design. Between cores
 * nothing is stated. */
double judge_limits_nominal(const struct judge_limits *limits, enum metric metric)
{
    return metric == METRIC_GPU_GPU_COPY_ENGINE || judge_limits_kind(metric) == JUDGE_PINGPONG
               ? 0
               : limits->nominal;
}
