#include "plan/bind/cpu_tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/policy.h"
#include "plan/bind/cpu_exchange.h"
#include "plan/bind/cpu_streams.h"

enum order { ORDER_EVEN, ORDER_FAMILIES, ORDER_LAUNCHER, ORDERS };

static const enum reason_code reason_of[ORDERS] = {[ORDER_EVEN] = REASON_TASKS_SPREAD,
                                                   [ORDER_FAMILIES] = REASON_TASKS_BY_PEERS,
                                                   [ORDER_LAUNCHER] = REASON_TASKS_IN_ORDER};

struct option {
    enum order order;
    struct bind_answer answer; /* its tasks, prediction, evidence and warnings */
    struct cpu_streams streams;
    struct exchange_time exchange;
};

struct work {
    const struct snapshot *snap;
    const struct bind_cores *cores;
    const struct core_request *request;
    const struct traffic *traffic;
    struct cpu_exchange exchange;
    size_t *family; /* by task */
    size_t left;    /* flows with tasks of other nodes */
};

/* ---- an option and its time ---- */

static void option_done(struct option *option)
{
    free(option->answer.task);
    evidence_done(&option->answer.evidence);
}

static bool has_exchange(const struct work *work, const struct option *option)
{
    return work->exchange.flows > 0 && option->exchange.is_known;
}

/* Returns how many transfers are not in an option's time. */
static size_t unknown_of(const struct work *work, const struct option *option)
{
    return work->left + (has_exchange(work, option) ? 0 : work->exchange.flows);
}

/* Sums up the time of an iteration; unknown flows make it a lower bound. */
static void predict(const struct work *work, struct option *option)
{
    struct bind_answer *answer = &option->answer;
    const struct cpu_streams *streams = &option->streams;
    struct estimate time = streams->time;
    if (has_exchange(work, option))
        time = estimate_sum(time, option->exchange.time);
    else if (streams->users == 0)
        time = estimate_of(NAN, NAN, NAN);
    if (unknown_of(work, option) > 0)
        time.source = SOURCE_LOWER_BOUND;
    answer->predicted = estimate_at_least(time);
    if (!isnan(time.time_ns) && streams->users > 1)
        snprintf(answer->bottleneck, sizeof answer->bottleneck, "%s:memory",
                 graph_place(work->snap->graph, streams->memory)->name);
}

static enum berth_code price(const struct work *work, struct option *option, struct berth_err *err)
{
    struct evidence *evidence = &option->answer.evidence;
    const struct exchange_path *path = &option->exchange.path;
    size_t cited = evidence->count;
    enum berth_code code = cpu_streams_time(work->snap, work->traffic, option->answer.task,
                                            evidence, &option->streams, err);
    if (code == BERTH_OK)
        code = cpu_exchange_time(&work->exchange, option->answer.task, &option->exchange, err);
    if (code != BERTH_OK)
        return code;
    if (path->latency != NULL)
        evidence_add(evidence, 0, path->latency);
    if (path->rate != NULL)
        evidence_add(evidence, 0, path->rate);
    evidence_few(evidence, cited, evidence->count);
    predict(work, option);
    return evidence->no_memory ? err_set(err, BERTH_NO_MEMORY, "no memory for evidence") : BERTH_OK;
}

