#include "search/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* by the prices of one search: what bounds its time where one price is long, as that of a thousand
 * flows of different sizes is */
#define LOOKED_MAX 6e6

bool plan_search_work_init(struct search_work *work, const struct search_problem *problem)
{
    size_t berths = problem->tasks * problem->each;
    *work = (struct search_work){.problem = problem, .berths = berths};
    work->fullest = (berths + problem->slots - 1) / problem->slots;
    work->full = berths - (work->fullest - 1) * problem->slots;
    work->result.cost =
        (struct search_cost){INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, SIZE_MAX, 0};
    work->first = calloc(berths + 1, sizeof *work->first);
    work->touching = calloc(2 * problem->flow_count + 1, sizeof *work->touching);
    work->best = calloc(berths, sizeof *work->best);
    work->outside = calloc(berths, sizeof *work->outside);
    if (work->first == NULL || work->touching == NULL || work->best == NULL ||
        work->outside == NULL)
        return false;
    size_t used = 0;
    /* Counting sort by berth. */
    size_t *at = calloc(berths + 1, sizeof *at);
    if (at == NULL)
        return false;
    for (size_t f = 0; f < problem->flow_count; f++) {
        at[problem->flow[f].from]++;
        if (problem->flow[f].to >= 0)
            at[problem->flow[f].to]++;
        work->outside[problem->flow[f].from] += problem->flow[f].to < 0;
    }
    for (size_t b = 0; b <= berths; b++) {
        size_t count = at[b];
        work->first[b] = at[b] = used;
        used += count;
    }
    for (size_t f = 0; f < problem->flow_count; f++) {
        work->touching[at[problem->flow[f].from]++] = (uint32_t)f;
        if (problem->flow[f].to >= 0)
            work->touching[at[problem->flow[f].to]++] = (uint32_t)f;
    }
    free(at);
    return true;
}

void plan_search_work_done(struct search_work *work)
{
    free(work->first);
    free(work->touching);
    free(work->best);
    free(work->outside);
}

static int compare(double a, double b)
{
    if (a == b ||
        (isfinite(a) && isfinite(b) && fabs(a - b) <= SEARCH_SAME * fmax(fabs(a), fabs(b))))
        return 0;
    return a < b ? -1 : 1;
}

int plan_search_work_compare(const struct search_cost *a, const struct search_cost *b)
{
    if (a->over != b->over)
        return a->over < b->over ? -1 : 1;
    int order = compare(a->time_ns, b->time_ns);
    if (order == 0)
        order = compare(a->apart, b->apart);
    if (order == 0)
        order = compare(a->sum_ns, b->sum_ns);
    if (order == 0)
        order = compare(a->far, b->far);
    return order != 0 ? order : compare(a->crowd, b->crowd);
}

double plan_search_work_least(const struct search_problem *problem, const struct search_flow *flow)
{
    const struct search_arc *arc = &problem->arc[flow->kind * problem->slots * problem->slots];
    double least = INFINITY;
    for (size_t i = 0; i < problem->slots; i++)
        for (size_t j = 0; j < problem->slots; j++)
            if (flow->to < 0 ? i == j : i != j || problem->share > 1)
                least = plan_search_work_less(
                    least, plan_search_work_alone(flow, &arc[i * problem->slots + j]));
    return isinf(least) ? 0 : least;
}

size_t plan_search_work_in_unit(const struct search_problem *problem, const uint16_t *slot,
                                size_t tasks, uint16_t unit)
{
    size_t count = 0;
    for (size_t t = 0; t < tasks; t++)
        count += problem->unit[slot[t * problem->each]] == unit;
    return count;
}

/* Each task that finds its unit full is one. */
static size_t count_over(const struct search_problem *problem, const uint16_t *slot)
{
    size_t in_unit[SEARCH_SLOTS_MAX] = {0}, over = 0;
    for (size_t t = 0; problem->most != NULL && t < problem->tasks; t++) {
        uint16_t unit = problem->unit[slot[t * problem->each]];
        over += unit != SEARCH_ANYWHERE && in_unit[unit]++ >= problem->most[unit];
    }
    return over;
}

