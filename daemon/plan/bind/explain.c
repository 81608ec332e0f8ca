#include "plan/bind/explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/endpoints.h"
#include "cost/load_why.h"
#include "cost/policy.h"
#include "node/locality.h"
#include "node/reasons.h"
#include "plan/bind/collective.h"
#include "plan/bind/core_allocator.h"
#include "plan/bind/mechanism.h"

#define WHY_OURS    3 /* numbers cited for the plan, and for gpus in order where they are slower */
#define WHY_ORDER   2
#define MUCH        0.1 /* of a time: less for starts, or for waiting for others, goes unsaid */
#define GAP_MOST    10  /* a bound below a tenth of a time says nothing of it */
#define OTHER_FLOWS 256 /* of all other choices that are priced */

struct explained {
    struct bind_traffic *traffic;
    struct bind_price *price;
    const struct graph *graph;
    const struct bind_gpus *gpus;
    struct bind_answer *answer;
    struct bind_priced ours, order;
    struct reasons in_order; /* why GPUs in order take longer */
    bool is_as_searched;     /* tasks have the memory next to their GPUs, as was searched */
};

static const char *name_of(const struct explained *explained, place_id place)
{
    return graph_place(explained->graph, place)->name;
}

/* Where a flow of the price begins or ends. */
static const char *end_of(const struct explained *explained, uint16_t index)
{
    return index < explained->price->place_count
               ? name_of(explained, explained->price->place[index])
               : "";
}

/* ---- what ends last, and why: of the choice priced last ---- */

static bool is_copy(const struct graph *graph, const struct transfer *transfer)
{
    return graph_place(graph, transfer->from)->kind != PLACE_NIC &&
           graph_place(graph, transfer->to)->kind != PLACE_NIC;
}

static void explain_last(const struct explained *explained, const struct bind_priced *priced,
                         enum reason_code code, struct reasons *reasons)
{
    const struct bind_price *price = explained->price;
    const struct load_part *last = &price->part[priced->last];
    if (price->flow_count == 0 || last->transfer == NULL)
        return;
    const char *from = name_of(explained, last->transfer->from),
               *to = name_of(explained, last->transfer->to),
               *by = is_copy(explained->graph, last->transfer)
                         ? last->transfer->by == MECHANISM_KERNEL ? "kernel" : "copy engine"
                         : "nic";
    double starts_ns = last->waits_ns + last->starts_ns;
    reasons_add(reasons, code, SUBJECTS(from, to, by),
                NUMBERS(price->load[priced->last].bytes, last->time.time_ns, last->alone_ns));
    if (starts_ns > MUCH * last->time.time_ns)
        reasons_add(reasons, REASON_LAST_STARTS, NO_SUBJECTS,
                    NUMBERS(last->starts_ns, last->waits_ns));
    size_t queue = 0;
    for (size_t f = 0; f < price->flow_count; f++)
        queue += price->part[f].transfer == last->transfer && price->load[f].bytes > 0;
    if (queue > 1)
        reasons_add(reasons, REASON_LAST_QUEUED, SUBJECTS(from, to), NUMBERS((double)queue));
    if (last->seen != NULL)
        reasons_add(reasons, REASON_LAST_MEASURED_TOGETHER, NO_SUBJECTS,
                    NUMBERS((double)last->seen->flow_count));
}

struct sharing {
    size_t users;
    double together, alone; /* bytes per second: of all, and the least of one alone */
    bool slows;
};

static struct sharing describe(const struct bind_price *price, const struct load_resource *resource)
{
    struct sharing sharing = {.alone = INFINITY};
    size_t index = (size_t)(resource - plan_load_resource(price->table, 0));
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct load_flow *flow = &price->load[f];
        if (price->part[f].transfer == NULL || price->part[f].is_behind ||
            !plan_load_uses(price->table, index, flow->from, flow->to, flow->bytes))
            continue;
        double alone = flow->bytes / fmax(price->part[f].alone_ns, 1e-3) * 1e9;
        sharing.users++;
        sharing.together += alone;
        sharing.alone = fmin(sharing.alone, alone);
    }
    double capacity = INFINITY;
    for (size_t i = 0; i < resource->step_count && resource->step[i].flows <= sharing.users; i++)
        capacity = resource->step[i].bytes_per_s;
    sharing.slows = sharing.users > 1 && sharing.together > capacity * (1 + POLICY_SAME);
    sharing.together = fmin(sharing.together, capacity);
    return sharing;
}

