#include "plan_search_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool plan_search_work_init(struct search_work *work, const struct search_problem *problem)
{
    size_t berths = problem->tasks * problem->each;
    *work = (struct search_work){.problem = problem, .berths = berths};
    work->fullest = (berths + problem->slots - 1) / problem->slots;
    work->full = berths - (work->fullest - 1) * problem->slots;
    work->result.cost = (struct search_cost){INFINITY, INFINITY, INFINITY};
    work->first = calloc(berths + 1, sizeof *work->first);
    work->touching = calloc(2 * problem->flow_count + 1, sizeof *work->touching);
    work->best = calloc(berths, sizeof *work->best);
    if (work->first == NULL || work->touching == NULL || work->best == NULL)
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
}

static int compare(double a, double b)
{
    if (fabs(a - b) <= SEARCH_SAME * fmax(fabs(a), fabs(b)) || a == b)
        return 0;
    return a < b ? -1 : 1;
}

int plan_search_work_compare(const struct search_cost *a, const struct search_cost *b)
{
    int order = compare(a->time_ns, b->time_ns);
    if (order == 0)
        order = compare(a->sum_ns, b->sum_ns);
    return order != 0 ? order : compare(a->far, b->far);
}

const struct search_arc *plan_search_work_arc(const struct search_problem *problem, const struct search_flow *flow, const uint16_t *slot)
{
    size_t from = slot[flow->from], to = flow->to < 0 ? from : slot[flow->to];
    return &problem->arc[(flow->kind * problem->slots + from) * problem->slots + to];
}

double plan_search_work_least(const struct search_problem *problem, const struct search_flow *flow)
{
    const struct search_arc *arc = &problem->arc[flow->kind * problem->slots * problem->slots];
    double least = INFINITY;
    for (size_t i = 0; i < problem->slots; i++)
        for (size_t j = 0; j < problem->slots; j++)
            if (flow->to < 0 ? i == j : i != j || problem->share > 1)
                least = fmin(least, arc[i * problem->slots + j].alone_ns);
    return isinf(least) ? 0 : least;
}

double plan_search_work_far(const struct search_problem *problem, const uint16_t *slot)
{
    double far = 0;
    for (size_t b = 0; b < problem->tasks * problem->each; b++) {
        far += problem->far[slot[b]];
        for (size_t other = b - b % problem->each; other < b; other++)
            far += problem->apart[slot[other] * problem->slots + slot[b]];
    }
    return far;
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
    cost.far = plan_search_work_far(work->problem, slot);
    work->result.priced++;
    int order = plan_search_work_compare(&cost, &work->result.cost);
    if (order < 0 || (order == 0 && compare_slots(slot, work->best, work->berths) < 0)) {
        memcpy(work->best, slot, work->berths * sizeof *slot);
        work->result.cost = cost;
    }
    return order;
}

/* The kinds of flows from berth to berth, and of those with something outside, are the same when a and b are each other. */
bool plan_search_work_same(const struct search_problem *problem, size_t a, size_t b)
{
    for (size_t f = 0; f < problem->flow_count; f++) {
        struct search_flow image = problem->flow[f];
        int32_t *const ends[] = {&image.from, &image.to};
        bool is_moved = false;
        for (int e = 0; e < 2; e++) {
            size_t task = *ends[e] < 0 ? SIZE_MAX : (size_t)*ends[e] / problem->each;
            if (task != a && task != b)
                continue;
            is_moved = true;
            *ends[e] = (int32_t)((task == a ? b : a) * problem->each + (size_t)*ends[e] % problem->each);
        }
        bool is_there = !is_moved;
        for (size_t g = 0; g < problem->flow_count && !is_there; g++)
            is_there = problem->flow[g].kind == image.kind && problem->flow[g].from == image.from && problem->flow[g].to == image.to;
        if (!is_there)
            return false;
    }
    return true;
}

