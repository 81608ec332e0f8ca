/*
 * Branch and bound, gpu by gpu in the order of slots. A branch is left when its bound, with the
 * least that the flows of its other gpus take anywhere, is no better than the best.
 *
 * Of choices that only differ by equivalent tasks the one with the lowest slots is looked at: tasks
 * that can change places while all before them stay; the later one gets the higher slot (J.-F.
 * Puget, "Breaking symmetries in all different problems", IJCAI 2005). Not with slots in order.
 *
 * Twice: first for less time alone, which leaves most branches early and proves the time; then
 * among choices that take no longer for the rest of their costs, with few looks and prices.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/work.h"

/* Flows of all partial choices looked at; the same of the second time, and of whole ones. */
#define LOOKS_FLOWS 2e6
#define TIES_LOOKS  1e5
#define TIES_PRICES 2500

#define TASKS     16 /* with more all count as different */
#define RENAMINGS 4096

struct exact {
    struct search_work *work;
    uint64_t after[TASKS];          /* by task: equivalent ones that get higher slots than it */
    bool are_tasks_equivalent;      /* all of them */
    uint16_t *slot;                 /* by gpu */
    size_t *taken;                  /* by slot */
    size_t full;                    /* slots that have fullest */
    struct search_partial *partial; /* by gpus placed */
    double *load;
    double *rest_time, *rest_sum; /* by gpus placed: of the flows that are not complete */
    bool is_for_time;
    bool is_final;  /* the best has the lowest slots of those that cost as much */
    double left_ns; /* the least bound of a branch that was left */
    size_t looks_left, prices_left;
};

/* ---- equivalent tasks ---- */