/* So that limits of which the same is known are listed together. */
static double rounded(double bytes_per_s) { return 1e8 * round(bytes_per_s / 1e8); }

/* Adds the limits that slow flows, that of the last one first. Returns how many there are. */
static size_t explain_limits(const struct explained *explained, const struct bind_priced *priced,
                             enum reason_code measured, enum reason_code nominal,
                             struct reasons *reasons)
{
    const struct bind_price *price = explained->price;
    size_t count = 0, resources = plan_load_resource_count(price->table);
    bool *is_done = calloc(resources + 1, sizeof *is_done);
    for (size_t i = 0; is_done != NULL && i <= price->flow_count; i++) {
        const struct load_resource *resource = i == 0 ? priced->shared : price->part[i - 1].shared;
        if (resource == NULL || is_done[resource - plan_load_resource(price->table, 0)])
            continue;
        is_done[resource - plan_load_resource(price->table, 0)] = true;
        struct sharing sharing = describe(price, resource);
        if (!sharing.slows)
            continue;
        count++;
        reasons_add_about(
            reasons, resource->is_nominal ? nominal : measured, resource->name,
            NUMBERS((double)sharing.users, rounded(sharing.together), rounded(sharing.alone)));
    }
    free(is_done);
    return count;
}

static void explain_ours(const struct explained *explained)
{
    const struct bind_priced *ours = &explained->ours;
    struct bind_answer *answer = explained->answer;
    const struct bind_price *price = explained->price;
    bool has_run = price->flow_count > 0 && price->part[ours->last].seen != NULL;
    explain_last(explained, ours, REASON_LAST_TRANSFER, &answer->reasons);
    size_t limits = explain_limits(explained, ours, REASON_LIMIT_SHARED,
                                   REASON_LIMIT_SHARED_NOMINAL, &answer->warnings);
    if (ours->shared != NULL && describe(price, ours->shared).users == 1)
        reasons_add(&answer->reasons, REASON_LIMIT_NARROW, SUBJECTS(ours->shared->name),
                    NO_NUMBERS);
    if (limits == 0 && ours->is_explained && ours->shared == NULL && !has_run &&
        !ours->untried.is_any)
        reasons_add(&answer->reasons, REASON_LIMIT_NONE, NO_SUBJECTS, NO_NUMBERS);
    if (ours->waits_ns > MUCH * ours->step.time_ns)
        reasons_add(&answer->warnings, REASON_TASKS_WAIT, NO_SUBJECTS, NUMBERS(ours->waits_ns));
}

/* A task launches its flows the other way round. */
static void reverse_order(const struct bind_price *price)
{
    size_t each = price->request.each, next;
    for (size_t first = 0; first < price->flow_count; first = next) {
        uint16_t last = 0;
        for (next = first;
             next < price->flow_count && (size_t)price->flow[price->order[next]].from / each ==
                                             (size_t)price->flow[price->order[first]].from / each;
             next++)
            last = (uint16_t)fmax(last, price->load[price->order[next]].turn);
        for (size_t i = first; i < next; i++) {
            uint16_t *turn = &price->load[price->order[i]].turn;
            *turn = (uint16_t)(last - *turn);
        }
    }
}

/* Whether the order in which tasks launch flows, which the numbers of their ranks decide, matters.
 */
static void explain_order(const struct explained *explained)
{
    struct bind_price *price = explained->price;
    plan_bind_price_load(price, explained->traffic->slot, explained->traffic->task_memory);
    if (price->is_round || price->unknown > 0)
        return;
    reverse_order(price);
    double other_ns =
        plan_load_time(price->table, price->load, price->flow_count, price->scratch).step_ns;
    if (fabs(other_ns - explained->ours.step.time_ns) > POLICY_SAME * explained->ours.step.time_ns)
        reasons_add(&explained->answer->reasons, REASON_LAUNCH_ORDER, NO_SUBJECTS,
                    NUMBERS(other_ns));
}

