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

static bool is_latency(enum metric metric)
{
    return metric == METRIC_CPU_PINGPONG || metric == METRIC_MPI_LATENCY;
}

/* Takes the values of one metric: latencies (the longest counts) or rates (the lowest). */
static void add_values(const struct snapshot *snap, enum metric metric, const char *axes,
                       const struct cpu_exchange *exchange, struct exchange_path *paths)
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
        struct exchange_path *path = &paths[from * groups + to];
        const struct value **slowest = is_latency(metric) ? &path->latency : &path->rate;
        if (*slowest == NULL || (is_latency(metric) ? item[i].value > (*slowest)->value
                                                    : item[i].value < (*slowest)->value))
            *slowest = &item[i];
    }
}

/* Takes MPI's messages in place of plain loads and stores where both were measured of every path
 * that has these: times of one kind alone compare. */
static bool take_mpi(const struct snapshot *snap, struct cpu_exchange *exchange)
{
    size_t count = exchange->cores->group_count * exchange->cores->group_count;
    struct exchange_path *paths = calloc(count + 1, sizeof *paths);
    bool is_whole = paths != NULL, has_any = false;
    if (paths == NULL)
        return false;
    add_values(snap, METRIC_MPI_LATENCY, "", exchange, paths);
    add_values(snap, METRIC_MPI_BANDWIDTH, "", exchange, paths);
    for (size_t i = 0; i < count; i++) {
        bool has = paths[i].latency != NULL && paths[i].rate != NULL;
        has_any |= has;
        is_whole &= has || exchange->path[i].latency == NULL;
        paths[i].distance = exchange->path[i].distance;
    }
    if (is_whole && has_any) {
        free(exchange->path);
        exchange->path = paths;
    } else {
        free(paths);
    }
    return true;
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
    add_values(snap, METRIC_CPU_PINGPONG, "", ret, ret->path);
    add_values(snap, METRIC_CPU_COPY, "", ret, ret->path);
    add_values(snap, METRIC_CPU_QUEUE, "", ret, ret->path);
    add_values(snap, METRIC_CPU_QUEUE, "side=reader", ret, ret->path);
    return take_mpi(snap, ret) ? BERTH_OK
                               : err_set(err, BERTH_NO_MEMORY, "no memory for the flows of tasks");
}

void cpu_exchange_done(struct cpu_exchange *exchange)
{
    free(exchange->path);
    *exchange = (struct cpu_exchange){0};
}

/* ---- time ---- */

/* By task the group of its first core, which the caller frees; NULL when out of memory. */
static unsigned *groups_of(const struct cpu_exchange *exchange, const struct bind_task *task)
{
    const struct bind_core *core = exchange->cores->core;
    unsigned *group = calloc(exchange->tasks, sizeof *group);
    for (size_t t = 0; group != NULL && t < exchange->tasks; t++) {
        size_t i = 0;
        while (i + 1 < exchange->cores->count && !cpuset_intersects(&core[i].use, &task[t].cpus))
            i++;
        group[t] = core[i].group;
    }
    return group;
}

static const struct exchange_path *path_between(const struct cpu_exchange *exchange, unsigned from,
                                                unsigned to)
{
    return &exchange->path[from * exchange->cores->group_count + to];
}

double cpu_exchange_round_trip_ns(const struct exchange_path *path)
{
    bool is_one_way = path->latency->metric == METRIC_MPI_LATENCY;
    return path->latency->value * (is_one_way ? 2 : 1);
}

/* Returns how long a flow takes; where that is unknown, more the farther the groups are apart and
 * more than any measured path. */
static double time_of(const struct exchange_path *path, double bytes)
{
    if (path->latency == NULL)
        return bytes * (1 + path->distance);
    return cpu_exchange_round_trip_ns(path) / 2 +
           (path->rate != NULL ? bytes * 1e9 / path->rate->value : 0);
}

/* What a task's flows take one after the other, and the longest of them. */
struct busy {
    double ns, longest_ns;
    const struct traffic_flow *longest;
};

/* Weighs all flows. group: by slot; slot: by task, NULL in order; busy: room, by task. */
static struct exchange_time weigh(const struct cpu_exchange *exchange, const unsigned *group,
                                  const uint16_t *slot, struct busy *busy)
{
    struct exchange_time ret = {.time = {.source = SOURCE_SIMILAR_PAIR}, .is_known = true};
    const struct busy *busiest = busy;
    memset(busy, 0, exchange->tasks * sizeof *busy);
    for (size_t i = 0; i < exchange->traffic->count; i++) {
        const struct traffic_flow *flow = &exchange->traffic->flow[i];
        if (!is_between(flow))
            continue;
        const struct exchange_path *path =
            path_between(exchange, group[slot != NULL ? slot[flow->from] : flow->from],
                         group[slot != NULL ? slot[flow->to] : flow->to]);
        double ns = time_of(path, flow->bytes);
        ret.is_known = ret.is_known && path->latency != NULL;
        ret.time.source = path->rate == NULL ? SOURCE_LOWER_BOUND : ret.time.source;
        ret.sum_ns += ns;
        for (int end = 0; end < 2; end++) {
            struct busy *its = &busy[end == 0 ? flow->from : flow->to];
            its->ns += ns;
            its->longest = ns > its->longest_ns ? flow : its->longest;
            its->longest_ns = fmax(ns, its->longest_ns);
            busiest = its->ns > busiest->ns ? its : busiest;
        }
    }
    ret.time.time_ns = busiest->ns;
    ret.time.low_ns = ret.time.source == SOURCE_LOWER_BOUND ? busiest->ns : NAN;
    ret.time.high_ns = NAN;
    ret.longest = busiest->longest;
    return ret;
}

