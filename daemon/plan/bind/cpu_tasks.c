#include "plan/bind/cpu_tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/estimate.h"
#include "cost/memcores.h"
#include "cost/policy.h"
#include "plan/bind/cpu_exchange.h"
#include "plan/bind/host_reasons.h"
#include "plan/bind/memory.h"

enum order { ORDER_EVEN, ORDER_FAMILIES, ORDER_LAUNCHER, ORDERS };

/* The streams of all tasks. */
struct streams {
    struct estimate time;
    place_id memory; /* of those that end last; PLACE_NONE none */
    size_t users, memories;
    double bytes, alone_ns; /* of its users together; of the first of them without the others */
    unsigned doubts;        /* about that memory (cost/memtime.h) */
};

struct option {
    struct cpuset *cpus; /* owned, by task */
    int64_t each;
    enum order order;
    struct streams streams;
    struct exchange_time exchange;
};

struct work {
    const struct cpu_tasks *given;
    struct cpu_exchange exchange;
    struct memkind_node node;
    size_t tasks;
    bool has_streams;
    double *reads, *writes; /* by task: bytes of its memory */
    place_id *memory;       /* by task, of the option that is priced; and home behind it */
    struct option best, in_order;
};

/* ---- time of an option ---- */

/* Prices the tasks that stream one memory, the first of them up to most. */
static enum berth_code price_memory(const struct work *work, const struct cpuset *cpus,
                                    place_id memory, size_t most, struct evidence *evidence,
                                    struct streams *ret, struct berth_err *err)
{
    struct memcores who;
    struct memtime_basis basis = {.evidence = evidence};
    struct cpuset all = {0};
    double reads = 0, writes = 0;
    *ret = (struct streams){.memory = memory};
    for (size_t t = 0; t < work->tasks && ret->users < most; t++) {
        if (work->memory[t] != memory || work->reads[t] + work->writes[t] == 0)
            continue;
        cpuset_or(&all, &cpus[t]);
        reads += work->reads[t];
        writes += work->writes[t];
        ret->users++;
    }
    if (ret->users == 0)
        return BERTH_OK;
    enum berth_code code = memcores_init(work->given->snap->graph, &all, &who, err);
    if (code != BERTH_OK)
        return code;
    ret->bytes = reads + writes;
    const struct memcores_access access = {.snap = work->given->snap,
                                           .node = &work->node,
                                           .who = &who,
                                           .memory = memory,
                                           .span = ret->bytes,
                                           .basis = &basis};
    struct memtime time = memcores_stream(&access, reads, writes);
    ret->time = memtime_estimate(&time);
    ret->doubts = time.doubts;
    memcores_done(&who);
    return basis.no_memory ? err_set(err, BERTH_NO_MEMORY, "no memory for evidence") : BERTH_OK;
}

/* Prices each memory: the one whose tasks end last decides, an unknown one before all. */
static enum berth_code price_streams(const struct work *work, const struct cpuset *cpus,
                                     struct evidence *evidence, struct streams *ret,
                                     struct berth_err *err)
{
    const struct graph *graph = work->given->snap->graph;
    struct streams here, alone;
    size_t memories = 0;
    enum source source = SOURCE_MEASURED;
    enum berth_code code = BERTH_OK;
    *ret = (struct streams){.memory = PLACE_NONE, .time.time_ns = -1};
    for (size_t t = 0; t < work->tasks; t++)
        if (work->memory[t] == PLACE_NONE)
            ret->time.time_ns = NAN;
    for (place_id n = graph_next(graph, PLACE_NUMA, 0);
         code == BERTH_OK && !isnan(ret->time.time_ns) && n != PLACE_NONE;
         n = graph_next(graph, PLACE_NUMA, n + 1)) {
        code = price_memory(work, cpus, n, SIZE_MAX, evidence, &here, err);
        memories += here.users > 0;
        source = here.users > 0 && here.time.source > source ? here.time.source : source;
        if (here.users > 0 && !(here.time.time_ns <= ret->time.time_ns))
            *ret = here;
    }
    if (code != BERTH_OK || isnan(ret->time.time_ns) || ret->memory == PLACE_NONE)
        return code;
    code = price_memory(work, cpus, ret->memory, 1, evidence, &alone, err);
    ret->alone_ns = alone.time.time_ns;
    ret->memories = memories;
    ret->time.source = source;
    if (source >= SOURCE_NOMINAL) {
        ret->time.low_ns = ret->time.time_ns;
        ret->time.high_ns = NAN;
    } else if (memories > 1) {
        ret->time.low_ns = ret->time.high_ns = NAN;
    }
    return code;
}

