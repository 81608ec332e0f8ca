#include "plan/bind/peers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "node/locality.h"
#include "node/reasons.h"
#include "search/search.h"

#define ARCS_MAX ((size_t)1 << 21) /* of a search; more are not worth the memory */

enum { PINGPONG, COPY, QUEUE_WRITER, QUEUE_READER, NUMBERS };

static const struct {
    enum metric metric;
    const char *axes;
} number[NUMBERS] = {
    [PINGPONG] = {METRIC_CPU_PINGPONG, ""},
    [COPY] = {METRIC_CPU_COPY, ""},
    [QUEUE_WRITER] = {METRIC_CPU_QUEUE, ""},
    [QUEUE_READER] = {METRIC_CPU_QUEUE, "side=reader"},
};

/* One path between two tasks. */
struct path {
    const struct value *latency, *rate;
    double half_ns, ns_per_byte; /* NAN unknown */
    bool is_own;                 /* measured between these very cores */
};

struct paths {
    const struct bind_peers *peers;
    const struct bind_core **core; /* by task: its first */
    const struct value **similar;  /* by number, group and group: a measured pair */
};

size_t plan_bind_peers_count(const struct traffic *traffic)
{
    size_t count = 0;
    for (size_t i = 0; traffic != NULL && i < traffic->count; i++)
        count += traffic->flow[i].from >= 0 && traffic->flow[i].to >= 0;
    return count;
}

static size_t group_of(const struct bind_peers *peers, place_id core)
{
    const struct bind_cores *cores = peers->cores;
    const struct graph *graph = peers->snap->graph;
    for (size_t g = 0; g < cores->group_count; g++) {
        place_id place = cores->group[g].place;
        if (locality_above(graph, core, graph_place(graph, place)->kind) == place)
            return g;
    }
    return SIZE_MAX;
}

/* One measured pair of cores stands for each two groups. */
static void find_similar(struct paths *paths, size_t n)
{
    const struct bind_peers *peers = paths->peers;
    const struct values *values = peers->snap->values;
    size_t groups = peers->cores->group_count;
    const struct value *item = NULL;
    size_t count = values_range(values, number[n].metric, PLACE_NONE, &item);
    for (size_t i = 0; i < count; i++) {
        if (isnan(item[i].value) || item[i].from == item[i].to)
            continue;
        if (strcmp(values_axes(values, &item[i]), number[n].axes) != 0)
            continue;
        size_t from = group_of(peers, item[i].from), to = group_of(peers, item[i].to);
        if (from == SIZE_MAX || to == SIZE_MAX)
            continue;
        const struct value **pair = &paths->similar[(n * groups + from) * groups + to];
        *pair = *pair == NULL ? &item[i] : *pair;
    }
}

static void paths_done(struct paths *paths)
{
    free(paths->core);
    free(paths->similar);
    paths->core = NULL;
    paths->similar = NULL;
}

static bool paths_init(struct paths *paths, const struct bind_peers *peers,
                       const struct cpuset *cpus)
{
    const struct bind_cores *cores = peers->cores;
    size_t groups = cores->group_count;
    *paths = (struct paths){.peers = peers};
    paths->core = calloc(peers->tasks, sizeof *paths->core);
    paths->similar = calloc(NUMBERS * groups * groups, sizeof *paths->similar);
    if (paths->core == NULL || paths->similar == NULL) {
        paths_done(paths);
        return false;
    }
    for (size_t t = 0; t < peers->tasks; t++)
        for (size_t i = 0; i < cores->count && paths->core[t] == NULL; i++)
            if (cpuset_intersects(&cores->core[i].use, &cpus[t]))
                paths->core[t] = &cores->core[i];
    for (size_t n = 0; n < NUMBERS; n++)
        find_similar(paths, n);
    return true;
}

static struct path path_between(const struct paths *paths, size_t from, size_t to)
{
    const struct bind_core *a = paths->core[from], *b = paths->core[to];
    const struct values *values = paths->peers->snap->values;
    size_t groups = paths->peers->cores->group_count;
    struct path path = {.half_ns = NAN, .ns_per_byte = NAN, .is_own = true};
    for (size_t n = 0; n < NUMBERS; n++) {
        const struct value *value =
            values_find(values, number[n].metric, a->id, b->id, number[n].axes);
        bool is_own = value != NULL;
        value = is_own ? value : paths->similar[(n * groups + a->group) * groups + b->group];
        if (value == NULL || !(value->value > 0))
            continue;
        if (n == PINGPONG) {
            path.latency = value;
            path.half_ns = value->value / 2;
        } else if (path.rate == NULL || value->value < path.rate->value) {
            path.rate = value;
            path.ns_per_byte = 1e9 / value->value;
        } else {
            continue;
        }
        path.is_own = path.is_own && is_own && value->source == VALUE_MEASURED;
    }
    return path;
}

