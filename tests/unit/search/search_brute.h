/* All choices of a small problem, one after the other, for the tests of the search; and problems
 * made by chance. */
#pragma once
#include "search_nodes.h"

struct brute {
    struct node *node;
    uint16_t slot[16], best[16];
    struct search_cost cost;
    size_t fullest, full, taken[SLOTS], now_full, priced;
};

static inline bool is_less(double a, double b)
{
    return a < b && (isinf(b) || a < b - 1e-9 * fmax(fabs(a), fabs(b)));
}

static inline void add_far(const struct node *node, const uint16_t *slot, struct search_cost *cost)
{
    for (size_t b = 0; b < node->problem.tasks * node->problem.each; b++) {
        cost->far += node->far[slot[b]];
        for (size_t o = b - b % node->problem.each; o < b; o++)
            cost->apart += node->apart[slot[o] * node->problem.slots + slot[b]];
    }
    const struct search_problem *problem = &node->problem;
    for (size_t f = 0; problem->meet != NULL && f < problem->flow_count; f++)
        for (size_t o = 0; o < f; o++) {
            size_t a = slot[problem->flow[f].from], b = slot[problem->flow[o].from];
            if (problem->flow[f].to < 0 && problem->flow[o].to < 0 && a != b)
                cost->far += problem->meet[a * problem->slots + b];
        }
}

static inline int order_of(double a, double b) { return is_less(a, b) ? -1 : is_less(b, a); }

/* Less than 0: a costs less. */
static inline int compare(const struct search_cost *a, const struct search_cost *b)
{
    int order = order_of(a->time_ns, b->time_ns);
    order = order != 0 ? order : order_of(a->apart, b->apart);
    order = order != 0 ? order : order_of(a->sum_ns, b->sum_ns);
    return order != 0 ? order : order_of(a->far, b->far);
}

static inline void brute(struct brute *all, size_t gpu)
{
    const struct search_problem *problem = &all->node->problem;
    const size_t each = problem->each > 1 ? problem->each : 1;
    if (gpu == problem->tasks * each) {
        struct search_cost cost = price(all->node, all->slot);
        add_far(all->node, all->slot, &cost);
        all->priced++;
        if (compare(&cost, &all->cost) < 0) {
            all->cost = cost;
            memcpy(all->best, all->slot, sizeof all->best);
        }
        return;
    }
    for (size_t s = 0; s < problem->slots; s++) {
        size_t in_unit = 0;
        for (size_t b = 0; b < gpu && problem->most != NULL; b += each)
            in_unit += problem->unit[all->slot[b]] == problem->unit[s];
        bool is_limited =
            problem->most != NULL && problem->unit[s] != SEARCH_ANYWHERE && gpu % each == 0;
        if (all->taken[s] >= (all->now_full < all->full ? all->fullest : all->fullest - 1) ||
            (is_limited && in_unit >= problem->most[problem->unit[s]]) ||
            (gpu % each > 0 && s <= all->slot[gpu - 1]))
            continue;
        if (problem->in_order && gpu > 0 &&
            (s < all->slot[gpu - 1] || (s == all->slot[gpu - 1] && all->fullest == 1)))
            continue;
        all->slot[gpu] = (uint16_t)s;
        all->now_full += ++all->taken[s] == all->fullest;
        brute(all, gpu + 1);
        all->now_full -= all->taken[s]-- == all->fullest;
    }
}

static inline struct search_result search(struct node *node, uint16_t *slot)
{
    struct search_result result;
    assert_true(plan_search(&node->problem, slot, &result));
    return result;
}

