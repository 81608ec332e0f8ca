#include "plan/bind/cpu_exchange.h"

#include <stdlib.h>
#include <string.h>

#include "node/locality.h"
#include "search/search.h"

#define ARCS_MAX ((size_t)1 << 21) /* a larger search is not worth its memory */

static bool is_between(const struct traffic_flow *flow) { return flow->from >= 0 && flow->to >= 0; }

static size_t group_of(const struct graph *graph, const struct bind_cores *cores, place_id core)
{
    size_t g = 0;
    while (g < cores->group_count &&
           locality_above(graph, core, graph_place(graph, cores->group[g].place)->kind) !=
               cores->group[g].place)
        g++;
    return g;
}

/* Takes the values of one metric: latencies (the longest counts) or rates (the lowest). */
static void add_values(const struct snapshot *snap, enum metric metric, const char *axes,
                       struct cpu_exchange *exchange)
{
    size_t groups = exchange->cores->group_count;
    const struct value *item = NULL;
    size_t count = values_range(snap->values, metric, PLACE_NONE, &item);
    for (size_t i = 0; i < count; i++) {
        size_t from = group_of(snap->graph, exchange->cores, item[i].from),
               to = group_of(snap->graph, exchange->cores, item[i].to);
        if (!(item[i].value > 0) || item[i].from == item[i].to || from == groups || to == groups ||
            strcmp(values_axes(snap->values, &item[i]), axes) != 0)
            continue;
        struct exchange_path *path = &exchange->path[from * groups + to];
        const struct value **slowest = metric == METRIC_CPU_PINGPONG ? &path->latency : &path->rate;
        if (*slowest == NULL || (metric == METRIC_CPU_PINGPONG ? item[i].value > (*slowest)->value
                                                               : item[i].value < (*slowest)->value))
            *slowest = &item[i];
    }
}