/* By the L3s of both: cores of one have no distance. */
static double distance_between(const struct paths *paths, size_t from, size_t to)
{
    const struct bind_group *group = paths->peers->cores->group;
    return locality_distance(paths->peers->snap, group[paths->core[from]->group].place,
                             group[paths->core[to]->group].place);
}

static double time_of(const struct path *path, double bytes)
{
    return path->half_ns + (isnan(path->ns_per_byte) ? 0 : bytes * path->ns_per_byte);
}

/* ---- the time of a choice ---- */

enum berth_code plan_bind_peers_time(const struct bind_peers *peers, const struct cpuset *cpus,
                                     struct peers_time *ret, struct berth_err *err)
{
    struct paths paths;
    *ret = (struct peers_time){.is_measured = true};
    size_t flows = plan_bind_peers_count(peers->traffic);
    if (flows == 0)
        return BERTH_OK;
    double *busy = calloc(peers->tasks, sizeof *busy);
    if (busy == NULL || !paths_init(&paths, peers, cpus)) {
        free(busy);
        return err_set(err, BERTH_NO_MEMORY, "no memory for the flows of tasks");
    }
    size_t busiest = 0;
    for (size_t i = 0; i < peers->traffic->count; i++) {
        const struct traffic_flow *flow = &peers->traffic->flow[i];
        if (flow->from < 0 || flow->to < 0)
            continue;
        struct path path = path_between(&paths, (size_t)flow->from, (size_t)flow->to);
        double ns = time_of(&path, flow->bytes);
        busy[flow->from] += ns;
        busy[flow->to] += ns;
        ret->distance +=
            flow->bytes * distance_between(&paths, (size_t)flow->from, (size_t)flow->to);
        ret->at_least = ret->at_least || path.rate == NULL;
        ret->is_measured = flows == 1 && path.is_own && path.rate != NULL;
    }
    for (size_t t = 1; t < peers->tasks; t++)
        busiest = isnan(busy[busiest]) || busy[t] <= busy[busiest] ? busiest : t;
    ret->time_ns = busy[busiest];
    double longest = -1;
    for (size_t i = 0; i < peers->traffic->count && !isnan(ret->time_ns); i++) {
        const struct traffic_flow *flow = &peers->traffic->flow[i];
        if (flow->from < 0 || flow->to < 0)
            continue;
        if ((size_t)flow->from != busiest && (size_t)flow->to != busiest)
            continue;
        struct path path = path_between(&paths, (size_t)flow->from, (size_t)flow->to);
        double ns = time_of(&path, flow->bytes);
        if (ns <= longest)
            continue;
        longest = ns;
        ret->flow = i;
        ret->latency = path.latency;
        ret->rate = path.rate;
    }
    paths_done(&paths);
    free(busy);
    return BERTH_OK;
}

/* ---- which task gets which cores ---- */

/* Each core is a resource that all flows of its task use one after the other. */
struct assignment {
    struct search_problem problem;
    struct search_flow *flow;
    struct search_arc *arc;
    struct search_use *use;
    uint16_t *sort, *slot;
    struct path *path;           /* by slot and slot */
    double *zero, *busy, *bytes; /* by slot and slot; by slot; by kind */
};