/* ---- proof ---- */

/* Explains what keeps a prediction from being a proof, however much was searched; false nothing. */
static bool explain_unmeasured(const struct explained *explained)
{
    const struct bind_priced *ours = &explained->ours;
    const struct load_untried *untried = &ours->untried;
    const struct load_flow *load = explained->price->load;
    struct reasons *reasons = &explained->answer->reasons;
    if (!ours->is_explained)
        reasons_add(reasons, REASON_UNPROVEN_UNEXPLAINED, NO_SUBJECTS, NO_NUMBERS);
    else if (untried->between != NULL)
        reasons_add(reasons, REASON_UNPROVEN_UNTRIED_LIMIT, SUBJECTS(untried->between->name),
                    NUMBERS((double)untried->users));
    else if (untried->is_any)
        reasons_add(reasons, REASON_UNPROVEN_UNTRIED,
                    SUBJECTS(end_of(explained, load[untried->flow[0]].from),
                             end_of(explained, load[untried->flow[0]].to),
                             end_of(explained, load[untried->flow[1]].from),
                             end_of(explained, load[untried->flow[1]].to)),
                    NO_NUMBERS);
    return !ours->is_explained || untried->is_any;
}

static enum reason_code why_unproven(const struct explained *explained, bool is_open, double gap)
{
    const struct bind_traffic *traffic = explained->traffic;
    return is_open                       ? REASON_UNPROVEN_STARTS
           : !explained->is_as_searched  ? REASON_UNPROVEN_MEMORY
           : explained->ours.lacking > 0 ? REASON_UNPROVEN_LACKING
           : isnan(gap)                  ? REASON_UNPROVEN_SIZES
           : traffic->found.is_proven    ? REASON_UNPROVEN_MECHANISM
                                         : REASON_UNPROVEN_SEARCH;
}

/* Lower bounds prove no more than what they bound. */
static void explain_proof(const struct explained *explained)
{
    const struct bind_traffic *traffic = explained->traffic;
    const struct bind_priced *ours = &explained->ours;
    struct bind_answer *answer = explained->answer;
    bool is_mixed = traffic->price->is_mixed, is_unknown = explain_unmeasured(explained),
         is_open = is_mixed && (ours->is_least || plan_bind_price_assumed_ns(traffic->price) >
                                                      POLICY_IN_ORDER * ours->step.time_ns);
    double bound_ns = explained->is_as_searched ? traffic->bound_ns : 0,
           settled = fmax(traffic->found.settled, is_mixed ? POLICY_IN_ORDER : 0),
           above = ours->step.time_ns / bound_ns - 1;
    answer->is_proven = traffic->found.is_proven && explained->is_as_searched && !is_open &&
                        !is_unknown &&
                        ours->step.time_ns <= bound_ns * (1 + settled) * (1 + SEARCH_SAME);
    if (!(bound_ns > 0 && above + 1 <= GAP_MOST))
        above = answer->is_proven ? 0 : NAN;
    answer->gap = is_open || is_unknown ? NAN : above <= SEARCH_SAME ? 0 : above;
    if (!answer->is_proven && !is_unknown)
        reasons_add(&answer->reasons, why_unproven(explained, is_open, answer->gap), NO_SUBJECTS,
                    NO_NUMBERS);
    if (explained->is_as_searched && traffic->found.settled >= 0.0005)
        reasons_add(&answer->reasons, REASON_GPUS_IN_ORDER, NO_SUBJECTS,
                    NUMBERS(traffic->found.settled));
}

/* ---- alternatives ---- */

struct others {
    struct explained *explained;
    size_t berths, most, count, longer, lacking;
    uint16_t *slot, *best;
    double best_ns;
};

