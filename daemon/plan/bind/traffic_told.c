/* What Bind says of the traffic once tasks have their memory: what an iteration takes, so and with
 * gpus in order, and why. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "node/locality.h"
#include "node/reasons.h"
#include "plan/bind/mechanism.h"
#include "plan/bind/other.h"
#include "plan/bind/proof.h"
#include "plan/bind/say.h"
#include "plan/bind/traffic.h"

/* numbers that are cited for the plan, and for the launcher's order where that is slower */
#define WHY_OURS  3
#define WHY_ORDER 2
#define WORD      0.0005 /* of a time: what is less is no percentage */

/* The slots of what the tasks have; whether their memory is what the search took for it. */
static bool find_slots(struct bind_traffic *traffic, const struct bind_gpus *gpus,
                       const struct bind_answer *answer)
{
    size_t each = (size_t)answer->gpus_per_task;
    bool is_as_searched = traffic->is_chosen, has_host = plan_bind_price_has_host(traffic->price);
    for (size_t t = 0; t < answer->task_count; t++) {
        traffic->task_memory[t] = answer->task[t].memory;
        for (size_t i = 0; i < each; i++) {
            size_t g = 0;
            while (g + 1 < gpus->count && gpus->gpu[g] != answer->task[t].gpus[i])
                g++;
            traffic->slot[t * each + i] = (uint16_t)g;
            is_as_searched = is_as_searched &&
                             (i > 0 || !has_host || traffic->memory[g] == answer->task[t].memory);
        }
    }
    return is_as_searched;
}

static void say_shared_gpus(const struct graph *graph, const struct bind_gpus *gpus,
                            struct bind_answer *answer)
{
    if ((size_t)answer->gpus_per_task * answer->task_count > gpus->count)
        reasons_note(&answer->warnings,
                     "%zu tasks share %zu gpus, %s among them: what tasks on one gpu send each "
                     "other is taken to cost nothing",
                     answer->task_count, gpus->count, graph_place(graph, gpus->gpu[0])->name);
}

/* A task whose gpus would fit on one module, but are not on one. */
static void say_torn_tasks(const struct graph *graph, const struct bind_gpus *gpus,
                           struct bind_answer *answer)
{
    size_t each = (size_t)answer->gpus_per_task;
    for (size_t t = 0; t < answer->task_count; t++) {
        const place_id *gpu = answer->task[t].gpus;
        place_id module = locality_above(graph, gpu[0], PLACE_MODULE), other = PLACE_NONE;
        size_t room = 0;
        for (size_t g = 0; g < gpus->count; g++)
            room += locality_above(graph, gpus->gpu[g], PLACE_MODULE) == module;
        for (size_t i = 1; i < each && other == PLACE_NONE; i++)
            other = locality_above(graph, gpu[i], PLACE_MODULE) != module ? gpu[i] : PLACE_NONE;
        if (module == PLACE_NONE || other == PLACE_NONE || room < each)
            continue;
        reasons_note(
            &answer->warnings,
            "task %zu has gpus of several modules (%s, %s), because an iteration takes less so; "
            "what it moves between them itself is not in the traffic",
            t, graph_place(graph, gpu[0])->name, graph_place(graph, other)->name);
        return;
    }
}

/* Whether only transfers of the plan between these two have that number, or such as are known to be
 * limited by it, which a warning says. What starting one costs may be another pair's, though that
 * is of the plan, too. */
static bool is_of_plan(const struct bind_price *price, const struct value *value)
{
    bool is_of = false, counts_for_others = false;
    for (size_t f = 0; f < plan_bind_price_ride_count(price) && !counts_for_others; f++) {
        const struct move *move = plan_bind_price_ride(price, f).move;
        if (move == NULL)
            continue;
        bool is_pair = (move->from == value->from && move->to == value->to) ||
                       (move->from == value->to && move->to == value->from);
        is_of = is_of || is_pair || move->most == value;
        counts_for_others = !is_pair && move->call == value;
    }
    return is_of && !counts_for_others;
}

