#include "plan/bind/explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cost/endpoints.h"
#include "cost/iteration_why.h"
#include "cost/policy.h"
#include "node/reasons.h"
#include "plan/bind/mechanism.h"

#define WHY_OURS  3 /* numbers cited for the plan, and for gpus in order where they are slower */
#define WHY_ORDER 2
#define MUCH      0.1 /* of a time: less for starts, or for waiting for others, goes unsaid */
#define GAP_MOST  10  /* a bound below a tenth of a time says nothing of it */

struct explained {
    const struct bind_traffic *traffic;
    struct bind_price *price;
    const struct graph *graph;
    struct bind_answer *answer;
};

static const char *name_of(const struct explained *explained, place_id place)
{
    return graph_place(explained->graph, place)->name;
}

/* The place at which a flow begins or ends. */
static const char *end_of(const struct explained *explained, place_id end)
{
    return end != PLACE_NONE ? name_of(explained, end) : "nowhere (no nic or memory)";
}

/* ---- what ends last, and why ---- */

static void explain_last(const struct explained *explained, const struct bind_choice *choice,
                         enum reason_code code, struct reasons *reasons)
{
    const struct flow *last = &choice->flow[choice->last];
    if (last->user == NULL)
        return;
    const char *from = name_of(explained, last->transfer->from),
               *to = name_of(explained, last->transfer->to),
               *by = plan_bind_mechanism_name(explained->graph, last->transfer);
    reasons_add(reasons, code, SUBJECTS(from, to, by),
                NUMBERS(last->bytes, last->end_ns, last->start_ns + last->bytes_ns));
    if (last->begin_ns + last->start_ns > MUCH * last->end_ns)
        reasons_add(reasons, REASON_LAST_STARTS, NO_SUBJECTS,
                    NUMBERS(last->start_ns, last->begin_ns));
    if (last->run != NULL)
        reasons_add(reasons, REASON_LAST_MEASURED_TOGETHER, NO_SUBJECTS,
                    NUMBERS((double)last->run->flow_count));
}

static bool uses(const struct usage *usage, const struct flow *flow, const struct limit *limit)
{
    unsigned u = 0;
    while (u < flow->limit_count && &usage->limit[flow->limit[u]] != limit)
        u++;
    return u < flow->limit_count;
}

/* So that limits of which the same is known are listed together. */
static double rounded(double bytes_per_s) { return 1e8 * round(bytes_per_s / 1e8); }

/* Adds a limit that slows flows: how many use it, what they get together, and the least of one
 * alone. */
static void explain_limit(const struct explained *explained, const struct bind_choice *choice,
                          const struct limit *limit, enum reason_code code, struct reasons *reasons)
{
    size_t users = 0;
    double together = 0, least = INFINITY;
    for (size_t f = 0; f < explained->price->flow_count; f++) {
        const struct flow *flow = &choice->flow[f];
        if (!uses(explained->price->snap->derived.usage, flow, limit))
            continue;
        double alone = flow->bytes * 1e9 / (flow->start_ns + flow->bytes_ns);
        users++;
        together += alone;
        least = fmin(least, alone);
    }
    double capacity = limits_capacity(limit->step, limit->step_count, users);
    if (users > 1 && together > capacity * (1 + POLICY_SAME))
        reasons_add_about(reasons, code, limit->name,
                          NUMBERS((double)users, rounded(capacity), rounded(least)));
}

/* Adds each limit that slows flows once, that of the last one first. */
static void explain_limits(const struct explained *explained, const struct bind_choice *choice,
                           enum reason_code measured, enum reason_code nominal,
                           struct reasons *reasons)
{
    for (size_t i = 0; i <= explained->price->flow_count; i++) {
        const struct limit *limit = i == 0 ? choice->shared : choice->flow[i - 1].shared;
        bool is_new = limit != NULL && (i == 0 || limit != choice->shared);
        for (size_t f = 0; is_new && f + 1 < i; f++)
            is_new = choice->flow[f].shared != limit;
        if (is_new)
            explain_limit(explained, choice, limit, limits_is_stated(limit) ? nominal : measured,
                          reasons);
    }
}

/* ---- proof ---- */

/* Explains what keeps a prediction from being a proof, however much was searched; false nothing. */
static bool explain_unmeasured(const struct explained *explained)
{
    const struct bind_choice *ours = &explained->traffic->ours;
    const struct untried *untried = &ours->untried;
    struct reasons *reasons = &explained->answer->reasons;
    if (!ours->is_explained)
        reasons_add(reasons, REASON_UNPROVEN_UNEXPLAINED, NO_SUBJECTS, NO_NUMBERS);
    else if (untried->link != NULL)
        reasons_add(reasons, REASON_UNPROVEN_UNTRIED_LIMIT, SUBJECTS(untried->link->name),
                    NUMBERS((double)untried->users));
    else if (untried->pair[0] != NULL)
        reasons_add(reasons, REASON_UNPROVEN_UNTRIED,
                    SUBJECTS(name_of(explained, untried->pair[0]->alone.from),
                             name_of(explained, untried->pair[0]->alone.to),
                             name_of(explained, untried->pair[1]->alone.from),
                             name_of(explained, untried->pair[1]->alone.to)),
                    NO_NUMBERS);
    return !ours->is_explained || iteration_is_untried(untried);
}