static struct search_cost price(void *context, const uint16_t *slot)
{
    struct assignment *a = context;
    const struct search_problem *problem = &a->problem;
    size_t n = problem->slots;
    struct search_cost cost = {0};
    for (size_t s = 0; s < n; s++)
        a->busy[s] = 0;
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
static size_t find_kinds(const struct traffic *traffic, struct assignment *a)
{
    size_t kinds = 0, flows = 0;
    for (size_t i = 0; i < traffic->count; i++) {
        const struct traffic_flow *flow = &traffic->flow[i];
        size_t k = 0;
        if (flow->from < 0 || flow->to < 0)
            continue;
        while (k < kinds && a->bytes[k] != flow->bytes)
            k++;
        a->bytes[k] = flow->bytes;
        kinds = k < kinds ? kinds : kinds + 1;
        a->flow[flows++] =
            (struct search_flow){.kind = (uint16_t)k, .from = flow->from, .to = flow->to};
    }
    return kinds;
}

/* Costs are times where every path has one, else distances. */
static void price_arcs(const struct paths *paths, struct assignment *a)
{
    size_t n = a->problem.slots, used = 0;
    bool known = true;
    for (size_t pair = 0; pair < n * n; pair++) {
        a->path[pair] = path_between(paths, pair / n, pair % n);
        known = known && (pair / n == pair % n || a->path[pair].latency != NULL);
    }
    for (size_t k = 0; k < a->problem.kinds; k++)
        for (size_t pair = 0; pair < n * n; pair++) {
            size_t from = pair / n, to = pair % n;
            if (from == to)
                continue;
            double far = known ? 0 : distance_between(paths, from, to);
            double ns = known ? time_of(&a->path[pair], a->bytes[k]) : a->bytes[k] * far;
            a->use[used] = (struct search_use){(uint16_t)from, ns};
            a->use[used + 1] = (struct search_use){(uint16_t)to, ns};
            a->arc[k * n * n + pair] =
                (struct search_arc){.alone_ns = ns, .use = (uint32_t)used, .use_count = 2};
            used += 2;
        }
}

static void assignment_done(struct assignment *a)
{
    free(a->flow);
    free(a->arc);
    free(a->use);
    free(a->sort);
    free(a->slot);
    free(a->path);
    free(a->zero);
    free(a->busy);
    free(a->bytes);
}

static bool search(const struct paths *paths, struct assignment *a)
{
    size_t n = a->problem.slots, arcs = a->problem.kinds * n * n;
    a->arc = calloc(arcs + 1, sizeof *a->arc);
    a->use = calloc(2 * arcs + 1, sizeof *a->use);
    a->sort = calloc(n, sizeof *a->sort);
    a->slot = calloc(n, sizeof *a->slot);
    a->path = calloc(n * n, sizeof *a->path);
    a->zero = calloc(n * n, sizeof *a->zero);
    a->busy = calloc(n, sizeof *a->busy);
    if (a->arc == NULL || a->use == NULL || a->sort == NULL || a->slot == NULL || a->path == NULL ||
        a->zero == NULL || a->busy == NULL)
        return false;
    price_arcs(paths, a);
    a->problem.flow = a->flow;
    a->problem.arc = a->arc;
    a->problem.use = a->use;
    a->problem.sort = a->sort;
    a->problem.far = a->problem.apart = a->problem.start_ns = a->zero;
    a->problem.price = price;
    a->problem.context = a;
    struct search_result found;
    return plan_search(&a->problem, a->slot, &found);
}

enum berth_code plan_bind_peers_assign(const struct bind_peers *peers, struct cpuset *cpus,
                                       struct berth_err *err)
{
    size_t n = peers->tasks, flows = plan_bind_peers_count(peers->traffic);
    if (flows == 0 || n < 2 || n > SEARCH_SLOTS_MAX)
        return BERTH_OK;
    struct paths paths = {0};
    struct assignment a = {
        .problem = {.slots = n, .tasks = n, .each = 1, .resources = n, .flow_count = flows}};
    a.flow = calloc(flows, sizeof *a.flow);
    a.bytes = calloc(flows, sizeof *a.bytes);
    struct cpuset *given = calloc(n, sizeof *given);
    bool ok = a.flow != NULL && a.bytes != NULL && given != NULL && paths_init(&paths, peers, cpus);
    if (ok)
        a.problem.kinds = find_kinds(peers->traffic, &a);
    bool is_small = ok && a.problem.kinds <= ARCS_MAX / (n * n) && a.problem.kinds < UINT16_MAX;
    ok = ok && (!is_small || search(&paths, &a));
    for (size_t t = 0; ok && is_small && t < n; t++)
        given[t] = cpus[a.slot[t]];
    for (size_t t = 0; ok && is_small && t < n; t++)
        cpus[t] = given[t];
    free(given);
    paths_done(&paths);
    assignment_done(&a);
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for the flows of tasks");
}

static size_t root_of(const size_t *joined, size_t task)
{
    while (joined[task] != task)
        task = joined[task];
    return task;
}

void plan_bind_peers_join(const struct traffic *traffic, size_t tasks, size_t *ret)
{
    for (size_t t = 0; t < tasks; t++)
        ret[t] = t;
    for (size_t i = 0; traffic != NULL && i < traffic->count; i++) {
        if (traffic->flow[i].from < 0 || traffic->flow[i].to < 0)
            continue;
        size_t a = root_of(ret, (size_t)traffic->flow[i].from),
               b = root_of(ret, (size_t)traffic->flow[i].to);
        ret[a > b ? a : b] = a < b ? a : b;
    }
    for (size_t t = 0; t < tasks; t++)
        ret[t] = root_of(ret, t);
}

enum berth_code plan_bind_peers_fewer(const struct bind_peers *peers, int64_t each, int64_t *ret,
                                      bool *ret_is_half, struct berth_err *err)
{
    size_t *joined = calloc(peers->tasks, 2 * sizeof *joined), family = 0, room = 0;
    *ret = 0;
    if (joined == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the tasks");
    size_t *size = joined + peers->tasks;
    plan_bind_peers_join(peers->traffic, peers->tasks, joined);
    for (size_t t = 0; t < peers->tasks; t++)
        family = ++size[joined[t]] > family ? size[joined[t]] : family;
    free(joined);
    for (size_t g = 0; g < peers->cores->group_count; g++)
        room = peers->cores->group[g].cores > room ? peers->cores->group[g].cores : room;
    if (family > 1 && room < family * (size_t)each && room >= family)
        *ret = (int64_t)(room / family);
    *ret_is_half = 2 * room >= family * (size_t)each;
    return BERTH_OK;
}
