/**
 * What is published of copy engines that stop where the links between gpus do not. A rate that only
 * links tell of is no engine's then, but at most this; kernels are not bound by it. And the
 * published rate of xGMI links to the host: the driver gives each that of a link between gpus, 50
 * GB/s, also where the processor's is slower (Schieffer et al., II-A).
 *
 * Pure; any thread.
 */
#pragma once
#include "node/graph.h"

struct engine_limit {
    /* of which gpus, by their "gfx" detail; NULL: of no others that AMD makes anything is
     * published */
    const char *gfx;
    double bytes_per_s;      /* to another gpu, in one direction; INFINITY not known */
    const char *source;      /* NULL where it is not known */
    double host_bytes_per_s; /* one xGMI link to the host, each way; INFINITY not known */
};

/* Of copies between this gpu and another, that either one's engine makes; static. NULL: engines of
 * that vendor carry what links do, as far as is known. */
const struct engine_limit *engine_limit_of(const struct graph *graph, place_id gpu);
