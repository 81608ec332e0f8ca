#include "sim/sim.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define SAME  1e-9 /* relative: rounding */
#define LEAST 1e-3 /* bytes per second: nothing stands still */

/* Of more flows those that end within 1/MANY_STEPS of the longest of them end together. */
#define MANY       256
#define MANY_STEPS 64

struct state {     /* of a limit */
    double left;   /* for flows whose rate is not found yet */
    double wanted; /* by all users together */
    unsigned users, growing;
    bool is_binding; /* its users want more than it carries */
};

/* A flow that uses a binding limit. */
struct item {
    struct sim_flow *flow;
    bool is_fixed; /* rate found */
    double left_bytes, rate, left_s;
};

struct engine {
    double bytes_per_s;
    size_t flows, active;
};

struct sim {
    struct state *state;   /* by limit; all zero between calls */
    uint16_t *used;        /* limits in use; those that bind come first */
    struct engine *engine; /* by number; all zero between calls */
    struct item *item;     /* in the order of begin */
    struct item **active;  /* those that move bytes */
    size_t used_count, binding_count, item_count, active_count;
    size_t begun; /* items whose begin has passed */
};

/* fmin and fmax of numbers; calls of those take most of a run's time. */
static inline double less(double a, double b) { return b < a ? b : a; }
static inline double more(double a, double b) { return b > a ? b : a; }

struct sim *sim_new(size_t flows, size_t limits, size_t engines)
{
    struct sim *sim = calloc(1, sizeof *sim);
    if (sim == NULL)
        return NULL;
    sim->state = calloc(limits + 1, sizeof *sim->state);
    sim->used = calloc(limits + 1, sizeof *sim->used);
    sim->item = calloc(flows + 1, sizeof *sim->item);
    sim->active = calloc(flows + 1, sizeof *sim->active);
    sim->engine = calloc(engines + 1, sizeof *sim->engine);
    if (sim->state != NULL && sim->used != NULL && sim->item != NULL && sim->active != NULL &&
        sim->engine != NULL)
        return sim;
    sim_free(sim);
    return NULL;
}

void sim_free(struct sim *sim)
{
    if (sim == NULL)
        return;
    free(sim->state);
    free(sim->used);
    free(sim->item);
    free(sim->active);
    free(sim->engine);
    free(sim);
}

/* ---- limits ---- */

double sim_capacity(const struct sim_limit *limit, unsigned users)
{
    double capacity = INFINITY;
    for (size_t i = 0; i < limit->step_count && limit->step[i].users <= users; i++)
        capacity = limit->step[i].bytes_per_s * (1 + limit->off);
    return users > limit->free ? capacity : INFINITY;
}

static void use_limits(struct sim *sim, const struct sim_flow *flow)
{
    for (unsigned u = 0; u < flow->limit_count; u++) {
        struct state *state = &sim->state[flow->limit[u]];
        if (state->users++ == 0)
            sim->used[sim->used_count++] = flow->limit[u];
        state->wanted += flow->bytes_per_s;
    }
}

static void forget(struct sim *sim)
{
    for (size_t i = 0; i < sim->used_count; i++)
        sim->state[sim->used[i]] = (struct state){0};
    sim->used_count = sim->binding_count = sim->item_count = sim->active_count = sim->begun = 0;
}

/* A limit that carries what all of its users want, however few are left, slows nobody. */
static void find_binding(struct sim *sim, const struct sim_limit *limits)
{
    for (size_t i = 0; i < sim->used_count; i++) {
        uint16_t at = sim->used[i];
        const struct sim_limit *limit = &limits[at];
        struct state *state = &sim->state[at];
        double least = INFINITY;
        for (size_t s = 0; s < limit->step_count && limit->step[s].users <= state->users; s++)
            least = less(least, limit->step[s].bytes_per_s * (1 + limit->off));
        if (state->users <= limit->free)
            least = INFINITY;
        state->is_binding = state->wanted > least * (1 + SAME);
        state->users = 0; /* none has begun */
        if (!state->is_binding)
            continue;
        sim->used[i] = sim->used[sim->binding_count];
        sim->used[sim->binding_count++] = at;
    }
}

/* ---- rates ---- */

static void fix(struct sim *sim, struct item *item, double rate)
{
    item->rate = rate;
    item->is_fixed = true;
    for (unsigned u = 0; u < item->flow->limit_count; u++) {
        struct state *state = &sim->state[item->flow->limit[u]];
        state->left = more(state->left - rate, 0);
        state->growing--;
    }
}

