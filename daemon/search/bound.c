#include "search/bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct bounds {
    const struct search_work *work;
    /* by kind and slot: the least from it and to it, alone; equal where something outside is the
     * other end */
    double *least_out, *least_in;
    double *least_apart;  /* by kind: the least between two slots */
    double *least_launch; /* by kind: the least of any of its arcs */
    unsigned *flows;      /* by berth, kind and enum way: how many it has */
    /* by kind, slot and direction: what flows between two slots use from there, or to there,
     * whichever slot the other one is; room for most_uses each */
    struct search_use *certain;
    size_t *certain_count; /* likewise */
    size_t most_uses;      /* of an arc */
    /* by resource and berth: what its flows put there from any slot where they do, INFINITY none;
     * of which flows of a berth is said where that is noted */
    double *least_load;
    unsigned *users; /* by resource and slot: berths whose flows use it from there */
    double *load;    /* by resource, for one berth on one slot; 0 but for touched */
    size_t *touched, touched_count;
    /* by slot: the resource on which flows put most from there; NO_RESOURCE none */
    size_t *busiest;
    double *busiest_ns; /* by slot */
    double *sorted;     /* room for every berth, and for every slot's tasks */
};

#define NO_RESOURCE SIZE_MAX

/* Of a berth's flows: with something outside, from it, to it. */
enum way { WITH_OUTSIDE, FROM_IT, TO_IT, WAYS };

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
        bounds->least_apart[flow->kind] = bounds->least_launch[flow->kind] = INFINITY;
        for (size_t from = 0; from < n; from++)
            for (size_t to = 0; to < n; to++) {
                const struct search_arc *arc = &problem->arc[(flow->kind * n + from) * n + to];
                if (flow->to < 0 ? from == to : from != to || problem->share > 1)
                    bounds->least_launch[flow->kind] =
                        plan_search_work_less(bounds->least_launch[flow->kind], arc->launch_ns);
                if (flow->to >= 0 && from != to)
                    bounds->least_apart[flow->kind] =
                        plan_search_work_less(bounds->least_apart[flow->kind], arc->alone_ns);
            }
        for (size_t s = 0; s < n; s++) {
            out[s] = in[s] =
                flow->to < 0 ? problem->arc[(flow->kind * n + s) * n + s].alone_ns : INFINITY;
            for (size_t other = 0; flow->to >= 0 && other < n; other++)
                if (other != s || problem->share > 1) {
                    out[s] = plan_search_work_less(
                        out[s], problem->arc[(flow->kind * n + s) * n + other].alone_ns);
                    in[s] = plan_search_work_less(
                        in[s], problem->arc[(flow->kind * n + other) * n + s].alone_ns);
                }
        }
    }
}

/* ---- what is certain of one berth on one slot ---- */

static void count_flows(struct bounds *bounds)
{
    const struct search_problem *problem = bounds->work->problem;
    for (size_t f = 0; f < problem->flow_count; f++) {
        const struct search_flow *flow = &problem->flow[f];
        bounds->flows[((size_t)flow->from * problem->kinds + flow->kind) * WAYS +
                      (flow->to < 0 ? WITH_OUTSIDE : FROM_IT)]++;
        if (flow->to >= 0)
            bounds->flows[((size_t)flow->to * problem->kinds + flow->kind) * WAYS + TO_IT]++;
    }
}

/* Those of them that the arc uses as well, with the less. */
static size_t keep_common(const struct search_problem *problem, const struct search_arc *arc,
                          struct search_use *common, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        double ns = 0;
        for (uint32_t u = 0; u < arc->use_count; u++)
            ns += problem->use[arc->use + u].resource == common[i].resource
                      ? problem->use[arc->use + u].ns
                      : 0;
        if (ns > 0)
            common[kept++] =
                (struct search_use){common[i].resource, plan_search_work_less(common[i].ns, ns)};
    }
    return kept;
}

/* Each resource that the arc uses, once. */
static size_t list_used(const struct search_problem *problem, const struct search_arc *arc,
                        struct search_use *ret)
{
    size_t count = 0;
    for (uint32_t u = 0; u < arc->use_count; u++) {
        uint16_t resource = problem->use[arc->use + u].resource;
        bool is_new = true;
        for (size_t i = 0; i < count && is_new; i++)
            is_new = ret[i].resource != resource;
        if (is_new)
            ret[count++] = (struct search_use){resource, INFINITY};
    }
    return count;
}

/* What any flow of the kind uses that is with that slot, but those that take so long alone that
 * whatever loads say is less. */
