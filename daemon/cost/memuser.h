/**
 * Users of memory: cores, or the kernels of a GPU, and which kinds of memory they reach.
 *
 * Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "cost/memkind.h"
#include "node/snapshot.h"

/* By XNACK: only with HSA_XNACK=1 in the environment. */
enum memuser_reach { MEMUSER_REACHED, MEMUSER_BY_XNACK, MEMUSER_UNREACHED, MEMUSER_UNKNOWN };

/* Start-up of a kernel; 0 unknown. */
struct memuser_start {
    double ns, off_ns; /* off_ns: how far those are apart that stand for it */
};

struct memuser {
    place_id gpu; /* PLACE_NONE: cores */
    /* of cores: */
    unsigned cores;   /* that work */
    unsigned in_all;  /* that there are */
    uint16_t *inside; /* owned: by place id, how many of the cores it has */
    uint16_t *of;     /* behind inside: how many cores it has in all */
    /* of a GPU: */
    enum memuser_reach system, managed; /* of the host */
    struct memkind_place own;           /* its own device memory */
    /* in its own memory, the host's next to it, another GPU's, other memory of the host */
    struct memuser_start in_own, in_host, in_peer, in_far;
};

/* The cores that have a cpu in cpus, all at work. in_all is 0 when there are none. NO_MEMORY. */
enum berth_code memuser_of_cores(const struct graph *graph, const struct cpuset *cpus,
                                 struct memuser *ret, struct berth_err *err);
struct memuser memuser_of_gpu(const struct snapshot *snap, place_id gpu);
void memuser_done(struct memuser *user);

enum memuser_reach memuser_reaches(const struct memuser *user, const struct snapshot *snap,
                                   const struct memkind_place *place);
