#include "plan_search_bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct bounds {
    const struct search_work *work;
    double *least_out, *least_in; /* by kind and slot: the least from it and to it, alone; equal where something outside is the other end */
    double *least_apart;          /* by kind: the least between two slots */
    double *least_load;           /* by resource and berth: what its flows with something outside put there from any slot where they do, INFINITY none */
    unsigned char *is_user;       /* by resource and slot: such a flow uses it */
    double *load;                 /* by resource, for one berth on one slot */
    size_t *busiest;              /* by slot: the resource on which such flows put most from there; NO_RESOURCE none */
    double *busiest_ns;           /* by slot */
    double *sorted;               /* room for every berth, and for every slot's tasks */
};

#define NO_RESOURCE SIZE_MAX

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
        bounds->least_apart[flow->kind] = INFINITY;
        for (size_t i = 0; i < n * n && flow->to >= 0; i++)
            if (i / n != i % n)
                bounds->least_apart[flow->kind] = plan_search_work_less(bounds->least_apart[flow->kind], problem->arc[flow->kind * n * n + i].alone_ns);
        for (size_t s = 0; s < n; s++) {
            out[s] = in[s] = flow->to < 0 ? problem->arc[(flow->kind * n + s) * n + s].alone_ns : INFINITY;
            for (size_t other = 0; flow->to >= 0 && other < n; other++)
                if (other != s || problem->share > 1) {
                    out[s] = plan_search_work_less(out[s], problem->arc[(flow->kind * n + s) * n + other].alone_ns);
                    in[s] = plan_search_work_less(in[s], problem->arc[(flow->kind * n + other) * n + s].alone_ns);
                }
        }
    }
}

/* What the berth's flows with something outside put on each resource from there. */
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
}