/* The rate at which the first limit is full; INFINITY none ever is. */
static double find_level(const struct sim *sim)
{
    double level = INFINITY;
    for (size_t i = 0; i < sim->binding_count; i++) {
        const struct state *state = &sim->state[sim->used[i]];
        if (state->growing > 0)
            level = less(level, state->left / state->growing);
    }
    return level;
}

static uint16_t full_limit(const struct sim *sim, const struct item *item, double level)
{
    for (unsigned u = 0; u < item->flow->limit_count; u++) {
        const struct state *state = &sim->state[item->flow->limit[u]];
        if (state->is_binding && state->left <= level * state->growing * (1 + SAME))
            return item->flow->limit[u];
    }
    return SIM_NO_LIMIT;
}

/* As much as the engine gives it. */
static double own_rate(const struct sim *sim, const struct sim_flow *flow)
{
    const struct engine *engine = &sim->engine[flow->engine];
    return flow->engine != 0 ? less(flow->bytes_per_s, engine->bytes_per_s / (double)engine->active)
                             : flow->bytes_per_s;
}

/* Those that take no more than that level gives them. */
static size_t fix_slow(struct sim *sim, double level)
{
    size_t fixed = 0;
    for (size_t i = 0; i < sim->active_count; i++) {
        struct item *item = sim->active[i];
        double share = level * (item->flow->engine != 0 ? 1 - SAME : 1);
        if (item->is_fixed || own_rate(sim, item->flow) > share)
            continue;
        fix(sim, item, own_rate(sim, item->flow));
        fixed++;
    }
    return fixed;
}

/* Those that use a limit that is full at that level. */
static size_t fix_full(struct sim *sim, double level)
{
    size_t fixed = 0;
    for (size_t i = 0; i < sim->active_count; i++) {
        struct item *item = sim->active[i];
        uint16_t full = item->is_fixed ? SIM_NO_LIMIT : full_limit(sim, item, level);
        if (full == SIM_NO_LIMIT)
            continue;
        item->flow->slowed_by = full;
        fix(sim, item, more(level, LEAST));
        fixed++;
    }
    return fixed;
}

/* Water rises in all active flows alike. */
static void find_rates(struct sim *sim, const struct sim_limit *limits)
{
    for (size_t i = 0; i < sim->binding_count; i++) {
        struct state *state = &sim->state[sim->used[i]];
        state->left = sim_capacity(&limits[sim->used[i]], state->users);
        state->growing = state->users;
    }
    for (size_t i = 0; i < sim->active_count; i++)
        sim->active[i]->is_fixed = false;
    for (size_t growing = sim->active_count; growing > 0;) {
        double level = find_level(sim);
        size_t fixed = fix_slow(sim, level);
        growing -= fixed > 0 ? fixed : fix_full(sim, level);
    }
}

/* ---- events ---- */

static void activate(struct sim *sim, struct item *item)
{
    for (unsigned u = 0; u < item->flow->limit_count; u++)
        sim->state[item->flow->limit[u]].users++;
    sim->engine[item->flow->engine].active++;
    sim->active[sim->active_count++] = item;
}

static void add_item(struct sim *sim, struct sim_flow *flow)
{
    sim->item[sim->item_count++] = (struct item){.flow = flow, .left_bytes = flow->bytes};
}

static int compare_begin(const void *a, const void *b)
{
    const struct sim_flow *x = ((const struct item *)a)->flow, *y = ((const struct item *)b)->flow;
    return x->begin_ns != y->begin_ns ? (x->begin_ns < y->begin_ns ? -1 : 1) : (x > y) - (x < y);
}

/* In the order of begin. */
static void order_items(struct sim *sim)
{
    bool is_sorted = true;
    for (size_t i = 1; i < sim->item_count && is_sorted; i++)
        is_sorted = sim->item[i - 1].flow->begin_ns <= sim->item[i].flow->begin_ns;
    if (!is_sorted)
        qsort(sim->item, sim->item_count, sizeof *sim->item, compare_begin);
}

/* Those that begin by then. A begin below 0 passes too, and one that is no number: what never
 * begins never ends. */
static void begin(struct sim *sim, double now_s)
{
    double by_ns = now_s * 1e9 + fabs(now_s * 1e9) * SAME;
    for (; sim->begun < sim->item_count && !(sim->item[sim->begun].flow->begin_ns > by_ns);
         sim->begun++)
        activate(sim, &sim->item[sim->begun]);
}