/* Lower bounds prove no more than what they bound. */
static void explain_proof(const struct explained *explained)
{
    const struct bind_traffic *traffic = explained->traffic;
    const struct bind_choice *ours = &traffic->ours;
    struct bind_answer *answer = explained->answer;
    bool is_unknown = explain_unmeasured(explained),
         is_open = explained->price->assumed_ns > POLICY_IN_ORDER * ours->time.time_ns;
    double bound_ns = ours->is_nearest && traffic->bound_ns > 0 ? traffic->bound_ns : (double)NAN,
           above = ours->compared_ns / bound_ns - 1;
    answer->is_proven = traffic->found.is_proven && !is_open && !is_unknown &&
                        above <= traffic->found.settled + POLICY_SAME + SEARCH_SAME;
    answer->gap = is_open || is_unknown || !(above + 1 <= GAP_MOST) ? (double)NAN
                  : above <= SEARCH_SAME                            ? 0
                                                                    : above;
    if (!answer->is_proven && !is_unknown)
        reasons_add(&answer->reasons,
                    is_open             ? REASON_UNPROVEN_STARTS
                    : !ours->is_nearest ? REASON_UNPROVEN_MEMORY
                                        : REASON_UNPROVEN_SEARCH,
                    NO_SUBJECTS, NO_NUMBERS);
    if (ours->is_nearest && traffic->found.settled >= 0.0005)
        reasons_add(&answer->reasons, REASON_GPUS_IN_ORDER, NO_SUBJECTS,
                    NUMBERS(traffic->found.settled));
}

/* ---- evidence, and what is not known ---- */

/* Cites the first numbers that the flow that ends last rests on. */
static void cite(const struct explained *explained, const struct bind_choice *choice, size_t most)
{
    const struct bind_price *price = explained->price;
    struct evidence *evidence = &explained->answer->evidence;
    most += evidence->count;
    iteration_cite(price->snap, choice->flow, price->flow_count, choice->last, evidence, 0);
    evidence->count = evidence->count < most ? evidence->count : most;
}

/* Warns of the cause why nothing predicts a transfer. */
static void warn_of_cause(const struct explained *explained, place_id from, place_id to)
{
    const struct graph *graph = explained->graph;
    struct reasons *warnings = &explained->answer->warnings;
    uint32_t link = limits_pair(explained->price->snap->derived.limits, from, to)->unstated;
    if (graph_are_gpus(graph, from, to) && endpoints_vendors_differ(graph, from, to))
        reasons_add(warnings, REASON_TRANSFERS_VENDORS,
                    SUBJECTS(name_of(explained, from), name_of(explained, to)), NO_NUMBERS);
    else if (link != LIMITS_NO_LINK)
        reasons_add(warnings, REASON_TRANSFERS_WIDTH,
                    SUBJECTS(name_of(explained, graph->links[link].from),
                             name_of(explained, graph->links[link].to)),
                    NO_NUMBERS);
}

/* Warns of links that are down, and of flows that nothing predicts. */
static void warn_of_unknown(const struct explained *explained)
{
    const struct bind_price *price = explained->price;
    const struct bind_choice *ours = &explained->traffic->ours;
    struct reasons *warnings = &explained->answer->warnings;
    struct bind_ends one = ours->one;
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct transfer *transfer = ours->flow[f].transfer;
        if (transfer != NULL)
            endpoints_warn_down(explained->graph, transfer->from, transfer->to, warnings);
    }
    if (ours->unpriced == 0)
        return;
    reasons_add(warnings,
                explained->traffic->is_chosen ? REASON_TRANSFERS_LEFT_OUT
                                              : REASON_TRANSFERS_UNKNOWN,
                SUBJECTS(end_of(explained, one.from), end_of(explained, one.to)),
                NUMBERS((double)ours->unpriced, (double)price->flow_count));
    if (one.from != PLACE_NONE && one.to != PLACE_NONE)
        warn_of_cause(explained, one.from, one.to);
}

/* ---- the answer ---- */

static void take_prediction(const struct bind_choice *choice, struct estimate *ret_time,
                            char bottleneck[LIMIT_NAME_SIZE])
{
    *ret_time = choice->time;
    if (!isnan(choice->time.time_ns) && choice->shared != NULL)
        snprintf(bottleneck, LIMIT_NAME_SIZE, "%s", choice->shared->name);
}

/* Takes the time of an all-reduce that a library was measured to take, where it was among ours and
 * among those in order. */