enum berth_code cpu_exchange_time(const struct cpu_exchange *exchange, const struct bind_task *task,
                                  struct exchange_time *ret, struct berth_err *err)
{
    *ret = (struct exchange_time){.is_known = true};
    if (exchange->flows == 0)
        return BERTH_OK;
    struct busy *busy = calloc(exchange->tasks, sizeof *busy);
    unsigned *group = groups_of(exchange, task);
    bool ok = busy != NULL && group != NULL;
    if (ok)
        *ret = weigh(exchange, group, NULL, busy);
    if (ok && ret->is_known)
        ret->path = *path_between(exchange, group[ret->longest->from], group[ret->longest->to]);
    free(busy);
    free(group);
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for the flows of tasks");
}

void cpu_exchange_families(const struct cpu_exchange *exchange, size_t *ret)
{
    bool is_joined = exchange->flows > 0;
    for (size_t t = 0; t < exchange->tasks; t++)
        ret[t] = t;
    while (is_joined) {
        is_joined = false;
        for (size_t i = 0; i < exchange->traffic->count; i++) {
            const struct traffic_flow *flow = &exchange->traffic->flow[i];
            if (!is_between(flow) || ret[flow->from] == ret[flow->to])
                continue;
            size_t a = ret[flow->from], b = ret[flow->to];
            ret[flow->from] = ret[flow->to] = a < b ? a : b;
            is_joined = true;
        }
    }
}

/* ---- which task gets which cores ---- */

/* Each task's cores are a slot, and a resource that its flows use one after the other. */
struct assignment {
    const struct cpu_exchange *exchange;
    unsigned *group; /* by slot */
    struct busy busy[SEARCH_SLOTS_MAX];
    struct search_flow *flow;
    struct search_arc *arc;
    struct search_use *use;
    double *bytes; /* by kind */
    double *zero;  /* by slot and slot */
};

static struct search_cost price(void *context, const uint16_t *slot)
{
    struct assignment *a = context;
    struct exchange_time time = weigh(a->exchange, a->group, slot, a->busy);
    return (struct search_cost){.time_ns = time.time.time_ns, .sum_ns = time.sum_ns};
}

/* Lists the flows; those of the same bytes are of one kind. Returns how many kinds. */
static size_t find_kinds(struct assignment *a)
{
    size_t flows = 0, kinds = 0;
    for (size_t i = 0; i < a->exchange->traffic->count; i++) {
        const struct traffic_flow *flow = &a->exchange->traffic->flow[i];
        size_t k = 0;
        if (!is_between(flow))
            continue;
        while (k < kinds && a->bytes[k] != flow->bytes)
            k++;
        a->bytes[k] = flow->bytes;
        kinds += k == kinds;
        a->flow[flows++] =
            (struct search_flow){.kind = (uint16_t)k, .from = flow->from, .to = flow->to};
    }
    return kinds;
}

/* Searches with room for all arcs, and exchanges the tasks' cores. False when out of memory. */
static bool search(struct assignment *a, size_t kinds, struct bind_task *task)
{
    size_t n = a->exchange->tasks, arcs = kinds * n * n;
    uint16_t slot[SEARCH_SLOTS_MAX];
    struct search_result found;
    struct bind_task *given = calloc(n, sizeof *given);
    a->group = groups_of(a->exchange, task);
    a->arc = calloc(arcs + 1, sizeof *a->arc);
    a->use = calloc(2 * arcs + 1, sizeof *a->use);
    a->zero = calloc(n * n, sizeof *a->zero);
    bool ok =
        given != NULL && a->group != NULL && a->arc != NULL && a->use != NULL && a->zero != NULL;
    for (size_t arc = 0; ok && arc < arcs; arc++) {
        size_t from = arc / n % n, to = arc % n;
        double ns =
            time_of(path_between(a->exchange, a->group[from], a->group[to]), a->bytes[arc / n / n]);
        a->use[2 * arc] = (struct search_use){(uint16_t)from, ns};
        a->use[2 * arc + 1] = (struct search_use){(uint16_t)to, ns};
        a->arc[arc] =
            (struct search_arc){.alone_ns = ns, .use = (uint32_t)(2 * arc), .use_count = 2};
    }
    const struct search_problem problem = {.slots = n,
                                           .tasks = n,
                                           .each = 1,
                                           .resources = n,
                                           .flow = a->flow,
                                           .flow_count = a->exchange->flows,
                                           .kinds = kinds,
                                           .arc = a->arc,
                                           .use = a->use,
                                           .start_ns = a->zero,
                                           .far = a->zero,
                                           .apart = a->zero,
                                           .price = price,
                                           .context = a};
    ok = ok && plan_search(&problem, slot, &found);
    for (size_t t = 0; ok && t < n; t++)
        given[t] = task[slot[t]];
    if (ok)
        memcpy(task, given, n * sizeof *given);
    free(given);
    return ok;
}

enum berth_code cpu_exchange_assign(const struct cpu_exchange *exchange, struct bind_task *task,
                                    struct berth_err *err)
{
    size_t n = exchange->tasks, flows = exchange->flows;
    if (flows == 0 || n < 2 || n > SEARCH_SLOTS_MAX)
        return BERTH_OK;
    struct assignment a = {.exchange = exchange,
                           .flow = calloc(flows, sizeof *a.flow),
                           .bytes = calloc(flows, sizeof *a.bytes)};
    bool ok = a.flow != NULL && a.bytes != NULL;
    size_t kinds = ok ? find_kinds(&a) : 0;
    if (ok && kinds <= ARCS_MAX / (n * n) && kinds < UINT16_MAX)
        ok = search(&a, kinds, task);
    free(a.group);
    free(a.flow);
    free(a.arc);
    free(a.use);
    free(a.bytes);
    free(a.zero);
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for the flows of tasks");
}
