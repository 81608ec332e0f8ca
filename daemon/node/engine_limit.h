/**
 * Published limits of copy engines that are below those of the links between gpus. A rate derived
 * from links only is no rate of such an engine: the engine reaches at most this limit. Kernels are
 * not bound by it.
 *
 * The published rate of xGMI links to the host is here, too. The driver reports the rate of a link
 * between gpus for each, 50 GB/s, even where the processor's is slower (Schieffer et al., II-A).
 *
 * Pure; any thread.
 */
#pragma once
#include "node/graph.h"

struct engine_limit {
    /* "gfx" detail of the gpus; NULL: all other gpus of AMD, for which nothing is published */
    const char *gfx;
    double bytes_per_s;      /* to another gpu, in one direction; INFINITY unknown */
    const char *source;      /* NULL where it is unknown */
    double host_bytes_per_s; /* one xGMI link to the host, each way; INFINITY unknown */
};

/* Returns the limit of copies between this gpu and another, by either one's engine; static. NULL:
 * no known limit of that vendor's engines below the links. */
const struct engine_limit *engine_limit_of(const struct graph *graph, place_id gpu);
