/*
 * What annealing makes less is the sum of the sixth powers of all flows' times alone and of all
 * resources' times: near the greatest of them, but smooth, and a change costs only what the moved
 * berths' flows touch. Invariants: (1) load is what slot says; (2) taken is too, and spread evenly;
 * (3) in rank order slots ascend.
 */
#include "search/swap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED         UINT64_C(0x9e3779b97f4a7c15)
#define TOUCHES      2500000 /* of resources, while annealing */
#define STEPS_MAX    60000
#define PRICED_PAIRS 2e5 /* pairs of flows of all choices whose price is asked for */
#define PRICES_LEAST 32
#define PRICES_MOST  300
#define TRIED_FLOWS  800000
#define HOT          0.05 /* of the start's sum */
#define COLD         1e-5
#define SUM_WEIGHT   1e-4 /* beside the sixth powers, so that equals are told apart */
#define FAR_WEIGHT   1e-7
#define CROWD_WEIGHT 1e-8
/* of a berth for whose task there is no room: beside it nothing counts */
#define OVER_WEIGHT 1e200

struct shake {
    struct search_work *work;
    uint16_t *slot; /* by berth */
    size_t *taken;  /* by slot */
    size_t full;
    double *load;    /* by resource */
    double scale;    /* 1 over the time that counts as 1 */
    double sum;      /* what is made less */
    uint16_t *least; /* the slots with the least sum so far */
    double least_sum;
    uint64_t random;
};

static uint64_t next(struct shake *shake)
{
    shake->random ^= shake->random << 13;
    shake->random ^= shake->random >> 7;
    shake->random ^= shake->random << 17;
    return shake->random;
}

static double power(const struct shake *shake, double ns)
{
    double x = ns * shake->scale, square = x * x;
    return square * square * square;
}

/* Adds the flow's part of the sum, or takes it away. */
static void put(struct shake *shake, const struct search_flow *flow, double sign)
{
    const struct search_problem *problem = shake->work->problem;
    const struct search_arc *arc = plan_search_work_arc(problem, flow, shake->slot);
    shake->sum += sign * (power(shake, arc->alone_ns) + SUM_WEIGHT * arc->alone_ns * shake->scale);
    for (uint32_t u = 0; u < arc->use_count; u++) {
        const struct search_use *use = &problem->use[arc->use + u];
        double before = shake->load[use->resource],
               after = plan_search_work_more(0, before + sign * use->ns);
        shake->load[use->resource] = after;
        shake->sum += power(shake, after) - power(shake, before);
    }
}

/* The berth's flows, but not those that it has with other. */
static void put_all(struct shake *shake, size_t berth, int32_t other, double sign)
{
    const struct search_work *work = shake->work;
    for (size_t i = work->first[berth]; i < work->first[berth + 1]; i++) {
        const struct search_flow *flow = &work->problem->flow[work->touching[i]];
        if (other < 0 || (flow->from != other && flow->to != other))
            put(shake, flow, sign);
    }
    const struct search_problem *problem = work->problem;
    double far = problem->far[shake->slot[berth]];
    for (size_t b = berth - berth % problem->each, i = 0; i < problem->each; i++)
        if (b + i != berth && (int32_t)(b + i) != other)
            far += problem->apart[shake->slot[b + i] * problem->slots + shake->slot[berth]];
    shake->sum += sign * FAR_WEIGHT * far;
}

static void fill(struct shake *shake, size_t slot)
{
    shake->full += ++shake->taken[slot] == shake->work->fullest;
}

static void leave(struct shake *shake, size_t slot)
{
    shake->full -= shake->taken[slot]-- == shake->work->fullest;
}

/* Which slots are taken. */
static void settle_in(struct shake *shake)
{
    memset(shake->taken, 0, shake->work->problem->slots * sizeof *shake->taken);
    shake->full = 0;
    for (size_t b = 0; b < shake->work->berths; b++)
        fill(shake, shake->slot[b]);
}

static void rebuild(struct shake *shake)
{
    const struct search_problem *problem = shake->work->problem;
    memset(shake->load, 0, problem->resources * sizeof *shake->load);
    shake->sum = 0;
    settle_in(shake);
    for (size_t f = 0; f < problem->flow_count; f++)
        put(shake, &problem->flow[f], 1);
    struct search_cost cost;
    plan_search_work_far(problem, shake->slot, &cost);
    shake->sum += FAR_WEIGHT * (cost.apart + cost.far);
}

/* ---- moves: a berth to a slot with room, or two berths for each other ---- */

struct move {
    size_t berth;
    size_t other; /* SIZE_MAX: none; slot then */
    uint16_t slot, from;
};