static void note_load(struct bounds *bounds, size_t berth, size_t slot)
{
    const struct search_work *work = bounds->work;
    const struct search_problem *problem = work->problem;
    load_berth(bounds, berth, slot);
    for (size_t r = 0; r < problem->resources; r++)
        if (bounds->load[r] > 0) {
            double *least = &bounds->least_load[r * work->berths + berth];
            *least = plan_search_work_less(*least, bounds->load[r]);
            bounds->is_user[r * problem->slots + slot] = 1;
            if (bounds->load[r] > bounds->busiest_ns[slot]) {
                bounds->busiest_ns[slot] = bounds->load[r];
                bounds->busiest[slot] = r;
            }
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

/* The least that each berth puts on the resource from any of the slots of which it is the busiest, ascending, in sorted; how many tasks those slots have room for. */
static size_t sort_crowd(struct bounds *bounds, size_t resource)
{
    const struct search_work *work = bounds->work;
    size_t room = 0;
    for (size_t b = 0; b < work->berths; b++) {
        bounds->sorted[b] = INFINITY;
        for (size_t s = 0; s < work->problem->slots; s++) {
            if (bounds->busiest[s] != resource)
                continue;
            room += b == 0 ? work->fullest : 0;
            load_berth(bounds, b, s);
            bounds->sorted[b] = plan_search_work_less(bounds->sorted[b], bounds->load[resource]);
        }
    }
    qsort(bounds->sorted, work->berths, sizeof *bounds->sorted, compare_doubles);
    return room < work->berths ? room : work->berths;
}

/* Slots that share their busiest resource hold only as many berths as it has time for. All berths need a slot: when the most patient have theirs, the last one does not
 * find one in less than this. */
static double crowded(struct bounds *bounds)
{
    const struct search_work *work = bounds->work;
    const struct search_problem *problem = work->problem;
    double *when = bounds->sorted + work->berths; /* the time from which on each place in a crowd can be had */
    size_t places = 0;
    for (size_t s = 0; s < problem->slots; s++) {
        size_t resource = bounds->busiest[s];
        bool is_first = resource != NO_RESOURCE;
        for (size_t before = 0; before < s && is_first; before++)
            is_first = bounds->busiest[before] != resource;
        if (resource == NO_RESOURCE)
            for (size_t i = 0; i < work->fullest; i++)
                when[places++] = 0;
        if (!is_first)
            continue;
        size_t room = sort_crowd(bounds, resource);
        double load = 0;
        for (size_t i = 0; i < room; i++) {
            load += bounds->sorted[i];
            when[places++] = load;
        }
    }
    if (places < work->berths)
        return 0;
    qsort(when, places, sizeof *when, compare_doubles);
    return when[work->berths - 1];
}

/* Tasks that share slots: whom a task sends to beyond those that find room beside it are elsewhere. */
static double parted(struct bounds *bounds)
{
    const struct search_work *work = bounds->work;
    const struct search_problem *problem = work->problem;
    double bound = 0;
    for (size_t b = 0; b < work->berths; b++) {
        for (size_t other = 0; other < work->berths; other++)
            bounds->sorted[other] = 0;
        for (size_t i = work->first[b]; i < work->first[b + 1]; i++) {
            const struct search_flow *flow = &problem->flow[work->touching[i]];
            if (flow->to < 0)
                continue;
            double *with = &bounds->sorted[flow->from == (int32_t)b ? flow->to : flow->from];
            *with = plan_search_work_more(*with, bounds->least_apart[flow->kind]);
        }
        qsort(bounds->sorted, work->berths, sizeof *bounds->sorted, compare_doubles);
        bound = plan_search_work_more(bound, bounds->sorted[work->berths - work->fullest]);
    }
    return bound;
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
                of_berth = plan_search_work_more(of_berth, least[flow->kind * problem->slots + s]);
            }
            of_slot = plan_search_work_less(of_slot, of_berth);
        }
        bound = plan_search_work_more(bound, of_slot);
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
    for (size_t s = 0; s < problem->slots; s++)
        bounds->busiest[s] = NO_RESOURCE;
    for (size_t i = 0; i < problem->resources * work->berths; i++)
        bounds->least_load[i] = INFINITY;
    find_least(bounds);
    for (size_t f = 0; f < problem->flow_count; f++) {
        double least = INFINITY;
        for (size_t s = 0; s < problem->slots; s++)
            least = plan_search_work_less(least, bounds->least_out[problem->flow[f].kind * problem->slots + s]);
        bound = plan_search_work_more(bound, isinf(least) ? 0 : least);
    }
    for (size_t b = 0; b < work->berths; b++)
        for (size_t s = 0; s < problem->slots; s++)
            note_load(bounds, b, s);
    bound = plan_search_work_more(bound, crowded(bounds));
    if (work->fullest > 1 && problem->slots > 1)
        bound = plan_search_work_more(bound, parted(bounds));
    for (size_t r = 0; r < problem->resources; r++)
        bound = plan_search_work_more(bound, forced(bounds, r));
    return work->berths == problem->slots && problem->slots > 1 ? plan_search_work_more(bound, worst_slot(bounds)) : bound;
}

bool plan_search_bound(struct search_work *work)
{
    const struct search_problem *problem = work->problem;
    struct bounds bounds = {.work = work};
    bounds.least_out = calloc(problem->kinds * problem->slots + 1, sizeof *bounds.least_out);
    bounds.least_in = calloc(problem->kinds * problem->slots + 1, sizeof *bounds.least_in);
    bounds.least_load = calloc(problem->resources * work->berths + 1, sizeof *bounds.least_load);
    bounds.is_user = calloc(problem->resources * problem->slots + 1, sizeof *bounds.is_user);
    bounds.load = calloc(problem->resources + 1, sizeof *bounds.load);
    bounds.least_apart = calloc(problem->kinds + 1, sizeof *bounds.least_apart);
    bounds.busiest = calloc(problem->slots, sizeof *bounds.busiest);
    bounds.busiest_ns = calloc(problem->slots, sizeof *bounds.busiest_ns);
    bounds.sorted = calloc(work->berths + problem->slots * work->fullest, sizeof *bounds.sorted);
    bool ok = bounds.least_apart != NULL && bounds.busiest != NULL && bounds.busiest_ns != NULL && bounds.sorted != NULL && bounds.least_out != NULL && bounds.least_in != NULL && bounds.least_load != NULL && bounds.is_user != NULL && bounds.load != NULL;
    if (ok)
        work->result.bound_ns = find_bound(&bounds);
    free(bounds.least_out);
    free(bounds.least_in);
    free(bounds.least_load);
    free(bounds.is_user);
    free(bounds.load);
    free(bounds.least_apart);
    free(bounds.busiest);
    free(bounds.busiest_ns);
    free(bounds.sorted);
    return ok;
}