/* Prices what is in slot, where it is another choice with as many prices. */
static void look(struct others *others)
{
    const struct bind_traffic *traffic = others->explained->traffic;
    struct bind_price *price = others->explained->price;
    size_t each = price->request.each, size = others->berths * sizeof *others->slot;
    bool is_choice = others->count < others->most && memcmp(others->slot, traffic->slot, size) != 0;
    for (size_t b = 1; b < others->berths && is_choice; b++)
        is_choice = (b % each == 0 || others->slot[b] > others->slot[b - 1]) &&
                    (!traffic->in_rank_order || others->slot[b] >= others->slot[b - 1]);
    if (!is_choice ||
        plan_bind_room_over(&traffic->room, others->slot, price->request.tasks, each) >
            plan_bind_room_over(&traffic->room, traffic->slot, price->request.tasks, each))
        return;
    plan_bind_price_load(price, others->slot, NULL);
    if (price->unknown > 0 || price->lacking > others->lacking)
        return;
    double time_ns = plan_bind_price_compared(price).step_ns;
    others->count++;
    if (!(time_ns > others->explained->ours.compared_ns * (1 + POLICY_SAME)))
        return;
    if (others->longer++ > 0 && !(time_ns < others->best_ns))
        return;
    others->best_ns = time_ns;
    memcpy(others->best, others->slot, size);
}