/* A renaming of tasks that keeps the flows between each two of them. */
struct renaming {
    size_t n;
    uint64_t flows[TASKS * TASKS]; /* by task and task; twice the same: without to */
    size_t first, second;          /* tasks before first stay, that one becomes second */
    unsigned char to[TASKS];
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
    for (size_t to = 0; to < renaming->n && renaming->looks < RENAMINGS; to++) {
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

static void find_equivalent(const struct search_problem *problem, struct exact *ret)
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

/* ---- branch and bound ---- */

static bool begin(struct exact *exact)
{
    const struct search_work *work = exact->work;
    const struct search_problem *problem = work->problem;
    size_t gpus = work->gpus;
    exact->slot = calloc(gpus, sizeof *exact->slot);
    exact->taken = calloc(problem->slots, sizeof *exact->taken);
    exact->partial = calloc(gpus + 1, sizeof *exact->partial);
    exact->load = calloc((gpus + 1) * problem->resources + 1, sizeof *exact->load);
    exact->rest_time = calloc(2 * (gpus + 1), sizeof *exact->rest_time);
    if (exact->slot == NULL || exact->taken == NULL || exact->partial == NULL ||
        exact->load == NULL || exact->rest_time == NULL)
        return false;
    exact->rest_sum = exact->rest_time + gpus + 1;
    for (size_t b = 0; b <= gpus; b++)
        exact->partial[b].load = exact->load + b * problem->resources;
    for (size_t b = gpus; b-- > 0;) {
        exact->rest_time[b] = exact->rest_time[b + 1];
        exact->rest_sum[b] = exact->rest_sum[b + 1];
        for (size_t i = work->first[b]; i < work->first[b + 1]; i++) {
            double least = plan_search_work_least(problem, &problem->flow[work->flow[i]]);
            exact->rest_time[b] = fmax(exact->rest_time[b], least);
            exact->rest_sum[b] += least;
        }
    }
    plan_search_work_begin(work, &exact->partial[0]);
    return true;
}

static void end(struct exact *exact)
{
    free(exact->slot);
    free(exact->taken);
    free(exact->partial);
    free(exact->load);
    free(exact->rest_time);
}

/* True when the gpu may have the slot after those before it. */
static bool is_free(const struct exact *exact, size_t gpu, size_t slot)
{
    const struct search_work *work = exact->work;
    const struct search_problem *problem = work->problem;
    size_t own = gpu % problem->each, task = gpu / problem->each,
           room = exact->full < work->full ? work->fullest : work->fullest - 1;
    if (exact->taken[slot] >= room || (own > 0 && slot <= exact->slot[gpu - 1]))
        return false;
    if (problem->in_order && gpu > 0 && slot + (work->fullest > 1) <= exact->slot[gpu - 1])
        return false;
    for (size_t other = 0; other < task && task < TASKS && own == 0; other++)
        if ((exact->after[other] >> task & 1) && slot < exact->slot[other * problem->each])
            return false;
    if (own == 0 && problem->most != NULL && problem->unit[slot] != SEARCH_ANYWHERE &&
        plan_search_work_in_unit(problem, exact->slot, task, (uint16_t)slot) >=
            problem->most[problem->unit[slot]])
        return false;
    return true;
}

/* True when something better may follow once the gpu has its slot. Times that differ by less than
 * the problem's same are no better. */
static bool is_open(struct exact *exact, size_t gpu)
{
    const struct search_work *work = exact->work;
    const struct search_problem *problem = work->problem;
    struct search_partial *partial = &exact->partial[gpu + 1];
    partial->cost = exact->partial[gpu].cost;
    memcpy(partial->load, exact->partial[gpu].load, problem->resources * sizeof *partial->load);
    plan_search_work_put(work, exact->slot, gpu, partial);
    struct search_cost least = partial->cost;
    least.time_ns = fmax(least.time_ns, exact->rest_time[gpu + 1]);
    least.sum_ns += exact->rest_sum[gpu + 1];
    double bound_ns = least.time_ns;
    if (exact->is_for_time) {
        least.time_ns *= 1 + problem->same;
        least.apart = least.sum_ns = least.far = INFINITY; /* as much time is not enough */
    }
    int order = plan_search_work_compare(&least, &work->result.cost);
    bool is_open = order < 0 || (order == 0 && !exact->is_final);
    if (!is_open && least.over <= work->result.cost.over && least.lack <= work->result.cost.lack)
        exact->left_ns = fmin(exact->left_ns, bound_ns);
    return is_open;
}

/* True when the time is proven, or no look or no price is left. */
static bool is_enough(const struct exact *exact)
{
    return exact->looks_left == 0 || exact->prices_left == 0 ||
           (exact->is_for_time && plan_search_work_is_least(exact->work));
}

static void look(struct exact *exact, size_t gpu)
{
    struct search_work *work = exact->work;
    for (size_t slot = 0; slot < work->problem->slots && !is_enough(exact); slot++) {
        if (!is_free(exact, gpu, slot))
            continue;
        exact->slot[gpu] = (uint16_t)slot;
        exact->looks_left--;
        work->result.looked++;
        if (!is_open(exact, gpu))
            continue;
        exact->full += ++exact->taken[slot] == work->fullest;
        if (gpu + 1 < work->gpus) {
            look(exact, gpu + 1);
        } else {
            /* the first that costs as little as the best has the lowest slots */
            exact->is_final = plan_search_work_try(work, exact->slot) <= 0 || exact->is_final;
            exact->prices_left--;
        }
        exact->full -= exact->taken[slot]-- == work->fullest;
    }
}

/* True when all choices can be looked at. */
static bool has_few_choices(const struct exact *exact)
{
    const struct search_work *work = exact->work;
    const struct search_problem *problem = work->problem;
    bool is_set = problem->in_order || (exact->are_tasks_equivalent && problem->each == 1);
    double choices = 1;
    for (size_t b = 0; b < work->gpus && choices <= SEARCH_EXACT_CHOICES * 1e3; b++)
        choices *= (double)(problem->slots - b) / (double)((is_set ? b : b % problem->each) + 1);
    return problem->slots <= SEARCH_EXACT_SLOTS ||
           (work->fullest == 1 && choices <= SEARCH_EXACT_CHOICES);
}

bool plan_search_exact(struct search_work *work, size_t prices, bool *ret_covered)
{
    struct exact exact = {
        .work = work, .is_for_time = true, .left_ns = INFINITY, .prices_left = prices};
    double flows = (double)work->problem->flow_count + 1;
    bool ok = begin(&exact);
    if (!work->problem->in_order && work->problem->tasks <= TASKS)
        find_equivalent(work->problem, &exact);
    *ret_covered = ok && has_few_choices(&exact);
    if (*ret_covered) {
        exact.looks_left = (size_t)(LOOKS_FLOWS / flows) + 1;
        look(&exact, 0);
        *ret_covered = exact.looks_left > 0 && exact.prices_left > 0;
    }
    if (*ret_covered && !plan_search_work_is_least(work))
        work->result.bound_ns =
            fmax(work->result.bound_ns, fmin(exact.left_ns, work->result.cost.time_ns));
    if (*ret_covered) {
        exact.is_for_time = exact.is_final = false;
        exact.looks_left = (size_t)(TIES_LOOKS / flows) + 1;
        exact.prices_left = (size_t)(TIES_PRICES / flows) + 1;
        look(&exact, 0);
    }
    end(&exact);
    return ok;
}
