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
    work->result.cost = (struct search_cost){INFINITY, INFINITY, INFINITY, INFINITY};
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
    if (a == b || (isfinite(a) && isfinite(b) && fabs(a - b) <= SEARCH_SAME * fmax(fabs(a), fabs(b))))
        return 0;
    return a < b ? -1 : 1;
}

int plan_search_work_compare(const struct search_cost *a, const struct search_cost *b)
{
    int order = compare(a->time_ns, b->time_ns);
    if (order == 0)
        order = compare(a->apart, b->apart);
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

void plan_search_work_far(const struct search_problem *problem, const uint16_t *slot, struct search_cost *ret)
{
    ret->far = ret->apart = 0;
    for (size_t b = 0; b < problem->tasks * problem->each; b++) {
        ret->far += problem->far[slot[b]];
        for (size_t other = b - b % problem->each; other < b; other++)
            ret->apart += problem->apart[slot[other] * problem->slots + slot[b]];
    }
}

void plan_search_work_order(const struct search_problem *problem, uint16_t *ret_slot)
{
    size_t berths = problem->tasks * problem->each, least = berths / problem->slots, more = berths % problem->slots, b = 0;
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
    cost.time_ns = fmax(cost.time_ns, work->floor_ns);
    plan_search_work_far(work->problem, slot, &cost);
    work->result.priced++;
    int order = plan_search_work_compare(&cost, &work->result.cost);
    if (order < 0 || (order == 0 && compare_slots(slot, work->best, work->berths) < 0)) {
        memcpy(work->best, slot, work->berths * sizeof *slot);
        work->result.cost = cost;
    }
    return order;
}

static size_t task_of(const struct search_problem *problem, int32_t berth) { return berth < 0 ? SIZE_MAX : (size_t)berth / problem->each; }

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
        for (size_t i = work->first[tasks[t] * problem->each]; i < work->first[(tasks[t] + 1) * problem->each]; i++) {
            const struct search_flow *flow = &problem->flow[work->touching[i]];
            struct search_flow image = {flow->kind, swapped(problem, flow->from, a, b), swapped(problem, flow->to, a, b)};
            if (!has_flow(work, &image))
                return false;
        }
    return true;
}

/* ---- what no choice is below ---- */

struct bounds {
    const struct search_work *work;
    double *least_out, *least_in; /* by kind and slot: the least from it and to it, alone; equal where something outside is the other end */
    double *least_load;           /* by resource and berth: what its flows with something outside put there from any slot where they do, INFINITY none */
    unsigned char *is_user;       /* by resource and slot: such a flow uses it */
    double *load;                 /* by resource, for one berth on one slot */
};

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void find_least(struct bounds *bounds)
{
    const struct search_problem *problem = bounds->work->problem;
    size_t n = problem->slots;
    for (size_t f = 0; f < problem->flow_count; f++) {
        const struct search_flow *flow = &problem->flow[f];
        double *out = bounds->least_out + flow->kind * n, *in = bounds->least_in + flow->kind * n;
        if (out[0] >= 0) /* done */
            continue;
        for (size_t s = 0; s < n; s++) {
            out[s] = in[s] = flow->to < 0 ? problem->arc[(flow->kind * n + s) * n + s].alone_ns : INFINITY;
            for (size_t other = 0; flow->to >= 0 && other < n; other++)
                if (other != s || problem->share > 1) {
                    out[s] = fmin(out[s], problem->arc[(flow->kind * n + s) * n + other].alone_ns);
                    in[s] = fmin(in[s], problem->arc[(flow->kind * n + other) * n + s].alone_ns);
                }
        }
    }
}

static void load_berth(struct bounds *bounds, size_t berth, size_t slot)
{
    const struct search_work *work = bounds->work;
    const struct search_problem *problem = work->problem;
    memset(bounds->load, 0, problem->resources * sizeof *bounds->load);
    for (size_t i = work->first[berth]; i < work->first[berth + 1]; i++) {
        const struct search_flow *flow = &problem->flow[work->touching[i]];
        const struct search_arc *arc = &problem->arc[(flow->kind * problem->slots + slot) * problem->slots + slot];
        for (uint32_t u = 0; flow->to < 0 && u < arc->use_count; u++)
            bounds->load[problem->use[arc->use + u].resource] += problem->use[arc->use + u].ns;
    }
    for (size_t r = 0; r < problem->resources; r++)
        if (bounds->load[r] > 0) {
            double *least = &bounds->least_load[r * work->berths + berth];
            *least = fmin(*least, bounds->load[r]);
            bounds->is_user[r * problem->slots + slot] = 1;
        }
}