static void apply(struct shake *shake, const struct move *move)
{
    if (move->other == SIZE_MAX) {
        put_all(shake, move->berth, -1, -1);
        leave(shake, shake->slot[move->berth]);
        shake->slot[move->berth] = move->slot;
        fill(shake, move->slot);
        put_all(shake, move->berth, -1, 1);
        return;
    }
    put_all(shake, move->berth, -1, -1);
    put_all(shake, move->other, (int32_t)move->berth, -1);
    uint16_t slot = shake->slot[move->berth];
    shake->slot[move->berth] = shake->slot[move->other];
    shake->slot[move->other] = slot;
    put_all(shake, move->berth, -1, 1);
    put_all(shake, move->other, (int32_t)move->berth, 1);
}

static void undo(struct shake *shake, const struct move *move)
{
    struct move back = *move;
    back.slot = move->from;
    apply(shake, &back);
}

/* Whether the berth may go to the slot so that all stay evenly full. */
static bool has_room(const struct shake *shake, size_t berth, size_t slot)
{
    const struct search_work *work = shake->work;
    return shake->taken[slot] + 1 == work->fullest &&
           shake->taken[shake->slot[berth]] == work->fullest;
}

/* Whether so many tasks from the first on leave no room where the slot is. */
static bool is_unit_full(const struct shake *shake, size_t tasks, uint16_t slot)
{
    const struct search_problem *problem = shake->work->problem;
    uint16_t unit = problem->most != NULL ? problem->unit[slot] : SEARCH_ANYWHERE;
    return unit != SEARCH_ANYWHERE &&
           plan_search_work_in_unit(problem, shake->slot, tasks, unit) >= problem->most[unit];
}

/* In rank order berths keep their order when one goes elsewhere: only which slots are taken is
 * moved, and they are handed out anew. */
static void hand_out(struct shake *shake)
{
    size_t b = 0;
    for (size_t s = 0; s < shake->work->problem->slots; s++)
        for (size_t i = 0; i < shake->taken[s]; i++)
            shake->slot[b++] = (uint16_t)s;
}

static bool find_move(struct shake *shake, struct move *ret)
{
    const struct search_work *work = shake->work;
    const struct search_problem *problem = work->problem;
    size_t berth = next(shake) % work->berths, slot = next(shake) % problem->slots;
    struct move move = {
        .berth = berth, .other = SIZE_MAX, .slot = (uint16_t)slot, .from = shake->slot[berth]};
    if (slot == move.from)
        return false;
    bool leaves = problem->most != NULL && problem->unit[slot] != problem->unit[move.from];
    if (leaves && has_room(shake, berth, slot) &&
        is_unit_full(shake, problem->tasks, (uint16_t)slot))
        return false;
    if (!has_room(shake, berth, slot)) {
        /* Whoever is there, from a berth of chance on. */
        size_t start = next(shake) % work->berths;
        for (size_t i = 0; i < work->berths && move.other == SIZE_MAX; i++)
            if (shake->slot[(start + i) % work->berths] == slot)
                move.other = (start + i) % work->berths;
        if (move.other == SIZE_MAX || move.other / problem->each == berth / problem->each)
            return false;
    }
    *ret = move;
    return true;
}

static void keep_least(struct shake *shake)
{
    if (shake->sum < shake->least_sum * (1 - 1e-9)) {
        shake->least_sum = shake->sum;
        memcpy(shake->least, shake->slot, shake->work->berths * sizeof *shake->slot);
    }
}

static void anneal(struct shake *shake)
{
    const struct search_work *work = shake->work;
    const struct search_problem *problem = work->problem;
    size_t uses = 0, arcs = problem->kinds * problem->slots * problem->slots;
    for (size_t i = 0; i < arcs; i++)
        uses += problem->arc[i].use_count;
    double touches = 8.0 * (double)problem->flow_count / (double)work->berths *
                         (2 + (double)uses / (double)(arcs + 1)) +
                     20;
    size_t steps = (size_t)fmin(fmin(TOUCHES / touches, STEPS_MAX),
                                1000.0 * (double)work->berths * (double)problem->slots / 16);
    double heat = HOT * shake->sum, cooling = pow(COLD / HOT, 1.0 / (double)(steps + 1));
    for (size_t step = 0; step < steps; step++) {
        struct move move;
        heat *= cooling;
        double before = shake->sum;
        if (step % 4096 == 4095)
            rebuild(shake); /* so that rounding does not add up */
        if (!find_move(shake, &move))
            continue;
        apply(shake, &move);
        double worse = shake->sum - before, chance = (double)(next(shake) >> 11) * 0x1p-53;
        if (worse > 0 && chance >= exp(-worse / heat))
            undo(shake, &move);
        else
            keep_least(shake);
    }
}

/* ---- by price ---- */

static int compare_numbers(const void *a, const void *b)
{
    uint16_t x = *(const uint16_t *)a, y = *(const uint16_t *)b;
    return (x > y) - (x < y);
}