/* evidence: what the streams rest on. */
static enum berth_code price(struct work *work, struct option *option, struct evidence *evidence,
                             struct berth_err *err)
{
    struct evidence uncited = {0};
    struct memory_request request = {.tasks = work->tasks, .cpus = option->cpus};
    enum berth_code code = BERTH_OK;
    if (work->has_streams)
        code = plan_bind_memory(work->given->snap, work->given->allowed, work->given->cores,
                                &request, &uncited, work->memory, work->memory + work->tasks, err);
    if (code == BERTH_OK && work->has_streams)
        code = price_streams(work, option->cpus, evidence, &option->streams, err);
    evidence_done(&uncited);
    return code == BERTH_OK
               ? cpu_exchange_time(&work->exchange, option->cpus, &option->exchange, err)
               : code;
}

/* The exchange counts only where it is known of both, else its distance does among equals. */
static bool is_better(const struct option *a, const struct option *b)
{
    bool is_known = !isnan(a->exchange.time.time_ns) && !isnan(b->exchange.time.time_ns);
    double mine = a->streams.time.time_ns + (is_known ? a->exchange.time.time_ns : 0),
           other = b->streams.time.time_ns + (is_known ? b->exchange.time.time_ns : 0);
    if (mine * (1 + POLICY_SAME) < other)
        return true;
    return !is_known && mine <= other * (1 + POLICY_SAME) &&
           a->exchange.distance < b->exchange.distance;
}

/* ---- options ---- */

/* As a launcher gives out cores: the first to the first. */
static void give_in_order(const struct bind_cores *cores, const struct option *option, size_t tasks)
{
    size_t each = (size_t)option->each;
    memset(option->cpus, 0, tasks * sizeof *option->cpus);
    for (size_t i = 0; i < tasks * each && i < cores->count; i++)
        cpuset_or(&option->cpus[i / each], &cores->core[i].use);
}

