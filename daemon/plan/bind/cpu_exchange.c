#include "plan/bind/cpu_exchange.h"

#include <stdlib.h>
#include <string.h>

#include "node/locality.h"
#include "search/search.h"

#define ARCS_MAX ((size_t)1 << 21) /* a larger search is not worth its memory */

enum { PINGPONG, COPY, QUEUE_WRITER, QUEUE_READER, NUMBERS };

static const struct {
    enum metric metric;
    const char *axes;
} numbers[NUMBERS] = {
    [PINGPONG] = {METRIC_CPU_PINGPONG, ""},
    [COPY] = {METRIC_CPU_COPY, ""},
    [QUEUE_WRITER] = {METRIC_CPU_QUEUE, ""},
    [QUEUE_READER] = {METRIC_CPU_QUEUE, "side=reader"},
};

static bool is_between(const struct traffic_flow *flow) { return flow->from >= 0 && flow->to >= 0; }

static size_t group_of(const struct cpu_exchange *exchange, place_id core)
{
    const struct bind_cores *cores = exchange->cores;
    const struct graph *graph = exchange->snap->graph;
    for (size_t g = 0; g < cores->group_count; g++) {
        place_id place = cores->group[g].place;
        if (locality_above(graph, core, graph_place(graph, place)->kind) == place)
            return g;
    }
    return SIZE_MAX;
}

static const struct value **number_of(const struct cpu_exchange *exchange, size_t number,
                                      size_t from, size_t to)
{
    size_t groups = exchange->cores->group_count;
    return &exchange->number[(number * groups + from) * groups + to];
}

