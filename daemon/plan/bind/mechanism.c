#include "plan/bind/mechanism.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/limits.h"
#include "cost/matrix.h"
#include "cost/policy.h"

static bool is_between_gpus(const struct graph *graph, const struct transfer *transfer)
{
    return graph_place(graph, transfer->from)->kind == PLACE_GPU &&
           graph_place(graph, transfer->to)->kind == PLACE_GPU;
}

/* With a NIC no GPU copies. */
static bool is_copy(const struct graph *graph, const struct transfer *transfer)
{
    return transfer != NULL && graph_place(graph, transfer->from)->kind != PLACE_NIC &&
           graph_place(graph, transfer->to)->kind != PLACE_NIC;
}

/* ---- the environment ---- */

/* A transfer belongs to the processes at both ends. */
static bool set_variables(const struct bind_price *price, const struct snapshot *snap,
                          struct bind_answer *answer)
{
    size_t rides = plan_bind_price_ride_count(price);
    const struct transfer **mine = calloc(rides + 1, sizeof *mine);
    for (size_t t = 0; mine != NULL && t < answer->task_count; t++) {
        size_t count = 0;
        for (size_t f = 0; f < rides; f++) {
            struct bind_ride ride = plan_bind_price_ride(price, f);
            if (is_copy(snap->graph, ride.transfer) && (ride.task == t || ride.other == t))
                mine[count++] = ride.transfer;
        }
        answer->task[t].variables = runtime_variables_of(snap->graph, snap->values, mine, count);
    }
    bool ok = mine != NULL;
    free(mine);
    return ok;
}

/* ---- reasons ---- */

/* Copies by one mechanism. */
struct copies {
    size_t between_gpus, with_host;
    const struct transfer *first; /* between GPUs; NULL none */
};

static struct copies count(const struct bind_price *price, const struct graph *graph,
                           enum mechanism by)
{
    struct copies copies = {0};
    for (size_t f = 0; f < plan_bind_price_ride_count(price); f++) {
        const struct transfer *transfer = plan_bind_price_ride(price, f).transfer;
        if (!is_copy(graph, transfer) || transfer->by != by)
            continue;
        copies.between_gpus += is_between_gpus(graph, transfer);
        copies.with_host += !is_between_gpus(graph, transfer);
        if (copies.first == NULL && is_between_gpus(graph, transfer))
            copies.first = transfer;
    }
    return copies;
}

/* Finds a variable that makes the runtime copy by kernel; NULL: there is none. */
static const char *kernel_variable(const struct bind_answer *answer, bool between_gpus)
{
    const char *found = NULL;
    for (size_t t = 0; t < answer->task_count; t++)
        for (size_t i = 0; i < answer->task[t].variables.count; i++) {
            const char *name = answer->task[t].variables.variable[i].name;
            if (strcmp(answer->task[t].variables.variable[i].value, "0") == 0 &&
                (strcmp(name, "HSA_ENABLE_SDMA") == 0 ||
                 (between_gpus && strcmp(name, "HSA_ENABLE_PEER_SDMA") == 0)))
                found = found == NULL || strcmp(name, found) > 0 ? name : found;
        }
    return found;
}

static void explain_mechanisms(const struct copies *engines, const struct copies *kernels,
                               struct bind_answer *answer)
{
    if (engines->between_gpus + engines->with_host > 0)
        reasons_add(&answer->reasons, REASON_COPIES_BY_ENGINE, NO_SUBJECTS,
                    NUMBERS((double)engines->between_gpus, (double)engines->with_host));
    if (kernels->between_gpus + kernels->with_host == 0)
        return;
    reasons_add(&answer->reasons, REASON_COPIES_BY_KERNEL, NO_SUBJECTS,
                NUMBERS((double)kernels->between_gpus, (double)kernels->with_host));
    const char *variable = kernel_variable(answer, kernels->between_gpus > 0);
    if (variable != NULL)
        reasons_add(&answer->reasons, REASON_KERNELS_OF_RUNTIME, SUBJECTS(variable), NO_NUMBERS);
    else
        reasons_add(&answer->reasons, REASON_KERNELS_OF_PROGRAM, NO_SUBJECTS, NO_NUMBERS);
}