/* Each task's slots ascending; in rank order all. */
static void put_in_order(struct shake *shake)
{
    const struct search_work *work = shake->work;
    size_t each = work->problem->in_order ? work->berths : work->problem->each;
    for (size_t b = 0; b < work->berths; b += each)
        qsort(shake->slot + b, each, sizeof *shake->slot, compare_numbers);
}

/* Whether no resource alone takes longer than the best does. */
static bool is_worth_a_price(const struct shake *shake)
{
    const struct search_problem *problem = shake->work->problem;
    double most = 0;
    for (size_t r = 0; r < problem->resources; r++)
        shake->load[r] = plan_search_work_start(problem, r);
    for (size_t f = 0; f < problem->flow_count; f++) {
        const struct search_arc *arc =
            plan_search_work_arc(problem, &problem->flow[f], shake->slot);
        for (uint32_t u = 0; u < arc->use_count; u++) {
            const struct search_use *use = &problem->use[arc->use + u];
            most = plan_search_work_more(most, shake->load[use->resource] += use->ns);
        }
    }
    return shake->work->result.cost.over > 0 ||
           most <= shake->work->result.cost.time_ns * (1 + SEARCH_SAME);
}

/* One change of the best. True when it became better. */
static bool try_change(struct shake *shake, size_t berth, size_t slot)
{
    struct search_work *work = shake->work;
    size_t each = work->problem->each, other = SIZE_MAX;
    if (work->best[berth] == slot)
        return false;
    memcpy(shake->slot, work->best, work->berths * sizeof *shake->slot);
    settle_in(shake);
    if (has_room(shake, berth, slot)) {
        leave(shake, shake->slot[berth]);
        fill(shake, slot);
        shake->slot[berth] = (uint16_t)slot;
    } else if (!work->problem->in_order) {
        for (size_t b = 0; b < work->berths && other == SIZE_MAX; b++)
            if (shake->slot[b] == slot && b / each != berth / each)
                other = b;
        if (other == SIZE_MAX)
            return false;
        shake->slot[other] = shake->slot[berth];
        shake->slot[berth] = (uint16_t)slot;
    } else {
        return false;
    }
    if (work->problem->in_order)
        hand_out(shake);
    put_in_order(shake);
    return is_worth_a_price(shake) && plan_search_work_try(work, shake->slot) < 0;
}

static void swap_by_price(struct shake *shake, uint64_t prices)
{
    struct search_work *work = shake->work;
    const struct search_problem *problem = work->problem;
    size_t changes = work->berths * problem->slots, since = 0,
           tries = TRIED_FLOWS / (problem->flow_count + 1);
    prices += work->result.priced;
    for (size_t i = 0; since < changes && tries-- > 0 && work->result.priced < prices &&
                       !plan_search_work_is_spent(work);
         i = (i + 1) % changes, since++)
        if (try_change(shake, i / problem->slots, i % problem->slots))
            since = 0;
}

/* ---- the start ---- */

/* The flow's other berth, if it has one, has its slot already. */
static bool is_complete(const struct search_flow *flow, size_t berth)
{
    return flow->from <= (int32_t)berth && flow->to <= (int32_t)berth;
}

/* What the sum becomes with the berth on its slot, beside those before it. */
static double cost_of(const struct shake *shake, size_t berth)
{
    const struct search_work *work = shake->work;
    const struct search_problem *problem = work->problem;
    size_t slot = shake->slot[berth];
    double cost = FAR_WEIGHT * problem->far[slot];
    if (berth % problem->each == 0 && is_unit_full(shake, berth / problem->each, (uint16_t)slot))
        cost += OVER_WEIGHT;
    for (size_t i = work->first[berth]; i < work->first[berth + 1]; i++) {
        const struct search_flow *flow = &problem->flow[work->touching[i]];
        if (!is_complete(flow, berth))
            continue;
        const struct search_arc *arc = plan_search_work_arc(problem, flow, shake->slot);
        cost += power(shake, arc->alone_ns);
        for (uint32_t u = 0; u < arc->use_count; u++) {
            const struct search_use *use = &problem->use[arc->use + u];
            cost += power(shake, shake->load[use->resource] + use->ns) -
                    power(shake, shake->load[use->resource]);
        }
    }
    for (size_t other = berth - berth % problem->each; other < berth; other++)
        cost += FAR_WEIGHT * problem->apart[shake->slot[other] * problem->slots + slot];
    for (size_t other = 0; problem->meet != NULL && other < berth; other++)
        if (shake->slot[other] != slot)
            cost += CROWD_WEIGHT * (double)(work->outside[other] * work->outside[berth]) *
                    problem->meet[shake->slot[other] * problem->slots + slot];
    return cost;
}