static inline void assert_as_brute(struct node *node, const char *what, uint64_t round)
{
    uint16_t slot[16];
    size_t gpus = node->problem.tasks * node->problem.each;
    struct brute all = {
        .node = node,
        .cost = {.time_ns = INFINITY, .apart = INFINITY, .sum_ns = INFINITY, .far = INFINITY}};
    all.fullest = (gpus + node->problem.slots - 1) / node->problem.slots;
    all.full = gpus - (all.fullest - 1) * node->problem.slots;
    brute(&all, 0);
    struct search_result result = search(node, slot);
    assert_true((all.priced == 0) == (result.cost.over > 0)); /* where there is not room for all */
    assert_true(result.cost.over > 0 ||
                (result.is_proven && result.bound_ns == result.cost.time_ns));
    if (result.cost.over == 0 &&
        (!isfinite(result.cost.time_ns) || compare(&all.cost, &result.cost) != 0 ||
         memcmp(slot, all.best, gpus * sizeof *slot) != 0))
        fail_msg("%s %d: %g %g %g %g for %g %g %g %g", what, (int)round, result.cost.time_ns,
                 result.cost.apart, result.cost.sum_ns, result.cost.far, all.cost.time_ns,
                 all.cost.apart, all.cost.sum_ns, all.cost.far);
}

/* Few different numbers, so that much is equal and much is alike. */
static inline struct node *random_node(uint64_t *seed, size_t slots, size_t tasks, size_t each)
{
    struct node *node = begin(slots, tasks, each, KINDS);
    uint64_t values = 1 + random_next(seed) % 4, kind_of_node = random_next(seed) % 3;
    for (size_t k = 0; k < KINDS; k++)
        for (size_t i = 0; i < slots; i++)
            for (size_t j = 0; j < slots; j++) {
                struct search_arc *arc = arc_of(node, k, i, j);
                if (i == j && k < 2)
                    continue;
                if (kind_of_node == 0)
                    arc->alone_ns = 1 + (double)(random_next(seed) % values);
                else
                    arc->alone_ns = i / 2 == j / 2      ? 1
                                    : kind_of_node == 1 ? 2
                                                        : 2 + (double)((i + j) % 2);
                if (random_next(seed) % 2 && kind_of_node == 0)
                    use(node, arc, random_next(seed) % 3, 1);
                else if (kind_of_node > 0 && (k == 2 || i / 2 != j / 2))
                    use(node, arc, i / 2, 1);
            }
    for (size_t i = 0; i < slots; i++) {
        node->far[i] = kind_of_node == 0 ? (double)(random_next(seed) % 2) : 0;
        for (size_t j = 0; j < slots; j++)
            node->apart[i * slots + j] = i / 2 != j / 2;
        for (size_t j = 0; j < slots; j++)
            node->meet[i * slots + j] = i / 2 == j / 2 ? 2 : i / 4 == j / 4;
    }
    for (size_t r = 0; r < RESOURCES; r++)
        node->start[r] = kind_of_node == 0 ? 0.25 * (double)(random_next(seed) % 2) : 0;
    for (size_t i = 0; i < slots; i++)
        arc_of(node, 2, i, i)->launch_ns =
            kind_of_node == 0 ? 0.125 * (double)(random_next(seed) % 3) : 0.125;
    uint64_t pattern = random_next(seed) % 4;
    for (size_t t = 0; t < tasks; t++)
        for (size_t e = 0; e < each; e++) {
            int gpu = (int)(t * each + e), other = (int)((t + 1) % tasks * each + e);
            if (pattern == 0 && gpu != other)
                flow(node, 0, gpu, other);
            for (size_t u = 0; u < tasks && pattern == 1; u++)
                if (u != t)
                    flow(node, 1, gpu, (int)(u * each + e));
            for (size_t u = 0; u < tasks && pattern == 2; u++)
                if (u != t && random_next(seed) % 2)
                    flow(node, random_next(seed) % 2, gpu, (int)(u * each + e));
            if (pattern == 3 && (t ^ 1) < tasks)
                flow(node, 0, gpu, (int)((t ^ 1) * each + e));
            if (pattern != 1 && random_next(seed) % 2)
                flow(node, 2, gpu, -1);
        }
    for (size_t f = 0; f < node->problem.flow_count; f++)
        /* by kind, so that tasks that are alike stay so */
        node->flow[f].turn = node->flow[f].kind == 2;
    node->problem.in_order = random_next(seed) % 5 == 0;
    node->problem.meet = *seed % 2 ? node->meet : NULL;
    return node;
}