/* Names the pairs of GPUs that copy by kernel. */
static void explain_pairs(const struct bind_price *price, const struct graph *graph,
                          struct bind_answer *answer)
{
    char pair[REASON_SUBJECT_SIZE];
    for (size_t f = 0; f < plan_bind_price_ride_count(price); f++) {
        const struct transfer *transfer = plan_bind_price_ride(price, f).transfer;
        if (!is_copy(graph, transfer) || !is_between_gpus(graph, transfer) ||
            transfer->by != MECHANISM_KERNEL)
            continue;
        snprintf(pair, sizeof pair, "%.20s to %.20s", graph_place(graph, transfer->from)->name,
                 graph_place(graph, transfer->to)->name);
        reasons_add_about(&answer->reasons, REASON_PAIRS_BY_KERNEL, pair, NO_NUMBERS);
    }
}

/* Where all GPUs copy to each other by one mechanism, the time by the other one. */
static void explain_other(const struct bind_by *by, bool is_engine, struct bind_answer *answer)
{
    const struct bind_by *other = &by[is_engine ? LOAD_KERNEL : LOAD_COPY_ENGINE];
    double ours_ns = answer->predicted.time_ns;
    if (!isnan(other->time_ns) && fabs(other->time_ns - ours_ns) > POLICY_SAME * ours_ns)
        reasons_add(&answer->reasons, is_engine ? REASON_TIME_BY_KERNEL : REASON_TIME_BY_ENGINE,
                    NO_SUBJECTS, NUMBERS(other->time_ns));
}

/* Why kernels and not copy engines, where links are said to carry the same for both. */
static void explain_engines(const struct snapshot *snap, const struct transfer *kernel,
                            struct bind_answer *answer)
{
    const struct matrix_item *item =
        kernel == NULL || kernel->basis == BASIS_OWN
            ? NULL
            : matrix_find(snap->derived.matrix, kernel->from, kernel->to, MECHANISM_COPY_ENGINE);
    const struct engine_limit *engine = item != NULL ? item->alone.engine : NULL;
    if (engine == NULL || item->alone.basis == BASIS_OWN)
        return;
    if (engine->gfx != NULL)
        reasons_add(&answer->reasons, REASON_ENGINES_LIMITED, SUBJECTS(engine->gfx),
                    NUMBERS(engine->bytes_per_s));
    else
        reasons_add(&answer->reasons, REASON_ENGINES_UNKNOWN, NO_SUBJECTS, NO_NUMBERS);
}

/* A kernel that fills a GPU keeps the next one waiting, and both together take twice what is
 * predicted. */
static bool explain_kernels(const struct bind_price *price, const struct graph *graph,
                            struct bind_answer *answer)
{
    size_t *kernels = calloc(graph->place_count + 1, sizeof *kernels);
    if (kernels == NULL)
        return false;
    for (size_t f = 0; f < plan_bind_price_ride_count(price); f++) {
        struct bind_ride ride = plan_bind_price_ride(price, f);
        if (is_copy(graph, ride.transfer) && ride.transfer->by == MECHANISM_KERNEL &&
            !ride.is_behind)
            kernels[ride.transfer->driver]++;
    }
    for (size_t p = 0; p < graph->place_count; p++)
        if (kernels[p] > 1)
            reasons_add_about(&answer->reasons, REASON_KERNELS_TOGETHER,
                              graph_place(graph, (place_id)p)->name, NUMBERS((double)kernels[p]));
    free(kernels);
    return true;
}

/* Whether one GPU's engines make two such copies. */
static bool are_engines_own(const struct snapshot *snap, const struct bind_ride *a,
                            const struct bind_ride *b)
{
    return a->other != BIND_NO_TASK && b->other != BIND_NO_TASK &&
           is_copy(snap->graph, a->transfer) && is_copy(snap->graph, b->transfer) &&
           a->transfer->by == MECHANISM_COPY_ENGINE && b->transfer->by == MECHANISM_COPY_ENGINE &&
           a->transfer->driver == b->transfer->driver &&
           (a->transfer->from != b->transfer->from || a->transfer->to != b->transfer->to);
}