/* Flows with something outside, weighed by what the slots that they are at share on the way. */
static double crowd_of(const struct search_problem *problem, const uint16_t *slot)
{
    double crowd = 0;
    size_t here[SEARCH_SLOTS_MAX] = {0};
    for (size_t f = 0; problem->meet != NULL && f < problem->flow_count; f++)
        if (problem->flow[f].to < 0)
            here[slot[problem->flow[f].from]]++;
    for (size_t a = 0; problem->meet != NULL && a < problem->slots; a++)
        for (size_t b = 0; here[a] > 0 && b < a; b++)
            crowd += (double)(here[a] * here[b]) * problem->meet[a * problem->slots + b];
    return crowd;
}

void plan_search_work_far(const struct search_problem *problem, const uint16_t *slot,
                          struct search_cost *ret)
{
    ret->far = ret->apart = 0;
    ret->over = count_over(problem, slot);
    ret->crowd = crowd_of(problem, slot);
    for (size_t b = 0; b < problem->tasks * problem->each; b++) {
        ret->far += problem->far[slot[b]];
        for (size_t other = b - b % problem->each; other < b; other++)
            ret->apart += problem->apart[slot[other] * problem->slots + slot[b]];
    }
}

void plan_search_work_order(const struct search_problem *problem, uint16_t *ret_slot)
{
    size_t berths = problem->tasks * problem->each, least = berths / problem->slots,
           more = berths % problem->slots, b = 0;
    for (size_t s = 0; s < problem->slots; s++)
        for (size_t i = 0; i < least + (s < more); i++)
            ret_slot[b++] = (uint16_t)s;
}

/* Less than 0: a has the lower numbers. */
static int compare_slots(const uint16_t *a, const uint16_t *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

int plan_search_work_try(struct search_work *work, const uint16_t *slot)
{
    struct search_cost cost = work->problem->price(work->problem->context, slot);
    plan_search_work_far(work->problem, slot, &cost);
    work->result.priced++;
    work->looked += cost.looked;
    int order = plan_search_work_compare(&cost, &work->result.cost);
    if (order < 0 || (order == 0 && compare_slots(slot, work->best, work->berths) < 0)) {
        memcpy(work->best, slot, work->berths * sizeof *slot);
        work->result.cost = cost;
    }
    return order;
}

static size_t task_of(const struct search_problem *problem, int32_t berth)
{
    return berth < 0 ? SIZE_MAX : (size_t)berth / problem->each;
}

/* The berth that this one becomes when tasks a and b change places. */
static int32_t swapped(const struct search_problem *problem, int32_t berth, size_t a, size_t b)
{
    size_t task = task_of(problem, berth);
    if (task != a && task != b)
        return berth;
    return (int32_t)((task == a ? b : a) * problem->each + (size_t)berth % problem->each);
}

static bool has_flow(const struct search_work *work, const struct search_flow *wanted)
{
    for (size_t i = work->first[wanted->from]; i < work->first[wanted->from + 1]; i++) {
        const struct search_flow *flow = &work->problem->flow[work->touching[i]];
        if (flow->kind == wanted->kind && flow->from == wanted->from && flow->to == wanted->to)
            return true;
    }
    return false;
}

bool plan_search_work_same(const struct search_work *work, size_t a, size_t b)
{
    const struct search_problem *problem = work->problem;
    const size_t tasks[] = {a, b};
    for (int t = 0; t < 2; t++)
        for (size_t i = work->first[tasks[t] * problem->each];
             i < work->first[(tasks[t] + 1) * problem->each]; i++) {
            const struct search_flow *flow = &problem->flow[work->touching[i]];
            struct search_flow image = {.kind = flow->kind,
                                        .from = swapped(problem, flow->from, a, b),
                                        .to = swapped(problem, flow->to, a, b)};
            if (!has_flow(work, &image))
                return false;
        }
    return true;
}

bool plan_search_work_is_least(const struct search_work *work)
{
    return work->result.cost.over == 0 &&
           work->result.cost.time_ns <= work->result.bound_ns * (1 + SEARCH_SAME);
}

bool plan_search_work_is_spent(const struct search_work *work) { return work->looked > LOOKED_MAX; }