static enum berth_code make(const struct work *work, struct option *option, struct berth_err *err)
{
    struct core_request request = *work->given->request;
    struct core_allocation found = {0};
    size_t *family = calloc(work->tasks, sizeof *family);
    if (family == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the tasks");
    cpu_exchange_families(&work->exchange, family);
    request.family = option->order == ORDER_FAMILIES ? family : NULL;
    request.cores_per_task = option->each;
    enum berth_code code =
        plan_bind_allocate(work->given->snap, work->given->cores, &request, NULL, &found, err);
    free(family);
    option->cpus = found.cpus;
    found.cpus = NULL;
    plan_bind_allocation_done(&found);
    if (code == BERTH_OK && option->order == ORDER_LAUNCHER)
        give_in_order(work->given->cores, option, work->tasks);
    else if (code == BERTH_OK)
        code = cpu_exchange_assign(&work->exchange, option->cpus, err);
    return code;
}

/* Keeps an option with its cpus, or frees it. */
static void settle(struct option *take_option, struct option *best, bool is_best)
{
    if (is_best) {
        free(best->cpus);
        *best = *take_option;
    } else {
        free(take_option->cpus);
    }
}

/* Prices all orders for one number of cores. */
static enum berth_code find_best(struct work *work, int64_t each, struct option *best,
                                 struct option *ret_in_order, struct berth_err *err)
{
    struct evidence uncited = {0};
    enum berth_code code = BERTH_OK;
    *best = *ret_in_order = (struct option){0};
    for (int i = 0; code == BERTH_OK && i < ORDERS; i++) {
        struct option option = {.each = each, .order = (enum order)i};
        if (i == ORDER_FAMILIES && work->exchange.flows == 0)
            continue;
        code = make(work, &option, err);
        if (code == BERTH_OK)
            code = price(work, &option, &uncited, err);
        if (i == ORDER_LAUNCHER) {
            *ret_in_order = option;
            ret_in_order->cpus = NULL;
        }
        settle(&option, best, code == BERTH_OK && (i == 0 || is_better(&option, best)));
    }
    evidence_done(&uncited);
    return code;
}

/* Returns how many cores let the tasks of the largest family share an L3, where the default does
 * not; 0 elsewhere. */
static int64_t fewer_cores(const struct work *work, int64_t each, size_t *family, bool *ret_is_half)
{
    const struct bind_cores *cores = work->given->cores;
    size_t largest = 0, room = 0;
    cpu_exchange_families(&work->exchange, family);
    for (size_t t = 0; t < work->tasks; t++) {
        size_t members = 0;
        for (size_t other = t; other < work->tasks; other++)
            members += family[other] == t;
        largest = members > largest ? members : largest;
    }
    for (size_t g = 0; g < cores->group_count; g++)
        room = cores->group[g].cores > room ? cores->group[g].cores : room;
    *ret_is_half = 2 * room >= largest * (size_t)each;
    return largest > 1 && room < largest * (size_t)each && room >= largest
               ? (int64_t)(room / largest)
               : 0;
}

/* Gives tasks that exchange bytes fewer cores with which they share an L3, where that takes less
 * time and leaves out no more than half of the cores. */
static enum berth_code try_fewer(struct work *work, struct bind_answer *answer,
                                 struct berth_err *err)
{
    struct option fewer = {0}, in_order = {0};
    size_t *family = calloc(work->tasks, sizeof *family);
    bool is_half = false, is_taken = false;
    if (family == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the tasks");
    int64_t even = work->best.each, each = fewer_cores(work, even, family, &is_half);
    enum berth_code code = BERTH_OK;
    free(family);
    if (each == 0)
        return BERTH_OK;
    if (is_half)
        code = find_best(work, each, &fewer, &in_order, err);
    is_taken = is_half && code == BERTH_OK && is_better(&fewer, &work->best);
    settle(&fewer, &work->best, is_taken);
    if (is_taken)
        work->in_order = in_order;
    reasons_add(&answer->warnings, is_taken ? REASON_CORES_SHARE_L3 : REASON_CORES_SHARE_NO_L3,
                NO_SUBJECTS,
                NUMBERS((double)(is_taken ? each : even), (double)(is_taken ? even : each)));
    return code;
}

/* ---- the answer ---- */

/* Returns the time of an iteration; unknown flows make it a lower bound. */
static struct estimate total_of(const struct work *work, const struct option *option,
                                size_t *ret_unknown)
{
    bool is_known = work->exchange.flows > 0 && !isnan(option->exchange.time.time_ns);
    size_t flows = work->given->traffic != NULL ? work->given->traffic->count : 0, with_host = 0;
    for (size_t i = 0; i < flows; i++)
        with_host += work->given->traffic->flow[i].from == TRAFFIC_HOST ||
                     work->given->traffic->flow[i].to == TRAFFIC_HOST;
    *ret_unknown = flows - with_host - (is_known ? work->exchange.flows : 0);
    struct estimate time = option->streams.time;
    if (!work->has_streams)
        time = is_known ? option->exchange.time : (struct estimate){.time_ns = NAN};
    else if (is_known)
        time = estimate_sum(time, option->exchange.time);
    if (work->has_streams && is_known && time.source == SOURCE_MEASURED)
        time.source = SOURCE_SIMILAR_PAIR; /* they were not measured together */
    if (*ret_unknown > 0)
        time.source = SOURCE_LOWER_BOUND;
    if (time.source >= SOURCE_NOMINAL) {
        time.low_ns = time.time_ns;
        time.high_ns = NAN;
    }
    if (isnan(time.time_ns))
        time.low_ns = time.high_ns = NAN;
    return time;
}

static bool is_shared(const struct streams *streams)
{
    return streams->memory != PLACE_NONE &&
           streams->time.time_ns > streams->alone_ns * (1 + POLICY_SAME);
}

static void name_bottleneck(const struct graph *graph, const struct streams *streams,
                            char text[LIMIT_NAME_SIZE])
{
    if (is_shared(streams))
        snprintf(text, LIMIT_NAME_SIZE, "%s:memory", graph_place(graph, streams->memory)->name);
}

static void explain(const struct work *work, size_t unknown, struct bind_answer *answer)
{
    static const enum reason_code by_order[ORDERS] = {[ORDER_EVEN] = REASON_TASKS_SPREAD,
                                                      [ORDER_FAMILIES] = REASON_TASKS_BY_PEERS,
                                                      [ORDER_LAUNCHER] = REASON_TASKS_IN_ORDER};
    const struct graph *graph = work->given->snap->graph;
    const struct streams *streams = &work->best.streams;
    const struct exchange_time *exchange = &work->best.exchange;
    char from[32], to[32];
    reasons_add(&answer->reasons, by_order[work->best.order], NO_SUBJECTS, NO_NUMBERS);
    if (isnan(answer->predicted.time_ns)) {
        if (work->has_streams || unknown > 0)
            reasons_add(&answer->warnings,
                        work->has_streams ? REASON_STREAMS_UNKNOWN : REASON_EXCHANGE_UNKNOWN,
                        NO_SUBJECTS, NO_NUMBERS);
        return;
    }
    if (work->has_streams && streams->memory != PLACE_NONE)
        reasons_add(&answer->reasons, REASON_STREAMS_LAST,
                    SUBJECTS(graph_place(graph, streams->memory)->name),
                    NUMBERS((double)streams->users, streams->bytes * 1e9 / streams->time.time_ns,
                            streams->bytes / (double)streams->users * 1e9 / streams->alone_ns));
    if (exchange->latency != NULL)
        reasons_add(&answer->reasons, REASON_EXCHANGE_LONGEST,
                    SUBJECTS(plan_bind_task_name((size_t)exchange->longest->from, from),
                             plan_bind_task_name((size_t)exchange->longest->to, to),
                             graph_place(graph, exchange->latency->from)->name,
                             graph_place(graph, exchange->latency->to)->name),
                    NUMBERS(exchange->latency->value));
    if (unknown > 0)
        reasons_add(&answer->warnings, REASON_EXCHANGE_LEFT_OUT, NO_SUBJECTS,
                    NUMBERS((double)unknown));
    if (streams->memories > 1)
        reasons_add(&answer->warnings, REASON_STREAMS_ALONE, NO_SUBJECTS, NO_NUMBERS);
}

/* Prices the chosen option once more, and cites what that rests on. */
static enum berth_code cite(struct work *work, struct bind_answer *answer, struct berth_err *err)
{
    const struct value *cited[] = {work->best.exchange.latency, work->best.exchange.rate};
    enum berth_code code = price(work, &work->best, &answer->evidence, err);
    if (code == BERTH_OK && work->has_streams && work->best.streams.memory != PLACE_NONE)
        memtime_warn(work->best.streams.doubts,
                     graph_place(work->given->snap->graph, work->best.streams.memory)->name,
                     &answer->warnings);
    for (size_t i = 0; i < 2 && code == BERTH_OK; i++)
        if (cited[i] != NULL && !evidence_add(&answer->evidence, 0, cited[i]))
            code = err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    return code;
}

static enum berth_code answer_with(struct work *work, struct core_allocation *allocation,
                                   struct bind_answer *answer, struct berth_err *err)
{
    const struct graph *graph = work->given->snap->graph;
    size_t unknown;
    memcpy(allocation->cpus, work->best.cpus, work->tasks * sizeof *allocation->cpus);
    allocation->each = work->best.each;
    struct estimate ours = total_of(work, &work->best, &unknown),
                    order = total_of(work, &work->in_order, &unknown);
    answer->predicted = ours;
    answer->baseline = order;
    if (!isnan(ours.time_ns) && work->has_streams)
        name_bottleneck(graph, &work->best.streams, answer->bottleneck);
    if (!isnan(order.time_ns) && work->has_streams)
        name_bottleneck(graph, &work->in_order.streams, answer->baseline_bottleneck);
    explain(work, unknown, answer);
    return isnan(ours.time_ns) ? BERTH_OK : cite(work, answer, err);
}

/* ---- the whole ---- */

/* Sums up what each task reads of its memory, and writes into it. */
static void sum_up(struct work *work)
{
    const struct traffic *traffic = work->given->traffic;
    for (size_t i = 0; traffic != NULL && i < traffic->count; i++) {
        const struct traffic_flow *flow = &traffic->flow[i];
        if (flow->from == TRAFFIC_HOST)
            work->reads[flow->to] += flow->bytes;
        else if (flow->to == TRAFFIC_HOST)
            work->writes[flow->from] += flow->bytes;
        work->has_streams =
            work->has_streams || flow->from == TRAFFIC_HOST || flow->to == TRAFFIC_HOST;
    }
}

static enum berth_code run(struct work *work, struct core_allocation *allocation,
                           struct bind_answer *answer, struct berth_err *err)
{
    const struct cpu_tasks *given = work->given;
    sum_up(work);
    enum berth_code code = find_best(work, allocation->each, &work->best, &work->in_order, err);
    if (code == BERTH_OK && given->request->cores_per_task == 0)
        code = try_fewer(work, answer, err);
    return code == BERTH_OK ? answer_with(work, allocation, answer, err) : code;
}

enum berth_code plan_bind_cpu_tasks(const struct cpu_tasks *tasks,
                                    struct core_allocation *allocation, struct bind_answer *answer,
                                    struct berth_err *err)
{
    size_t count = tasks->request->tasks;
    struct work work = {.given = tasks,
                        .tasks = count,
                        .reads = calloc(count, sizeof *work.reads),
                        .writes = calloc(count, sizeof *work.writes),
                        .memory = calloc(2 * count, sizeof *work.memory)};
    enum berth_code code = work.reads != NULL && work.writes != NULL && work.memory != NULL
                               ? memkind_node_init(tasks->snap->graph, &work.node, err)
                               : err_set(err, BERTH_NO_MEMORY, "no memory for the tasks");
    if (code == BERTH_OK)
        code = cpu_exchange_init(tasks->snap, tasks->traffic, tasks->cores, count, &work.exchange,
                                 err);
    if (code == BERTH_OK)
        code = run(&work, allocation, answer, err);
    cpu_exchange_done(&work.exchange);
    memkind_node_done(&work.node);
    free(work.best.cpus);
    free(work.reads);
    free(work.writes);
    free(work.memory);
    return code;
}