static void find_certain(struct bounds *bounds, size_t kind, size_t slot, enum way way,
                         double too_long)
{
    const struct search_problem *problem = bounds->work->problem;
    size_t n = problem->slots, at = (kind * n + slot) * WAYS + way, count = 0;
    struct search_use *common = bounds->certain + at * bounds->most_uses;
    bool any = false;
    for (size_t other = 0; other < n && (!any || count > 0); other++) {
        const struct search_arc *arc =
            &problem->arc[(kind * n + (way == FROM_IT ? slot : other)) * n +
                          (way == FROM_IT ? other : slot)];
        if (other == slot || arc->alone_ns >= too_long)
            continue;
        count = keep_common(problem, arc, common, any ? count : list_used(problem, arc, common));
        any = true;
    }
    bounds->certain_count[at] = count;
}

/* More than all flows put on any resource. */
static double most_load(const struct search_problem *problem)
{
    double most = 0;
    for (size_t i = 0; i < problem->kinds * problem->slots * problem->slots; i++)
        for (uint32_t u = 0; u < problem->arc[i].use_count; u++)
            most = plan_search_work_more(most, problem->use[problem->arc[i].use + u].ns);
    return 2 * most * (double)(problem->flow_count + 1);
}

/* Nothing, where tasks share slots: flows between those on one slot use nothing. */
static void find_all_certain(struct bounds *bounds)
{
    const struct search_problem *problem = bounds->work->problem;
    double too_long = most_load(problem);
    for (size_t kind = 0; kind < problem->kinds && problem->share <= 1; kind++) {
        bool is_between = false;
        for (size_t b = 0; b < bounds->work->berths && !is_between; b++)
            is_between = bounds->flows[(b * problem->kinds + kind) * WAYS + FROM_IT] > 0;
        for (size_t slot = 0; slot < problem->slots && is_between; slot++) {
            find_certain(bounds, kind, slot, FROM_IT, too_long);
            find_certain(bounds, kind, slot, TO_IT, too_long);
        }
    }
}

static void put(struct bounds *bounds, const struct search_use *use, unsigned flows)
{
    if (!(use->ns > 0))
        return;
    if (bounds->load[use->resource] == 0)
        bounds->touched[bounds->touched_count++] = use->resource;
    bounds->load[use->resource] += flows * use->ns;
}

/* What the berth's flows of that way put on each resource from there, at least, beside what is
 * there. */
static void add_load(struct bounds *bounds, size_t berth, size_t slot, enum way way)
{
    const struct search_problem *problem = bounds->work->problem;
    for (size_t kind = 0; kind < problem->kinds; kind++) {
        unsigned flows = bounds->flows[(berth * problem->kinds + kind) * WAYS + way];
        size_t at = (kind * problem->slots + slot) * WAYS + way;
        const struct search_arc *arc =
            &problem->arc[(kind * problem->slots + slot) * problem->slots + slot];
        for (uint32_t u = 0; flows > 0 && way == WITH_OUTSIDE && u < arc->use_count; u++)
            put(bounds, &problem->use[arc->use + u], flows);
        for (size_t i = 0; flows > 0 && way != WITH_OUTSIDE && i < bounds->certain_count[at]; i++)
            put(bounds, &bounds->certain[at * bounds->most_uses + i], flows);
    }
}

static void load_berth(struct bounds *bounds, size_t berth, size_t slot, enum way last)
{
    for (size_t i = 0; i < bounds->touched_count; i++)
        bounds->load[bounds->touched[i]] = 0;
    bounds->touched_count = 0;
    for (enum way way = WITH_OUTSIDE; way <= last; way++)
        add_load(bounds, berth, slot, way);
}

/* ---- all berths together ---- */

/* Of flows that have one owner: with something outside, and from it. */
static void note_load(struct bounds *bounds, size_t berth, size_t slot, enum way last)
{
    const struct search_work *work = bounds->work;
    load_berth(bounds, berth, slot, last);
    for (size_t i = 0; i < bounds->touched_count; i++) {
        size_t r = bounds->touched[i];
        double *least = &bounds->least_load[r * work->berths + berth];
        *least = plan_search_work_less(*least, bounds->load[r]);
        bounds->users[r * work->problem->slots + slot]++;
        if (bounds->load[r] > bounds->busiest_ns[slot]) {
            bounds->busiest_ns[slot] = bounds->load[r];
            bounds->busiest[slot] = r;
        }
    }
}

/* Where not all berths find a slot that leaves the resource alone, the others use it: at least
 * those that use it least. */