static void take_collective(const struct explained *explained)
{
    const struct bind_traffic *traffic = explained->traffic;
    struct bind_answer *answer = explained->answer;
    if (traffic->collective.value == NULL || traffic->order_collective.value == NULL)
        return;
    reasons_add(&answer->reasons, REASON_COLLECTIVE, NO_SUBJECTS,
                NUMBERS(explained->price->request.traffic->reduced,
                        traffic->collective.time.time_ns, answer->predicted.time_ns));
    answer->predicted = traffic->collective.time;
    answer->baseline = traffic->order_collective.time;
    answer->bottleneck[0] = answer->baseline_bottleneck[0] = '\0';
}

/* Reasons of the choice, beside gpus in order where these take longer. */
static enum berth_code explain_choice(const struct explained *explained, bool is_worse,
                                      struct berth_err *err)
{
    const struct bind_traffic *traffic = explained->traffic;
    const struct bind_choice *ours = &traffic->ours, *order = &traffic->order;
    struct bind_answer *answer = explained->answer;
    enum berth_code code = plan_bind_mechanism(traffic, explained->price->snap, answer, err);
    explain_last(explained, ours, REASON_LAST_TRANSFER, &answer->reasons);
    explain_limits(explained, ours, REASON_LIMIT_SHARED, REASON_LIMIT_SHARED_NOMINAL,
                   &answer->warnings);
    if (ours->waits_ns > MUCH * ours->time.time_ns)
        reasons_add(&answer->warnings, REASON_TASKS_WAIT, NO_SUBJECTS, NUMBERS(ours->waits_ns));
    if (is_worse) {
        explain_last(explained, order, REASON_IN_ORDER_LAST_TRANSFER, &answer->reasons);
        explain_limits(explained, order, REASON_IN_ORDER_LIMIT_SHARED, REASON_IN_ORDER_LIMIT_SHARED,
                       &answer->reasons);
    }
    for (size_t f = 0; f < explained->price->flow_count; f++)
        if (explained->price->flow[f].turn > 0 &&
            plan_bind_price_peer(explained->price, f) != BIND_NO_TASK)
            reasons_add(&answer->reasons, REASON_LAUNCH_ORDER, NO_SUBJECTS, NO_NUMBERS);
    explain_proof(explained);
    if (traffic->roomy_cores > 0)
        reasons_add(&answer->reasons, REASON_GPUS_WITH_CORES, NO_SUBJECTS,
                    NUMBERS((double)traffic->roomy_cores));
    take_collective(explained);
    return code;
}

/* Numbers and warnings of ours, then of GPUs in order. */
static enum berth_code explain_numbers(const struct explained *explained, bool is_worse,
                                       struct berth_err *err)
{
    const struct bind_traffic *traffic = explained->traffic;
    const struct bind_price *price = explained->price;
    struct bind_answer *answer = explained->answer;
    iteration_warn_of_transfers(price->snap, traffic->ours.flow, price->flow_count, "",
                                &answer->warnings);
    iteration_warn(price->snap, traffic->ours.flow, price->flow_count, &answer->warnings);
    warn_of_unknown(explained);
    if (traffic->collective.value != NULL)
        evidence_add(&answer->evidence, answer->evidence.count, traffic->collective.value);
    cite(explained, &traffic->ours, WHY_OURS);
    if (is_worse) {
        cite(explained, &traffic->order, WHY_ORDER);
        iteration_warn_of_transfers(price->snap, traffic->order.flow, price->flow_count,
                                    "in order, ", &answer->warnings);
    }
    return evidence_code(&answer->evidence, err);
}

enum berth_code plan_bind_explain(const struct bind_traffic *traffic, const struct snapshot *snap,
                                  const struct bind_gpus *gpus, struct bind_answer *answer,
                                  struct berth_err *err)
{
    struct explained explained = {
        .traffic = traffic, .price = traffic->price, .graph = snap->graph, .answer = answer};
    const struct bind_choice *ours = &traffic->ours, *order = &traffic->order;
    if (traffic->price == NULL || traffic->price->request.traffic == NULL)
        return BERTH_OK;
    if ((size_t)answer->gpus_per_task * answer->task_count > gpus->count)
        reasons_add(&answer->warnings, REASON_GPUS_SHARED, NO_SUBJECTS,
                    NUMBERS((double)answer->task_count, (double)gpus->count));
    take_prediction(ours, &answer->predicted, answer->bottleneck);
    if (order->unpriced <= ours->unpriced) /* what more of the order is known of says less */
        take_prediction(order, &answer->baseline, answer->baseline_bottleneck);
    bool is_worse = traffic->is_chosen && order->unpriced <= ours->unpriced &&
                    order->compared_ns > ours->compared_ns * (1 + POLICY_SAME);
    enum berth_code code =
        traffic->is_chosen ? explain_choice(&explained, is_worse, err) : BERTH_OK;
    return code == BERTH_OK ? explain_numbers(&explained, is_worse, err) : code;
}