/* Whether copies by one GPU's engines to several at once were measured. */
static bool knows_apart(const struct snapshot *snap)
{
    for (size_t i = 0; snap->sets != NULL && i < snap->sets->count; i++) {
        const struct set *set = &snap->sets->item[i];
        for (size_t f = 1; set->metric == METRIC_GPU_GPU_COPY_ENGINE && f < set->flow_count; f++)
            if (set->flow[f].from == set->flow[f - 1].from &&
                set->flow[f].to != set->flow[f - 1].to)
                return true;
    }
    return false;
}

/* Copies that one GPU drives over the same link or port follow each other in the order of their
 * beginning, as seen on GPUs with one port to the others. That matters where each task copies to
 * every other by engine. Over separate ones they are priced as going at once. False without memory.
 */
static bool find_order(const struct bind_price *price, const struct snapshot *snap, size_t tasks,
                       bool *ret_meet, bool *ret_apart)
{
    size_t *copies = calloc(tasks + 1, sizeof *copies), all = 0,
           flows = plan_bind_price_ride_count(price);
    *ret_meet = *ret_apart = false;
    for (size_t f = 0; copies != NULL && f < flows; f++) {
        struct bind_ride ride = plan_bind_price_ride(price, f);
        if (ride.other != BIND_NO_TASK && is_copy(snap->graph, ride.transfer) &&
            ride.transfer->by == MECHANISM_COPY_ENGINE)
            all += ++copies[ride.task] == tasks - 1;
    }
    for (size_t f = 0; tasks > 2 && all == tasks && f < flows && !(*ret_meet && *ret_apart); f++)
        for (size_t other = f + 1; other < flows; other++) {
            struct bind_ride a = plan_bind_price_ride(price, f),
                             b = plan_bind_price_ride(price, other);
            if (!are_engines_own(snap, &a, &b))
                continue;
            bool meet = limits_meet(snap->derived.limits,
                                    (struct limits_ends){a.transfer->from, a.transfer->to},
                                    (struct limits_ends){b.transfer->from, b.transfer->to});
            *ret_meet |= meet;
            *ret_apart |= !meet;
        }
    bool ok = copies != NULL;
    free(copies);
    return ok;
}

static bool explain_order(const struct bind_price *price, const struct snapshot *snap,
                          struct bind_answer *answer)
{
    bool meet, apart;
    if (!find_order(price, snap, answer->task_count, &meet, &apart))
        return false;
    if (meet && !apart && plan_bind_price_is_round(price))
        reasons_add(&answer->reasons, REASON_COPIES_IN_TURN, NO_SUBJECTS, NO_NUMBERS);
    if (apart && !knows_apart(snap))
        reasons_add(&answer->warnings, REASON_ENGINES_APART, NO_SUBJECTS, NO_NUMBERS);
    return true;
}

enum berth_code plan_bind_mechanism(const struct bind_price *price, const struct bind_by *by,
                                    const struct snapshot *snap, struct bind_answer *answer,
                                    struct berth_err *err)
{
    struct copies engines = count(price, snap->graph, MECHANISM_COPY_ENGINE),
                  kernels = count(price, snap->graph, MECHANISM_KERNEL);
    if (!set_variables(price, snap, answer))
        return err_set(err, BERTH_NO_MEMORY, "no memory for transfers");
    explain_mechanisms(&engines, &kernels, answer);
    if ((engines.between_gpus == 0) != (kernels.between_gpus == 0))
        explain_other(by, kernels.between_gpus == 0, answer);
    else
        explain_pairs(price, snap->graph, answer);
    explain_engines(snap, kernels.first, answer);
    return explain_order(price, snap, answer) && explain_kernels(price, snap->graph, answer)
               ? BERTH_OK
               : err_set(err, BERTH_NO_MEMORY, "no memory for reasons");
}