static double forced(const struct bounds *bounds, size_t resource)
{
    const struct search_work *work = bounds->work;
    double *least = bounds->least_load + resource * work->berths, load = 0;
    size_t outside = 0, loaders = 0;
    for (size_t b = 0; b < work->berths; b++)
        loaders += isfinite(least[b]);
    for (size_t s = 0; s < work->problem->slots; s++)
        outside += bounds->users[resource * work->problem->slots + s] < loaders || loaders == 0
                       ? work->fullest
                       : 0;
    if (outside >= work->berths)
        return 0;
    for (size_t b = 0; b < work->berths; b++)
        least[b] = isinf(least[b]) ? 0 : least[b];
    qsort(least, work->berths, sizeof *least, compare_doubles);
    for (size_t i = 0; i < work->berths - outside; i++)
        load += least[i];
    return load > 0 ? load + plan_search_work_start(work->problem, resource) : 0;
}

/* The least that each berth puts on the resource from any of the slots of which it is the busiest,
 * ascending, in sorted; how many tasks those slots have room for. */
static size_t sort_crowd(struct bounds *bounds, size_t resource, enum way last)
{
    const struct search_work *work = bounds->work;
    size_t room = 0;
    for (size_t b = 0; b < work->berths; b++) {
        bounds->sorted[b] = INFINITY;
        for (size_t s = 0; s < work->problem->slots; s++) {
            if (bounds->busiest[s] != resource)
                continue;
            room += b == 0 ? work->fullest : 0;
            load_berth(bounds, b, s, last);
            bounds->sorted[b] = plan_search_work_less(bounds->sorted[b], bounds->load[resource]);
        }
    }
    qsort(bounds->sorted, work->berths, sizeof *bounds->sorted, compare_doubles);
    return room < work->berths ? room : work->berths;
}

/* Slots that share their busiest resource hold only as many berths as it has time for. All berths
 * need a slot: when the most patient have theirs, the last one does not find one in less than this.
 */
static double crowded(struct bounds *bounds, enum way last)
{
    const struct search_work *work = bounds->work;
    const struct search_problem *problem = work->problem;
    /* the time from which on each place in a crowd can be had */
    double *when = bounds->sorted + work->berths;
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
        size_t room = sort_crowd(bounds, resource, last);
        double load = 0;
        for (size_t i = 0; i < room; i++) {
            load += bounds->sorted[i];
            when[places++] = load > 0 ? load + plan_search_work_start(problem, resource) : 0;
        }
    }
    if (places < work->berths)
        return 0;
    qsort(when, places, sizeof *when, compare_doubles);
    return when[work->berths - 1];
}

/* Tasks that share slots: whom a task sends to beyond those that find room beside it are elsewhere.
 */
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

/* Where every slot is taken, so is the worst: the least of what any berth needs from it or to it.
 */
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
                const double *least =
                    flow->from == (int32_t)b ? bounds->least_out : bounds->least_in;
                of_berth = plan_search_work_more(of_berth, least[flow->kind * problem->slots + s]);
            }
            of_slot = plan_search_work_less(of_slot, of_berth);
        }
        bound = plan_search_work_more(bound, of_slot);
    }
    return bound;
}

/* What all own flows of that way and before it need: of those with something outside, and then of
 * all, as the busiest resource may be another one. */
static double together(struct bounds *bounds, enum way last)
{
    const struct search_work *work = bounds->work;
    const struct search_problem *problem = work->problem;
    for (size_t s = 0; s < problem->slots; s++) {
        bounds->busiest[s] = NO_RESOURCE;
        bounds->busiest_ns[s] = 0;
    }
    for (size_t i = 0; i < problem->resources * work->berths; i++)
        bounds->least_load[i] = INFINITY;
    memset(bounds->users, 0, problem->resources * problem->slots * sizeof *bounds->users);
    for (size_t b = 0; b < work->berths; b++)
        for (size_t s = 0; s < problem->slots; s++)
            note_load(bounds, b, s, last);
    double bound = crowded(bounds, last);
    for (size_t r = 0; r < problem->resources; r++)
        bound = plan_search_work_more(bound, forced(bounds, r));
    return bound;
}

/* What one berth's flows put on one resource, wherever it is. */
static double of_one(struct bounds *bounds)
{
    const struct search_work *work = bounds->work;
    double bound = 0;
    for (size_t b = 0; b < work->berths; b++) {
        double least = INFINITY;
        for (size_t s = 0; s < work->problem->slots; s++) {
            double most = 0;
            load_berth(bounds, b, s, TO_IT);
            for (size_t i = 0; i < bounds->touched_count; i++)
                most = plan_search_work_more(
                    most, bounds->load[bounds->touched[i]] +
                              plan_search_work_start(work->problem, bounds->touched[i]));
            least = plan_search_work_less(least, most);
        }
        bound = plan_search_work_more(bound, least);
    }
    return bound;
}

