#include "search/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the bound of a choice ---- */

/* True when the flow may be between these slots. */
static bool is_arc(const struct search_problem *problem, const struct search_flow *flow,
                   size_t from, size_t to)
{
    return flow->to < 0 ? from == to
                        : from != to || problem->tasks * problem->each > problem->slots;
}

bool plan_search_work_init(struct search_work *work, const struct search_problem *problem)
{
    size_t gpus = problem->tasks * problem->each, used = 0;
    *work = (struct search_work){.problem = problem, .gpus = gpus};
    work->fullest = (gpus + problem->slots - 1) / problem->slots;
    work->full = gpus - (work->fullest - 1) * problem->slots;
    work->result.cost =
        (struct search_cost){SIZE_MAX, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    work->flow = calloc(problem->flow_count + 1, sizeof *work->flow);
    work->first = calloc(gpus + 2, sizeof *work->first);
    work->outside = calloc(gpus + 1, sizeof *work->outside);
    work->best = calloc(gpus + 1, sizeof *work->best);
    work->load = calloc(problem->resources + 1, sizeof *work->load);
    if (work->flow == NULL || work->first == NULL || work->outside == NULL || work->best == NULL ||
        work->load == NULL)
        return false;
    for (size_t b = 0; b < gpus; b++) {
        work->first[b] = used;
        for (size_t f = 0; f < problem->flow_count; f++) {
            const struct search_flow *flow = &problem->flow[f];
            if ((size_t)(flow->to > flow->from ? flow->to : flow->from) == b)
                work->flow[used++] = (uint32_t)f;
            work->outside[b] += (size_t)flow->from == b && flow->to < 0;
        }
    }
    work->first[gpus] = used;
    return true;
}

void plan_search_work_done(struct search_work *work)
{
    free(work->flow);
    free(work->first);
    free(work->outside);
    free(work->best);
    free(work->load);
}

void plan_search_work_begin(const struct search_work *work, struct search_partial *partial)
{
    partial->cost = (struct search_cost){0};
    memcpy(partial->load, work->problem->start_ns,
           work->problem->resources * sizeof *partial->load);
}

const struct search_arc *plan_search_work_arc(const struct search_problem *problem,
                                              const struct search_flow *flow, const uint16_t *slot)
{
    size_t from = slot[flow->from], to = flow->to < 0 ? from : slot[flow->to];
    return &problem->arc[(flow->kind * problem->slots + from) * problem->slots + to];
}

size_t plan_search_work_in_unit(const struct search_problem *problem, const uint16_t *slot,
                                size_t tasks, uint16_t where)
{
    size_t count = 0;
    uint16_t unit = problem->most != NULL ? problem->unit[where] : SEARCH_ANYWHERE;
    for (size_t t = 0; t < tasks && unit != SEARCH_ANYWHERE; t++)
        count += problem->unit[slot[t * problem->each]] == unit;
    return count;
}

/* Adds the place of the slot beside those of the other gpus. */
static void put_place(const struct search_work *work, const uint16_t *slot, size_t gpu,
                      struct search_cost *cost)
{
    const struct search_problem *problem = work->problem;
    size_t own = gpu % problem->each, here = slot[gpu];
    const double *apart = &problem->apart[here * problem->slots],
                 *meet = problem->meet != NULL && work->outside[gpu] > 0
                             ? &problem->meet[here * problem->slots]
                             : NULL;
    cost->far += problem->far[here];
    for (size_t other = gpu - own; other < gpu; other++)
        cost->apart += apart[slot[other]];
    for (size_t other = 0; meet != NULL && other < gpu; other++)
        if (slot[other] != here)
            cost->far += (double)(work->outside[other] * work->outside[gpu]) * meet[slot[other]];
    if (own == 0 && problem->most != NULL && problem->unit[here] != SEARCH_ANYWHERE)
        cost->over += plan_search_work_in_unit(problem, slot, gpu / problem->each, slot[gpu]) >=
                      problem->most[problem->unit[here]];
}

void plan_search_work_put(const struct search_work *work, const uint16_t *slot, size_t gpu,
                          struct search_partial *partial)
{
    const struct search_problem *problem = work->problem;
    double most = partial->cost.time_ns;
    for (size_t i = work->first[gpu]; i < work->first[gpu + 1]; i++) {
        const struct search_flow *flow = &problem->flow[work->flow[i]];
        const struct search_arc *arc = plan_search_work_arc(problem, flow, slot);
        double alone_ns = arc->alone_ns + flow->turn * arc->launch_ns;
        most = alone_ns > most ? alone_ns : most;
        partial->cost.sum_ns += alone_ns;
        partial->cost.lack += arc->lack;
        for (const struct search_use *use = &problem->use[arc->use], *end = use + arc->use_count;
             use < end; use++) {
            double load = partial->load[use->resource] += use->ns;
            most = load > most ? load : most;
        }
    }
    partial->cost.time_ns = most;
    put_place(work, slot, gpu, &partial->cost);
}

struct search_partial plan_search_work_bound(const struct search_work *work, const uint16_t *slot)
{
    struct search_partial partial = {.load = work->load};
    plan_search_work_begin(work, &partial);
    for (size_t b = 0; b < work->gpus; b++)
        plan_search_work_put(work, slot, b, &partial);
    return partial;
}

double plan_search_work_least(const struct search_problem *problem, const struct search_flow *flow)
{
    size_t n = problem->slots;
    const struct search_arc *arc = &problem->arc[flow->kind * n * n];
    double least = INFINITY;
    for (size_t pair = 0; pair < n * n; pair++)
        if (is_arc(problem, flow, pair / n, pair % n))
            least = fmin(least, arc[pair].alone_ns + flow->turn * arc[pair].launch_ns);
    return isinf(least) ? 0 : least;
}

void plan_search_work_share(struct search_work *work, double fill)
{
    const struct search_problem *problem = work->problem;
    size_t n = problem->slots, shared = 0;
    double *load = plan_search_work_bound(work, work->best).load, fullest = 0, total = 0;
    for (size_t r = 0; r < problem->resources; r++)
        fullest = fmax(fullest, load[r]);
    for (size_t r = 0; r < problem->resources; r++) {
        load[r] = load[r] >= fill * fullest; /* a weight from here on */
        shared += load[r] > 0;
    }
    for (size_t k = 0; k < problem->kinds; k++) {
        const struct search_arc *arc = &problem->arc[k * n * n];
        double flows = 0, least = INFINITY;
        const struct search_flow *flow = NULL;
        for (size_t f = 0; f < problem->flow_count; f++)
            if (problem->flow[f].kind == k) {
                flow = &problem->flow[f];
                flows++;
            }
        for (size_t pair = 0; flow != NULL && pair < n * n; pair++) {
            double sum = 0;
            for (size_t u = 0; u < arc[pair].use_count; u++)
                sum += load[problem->use[arc[pair].use + u].resource] *
                       problem->use[arc[pair].use + u].ns;
            if (is_arc(problem, flow, pair / n, pair % n))
                least = fmin(least, sum);
        }
        total += isinf(least) ? 0 : flows * least;
    }
    work->result.bound_ns = fmax(work->result.bound_ns, total / fmax((double)shared, 1));
}

/* ---- which choice is better ---- */

static int compare(double a, double b)
{
    if (a == b ||
        (isfinite(a) && isfinite(b) && fabs(a - b) <= SEARCH_SAME * fmax(fabs(a), fabs(b))))
        return 0;
    return a < b ? -1 : 1;
}

bool plan_search_work_is_least(const struct search_work *work)
{
    const struct search_result *result = &work->result;
    return result->cost.over == 0 && result->cost.lack == 0 &&
           result->cost.time_ns <= result->bound_ns * (1 + fmax(work->problem->same, SEARCH_SAME));
}

int plan_search_work_compare(const struct search_cost *a, const struct search_cost *b)
{
    int order = (a->over > b->over) - (a->over < b->over);
    order = order != 0 ? order : compare(a->lack, b->lack);
    order = order != 0 ? order : compare(a->time_ns, b->time_ns);
    order = order != 0 ? order : compare(a->apart, b->apart);
    order = order != 0 ? order : compare(a->sum_ns, b->sum_ns);
    return order != 0 ? order : compare(a->far, b->far);
}

void plan_search_in_order(size_t slots, size_t gpus, uint16_t *ret_slot)
{
    size_t b = 0;
    for (size_t s = 0; s < slots; s++)
        for (size_t i = 0; i < gpus / slots + (s < gpus % slots); i++)
            ret_slot[b++] = (uint16_t)s;
}

struct search_cost plan_search_work_cost(struct search_work *work, const uint16_t *slot)
{
    struct search_cost cost = plan_search_work_bound(work, slot).cost,
                       priced = work->problem->price(work->problem->context, slot);
    cost.lack = priced.lack;
    cost.time_ns = priced.time_ns;
    cost.sum_ns = priced.sum_ns;
    work->result.priced++;
    return cost;
}

/* True when the slots are lower than the best's. */
static bool is_lower(const struct search_work *work, const uint16_t *slot)
{
    size_t b = 0;
    while (b < work->gpus && slot[b] == work->best[b])
        b++;
    return b < work->gpus && slot[b] < work->best[b];
}

int plan_search_work_try(struct search_work *work, const uint16_t *slot)
{
    struct search_cost cost = plan_search_work_cost(work, slot);
    int order = plan_search_work_compare(&cost, &work->result.cost);
    if (order < 0 || (order == 0 && is_lower(work, slot))) {
        memcpy(work->best, slot, work->gpus * sizeof *slot);
        work->result.cost = cost;
    }
    return order;
}