enum berth_code cpu_exchange_init(const struct snapshot *snap, const struct traffic *traffic,
                                  const struct bind_cores *cores, size_t tasks,
                                  struct cpu_exchange *ret, struct berth_err *err)
{
    size_t groups = cores->group_count, count;
    struct cpu_exchange exchange = {
        snap, traffic, cores, tasks, 0, calloc(NUMBERS * groups * groups + 1, sizeof(void *))};
    if (exchange.number == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the flows of tasks");
    for (size_t i = 0; traffic != NULL && i < traffic->count; i++)
        exchange.flows += is_between(&traffic->flow[i]);
    for (size_t n = 0; exchange.flows > 0 && n < NUMBERS; n++) {
        const struct value *item = NULL;
        count = values_range(snap->values, numbers[n].metric, PLACE_NONE, &item);
        for (size_t i = 0; i < count; i++) {
            if (!(item[i].value > 0) || item[i].from == item[i].to ||
                strcmp(values_axes(snap->values, &item[i]), numbers[n].axes) != 0)
                continue;
            size_t from = group_of(&exchange, item[i].from), to = group_of(&exchange, item[i].to);
            if (from == SIZE_MAX || to == SIZE_MAX)
                continue;
            const struct value **pair = number_of(&exchange, n, from, to);
            *pair = *pair == NULL ? &item[i] : *pair;
        }
    }
    *ret = exchange;
    return BERTH_OK;
}

void cpu_exchange_done(struct cpu_exchange *exchange)
{
    free(exchange->number);
    *exchange = (struct cpu_exchange){0};
}

/* ---- one flow ---- */

/* The path between two cores. */
struct path {
    const struct value *latency, *rate; /* NULL unknown */
    double distance;                    /* cores of one L3 have none */
    bool is_own;                        /* measured between these very cores */
};

static const struct bind_core *first_core(const struct cpu_exchange *exchange,
                                          const struct cpuset *cpus)
{
    const struct bind_cores *cores = exchange->cores;
    size_t i = 0;
    while (i + 1 < cores->count && !cpuset_intersects(&cores->core[i].use, cpus))
        i++;
    return &cores->core[i];
}

static struct path path_between(const struct cpu_exchange *exchange, const struct bind_core *a,
                                const struct bind_core *b)
{
    const struct values *values = exchange->snap->values;
    const struct bind_group *group = exchange->cores->group;
    struct path path = {.is_own = true};
    path.distance = locality_distance(exchange->snap, group[a->group].place, group[b->group].place);
    for (size_t n = 0; n < NUMBERS; n++) {
        const struct value *value =
            values_find(values, numbers[n].metric, a->id, b->id, numbers[n].axes);
        bool is_own = value != NULL && value->source == VALUE_MEASURED;
        value = value != NULL ? value : *number_of(exchange, n, a->group, b->group);
        if (value == NULL || !(value->value > 0))
            continue;
        if (n == PINGPONG)
            path.latency = value;
        else if (path.rate == NULL || value->value < path.rate->value)
            path.rate = value;
        else
            continue;
        path.is_own = path.is_own && is_own;
    }
    return path;
}

static double time_of(const struct path *path, double bytes)
{
    return path->latency == NULL ? NAN
                                 : path->latency->value / 2 +
                                       (path->rate != NULL ? bytes * 1e9 / path->rate->value : 0);
}

/* ---- all flows ---- */

enum berth_code cpu_exchange_time(const struct cpu_exchange *exchange, const struct cpuset *cpus,
                                  struct exchange_time *ret, struct berth_err *err)
{
    *ret = (struct exchange_time){0};
    if (exchange->flows == 0)
        return BERTH_OK;
    double *busy = calloc(exchange->tasks, sizeof *busy), longest = -1;
    if (busy == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the flows of tasks");
    struct estimate time = {.low_ns = NAN, .high_ns = NAN};
    size_t busiest = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < exchange->traffic->count; i++) {
            const struct traffic_flow *flow = &exchange->traffic->flow[i];
            if (!is_between(flow))
                continue;
            struct path path = path_between(exchange, first_core(exchange, &cpus[flow->from]),
                                            first_core(exchange, &cpus[flow->to]));
            double ns = time_of(&path, flow->bytes);
            if (pass == 0) {
                enum source source = path.rate == NULL                     ? SOURCE_LOWER_BOUND
                                     : path.is_own && exchange->flows == 1 ? SOURCE_MEASURED
                                                                           : SOURCE_SIMILAR_PAIR;
                time.source = source > time.source ? source : time.source;
                busy[flow->from] += ns;
                busy[flow->to] += ns;
                ret->distance += flow->bytes * path.distance;
            } else if (((size_t)flow->from == busiest || (size_t)flow->to == busiest) &&
                       ns > longest) {
                longest = ns;
                ret->longest = flow;
                ret->latency = path.latency;
                ret->rate = path.rate;
            }
        }
        for (size_t t = 0; t < exchange->tasks; t++)
            busiest = isnan(busy[busiest]) || busy[t] <= busy[busiest] ? busiest : t;
    }
    time.time_ns = busy[busiest];
    free(busy);
    time.low_ns = time.source == SOURCE_LOWER_BOUND ? time.time_ns : NAN;
    time.value = ret->latency;
    ret->time = time;
    return BERTH_OK;
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

/* Each core is a resource that all flows of its task use one after the other. */
struct assignment {
    struct search_problem problem;
    struct search_flow *flow;
    struct search_arc *arc;
    struct search_use *use;
    uint16_t *sort, *slot;
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

/* Computes the costs: times, or distances. False where some path has no time. */
static bool price_arcs(const struct cpu_exchange *exchange, const struct bind_core *const *core,
                       bool by_time, struct assignment *a)
{
    size_t n = a->problem.slots;
    for (size_t i = 0; i < n * n; i++) {
        size_t from = i / n, to = i % n;
        struct path path = path_between(exchange, core[from], core[to]);
        if (from != to && by_time && path.latency == NULL)
            return false;
        for (size_t k = 0; from != to && k < a->problem.kinds; k++) {
            size_t arc = k * n * n + i;
            double ns = by_time ? time_of(&path, a->bytes[k]) : a->bytes[k] * path.distance;
            a->use[2 * arc] = (struct search_use){(uint16_t)from, ns};
            a->use[2 * arc + 1] = (struct search_use){(uint16_t)to, ns};
            a->arc[arc] =
                (struct search_arc){.alone_ns = ns, .use = (uint32_t)(2 * arc), .use_count = 2};
        }
    }
    return true;
}

static bool search(const struct cpu_exchange *exchange, struct cpuset *cpus, struct assignment *a)
{
    size_t n = a->problem.slots, arcs = a->problem.kinds * n * n;
    struct search_result found;
    struct cpuset *given = calloc(n, sizeof *given);
    const struct bind_core **core = calloc(n, sizeof *core);
    a->arc = calloc(arcs + 1, sizeof *a->arc);
    a->use = calloc(2 * arcs + 1, sizeof *a->use);
    a->sort = calloc(n, sizeof *a->sort);
    a->slot = calloc(n, sizeof *a->slot);
    a->zero = calloc(n * n, sizeof *a->zero);
    a->busy = calloc(n, sizeof *a->busy);
    bool ok = given != NULL && core != NULL && a->arc != NULL && a->use != NULL &&
              a->sort != NULL && a->slot != NULL && a->zero != NULL && a->busy != NULL;
    if (ok) {
        for (size_t t = 0; t < n; t++)
            core[t] = first_core(exchange, &cpus[t]);
        if (!price_arcs(exchange, core, true, a))
            price_arcs(exchange, core, false, a);
        a->problem.flow = a->flow;
        a->problem.arc = a->arc;
        a->problem.use = a->use;
        a->problem.sort = a->sort;
        a->problem.far = a->problem.apart = a->problem.start_ns = a->zero;
        a->problem.price = price;
        a->problem.context = a;
        ok = plan_search(&a->problem, a->slot, &found);
    }
    for (size_t t = 0; ok && t < n; t++)
        given[t] = cpus[a->slot[t]];
    if (ok)
        memcpy(cpus, given, n * sizeof *given);
    free(given);
    free(core);
    return ok;
}

enum berth_code cpu_exchange_assign(const struct cpu_exchange *exchange, struct cpuset *cpus,
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
        ok = search(exchange, cpus, &a);
    free(a.flow);
    free(a.arc);
    free(a.use);
    free(a.sort);
    free(a.slot);
    free(a.zero);
    free(a.busy);
    free(a.bytes);
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for the flows of tasks");
}
