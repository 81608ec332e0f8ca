#include "search/symmetry.h"

#define LOOKS_MAX 4096

/* A renaming of tasks that keeps the flows between each two of them. */
struct renaming {
    size_t n;
    uint64_t
        flows[SYMMETRY_TASKS * SYMMETRY_TASKS]; /* by task and task; twice the same: without to */
    size_t first, second; /* tasks before first stay, that one becomes second */
    unsigned char to[SYMMETRY_TASKS];
    unsigned looks;
};

static bool fits(const struct renaming *renaming, size_t i)
{
    size_t n = renaming->n, to = renaming->to[i];
    for (size_t j = 0; j <= i; j++)
        if (renaming->flows[i * n + j] != renaming->flows[to * n + renaming->to[j]] ||
            renaming->flows[j * n + i] != renaming->flows[renaming->to[j] * n + to])
            return false;
    return true;
}

/* True when there is one for the tasks from next on. */
static bool can_rename(struct renaming *renaming, size_t next, unsigned used)
{
    if (next == renaming->n)
        return true;
    for (size_t to = 0; to < renaming->n && renaming->looks < LOOKS_MAX; to++) {
        if (used >> to & 1 || (next < renaming->first && to != next) ||
            (next == renaming->first && to != renaming->second))
            continue;
        renaming->looks++;
        renaming->to[next] = (unsigned char)to;
        if (fits(renaming, next) && can_rename(renaming, next + 1, used | 1U << to))
            return true;
    }
    return false;
}

/* Hashes a set of numbers, in any order. */
static uint64_t with(uint64_t all, uint64_t number)
{
    uint64_t x = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return all + (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
}

static void find_tasks(const struct search_problem *problem, struct search_symmetry *ret)
{
    size_t n = problem->tasks, each = problem->each;
    struct renaming renaming = {.n = n};
    ret->are_tasks_equivalent = true;
    for (size_t f = 0; f < problem->flow_count; f++) {
        const struct search_flow *flow = &problem->flow[f];
        size_t from = (size_t)flow->from, to = flow->to < 0 ? from : (size_t)flow->to;
        uint64_t *all = &renaming.flows[from / each * n + to / each];
        *all = with(*all, (flow->kind * each + from % each) * each + to % each);
    }
    for (renaming.first = 0; renaming.first < n; renaming.first++)
        for (renaming.second = renaming.first + 1; renaming.second < n; renaming.second++) {
            renaming.looks = 0;
            bool is_found = can_rename(&renaming, 0, 0);
            ret->after[renaming.first] |= (uint64_t)is_found << renaming.second;
            ret->are_tasks_equivalent &= is_found;
        }
}

void plan_search_symmetry(const struct search_problem *problem, struct search_symmetry *ret)
{
    *ret = (struct search_symmetry){.are_tasks_equivalent = false};
    if (!problem->in_order && problem->tasks <= SYMMETRY_TASKS)
        find_tasks(problem, ret);
}