enum berth_code cpu_exchange_init(const struct snapshot *snap, const struct traffic *traffic,
                                  const struct bind_cores *cores, size_t tasks,
                                  struct cpu_exchange *ret, struct berth_err *err)
{
    size_t groups = cores->group_count;
    *ret =
        (struct cpu_exchange){traffic, cores, tasks, 0, calloc(groups * groups, sizeof *ret->path)};
    if (ret->path == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the flows of tasks");
    for (size_t i = 0; traffic != NULL && i < traffic->count; i++)
        ret->flows += is_between(&traffic->flow[i]);
    if (ret->flows == 0)
        return BERTH_OK;
    for (size_t i = 0; i < groups * groups; i++)
        ret->path[i].distance =
            locality_distance(snap, cores->group[i / groups].place, cores->group[i % groups].place);
    add_values(snap, METRIC_CPU_PINGPONG, "", ret);
    add_values(snap, METRIC_CPU_COPY, "", ret);
    add_values(snap, METRIC_CPU_QUEUE, "", ret);
    add_values(snap, METRIC_CPU_QUEUE, "side=reader", ret);
    return BERTH_OK;
}

void cpu_exchange_done(struct cpu_exchange *exchange)
{
    free(exchange->path);
    *exchange = (struct cpu_exchange){0};
}

/* ---- time ---- */

/* By task its first core, which the caller frees; NULL when out of memory. */
static const struct bind_core **first_cores(const struct cpu_exchange *exchange,
                                            const struct bind_task *task)
{
    const struct bind_cores *cores = exchange->cores;
    const struct bind_core **first = calloc(exchange->tasks, sizeof *first);
    for (size_t t = 0; first != NULL && t < exchange->tasks; t++) {
        first[t] = cores->core;
        while (first[t] + 1 < cores->core + cores->count &&
               !cpuset_intersects(&first[t]->use, &task[t].cpus))
            first[t]++;
    }
    return first;
}

static const struct exchange_path *path_between(const struct cpu_exchange *exchange,
                                                const struct bind_core *from,
                                                const struct bind_core *to)
{
    return &exchange->path[from->group * exchange->cores->group_count + to->group];
}

static double time_of(const struct exchange_path *path, double bytes)
{
    return path->latency == NULL ? NAN
                                 : path->latency->value / 2 +
                                       (path->rate != NULL ? bytes * 1e9 / path->rate->value : 0);
}

static bool is_of(const struct value *value, const struct bind_core *from,
                  const struct bind_core *to)
{
    return value->source == VALUE_MEASURED && value->from == from->id && value->to == to->id;
}

static enum source source_of(const struct cpu_exchange *exchange, const struct exchange_path *path,
                             const struct bind_core *from, const struct bind_core *to)
{
    if (path->latency == NULL || path->rate == NULL)
        return SOURCE_LOWER_BOUND;
    return exchange->flows == 1 && is_of(path->latency, from, to) && is_of(path->rate, from, to)
               ? SOURCE_MEASURED
               : SOURCE_SIMILAR_PAIR;
}

/* What a task's flows take one after the other, and the longest of them. */
struct busy {
    double ns, longest_ns;
    const struct traffic_flow *longest;
};

enum berth_code cpu_exchange_time(const struct cpu_exchange *exchange, const struct bind_task *task,
                                  struct exchange_time *ret, struct berth_err *err)
{
    *ret = (struct exchange_time){.time = {.low_ns = NAN, .high_ns = NAN}};
    if (exchange->flows == 0)
        return BERTH_OK;
    struct busy *busy = calloc(exchange->tasks, sizeof *busy), *busiest = busy;
    const struct bind_core **core = first_cores(exchange, task);
    bool ok = busy != NULL && core != NULL;
    for (size_t i = 0; ok && i < exchange->traffic->count; i++) {
        const struct traffic_flow *flow = &exchange->traffic->flow[i];
        if (!is_between(flow))
            continue;
        const struct bind_core *from = core[flow->from], *to = core[flow->to];
        const struct exchange_path *path = path_between(exchange, from, to);
        double ns = time_of(path, flow->bytes);
        ret->time.source = estimate_worse(ret->time.source, source_of(exchange, path, from, to));
        ret->distance += flow->bytes * path->distance;
        for (int end = 0; end < 2; end++) {
            struct busy *its = &busy[end == 0 ? flow->from : flow->to];
            its->ns += ns;
            its->longest = ns > its->longest_ns ? flow : its->longest;
            its->longest_ns = fmax(ns, its->longest_ns);
        }
    }
    for (size_t t = 0; ok && t < exchange->tasks; t++)
        busiest = isnan(busiest->ns) || busy[t].ns <= busiest->ns ? busiest : &busy[t];
    if (ok) {
        ret->time.time_ns = busiest->ns;
        ret->time.low_ns = ret->time.source == SOURCE_LOWER_BOUND ? busiest->ns : NAN;
        ret->longest = busiest->longest;
    }
    if (ok && ret->longest != NULL)
        ret->path = *path_between(exchange, core[ret->longest->from], core[ret->longest->to]);
    free(busy);
    free(core);
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for the flows of tasks");
}

static size_t root_of(const size_t *family, size_t task)
{
    while (family[task] != task)
        task = family[task];
    return task;
}

void cpu_exchange_families(const struct cpu_exchange *exchange, size_t *ret)
{
    for (size_t t = 0; t < exchange->tasks; t++)
        ret[t] = t;
    for (size_t i = 0; exchange->flows > 0 && i < exchange->traffic->count; i++) {
        const struct traffic_flow *flow = &exchange->traffic->flow[i];
        if (!is_between(flow))
            continue;
        size_t a = root_of(ret, (size_t)flow->from), b = root_of(ret, (size_t)flow->to);
        ret[a > b ? a : b] = a < b ? a : b;
    }
    for (size_t t = 0; t < exchange->tasks; t++)
        ret[t] = root_of(ret, t);
}

/* ---- which task gets which cores ---- */

/* Each task's cores are a slot, and a resource that its flows use one after the other. */
struct assignment {
    struct search_problem problem;
    struct search_flow *flow;
    struct search_arc *arc;
    struct search_use *use;
    uint16_t *slot;
    double *zero, *busy, *bytes; /* by slot and slot; by slot; by kind */
};

static struct search_cost price(void *context, const uint16_t *slot)
{
    struct assignment *a = context;
    const struct search_problem *problem = &a->problem;
    size_t n = problem->slots;
    struct search_cost cost = {0};
    memset(a->busy, 0, n * sizeof *a->busy);
    for (size_t f = 0; f < problem->flow_count; f++) {
        size_t from = slot[a->flow[f].from], to = slot[a->flow[f].to];
        double ns = a->arc[(a->flow[f].kind * n + from) * n + to].alone_ns;
        a->busy[from] += ns;
        a->busy[to] += ns;
        cost.sum_ns += ns;
    }
    for (size_t s = 0; s < n; s++)
        cost.time_ns = fmax(cost.time_ns, a->busy[s]);
    return cost;
}

/* Flows of the same bytes are of one kind. */
static void find_kinds(const struct traffic *traffic, struct assignment *a)
{
    size_t flows = 0, *kinds = &a->problem.kinds;
    for (size_t i = 0; i < traffic->count; i++) {
        const struct traffic_flow *flow = &traffic->flow[i];
        size_t k = 0;
        if (!is_between(flow))
            continue;
        while (k < *kinds && a->bytes[k] != flow->bytes)
            k++;
        a->bytes[k] = flow->bytes;
        *kinds += k == *kinds;
        a->flow[flows++] =
            (struct search_flow){.kind = (uint16_t)k, .from = flow->from, .to = flow->to};
    }
}

/* Prices each kind from slot to slot: by times, or by distances where some path has none. */
static void price_arcs(const struct cpu_exchange *exchange, const struct bind_core *const *core,
                       struct assignment *a)
{
    size_t n = a->problem.slots;
    bool has_times = true;
    for (size_t i = 0; i < 2 * n * n; i++) {
        size_t from = i / n % n, to = i % n;
        const struct exchange_path *path = path_between(exchange, core[from], core[to]);
        has_times = has_times && (from == to || path->latency != NULL);
        for (size_t k = 0; i >= n * n && from != to && k < a->problem.kinds; k++) {
            size_t arc = (k * n + from) * n + to;
            double ns = has_times ? time_of(path, a->bytes[k]) : a->bytes[k] * path->distance;
            a->use[2 * arc] = (struct search_use){(uint16_t)from, ns};
            a->use[2 * arc + 1] = (struct search_use){(uint16_t)to, ns};
            a->arc[arc] =
                (struct search_arc){.alone_ns = ns, .use = (uint32_t)(2 * arc), .use_count = 2};
        }
    }
}

static bool search(const struct cpu_exchange *exchange, struct bind_task *task,
                   struct assignment *a)
{
    size_t n = a->problem.slots, arcs = a->problem.kinds * n * n;
    struct search_result found;
    struct bind_task *given = calloc(n, sizeof *given);
    const struct bind_core **core = first_cores(exchange, task);
    a->arc = calloc(arcs + 1, sizeof *a->arc);
    a->use = calloc(2 * arcs + 1, sizeof *a->use);
    a->slot = calloc(n, sizeof *a->slot);
    a->zero = calloc(n * (n + 1), sizeof *a->zero);
    bool ok = given != NULL && core != NULL && a->arc != NULL && a->use != NULL &&
              a->slot != NULL && a->zero != NULL;
    if (ok) {
        a->busy = a->zero + n * n;
        price_arcs(exchange, core, a);
        a->problem.flow = a->flow;
        a->problem.arc = a->arc;
        a->problem.use = a->use;
        a->problem.far = a->problem.apart = a->problem.start_ns = a->zero;
        a->problem.price = price;
        a->problem.context = a;
        ok = plan_search(&a->problem, a->slot, &found);
    }
    for (size_t t = 0; ok && t < n; t++)
        given[t] = task[a->slot[t]];
    if (ok)
        memcpy(task, given, n * sizeof *given);
    free(given);
    free(core);
    return ok;
}

enum berth_code cpu_exchange_assign(const struct cpu_exchange *exchange, struct bind_task *task,
                                    struct berth_err *err)
{
    size_t n = exchange->tasks, flows = exchange->flows;
    if (flows == 0 || n < 2 || n > SEARCH_SLOTS_MAX)
        return BERTH_OK;
    struct assignment a = {
        .problem = {.slots = n, .tasks = n, .each = 1, .resources = n, .flow_count = flows},
        .flow = calloc(flows, sizeof *a.flow),
        .bytes = calloc(flows, sizeof *a.bytes)};
    bool ok = a.flow != NULL && a.bytes != NULL;
    if (ok)
        find_kinds(exchange->traffic, &a);
    if (ok && a.problem.kinds <= ARCS_MAX / (n * n) && a.problem.kinds < UINT16_MAX)
        ok = search(exchange, task, &a);
    free(a.flow);
    free(a.bytes);
    free(a.arc);
    free(a.use);
    free(a.slot);
    free(a.zero);
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for the flows of tasks");
}