static enum berth_code make(const struct work *work, enum order order, int64_t each,
                            struct option *ret, struct berth_err *err)
{
    struct core_request request = *work->request;
    request.cores_per_task = each;
    request.family = order == ORDER_FAMILIES ? work->family : NULL;
    request.in_order = order == ORDER_LAUNCHER;
    *ret = (struct option){.order = order, .answer.task_count = request.tasks};
    ret->answer.task = calloc(request.tasks + 1, sizeof *ret->answer.task);
    if (ret->answer.task == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the tasks");
    enum berth_code code = plan_bind_allocate(work->snap, work->cores, &request, &ret->answer, err);
    if (code == BERTH_OK && order == ORDER_FAMILIES)
        code = cpu_exchange_assign(&work->exchange, ret->answer.task, err);
    return code == BERTH_OK ? price(work, ret, err) : code;
}

/* The exchange counts only where it is known of both; among equals it decides. */
static bool is_better(const struct option *a, const struct option *b)
{
    bool is_known = a->exchange.is_known && b->exchange.is_known;
    double mine = a->streams.time.time_ns + (is_known ? a->exchange.time.time_ns : 0),
           other = b->streams.time.time_ns + (is_known ? b->exchange.time.time_ns : 0);
    if (mine * (1 + POLICY_SAME) < other)
        return true;
    return mine <= other * (is_known ? 1 : 1 + POLICY_SAME) &&
           a->exchange.sum_ns < b->exchange.sum_ns;
}

/* ---- the options ---- */

/* Returns how many cores let the tasks of the largest family share an L3, where the default does
 * not and no more than half of the cores are left out; 0 elsewhere. */
static int64_t fewer_cores(const struct work *work, int64_t even)
{
    int64_t largest = 0, room = 0;
    for (size_t t = 0; t < work->request->tasks; t++) {
        int64_t members = 0;
        for (size_t other = t; other < work->request->tasks; other++)
            members += work->family[other] == t;
        largest = members > largest ? members : largest;
    }
    for (size_t g = 0; g < work->cores->group_count; g++)
        room = work->cores->group[g].cores > room ? work->cores->group[g].cores : room;
    return largest > 1 && room < largest * even && 2 * room >= largest * even ? room / largest : 0;
}

/* Tries all orders for one number of cores (0 the default), and keeps the best option of all. */
static enum berth_code try_orders(struct work *work, int64_t each, struct option *best,
                                  struct option *ret_in_order, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    for (int i = 0; code == BERTH_OK && i < ORDERS; i++) {
        struct option option;
        if (i == ORDER_FAMILIES && work->exchange.flows == 0)
            continue;
        code = make(work, (enum order)i, each, &option, err);
        if (i == ORDER_LAUNCHER)
            *ret_in_order = option;
        if (code == BERTH_OK && (best->answer.task == NULL || is_better(&option, best))) {
            struct option other = *best;
            *best = option;
            option = other;
        }
        option_done(&option);
    }
    return code;
}

/* ---- the answer ---- */

static void explain(const struct work *work, const struct option *best, struct bind_answer *answer)
{
    const struct graph *graph = work->snap->graph;
    const struct cpu_streams *streams = &best->streams;
    const struct exchange_time *exchange = &best->exchange;
    size_t unknown = unknown_of(work, best);
    char from[32], to[32];
    reasons_add(&answer->reasons, reason_of[best->order], NO_SUBJECTS, NO_NUMBERS);
    if (isnan(answer->predicted.time_ns)) {
        if (isnan(streams->time.time_ns) || unknown > 0)
            reasons_add(&answer->warnings,
                        isnan(streams->time.time_ns) ? REASON_STREAMS_UNKNOWN
                                                     : REASON_EXCHANGE_UNKNOWN,
                        NO_SUBJECTS, NO_NUMBERS);
        return;
    }
    if (streams->users > 0) {
        const char *name = graph_place(graph, streams->memory)->name;
        reasons_add(&answer->reasons, REASON_STREAMS_LAST, SUBJECTS(name),
                    NUMBERS((double)streams->users, streams->bytes * 1e9 / streams->time.time_ns));
        if (streams->time.why != 0)
            reasons_add_about(&answer->warnings, streams->time.why, name, NO_NUMBERS);
    }
    if (exchange->path.latency != NULL)
        reasons_add(&answer->reasons, REASON_EXCHANGE_LONGEST,
                    SUBJECTS(plan_bind_task_name((size_t)exchange->longest->from, from),
                             plan_bind_task_name((size_t)exchange->longest->to, to),
                             graph_place(graph, exchange->path.latency->from)->name,
                             graph_place(graph, exchange->path.latency->to)->name),
                    NUMBERS(cpu_exchange_round_trip_ns(&exchange->path)));
    if (unknown > 0)
        reasons_add(&answer->warnings, REASON_EXCHANGE_LEFT_OUT, NO_SUBJECTS,
                    NUMBERS((double)unknown));
    if (streams->memories > 1)
        reasons_add(&answer->warnings, REASON_STREAMS_ALONE, NO_SUBJECTS, NO_NUMBERS);
}

/* Moves the best option's part of the answer there. */
static void take(struct option *best, const struct option *in_order, struct bind_answer *answer)
{
    struct bind_answer *its = &best->answer;
    free(answer->task);
    answer->task = its->task;
    answer->cores_per_task = its->cores_per_task;
    answer->evidence = its->evidence;
    answer->predicted = its->predicted;
    answer->baseline = in_order->answer.predicted;
    memcpy(answer->bottleneck, its->bottleneck, sizeof answer->bottleneck);
    memcpy(answer->baseline_bottleneck, in_order->answer.bottleneck, sizeof answer->bottleneck);
    reasons_append(&answer->warnings, &its->warnings);
    its->task = NULL;
    its->evidence = (struct evidence){0};
}

static enum berth_code choose(struct work *work, struct bind_answer *answer, struct berth_err *err)
{
    struct option best = {0}, in_order = {0}, in_order_of_fewer;
    cpu_exchange_families(&work->exchange, work->family);
    enum berth_code code = try_orders(work, work->request->cores_per_task, &best, &in_order, err);
    int64_t even = best.answer.cores_per_task,
            fewer = code == BERTH_OK && work->request->cores_per_task == 0 ? fewer_cores(work, even)
                                                                           : 0;
    if (fewer > 0)
        code = try_orders(work, fewer, &best, &in_order_of_fewer, err);
    if (code == BERTH_OK) {
        take(&best, &in_order, answer);
        if (answer->cores_per_task < even)
            reasons_add(&answer->warnings, REASON_CORES_SHARE_L3, NO_SUBJECTS,
                        NUMBERS((double)answer->cores_per_task, (double)even));
        explain(work, &best, answer);
    }
    option_done(&best);
    return code;
}

enum berth_code plan_bind_cpu_tasks(const struct snapshot *snap, const struct bind_cores *cores,
                                    const struct core_request *request,
                                    const struct traffic *traffic, struct bind_answer *answer,
                                    struct berth_err *err)
{
    struct work work = {.snap = snap,
                        .cores = cores,
                        .request = request,
                        .traffic = traffic,
                        .family = calloc(request->tasks, sizeof *work.family)};
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; traffic != NULL && i < traffic->count; i++)
        work.left += traffic->flow[i].from == TRAFFIC_AWAY || traffic->flow[i].to == TRAFFIC_AWAY;
    if (work.family == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for the tasks");
    else
        code = cpu_exchange_init(snap, traffic, cores, request->tasks, &work.exchange, err);
    if (code == BERTH_OK)
        code = choose(&work, answer, err);
    cpu_exchange_done(&work.exchange);
    free(work.family);
    return code;
}
