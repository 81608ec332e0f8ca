/**
 * The paths from one end of a request to the other, and which of them can be taken at once.
 *
 * Directly, through one NUMA node's memory by copy engine, through one gpu and, between gpus,
 * through two, each by one mechanism. Where nothing is measured or published of a direct path, hops
 * count with what links are said to carry, with at most one memory between. Pure; any thread.
 */
#pragma once
#include "plan/route/price.h"
#include "plan/route/work.h"

enum path_kind { PATH_DIRECT, PATH_HOST, PATH_ONE_GPU, PATH_TWO_GPUS, PATH_KINDS };

struct path {
    enum path_kind kind;
    enum move_by by;
    struct route_part part; /* alone */
    struct lanes lanes;     /* of all its hops */
    struct price_pipe pipe; /* of part */
    double rate, time_ns;   /* alone: of very many bytes; of those of the request */
};

/* All paths: the shortest first, of these the widest. The caller frees them. False when out of
 * memory. */
bool paths_find(struct route_work *work, struct path **ret, size_t *ret_count);

/* Whether they can be taken at once: by one mechanism, no hop twice, over no link or port with more
 * than was seen there, and on no gpu with more kernels than fill links together. */
bool paths_fit(const struct route_work *work, const struct path *const *path, size_t count);

/* The option that they make, as alone. */
void paths_option(const struct route_work *work, const struct path *const *path, size_t count,
                  struct route_option *ret);