/* Where not all berths find a slot that leaves the resource alone, the others use it: at least those that use it least. */
static double forced(const struct bounds *bounds, size_t resource)
{
    const struct search_work *work = bounds->work;
    double *least = bounds->least_load + resource * work->berths, load = 0;
    size_t outside = 0;
    for (size_t s = 0; s < work->problem->slots; s++)
        outside += bounds->is_user[resource * work->problem->slots + s] ? 0 : work->fullest;
    if (outside >= work->berths)
        return 0;
    for (size_t b = 0; b < work->berths; b++)
        least[b] = isinf(least[b]) ? 0 : least[b];
    qsort(least, work->berths, sizeof *least, compare_doubles);
    for (size_t i = 0; i < work->berths - outside; i++)
        load += least[i];
    return load;
}

/* Where every slot is taken, so is the worst: the least of what any berth needs from it or to it. */
static double worst_slot(const struct bounds *bounds)
{
    const struct search_work *work = bounds->work;
    const struct search_problem *problem = work->problem;
    double bound = 0;
    for (size_t s = 0; s < problem->slots; s++) {
        double of_slot = INFINITY;
        for (size_t b = 0; b < work->berths; b++) {
            double of_berth = 0;
            for (size_t i = work->first[b]; i < work->first[b + 1]; i++) {
                const struct search_flow *flow = &problem->flow[work->touching[i]];
                const double *least = flow->from == (int32_t)b ? bounds->least_out : bounds->least_in;
                of_berth = fmax(of_berth, least[flow->kind * problem->slots + s]);
            }
            of_slot = fmin(of_slot, of_berth);
        }
        bound = fmax(bound, of_slot);
    }
    return bound;
}

static double find_bound(struct bounds *bounds)
{
    const struct search_work *work = bounds->work;
    const struct search_problem *problem = work->problem;
    double bound = 0;
    for (size_t i = 0; i < problem->kinds * problem->slots; i++)
        bounds->least_out[i] = -1;
    for (size_t i = 0; i < problem->resources * work->berths; i++)
        bounds->least_load[i] = INFINITY;
    find_least(bounds);
    for (size_t f = 0; f < problem->flow_count; f++) {
        double least = INFINITY;
        for (size_t s = 0; s < problem->slots; s++)
            least = fmin(least, bounds->least_out[problem->flow[f].kind * problem->slots + s]);
        bound = fmax(bound, isinf(least) ? 0 : least);
    }
    for (size_t b = 0; b < work->berths; b++)
        for (size_t s = 0; s < problem->slots; s++)
            load_berth(bounds, b, s);
    for (size_t r = 0; r < problem->resources; r++)
        bound = fmax(bound, forced(bounds, r));
    return work->berths == problem->slots && problem->slots > 1 ? fmax(bound, worst_slot(bounds)) : bound;
}

bool plan_search_work_bound(struct search_work *work)
{
    const struct search_problem *problem = work->problem;
    struct bounds bounds = {.work = work};
    bounds.least_out = calloc(problem->kinds * problem->slots + 1, sizeof *bounds.least_out);
    bounds.least_in = calloc(problem->kinds * problem->slots + 1, sizeof *bounds.least_in);
    bounds.least_load = calloc(problem->resources * work->berths + 1, sizeof *bounds.least_load);
    bounds.is_user = calloc(problem->resources * problem->slots + 1, sizeof *bounds.is_user);
    bounds.load = calloc(problem->resources + 1, sizeof *bounds.load);
    bool ok = bounds.least_out != NULL && bounds.least_in != NULL && bounds.least_load != NULL && bounds.is_user != NULL && bounds.load != NULL;
    if (ok)
        work->result.bound_ns = find_bound(&bounds);
    free(bounds.least_out);
    free(bounds.least_in);
    free(bounds.least_load);
    free(bounds.is_user);
    free(bounds.load);
    return ok;
}

bool plan_search_work_is_least(const struct search_work *work) { return work->result.cost.time_ns <= work->result.bound_ns * (1 + SEARCH_SAME); }