static double find_bound(struct bounds *bounds)
{
    const struct search_work *work = bounds->work;
    const struct search_problem *problem = work->problem;
    double bound = problem->least_ns;
    for (size_t i = 0; i < problem->kinds * problem->slots; i++)
        bounds->least_out[i] = -1;
    find_least(bounds);
    count_flows(bounds);
    find_all_certain(bounds);
    for (size_t f = 0; f < problem->flow_count; f++) {
        const struct search_flow *flow = &problem->flow[f];
        double least = INFINITY;
        for (size_t s = 0; s < problem->slots; s++)
            least =
                plan_search_work_less(least, bounds->least_out[flow->kind * problem->slots + s]);
        bound = plan_search_work_more(
            bound, isinf(least) ? 0 : least + flow->turn * bounds->least_launch[flow->kind]);
    }
    bound = plan_search_work_more(bound, of_one(bounds));
    bound = plan_search_work_more(bound, together(bounds, WITH_OUTSIDE));
    bound = plan_search_work_more(bound, together(bounds, FROM_IT));
    if (work->fullest > 1 && problem->slots > 1)
        bound = plan_search_work_more(bound, parted(bounds));
    return work->berths == problem->slots && problem->slots > 1
               ? plan_search_work_more(bound, worst_slot(bounds))
               : bound;
}

static bool make(struct bounds *bounds)
{
    const struct search_work *work = bounds->work;
    const struct search_problem *problem = work->problem;
    size_t at_slots = problem->kinds * problem->slots;
    for (size_t i = 0; i < at_slots * problem->slots; i++)
        bounds->most_uses = problem->arc[i].use_count > bounds->most_uses
                                ? problem->arc[i].use_count
                                : bounds->most_uses;
    bounds->least_out = calloc(at_slots + 1, sizeof *bounds->least_out);
    bounds->least_in = calloc(at_slots + 1, sizeof *bounds->least_in);
    bounds->least_apart = calloc(problem->kinds + 1, sizeof *bounds->least_apart);
    bounds->least_launch = calloc(problem->kinds + 1, sizeof *bounds->least_launch);
    bounds->flows = calloc(work->berths * problem->kinds * WAYS + 1, sizeof *bounds->flows);
    bounds->certain = calloc(at_slots * WAYS * bounds->most_uses + 1, sizeof *bounds->certain);
    bounds->certain_count = calloc(at_slots * WAYS + 1, sizeof *bounds->certain_count);
    bounds->least_load = calloc(problem->resources * work->berths + 1, sizeof *bounds->least_load);
    bounds->users = calloc(problem->resources * problem->slots + 1, sizeof *bounds->users);
    bounds->load = calloc(problem->resources + 1, sizeof *bounds->load);
    bounds->touched = calloc(problem->resources + 1, sizeof *bounds->touched);
    bounds->busiest = calloc(problem->slots, sizeof *bounds->busiest);
    bounds->busiest_ns = calloc(problem->slots, sizeof *bounds->busiest_ns);
    bounds->sorted = calloc(work->berths + problem->slots * work->fullest, sizeof *bounds->sorted);
    return bounds->least_out != NULL && bounds->least_in != NULL && bounds->least_apart != NULL &&
           bounds->least_launch != NULL && bounds->flows != NULL && bounds->certain != NULL &&
           bounds->certain_count != NULL && bounds->least_load != NULL && bounds->users != NULL &&
           bounds->load != NULL && bounds->touched != NULL && bounds->busiest != NULL &&
           bounds->busiest_ns != NULL && bounds->sorted != NULL;
}

bool plan_search_bound(struct search_work *work)
{
    struct bounds bounds = {.work = work};
    bool ok = make(&bounds);
    if (ok)
        work->result.bound_ns = find_bound(&bounds);
    free(bounds.least_out);
    free(bounds.least_in);
    free(bounds.least_apart);
    free(bounds.least_launch);
    free(bounds.flows);
    free(bounds.certain);
    free(bounds.certain_count);
    free(bounds.least_load);
    free(bounds.users);
    free(bounds.load);
    free(bounds.touched);
    free(bounds.busiest);
    free(bounds.busiest_ns);
    free(bounds.sorted);
    return ok;
}
