/**
 * The part of the node that a request may use. Pure; any thread.
 */
#pragma once
#include <stdbool.h>

#include "base/cpuset.h"
#include "node/graph.h"

/* The part of the node that a request may use, resolved to places. */
struct allowed {
    bool given;         /* false: the whole node was allowed; the answer warns */
    struct cpuset cpus; /* only cpus of the node */
    bool *memory;       /* owned, by place id; NULL: all */
    bool *gpus;         /* likewise */
    bool gpus_claimed;  /* gpus were allowed, but other jobs have claimed all of them */
};

void allowed_done(struct allowed *allowed);
static inline bool allowed_has_memory(const struct allowed *allowed, place_id id)
{
    return allowed->memory == NULL || allowed->memory[id];
}
static inline bool allowed_has_gpu(const struct allowed *allowed, place_id id)
{
    return allowed->gpus == NULL || allowed->gpus[id];
}