/* Where nothing known tells pairs apart one's number counts for all, and is what why has. */
static void say_stand_in(const struct bind_price *price, const struct graph *graph, size_t start,
                         struct bind_answer *answer)
{
    for (size_t i = start; i < answer->evidence.count; i++) {
        const struct value *value = answer->evidence.item[i];
        bool is_transfer = value != NULL && (value->metric == METRIC_GPU_GPU_COPY_ENGINE ||
                                             value->metric == METRIC_GPU_GPU_KERNEL ||
                                             value->metric == METRIC_HOST_GPU_COPY_ENGINE ||
                                             value->metric == METRIC_HOST_GPU_KERNEL ||
                                             value->metric == METRIC_TRANSFER_OVERHEAD);
        if (!is_transfer || is_of_plan(price, value))
            continue;
        reasons_note(&answer->reasons,
                     "the number of %s to %s (evidence) counts for others too: nothing known tells "
                     "them apart",
                     graph_place(graph, value->from)->name, graph_place(graph, value->to)->name);
        return;
    }
}

/* In which order a task's transfers are priced, which the numbers of the ranks decide. */
static void say_order(struct bind_traffic *traffic, struct bind_answer *answer)
{
    if (plan_bind_price_is_by_order(traffic->price, traffic->slot, traffic->task_memory))
        reasons_note(
            &answer->reasons,
            "a task is taken to start its transfers in the order of the tasks that they are for, "
            "lowest first%s: in another one the iteration may take more or less",
            plan_bind_price_has_host(traffic->price) ? ", then those from the host and to it" : "");
}

enum berth_code plan_bind_traffic_tell(struct bind_traffic *traffic, const struct snapshot *snap,
                                       const struct bind_gpus *gpus, struct bind_answer *answer,
                                       struct berth_err *err)
{
    if (traffic->price == NULL)
        return BERTH_OK;
    bool is_as_searched = find_slots(traffic, gpus, answer);
    const place_id *order_memory = traffic->is_order_real ? traffic->order_memory : NULL;
    struct bind_priced order = plan_bind_price_of(traffic->price, traffic->in_order, order_memory);
    struct bind_priced ours =
        plan_bind_price_of(traffic->price, traffic->slot, traffic->task_memory);
    if (order.lacking > ours.lacking) /* what more of the order is known of says less */
        order = (struct bind_priced){.step = {NAN, NAN, NAN}, .ordered_ns = NAN};
    bool is_worse = order.ordered_ns > ours.ordered_ns * (1 + PRICE_WORTH);
    answer->predicted = ours.step;
    answer->baseline = order.step;
    answer->predicted_is_measured = ours.is_measured;
    answer->baseline_is_measured = order.is_measured;
    snprintf(answer->bottleneck, sizeof answer->bottleneck, "%s", ours.bottleneck);
    snprintf(answer->baseline_bottleneck, sizeof answer->baseline_bottleneck, "%s",
             order.bottleneck);
    say_shared_gpus(snap->graph, gpus, answer);
    if (traffic->is_chosen)
        say_torn_tasks(snap->graph, gpus, answer);
    enum berth_code code = BERTH_OK;
    if (!isnan(ours.step.time_ns)) {
        double settled = traffic->found.settled;
        code = plan_bind_mechanism(traffic->price, traffic->how, snap, answer, err);
        plan_bind_say(snap->graph, &ours, is_worse ? &order : NULL, answer);
        say_order(traffic, answer);
        if (traffic->roomy_cores > 0)
            reasons_note(&answer->reasons,
                         "gpus are chosen so that each task finds its cores (%" PRId64
                         ") next to its own: with others some would have farther memory",
                         traffic->roomy_cores);
        if (is_as_searched && settled >= WORD)
            reasons_note(&answer->reasons,
                         "gpus are given out in order: another choice is predicted to take %.1f %% "
                         "less, which is no more than these numbers are known to",
                         100 * settled);
        if (code == BERTH_OK)
            plan_bind_proof(traffic, snap->graph, &ours, is_as_searched, answer);
        if (code == BERTH_OK)
            code = plan_bind_other_say(traffic->price, traffic->slot, traffic->task_memory, &ours,
                                       traffic->in_rank_order, &traffic->room, answer, err);
    }
    size_t cited = answer->evidence.count;
    if (code == BERTH_OK)
        code = plan_bind_price_cite(traffic->price, traffic->slot, traffic->task_memory, WHY_OURS,
                                    &answer->evidence, &answer->warnings, err);
    if (code == BERTH_OK)
        say_stand_in(traffic->price, snap->graph, cited, answer);
    if (code == BERTH_OK && is_worse)
        code = plan_bind_price_cite(traffic->price, traffic->in_order, order_memory, WHY_ORDER,
                                    &answer->evidence, NULL, err);
    if (code == BERTH_OK && is_worse)
        plan_bind_price_warn_of_ways(traffic->price, traffic->in_order, order_memory, "in order, ",
                                     &answer->warnings);
    return code;
}
