/**
 * Paths from one end of a request to the other.
 *
 * Directly, through one NUMA node's memory by copy engine, through one gpu and, between gpus,
 * through two, each by one mechanism. Where no rate of a direct path is measured or published, hops
 * have nominal rates, and paths have at most one memory between. Pure; any thread.
 */
#pragma once
#include "plan/route/price.h"
#include "plan/route/work.h"

enum path_kind { PATH_DIRECT, PATH_HOST, PATH_ONE_GPU, PATH_TWO_GPUS, PATH_KINDS };

struct path {
    enum path_kind kind;
    enum mechanism by;
    struct route_part part; /* alone */
    double rate, time_ns;   /* alone: of very many bytes; of those of the request */
};

/* Lists all paths: the shortest first, of these the widest. The caller frees them. False when out
 * of memory. */
bool paths_find(struct route_work *work, struct path **ret, size_t *ret_count);

/* Makes the option of these paths, without a price. False when one gpu would run more kernels than
 * can fill links. */
bool paths_option(const struct route_work *work, const struct path *const *path, size_t count,
                  struct route_option *ret);
