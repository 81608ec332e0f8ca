/**
 * What planners share. Planning is a pure function of (snapshot, claims, request): no clock, no I/O, no hardware; what
 * the outside knows (free memory) comes in with the request. Planners know nothing of JSON.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpuset.h"
#include "graph.h"
#include "snapshot.h"

/* One number that an answer rests on. */
struct evidence {
    const struct value *value; /* in the snapshot */
};

/* Expected time; NAN when nothing known predicts it. */
struct prediction {
    double time_ns, low_ns, high_ns;
    char bottleneck[32]; /* "" none */
};

/* The part of the node a request may use, resolved to places. */
struct allowed {
    bool given;              /* false: the whole node was meant; the answer warns */
    struct cpuset cpus;
    bool *memory, *gpus;     /* by place id, owned */
};
