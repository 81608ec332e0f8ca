/**
 * Lanes: what bytes go over on their way from one memory to another, as structure shows it: each
 * direction of each link between gpus, of a gpu's links to switches, of each port to the host, and
 * of what a package has to the others. Two transfers without a lane in common share none of these.
 *
 * Between gpus the driver takes the widest way, and of these the shortest. Where there are several
 * such, all of their links count, because which one it takes is not known. Between a gpu and the
 * host there is one way where it is known which package the gpu is at; memory that another gpu has
 * in common with its cores (MI300A) is reached as that gpu's is. What a NUMA node's memory carries
 * is no lane: it is a limit (cost/limits.h).
 *
 * Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/graph.h"

#define LANES_WORDS 8

struct lanes {
    uint64_t bit[LANES_WORDS];
    bool is_known; /* else the way may be any */
};

/* Of every ordered pair of count memories (gpus and NUMA nodes): ret_lanes[from * count + to].
 * Nothing is known of a node with more lanes than there are bits. False when out of memory. */
bool plan_lanes_make(const struct graph *graph, const place_id *memory, size_t count,
                     struct lanes *ret_lanes);

/* True, too, where either is not known. */
static inline bool plan_lanes_meet(const struct lanes *a, const struct lanes *b)
{
    uint64_t common = 0;
    for (int i = 0; i < LANES_WORDS; i++)
        common |= a->bit[i] & b->bit[i];
    return common != 0 || !a->is_known || !b->is_known;
}

static inline void plan_lanes_add(struct lanes *to, const struct lanes *from)
{
    for (int i = 0; i < LANES_WORDS; i++)
        to->bit[i] |= from->bit[i];
    to->is_known = to->is_known && from->is_known;
}