/* Each berth where the sum stays least; what the others will need is not known yet. */
static void start(struct shake *shake)
{
    const struct search_work *work = shake->work;
    const struct search_problem *problem = work->problem;
    memset(shake->load, 0, problem->resources * sizeof *shake->load);
    memset(shake->taken, 0, problem->slots * sizeof *shake->taken);
    shake->full = 0;
    for (size_t b = 0; b < work->berths; b++) {
        double least = INFINITY;
        size_t best = 0;
        for (size_t s = 0; s < problem->slots; s++) {
            if (shake->taken[s] + 1 >
                (shake->full < work->full ? work->fullest : work->fullest - 1))
                continue;
            shake->slot[b] = (uint16_t)s;
            double cost = cost_of(shake, b);
            if (cost < least) {
                least = cost;
                best = s;
            }
        }
        shake->slot[b] = (uint16_t)best;
        fill(shake, best);
        for (size_t i = work->first[b]; i < work->first[b + 1]; i++)
            if (is_complete(&problem->flow[work->touching[i]], b))
                put(shake, &problem->flow[work->touching[i]], 1);
    }
    if (problem->in_order)
        hand_out(shake);
}

/* In rank order, where tasks have several slots: those that follow each other, at such places that
 * all tasks' are as near to each other as they can be so. What depends on all of a task's slots, as
 * where its memory is, changes move by move for the worse before it is better. False when out of
 * memory. */
static bool try_neighbours(struct shake *shake)
{
    const struct search_problem *problem = shake->work->problem;
    size_t n = problem->slots, each = problem->each, tasks = problem->tasks;
    /* by tasks and slots: how far the first tasks' slots are apart, on the first slots */
    double *least = calloc((tasks + 1) * (n + 1), sizeof *least);
    /* by slot after the last: of a task's */
    double *apart = calloc(n + 1, sizeof *apart);
    bool ok = least != NULL && apart != NULL;
    for (size_t end = each; ok && end <= n; end++)
        for (size_t a = end - each; a < end; a++)
            for (size_t b = a + 1; b < end; b++)
                apart[end] += problem->apart[a * n + b];
    for (size_t t = 1; ok && t <= tasks; t++)
        for (size_t end = 0; end <= n; end++) {
            double *here = &least[t * (n + 1) + end];
            *here = end < t * each ? INFINITY
                                   : fmin(here[-1], here[-(ptrdiff_t)(n + 1 + each)] + apart[end]);
        }
    for (size_t t = tasks, end = n; ok && t > 0; t--, end -= each) {
        while (least[t * (n + 1) + end - 1] <= least[t * (n + 1) + end])
            end--;
        for (size_t i = 0; i < each; i++)
            shake->slot[(t - 1) * each + i] = (uint16_t)(end - each + i);
    }
    if (ok)
        plan_search_work_try(shake->work, shake->slot);
    free(least);
    free(apart);
    return ok;
}

static bool run(struct shake *shake, bool thorough, bool is_exact)
{
    struct search_work *work = shake->work;
    const struct search_problem *problem = work->problem;
    double flows = (double)problem->flow_count + 1,
           prices = fmin(fmax(PRICED_PAIRS / (flows * flows), PRICES_LEAST), PRICES_MOST);
    plan_search_work_order(problem, shake->slot);
    plan_search_work_try(work, shake->slot);
    shake->scale = 1 / fmax(work->result.cost.time_ns, 1e-3);
    start(shake);
    put_in_order(shake);
    plan_search_work_try(work, shake->slot);
    if (thorough && !problem->in_order) {
        rebuild(shake);
        shake->least_sum = INFINITY;
        keep_least(shake);
        anneal(shake);
        memcpy(shake->slot, shake->least, work->berths * sizeof *shake->slot);
        put_in_order(shake);
        plan_search_work_try(work, shake->slot);
    }
    if (problem->in_order && problem->each > 1 && !try_neighbours(shake))
        return false;
    if (!thorough && is_exact && plan_search_work_is_least(work))
        return true; /* which of those that take as little is best is told by looking at them all */
    swap_by_price(shake, thorough ? (uint64_t)prices : PRICES_LEAST);
    return true;
}

bool plan_search_swap(struct search_work *work, bool thorough, bool is_exact)
{
    const struct search_problem *problem = work->problem;
    struct shake shake = {.work = work, .random = SEED};
    shake.slot = calloc(work->berths, sizeof *shake.slot);
    shake.least = calloc(work->berths, sizeof *shake.least);
    shake.taken = calloc(problem->slots, sizeof *shake.taken);
    shake.load = calloc(problem->resources + 1, sizeof *shake.load);
    bool ok =
        shake.slot != NULL && shake.least != NULL && shake.taken != NULL && shake.load != NULL;
    ok = ok && run(&shake, thorough, is_exact);
    free(shake.slot);
    free(shake.least);
    free(shake.taken);
    free(shake.load);
    return ok;
}
