/* Random flows and limits for the tests of sim/sim.h. Every number is a small whole one. */
#pragma once
#include <math.h>
#include <string.h>

#include "sim/sim.h"
#include "unit/base/random.h"

#define FLOWS  10
#define LIMITS 6

struct world {
    size_t count;
    struct sim_flow flow[FLOWS];
    struct sim_limit limit[LIMITS];
    struct sim_step step[LIMITS][2];
    uint16_t use[FLOWS][LIMITS];
};

struct world_shape {
    bool has_tables, has_engines, begins_later;
};

static inline unsigned random_below(uint64_t *seed, unsigned n)
{
    return (unsigned)(random_uniform(seed) * n);
}

static inline void world_make(struct world *w, const struct world_shape *shape, uint64_t *seed)
{
    memset(w, 0, sizeof *w);
    w->count = 1 + random_below(seed, FLOWS);
    double density = random_uniform(seed) < 0.5 ? 0.4 : 0.15;
    for (size_t l = 0; l < LIMITS; l++) {
        double capacity = 5 + random_below(seed, 60);
        w->step[l][0] = (struct sim_step){1 + random_below(seed, 3), capacity};
        w->step[l][1] = (struct sim_step){w->step[l][0].users + 2, 5 + random_below(seed, 60)};
        w->limit[l] =
            (struct sim_limit){.step = w->step[l], .step_count = 1 + random_below(seed, 2)};
        if (shape->has_tables)
            continue;
        w->step[l][0].users = 1;
        w->limit[l].step_count = 1;
    }
    for (size_t i = 0; i < w->count; i++) {
        struct sim_flow *flow = &w->flow[i];
        *flow = (struct sim_flow){.bytes = random_below(seed, 100),
                                  .bytes_per_s = 1 + random_below(seed, 40),
                                  .start_ns = 1e9 * random_below(seed, 3),
                                  .begin_ns = shape->begins_later ? 1e9 * random_below(seed, 4) : 0,
                                  .engine = shape->has_engines ? random_below(seed, FLOWS / 2) : 0,
                                  .engine_bytes_per_s = random_below(seed, 60),
                                  .limit = w->use[i]};
        for (uint16_t l = 0; l < LIMITS; l++)
            if (random_uniform(seed) < density)
                w->use[i][flow->limit_count++] = l;
    }
}

static inline bool world_uses(const struct world *w, size_t i, size_t l)
{
    for (unsigned u = 0; u < w->flow[i].limit_count; u++)
        if (w->use[i][u] == l)
            return true;
    return false;
}

/* With so many users; INFINITY: they are too few. */
static inline double world_capacity(const struct world *w, size_t l, unsigned users)
{
    double capacity = INFINITY;
    for (size_t s = 0; s < w->limit[l].step_count && w->step[l][s].users <= users; s++)
        capacity = w->step[l][s].bytes_per_s;
    return capacity;
}