/* ---- what no choice is below ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What berth puts on the resource from this slot by its flows with something outside. */
static double load_alone(const struct search_work *work, size_t berth, size_t slot, size_t resource)
{
    const struct search_problem *problem = work->problem;
    double load = 0;
    for (size_t i = work->first[berth]; i < work->first[berth + 1]; i++) {
        const struct search_flow *flow = &problem->flow[work->touching[i]];
        if (flow->to >= 0)
            continue;
        const struct search_arc *arc = &problem->arc[(flow->kind * problem->slots + slot) * problem->slots + slot];
        for (uint32_t u = 0; u < arc->use_count; u++)
            if (problem->use[arc->use + u].resource == resource)
                load += problem->use[arc->use + u].ns;
    }
    return load;
}

/* Where not all berths find a slot that leaves the resource alone, the others use it: at least those that use it least. */
static double forced(const struct search_work *work, size_t resource, double *least)
{
    const struct search_problem *problem = work->problem;
    size_t outside = 0;
    double load = 0;
    for (size_t b = 0; b < work->berths; b++)
        least[b] = INFINITY;
    for (size_t s = 0; s < problem->slots; s++) {
        bool is_user = false;
        for (size_t b = 0; b < work->berths; b++) {
            double of_berth = load_alone(work, b, s, resource);
            if (of_berth > 0) {
                is_user = true;
                least[b] = fmin(least[b], of_berth);
            }
        }
        outside += is_user ? 0 : work->fullest;
    }
    for (size_t b = 0; b < work->berths; b++)
        least[b] = isinf(least[b]) ? 0 : least[b];
    if (outside >= work->berths)
        return 0;
    qsort(least, work->berths, sizeof *least, compare_doubles);
    for (size_t i = 0; i < work->berths - outside; i++)
        load += least[i];
    return load;
}

/* Where every slot is taken, the slot whose best arc is worst has one: the least of what any berth needs from it or to it. */
static double worst_slot(const struct search_work *work)
{
    const struct search_problem *problem = work->problem;
    size_t n = problem->slots;
    double bound = 0;
    for (size_t s = 0; s < n; s++) {
        double of_slot = INFINITY;
        for (size_t b = 0; b < work->berths; b++) {
            double of_berth = 0;
            for (size_t i = work->first[b]; i < work->first[b + 1]; i++) {
                const struct search_flow *flow = &problem->flow[work->touching[i]];
                const struct search_arc *arc = &problem->arc[flow->kind * n * n];
                double least = flow->to < 0 ? arc[s * n + s].alone_ns : INFINITY;
                for (size_t other = 0; other < n && flow->to >= 0; other++)
                    if (other != s)
                        least = fmin(least, flow->from == (int32_t)b ? arc[s * n + other].alone_ns : arc[other * n + s].alone_ns);
                of_berth = fmax(of_berth, isinf(least) ? 0 : least);
            }
            of_slot = fmin(of_slot, of_berth);
        }
        bound = fmax(bound, of_slot);
    }
    return bound;
}

bool plan_search_work_bound(struct search_work *work)
{
    const struct search_problem *problem = work->problem;
    double bound = 0, *least = calloc(work->berths, sizeof *least);
    bool has_outside = false;
    if (least == NULL)
        return false;
    for (size_t f = 0; f < problem->flow_count; f++) {
        has_outside |= problem->flow[f].to < 0;
        bool is_new = true;
        for (size_t g = f > 8 ? f - 8 : 0; g < f; g++)
            is_new = is_new && problem->flow[g].kind != problem->flow[f].kind;
        if (is_new)
            bound = fmax(bound, plan_search_work_least(problem, &problem->flow[f]));
    }
    for (size_t r = 0; has_outside && r < problem->resources; r++)
        bound = fmax(bound, forced(work, r, least));
    if (work->berths == problem->slots && problem->share == 1)
        bound = fmax(bound, worst_slot(work));
    free(least);
    work->result.bound_ns = bound;
    return true;
}
