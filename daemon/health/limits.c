#include "health/limits.h"

#include <string.h>

/* Relative standard deviations from run to run. */
#define HOST_PAGES 0.25 /* of copies that depend on the pages of ordinary host memory */
static const double floors[LIMIT_KIND_COUNT] = {
    [LIMIT_BANDWIDTH] = 0.003, [LIMIT_LATENCY] = 0.003, [LIMIT_PINGPONG] = 0.03};

struct health_limits health_limits_from(const struct config *config)
{
    bool measures_again = config->probe_at_start && config->duty_percent > 0 &&
                          (config->node == NULL || config->probe_dir != NULL);
    return (struct health_limits){
        .looks = measures_again ? 2 : 1,
        .mads = (double)config->drift_mads,
        .drift = {[LIMIT_BANDWIDTH] = (double)config->drift_bandwidth_percent / 100,
                  [LIMIT_LATENCY] = (double)config->drift_latency_percent / 100,
                  [LIMIT_PINGPONG] = (double)config->drift_pingpong_percent / 100},
        .peers = {[LIMIT_BANDWIDTH] = (double)config->peers_bandwidth_percent / 100,
                  [LIMIT_LATENCY] = (double)config->peers_latency_percent / 100,
                  [LIMIT_PINGPONG] = (double)config->peers_pingpong_percent / 100},
        .nominal = (double)config->nominal_percent / 100,
    };
}

/* Returns the kind. Transfers between cores are a kind of their own: they vary with the path on the
 * mesh and the position of the cache line. */
enum limit_kind health_limits_kind(enum metric metric)
{
    const struct metric_info *info = metric_info(metric);
    if (strncmp(info->name, "cpu_", 4) == 0)
        return LIMIT_PINGPONG;
    return strcmp(info->unit, "bytes_per_s") == 0 ? LIMIT_BANDWIDTH : LIMIT_LATENCY;
}

double health_limits_floor(enum metric metric)
{
    bool is_by_pages =
        metric == METRIC_KIND_COPY || metric == METRIC_ALLOCATION || metric == METRIC_SHARED_WRITE;
    return is_by_pages ? HOST_PAGES : floors[health_limits_kind(metric)];
}

double health_limits_spread(enum metric metric, const char *axes)
{
    bool is_by_pages = strstr(axes, "=pageable") != NULL || strstr(axes, "=managed") != NULL;
    return is_by_pages ? HOST_PAGES : health_limits_floor(metric);
}

/* Returns no limit for copy engines, which are narrower than their links by design. Between cores
 * nothing is stated. */
double health_limits_nominal(const struct health_limits *limits, enum metric metric)
{
    return metric == METRIC_GPU_GPU_COPY_ENGINE || health_limits_kind(metric) == LIMIT_PINGPONG
               ? 0
               : limits->nominal;
}