static int compare_slots(const void *a, const void *b)
{
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* In order, spread over all GPUs, a free GPU in place of one that a task has, two tasks that change
 * places. */
static void look_at_others(struct others *others)
{
    const struct bind_traffic *traffic = others->explained->traffic;
    const struct bind_price_request *request = &others->explained->price->request;
    size_t n = request->gpu_count, each = request->each, berths = others->berths,
           size = berths * sizeof *others->slot;
    for (size_t spread = 0; spread < 2 && berths <= n; spread++) {
        for (size_t b = 0; b < berths; b++)
            others->slot[b] = (uint16_t)(spread > 0 ? b * n / berths : b);
        look(others);
    }
    for (size_t b = 0; b < berths && others->count < others->most; b++)
        for (size_t g = 0; g < n; g++) {
            bool is_taken = false;
            for (size_t i = 0; i < berths && !is_taken; i++)
                is_taken = traffic->slot[i] == g;
            if (is_taken)
                continue;
            memcpy(others->slot, traffic->slot, size);
            others->slot[b] = (uint16_t)g;
            bool all = traffic->in_rank_order;
            qsort(others->slot + (all ? 0 : b - b % each), all ? berths : each,
                  sizeof *others->slot, compare_slots);
            look(others);
        }
    for (size_t apart = 1; apart < request->tasks && others->count < others->most; apart++)
        for (size_t t = 0; t + apart < request->tasks; t++) {
            memcpy(others->slot, traffic->slot, size);
            memcpy(others->slot + t * each, traffic->slot + (t + apart) * each,
                   each * sizeof *others->slot);
            memcpy(others->slot + (t + apart) * each, traffic->slot + t * each,
                   each * sizeof *others->slot);
            look(others);
        }
}

static void add_longer(const struct others *others)
{
    const struct explained *explained = others->explained;
    struct bind_priced best = plan_bind_price_of(explained->price, others->best, NULL);
    const char *name[REASON_SUBJECTS_MAX] = {NULL};
    size_t count = 0;
    for (; count < others->berths && count < REASON_SUBJECTS_MAX; count++)
        name[count] = name_of(explained, explained->price->request.gpu[others->best[count]]);
    reasons_add(
        &explained->answer->reasons, best.is_least ? REASON_OTHER_GPUS_LEAST : REASON_OTHER_GPUS,
        (struct reason_subjects){count, name}, NUMBERS((double)others->count, best.step.time_ns));
}

static enum berth_code explain_others(struct explained *explained, struct berth_err *err)
{
    struct bind_price *price = explained->price;
    struct reasons *reasons = &explained->answer->reasons;
    size_t berths = price->request.tasks * price->request.each;
    struct others others = {.explained = explained,
                            .berths = berths,
                            .most = 4 + OTHER_FLOWS / (price->flow_count + 1),
                            .lacking = explained->ours.lacking,
                            .slot = calloc(2 * berths + 1, sizeof *others.slot)};
    if (others.slot == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for other gpus");
    others.best = others.slot + berths;
    look_at_others(&others);
    if (others.longer > 0)
        add_longer(&others);
    else if (others.count > 0)
        reasons_add(reasons, REASON_OTHER_GPUS_SAME, NO_SUBJECTS, NUMBERS((double)others.count));
    else if (berths == price->request.gpu_count &&
             (price->request.tasks == 1 || explained->traffic->in_rank_order))
        reasons_add(reasons, REASON_OTHER_GPUS_NONE, NO_SUBJECTS, NO_NUMBERS);
    free(others.slot);
    return BERTH_OK;
}

/* The next of the GPUs' memories that is another one; PLACE_NONE: there is none. */
static place_id other_memory(const struct bind_price_request *request, size_t gpu, place_id own)
{
    for (size_t i = 1; i < request->gpu_count; i++) {
        place_id memory = request->memory[(gpu + i) % request->gpu_count];
        if (memory != PLACE_NONE && memory != own)
            return memory;
    }
    return PLACE_NONE;
}

/* The same GPUs, where each task has its memory elsewhere. */
static enum berth_code explain_memory(const struct explained *explained, struct berth_err *err)
{
    struct bind_price *price = explained->price;
    const struct bind_price_request *request = &price->request;
    const place_id *memory = explained->traffic->task_memory;
    place_id *other = calloc(request->tasks + 1, sizeof *other);
    if (other == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for other memory");
    bool has_all = plan_bind_price_has_host(price);
    for (size_t t = 0; t < request->tasks && has_all; t++) {
        other[t] =
            memory[t] == PLACE_NONE
                ? PLACE_NONE
                : other_memory(request, explained->traffic->slot[t * request->each], memory[t]);
        has_all = other[t] != PLACE_NONE;
    }
    if (has_all) {
        struct bind_priced far = plan_bind_price_of(price, explained->traffic->slot, other);
        if (far.lacking == 0 && far.step.time_ns > explained->ours.step.time_ns * (1 + POLICY_SAME))
            reasons_add(&explained->answer->reasons, REASON_OTHER_MEMORY,
                        SUBJECTS(name_of(explained, memory[0]), name_of(explained, other[0])),
                        NUMBERS(far.step.time_ns));
    }
    free(other);
    return BERTH_OK;
}

/* ---- evidence, and what is not known ---- */

static bool is_start(const struct value *value)
{
    return value != NULL &&
           (value->metric == METRIC_TRANSFER_OVERHEAD || value->metric == METRIC_COPY_LATENCY);
}

/* Cites the first numbers that the flow that ends last rests on: of starting it first, where that
 * is most of its time. The choice is the one loaded last. */
static enum berth_code cite(const struct explained *explained, size_t most, struct berth_err *err)
{
    struct bind_price *price = explained->price;
    struct evidence found = {0}, *evidence = &explained->answer->evidence;
    struct load_prediction load = plan_load_predict(price->table, price->load, price->flow_count,
                                                    price->scratch, price->part);
    const struct load_part *last = &price->part[load.last];
    bool starts_first = last->waits_ns + last->starts_ns > last->time.time_ns / 2, ok = true;
    enum berth_code code = plan_load_cite_last(price->table, price->load, price->flow_count,
                                               price->scratch, &found, 0, err);
    for (size_t pass = 0, taken = 0; pass < 2 && code == BERTH_OK; pass++)
        for (size_t i = 0; i < found.count && taken < most && ok; i++)
            if (is_start(found.item[i]) == (starts_first == (pass == 0))) {
                ok = evidence_add_same(evidence, 0, &found, i);
                taken++;
            }
    evidence_done(&found);
    return ok ? code : err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
}

/* Whether the number is of another pair than those of the plan. */
static bool is_stand_in(const struct bind_price *price, const struct value *value)
{
    bool is_of = false, is_of_others = false;
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct transfer *transfer = price->part[f].transfer;
        bool is_pair =
            transfer != NULL && ((transfer->from == value->from && transfer->to == value->to) ||
                                 (transfer->from == value->to && transfer->to == value->from));
        is_of = is_of || is_pair || (transfer != NULL && transfer->value == value);
        is_of_others = is_of_others || (transfer != NULL && !is_pair && transfer->call == value);
    }
    return !is_of || is_of_others;
}

static void explain_evidence(const struct explained *explained, size_t first)
{
    const struct evidence *evidence = &explained->answer->evidence;
    for (size_t i = first; i < evidence->count; i++) {
        const struct value *value = evidence->item[i];
        if (value != NULL &&
            (value->metric == METRIC_GPU_GPU_COPY_ENGINE ||
             value->metric == METRIC_GPU_GPU_KERNEL ||
             value->metric == METRIC_HOST_GPU_COPY_ENGINE ||
             value->metric == METRIC_HOST_GPU_KERNEL ||
             value->metric == METRIC_TRANSFER_OVERHEAD) &&
            is_stand_in(explained->price, value)) {
            reasons_add(&explained->answer->reasons, REASON_EVIDENCE_STANDS_IN,
                        SUBJECTS(name_of(explained, value->from), name_of(explained, value->to)),
                        NO_NUMBERS);
            return;
        }
    }
}

/* Warns of the cause why nothing predicts a transfer. */
static void warn_of_cause(const struct explained *explained, place_id from, place_id to)
{
    const struct graph *graph = explained->graph;
    struct reasons *warnings = &explained->answer->warnings;
    uint32_t link = limits_pair(explained->price->snap->derived.limits, from, to)->unstated;
    if (graph_place(graph, from)->kind == PLACE_GPU && graph_place(graph, to)->kind == PLACE_GPU &&
        endpoints_vendors_differ(graph, from, to))
        reasons_add(warnings, REASON_TRANSFERS_VENDORS,
                    SUBJECTS(name_of(explained, from), name_of(explained, to)), NO_NUMBERS);
    else if (link != LIMITS_NO_LINK)
        reasons_add(warnings, REASON_TRANSFERS_WIDTH,
                    SUBJECTS(name_of(explained, graph->links[link].from),
                             name_of(explained, graph->links[link].to)),
                    NO_NUMBERS);
}

/* Warns of flows of the choice loaded last that nothing predicts, and of links that are down. */
static void warn_of_unknown(const struct explained *explained)
{
    const struct bind_price *price = explained->price;
    struct reasons *warnings = &explained->answer->warnings;
    const struct load_flow *one = price->unknown > 0 ? &price->unknown_one : &price->unpriced_one;
    double count = (double)(price->unknown > 0 ? price->unknown : price->unpriced);
    for (size_t f = 0; f < price->flow_count; f++) {
        char down[2][ENDPOINTS_DOWN_SIZE];
        const struct load_flow *flow = &price->load[f];
        size_t links = flow->from < price->place_count && flow->to < price->place_count
                           ? endpoints_down_between(explained->graph, price->place[flow->from],
                                                    price->place[flow->to], down)
                           : 0;
        for (size_t i = 0; i < links; i++) {
            const char *text = down[i];
            reasons_add(warnings, REASON_LINK_DOWN, SUBJECTS(text), NO_NUMBERS);
        }
    }
    if (price->unknown + price->unpriced == 0)
        return;
    bool is_nowhere = one->from == PRICE_NOWHERE || one->to == PRICE_NOWHERE;
    enum reason_code code = price->unknown > 0
                                ? is_nowhere ? REASON_TRANSFERS_NOWHERE : REASON_TRANSFERS_UNKNOWN
                            : is_nowhere ? REASON_TRANSFERS_LEFT_OUT_NOWHERE
                                         : REASON_TRANSFERS_LEFT_OUT;
    const char *from = end_of(explained, one->from), *to = end_of(explained, one->to);
    reasons_add(warnings, code, is_nowhere ? NO_SUBJECTS : SUBJECTS(from, to),
                NUMBERS(count, (double)price->flow_count));
    if (!is_nowhere)
        warn_of_cause(explained, price->place[one->from], price->place[one->to]);
}

/* ---- the answer ---- */

/* The slots of what the tasks have; whether their memory is as was searched. */
static bool find_slots(struct explained *explained)
{
    struct bind_traffic *traffic = explained->traffic;
    const struct bind_answer *answer = explained->answer;
    size_t each = (size_t)answer->gpus_per_task;
    bool is_as_searched = traffic->is_chosen, has_host = plan_bind_price_has_host(traffic->price);
    for (size_t b = 0; b < each * answer->task_count; b++) {
        const struct bind_task *task = &answer->task[b / each];
        size_t g = 0;
        while (g + 1 < explained->gpus->count && explained->gpus->gpu[g] != task->gpus[b % each])
            g++;
        traffic->slot[b] = (uint16_t)g;
        traffic->task_memory[b / each] = task->memory;
        is_as_searched =
            is_as_searched && (b % each > 0 || !has_host || traffic->memory[g] == task->memory);
    }
    return is_as_searched;
}

/* Warns of a task whose GPUs would fit on one module, but are not on one. */
static void warn_of_torn_task(const struct explained *explained)
{
    size_t each = (size_t)explained->answer->gpus_per_task;
    char name[32];
    for (size_t t = 0; t < explained->answer->task_count; t++) {
        const place_id *gpu = explained->answer->task[t].gpus;
        place_id module = locality_above(explained->graph, gpu[0], PLACE_MODULE),
                 other = PLACE_NONE;
        size_t room = 0;
        for (size_t g = 0; g < explained->gpus->count; g++)
            room +=
                locality_above(explained->graph, explained->gpus->gpu[g], PLACE_MODULE) == module;
        for (size_t i = 1; i < each && other == PLACE_NONE; i++)
            other = locality_above(explained->graph, gpu[i], PLACE_MODULE) != module ? gpu[i]
                                                                                     : PLACE_NONE;
        if (module == PLACE_NONE || other == PLACE_NONE || room < each)
            continue;
        reasons_add(&explained->answer->warnings, REASON_TASK_ON_MODULES,
                    SUBJECTS(plan_bind_task_name(t, name), name_of(explained, gpu[0]),
                             name_of(explained, other)),
                    NO_NUMBERS);
        return;
    }
}

/* Fills predictions from the prices of GPUs in order and of ours, which stays the one priced last.
 */
static void predict(struct explained *explained, const place_id *order_memory, bool *ret_is_worse)
{
    struct bind_traffic *traffic = explained->traffic;
    struct bind_answer *answer = explained->answer;
    struct bind_priced *ours = &explained->ours, *order = &explained->order;
    *ours = plan_bind_price_of(traffic->price, traffic->slot, traffic->task_memory);
    *order = plan_bind_price_of(traffic->price, traffic->in_order, order_memory);
    if (order->lacking > ours->lacking) /* what more of the order is known of says less */
        *order = (struct bind_priced){.step = estimate_of(NAN, NAN, NAN), .compared_ns = NAN};
    *ret_is_worse =
        !isnan(ours->step.time_ns) && order->compared_ns > ours->compared_ns * (1 + POLICY_SAME);
    if (*ret_is_worse) {
        explain_last(explained, order, REASON_IN_ORDER_LAST_TRANSFER, &explained->in_order);
        explain_limits(explained, order, REASON_IN_ORDER_LIMIT_SHARED, REASON_IN_ORDER_LIMIT_SHARED,
                       &explained->in_order);
    }
    answer->predicted = ours->step;
    answer->baseline = order->step;
    if (!isnan(ours->step.time_ns) && ours->shared != NULL)
        snprintf(answer->bottleneck, sizeof answer->bottleneck, "%s", ours->shared->name);
    if (!isnan(order->step.time_ns) && order->shared != NULL)
        snprintf(answer->baseline_bottleneck, sizeof answer->baseline_bottleneck, "%s",
                 order->shared->name);
    plan_bind_price_of(traffic->price, traffic->slot, traffic->task_memory);
}

/* The GPUs of a choice, by task; one each. */
static struct bind_collective collective_of(const struct explained *explained, const uint16_t *slot)
{
    const struct bind_price *price = explained->price;
    struct bind_collective found = {.time = estimate_of(NAN, NAN, NAN)};
    place_id *gpu = calloc(price->request.tasks + 1, sizeof *gpu);
    for (size_t t = 0; gpu != NULL && t < price->request.tasks; t++)
        gpu[t] = price->request.gpu[slot[t]];
    bool is_open =
        !isnan(explained->traffic->how[LOAD_BEST].time_ns); /* no mechanism is asked for */
    if (gpu != NULL && is_open && price->request.each == 1 && price->request.traffic->reduced > 0)
        found = plan_bind_collective(price->snap, gpu, price->request.tasks,
                                     price->request.traffic->reduced);
    free(gpu);
    return found;
}

/* Takes the time of an all-reduce that a library was measured to take, where it was among ours and
 * among those in order. */
static void predict_collective(const struct explained *explained)
{
    struct bind_answer *answer = explained->answer;
    struct bind_collective ours = collective_of(explained, explained->traffic->slot),
                           order = collective_of(explained, explained->traffic->in_order);
    if (ours.value == NULL || order.value == NULL)
        return;
    reasons_add(&answer->reasons, REASON_COLLECTIVE, NO_SUBJECTS,
                NUMBERS(explained->price->request.traffic->reduced, ours.time.time_ns,
                        answer->predicted.time_ns));
    answer->predicted = ours.time;
    answer->baseline = order.time;
    answer->bottleneck[0] = answer->baseline_bottleneck[0] = '\0';
}

/* Numbers and warnings of ours, then of GPUs in order. */
static enum berth_code explain_numbers(const struct explained *explained,
                                       const place_id *order_memory, bool is_worse,
                                       struct berth_err *err)
{
    const struct bind_traffic *traffic = explained->traffic;
    struct bind_price *price = explained->price;
    struct bind_answer *answer = explained->answer;
    struct evidence unsaid = {0};
    size_t first = answer->evidence.count;
    plan_bind_price_load(price, traffic->slot, traffic->task_memory);
    enum berth_code code = plan_load_cite(price->table, price->load, price->flow_count,
                                          price->scratch, &unsaid, 0, &answer->warnings, err);
    evidence_done(&unsaid);
    warn_of_unknown(explained);
    const struct value *collective = collective_of(explained, traffic->slot).value;
    if (code == BERTH_OK && collective != NULL &&
        !evidence_add(&answer->evidence, first, collective))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    if (code == BERTH_OK)
        code = cite(explained, WHY_OURS, err);
    if (code != BERTH_OK)
        return code;
    explain_evidence(explained, first);
    if (!is_worse)
        return BERTH_OK;
    plan_bind_price_load(price, traffic->in_order, order_memory);
    code = cite(explained, WHY_ORDER, err);
    if (code == BERTH_OK)
        plan_load_why_beside(price->table, price->load, price->flow_count, price->scratch,
                             "in order, ", &answer->warnings);
    return code;
}

enum berth_code plan_bind_explain(struct bind_traffic *traffic, const struct snapshot *snap,
                                  const struct bind_gpus *gpus, struct bind_answer *answer,
                                  struct berth_err *err)
{
    struct explained explained = {.traffic = traffic,
                                  .price = traffic->price,
                                  .graph = snap->graph,
                                  .gpus = gpus,
                                  .answer = answer};
    const place_id *order_memory = traffic->is_order_real ? traffic->order_memory : NULL;
    bool is_worse;
    enum berth_code code = BERTH_OK;
    if (traffic->price == NULL)
        return BERTH_OK;
    explained.is_as_searched = find_slots(&explained);
    if ((size_t)answer->gpus_per_task * answer->task_count > gpus->count)
        reasons_add(&answer->warnings, REASON_GPUS_SHARED, NO_SUBJECTS,
                    NUMBERS((double)answer->task_count, (double)gpus->count));
    if (traffic->is_chosen)
        warn_of_torn_task(&explained);
    predict(&explained, order_memory, &is_worse);
    if (!isnan(explained.ours.step.time_ns)) {
        code = plan_bind_mechanism(traffic->price, traffic->how, snap, answer, err);
        explain_ours(&explained);
        reasons_append(&answer->reasons, &explained.in_order);
        explain_proof(&explained);
        explain_order(&explained);
        if (traffic->roomy_cores > 0)
            reasons_add(&answer->reasons, REASON_GPUS_WITH_CORES, NO_SUBJECTS,
                        NUMBERS((double)traffic->roomy_cores));
        predict_collective(&explained);
        if (code == BERTH_OK)
            code = explain_others(&explained, err);
        if (code == BERTH_OK)
            code = explain_memory(&explained, err);
    }
    return code == BERTH_OK ? explain_numbers(&explained, order_memory, is_worse, err) : code;
}