/* Its last byte has moved. */
static void end(struct sim *sim, struct item *item, double now_s)
{
    item->flow->end_ns = now_s * 1e9 + item->flow->start_ns;
    for (unsigned u = 0; u < item->flow->limit_count; u++)
        sim->state[item->flow->limit[u]].users--;
    sim->engine[item->flow->engine].active--;
}

/* From now to the next begin or end; of many flows, to the next few ends. */
static double advance(struct sim *sim, double now_s)
{
    double step_s = INFINITY, longest_s = 0;
    for (size_t i = 0; i < sim->active_count; i++) {
        struct item *item = sim->active[i];
        item->left_s = item->left_bytes / item->rate;
        step_s = less(step_s, item->left_s);
        longest_s = more(longest_s, item->left_s);
    }
    if (sim->active_count > MANY)
        step_s = more(step_s, longest_s / MANY_STEPS);
    else if (sim->begun < sim->item_count)
        step_s = less(step_s, more(sim->item[sim->begun].flow->begin_ns / 1e9 - now_s, 0));
    size_t active = sim->active_count;
    sim->active_count = 0;
    for (size_t i = 0; i < active; i++) {
        struct item *item = sim->active[i];
        item->left_bytes -= item->rate * step_s;
        if (!(item->left_s > step_s * (1 + SAME))) /* or its rate is no number */
            end(sim, item, now_s + item->left_s);
        else
            sim->active[sim->active_count++] = item;
    }
    return now_s + step_s;
}

/* What is left are flows that use a binding limit, or share an engine; the others are alone. */
static void prepare(struct sim *sim, const struct sim_limit *limits, struct sim_flow *flows,
                    size_t count)
{
    for (size_t i = 0; i < count; i++) {
        flows[i].slowed_by = SIM_NO_LIMIT;
        flows[i].end_ns = flows[i].begin_ns + flows[i].start_ns;
        if (!(flows[i].bytes > 0))
            continue;
        flows[i].end_ns += flows[i].bytes / flows[i].bytes_per_s * 1e9;
        struct engine *engine = &sim->engine[flows[i].engine];
        engine->flows++;
        engine->bytes_per_s =
            more(engine->bytes_per_s, more(flows[i].bytes_per_s, flows[i].engine_bytes_per_s));
        use_limits(sim, &flows[i]);
    }
    find_binding(sim, limits);
    for (size_t i = 0; i < count; i++) {
        bool is_alone = flows[i].engine == 0 || sim->engine[flows[i].engine].flows == 1;
        for (unsigned u = 0; u < flows[i].limit_count && is_alone; u++)
            is_alone = !sim->state[flows[i].limit[u]].is_binding;
        if (flows[i].bytes > 0 && !is_alone)
            add_item(sim, &flows[i]);
    }
    order_items(sim);
}

double sim_run(struct sim *sim, const struct sim_limit *limits, struct sim_flow *flows,
               size_t count)
{
    prepare(sim, limits, flows, count);
    double now_s = sim->item_count > 0 ? sim->item[0].flow->begin_ns / 1e9 : 0, last_ns = 0;
    for (begin(sim, now_s); sim->active_count > 0 || sim->begun < sim->item_count;
         begin(sim, now_s)) {
        if (sim->active_count == 0)
            now_s = more(now_s, sim->item[sim->begun].flow->begin_ns / 1e9);
        find_rates(sim, limits);
        now_s = sim->active_count > 0 ? advance(sim, now_s) : now_s;
    }
    for (size_t i = 0; i < count; i++) {
        last_ns = more(last_ns, flows[i].end_ns);
        sim->engine[flows[i].engine] = (struct engine){0};
    }
    forget(sim);
    return last_ns;
}

void sim_rates(struct sim *sim, const struct sim_limit *limits, struct sim_flow *flows,
               size_t count, double *ret_bytes_per_s)
{
    for (size_t i = 0; i < count; i++)
        use_limits(sim, &flows[i]);
    find_binding(sim, limits);
    for (size_t i = 0; i < count; i++) {
        flows[i].slowed_by = SIM_NO_LIMIT;
        add_item(sim, &flows[i]);
        activate(sim, &sim->item[i]);
    }
    find_rates(sim, limits);
    for (size_t i = 0; i < count; i++) {
        ret_bytes_per_s[i] = sim->item[i].rate;
        sim->engine[flows[i].engine] = (struct engine){0};
    }
    forget(sim);
}
