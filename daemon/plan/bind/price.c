#include "plan/bind/price_inner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/load_interval.h"
#include "plan/bind/arcs.h"
#include "plan/bind/flow.h"
#include "plan/bind/start.h"
#include "plan/bind/turns.h"

#define LACK_MARGIN 4

/* ---- places and flows ---- */

static uint16_t find_place(const struct bind_price *price, place_id id)
{
    for (size_t i = price->request.gpu_count; i < price->place_count; i++)
        if (price->place[i] == id)
            return (uint16_t)i;
    return NOWHERE;
}

static uint16_t add_place(struct bind_price *price, place_id id)
{
    if (id == PLACE_NONE)
        return NOWHERE;
    uint16_t found = find_place(price, id);
    if (found != NOWHERE)
        return found;
    price->place[price->place_count] = id;
    return (uint16_t)price->place_count++;
}

static bool find_places(struct bind_price *price)
{
    const struct bind_price_request *request = &price->request;
    const struct graph *graph = price->snap->graph;
    price->place =
        calloc(request->gpu_count + graph_count(graph, PLACE_NUMA) + graph_count(graph, PLACE_NIC),
               sizeof *price->place);
    price->memory = calloc(request->gpu_count, sizeof *price->memory);
    price->nic = calloc(request->gpu_count, sizeof *price->nic);
    if (price->place == NULL || price->memory == NULL || price->nic == NULL)
        return false;
    memcpy(price->place, request->gpu, request->gpu_count * sizeof *request->gpu);
    price->place_count = request->gpu_count;
    for (size_t g = 0; g < request->gpu_count; g++)
        price->memory[g] = add_place(price, request->memory[g]);
    /* A task's memory may be none of these in the end. */
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); n != PLACE_NONE;
         n = graph_next(graph, PLACE_NUMA, n + 1))
        add_place(price, n);
    for (size_t g = 0; g < request->gpu_count; g++)
        price->nic[g] = add_place(price, request->nic[g]);
    return true;
}

/* Its kind; when there are too many, the one with the most bytes below, else the least. */
static uint16_t kind_of(struct bind_price *price, enum outside outside, double bytes)
{
    size_t best = price->kind_count;
    for (size_t k = 0; k < price->kind_count; k++) {
        const struct kind *kind = &price->kind[k];
        if (kind->outside != outside)
            continue;
        if (kind->bytes == bytes)
            return (uint16_t)k;
        bool fits = kind->bytes < bytes,
             best_fits = best < price->kind_count && price->kind[best].bytes < bytes;
        if (best == price->kind_count ||
            (fits ? !best_fits || kind->bytes > price->kind[best].bytes
                  : !best_fits && kind->bytes < price->kind[best].bytes))
            best = k;
    }
    if (price->kind_count < KINDS_MAX || best == price->kind_count) {
        price->kind[price->kind_count] = (struct kind){.outside = outside, .bytes = bytes};
        return (uint16_t)price->kind_count++;
    }
    price->is_rounded = true;
    return (uint16_t)best;
}

static void add_flow(struct bind_price *price, const struct traffic_flow *flow)
{
    size_t each = price->request.each;
    enum outside outside = flow->to == TRAFFIC_HOST     ? OUTSIDE_TO_HOST
                           : flow->from == TRAFFIC_HOST ? OUTSIDE_FROM_HOST
                           : flow->to == TRAFFIC_AWAY   ? OUTSIDE_TO_NIC
                           : flow->from == TRAFFIC_AWAY ? OUTSIDE_FROM_NIC
                                                        : OUTSIDE_NONE;
    size_t others = outside == OUTSIDE_NONE ? each : 1;
    double bytes = flow->bytes / (double)(each * others);
    uint16_t kind = kind_of(price, outside, bytes);
    size_t from = (size_t)(flow->from >= 0 ? flow->from : flow->to) * each,
           to = (size_t)(flow->to >= 0 ? flow->to : 0) * each;
    for (size_t i = 0; i < each * others; i++) {
        price->bytes[price->flow_count] = bytes;
        price->flow[price->flow_count++] =
            (struct search_flow){.kind = kind,
                                 .from = (int32_t)(from + i / others),
                                 .to = outside == OUTSIDE_NONE ? (int32_t)(to + i % others) : -1};
    }
}

static bool find_flows(struct bind_price *price)
{
    const struct bind_price_request *request = &price->request;
    size_t most = request->traffic->count * request->each * request->each;
    price->flow = calloc(most + 1, sizeof *price->flow);
    price->bytes = calloc(most + 1, sizeof *price->bytes);
    price->load = calloc(most + 1, sizeof *price->load);
    price->part = calloc(most + 1, sizeof *price->part);
    if (price->flow == NULL || price->bytes == NULL || price->load == NULL || price->part == NULL)
        return false;
    for (size_t i = 0; i < request->traffic->count; i++)
        add_flow(price, &request->traffic->flow[i]);
    return true;
}

/* Nothing is known of it on any gpu, with any of the memories that are next to one. */
static bool is_unknown_everywhere(const struct bind_price *price, const struct kind *kind)
{
    size_t n = price->request.gpu_count;
    for (size_t g = 0; g < n; g++)
        for (size_t memory = 0; memory < n; memory++) {
            struct load_flow flow = plan_bind_flow_between(price, kind->outside, kind->bytes, g, g,
                                                           price->memory[memory]);
            if (plan_bind_flow_is_known(price, &flow))
                return false;
        }
    return true;
}

/* What goes to the host or leaves the node, if nothing says what that takes on any gpu: no choice
 * is better or worse by it. It is left out where something else moves, whose time is known. */
static void find_unpriced(struct bind_price *price)
{
    size_t unpriced = 0;
    for (size_t k = 0; k < price->kind_count; k++)
        unpriced += price->kind[k].is_unpriced =
            price->kind[k].outside != OUTSIDE_NONE && is_unknown_everywhere(price, &price->kind[k]);
    for (size_t k = 0; k < price->kind_count && unpriced == price->kind_count; k++)
        price->kind[k].is_unpriced = false;
}

/* More than any step takes: all flows one after the other, each where it takes longest, and some
 * more for what they share. */
static void find_lack(struct bind_price *price)
{
    size_t n = price->request.gpu_count;
    for (size_t k = 0; k < price->kind_count && price->request.may_lack; k++) {
        double most_ns = 0;
        size_t flows = 0;
        for (size_t pair = 0; pair < n * n; pair++) {
            struct load_flow flow = plan_bind_flow_between(
                price, price->kind[k].outside, price->kind[k].bytes, pair / n, pair % n, NOWHERE);
            if (plan_bind_flow_is_known(price, &flow))
                most_ns = fmax(most_ns, plan_bind_start_alone_ns(price, &price->kind[k], &flow));
        }
        for (size_t f = 0; f < price->flow_count; f++)
            flows += price->flow[f].kind == k;
        price->lack_ns += LACK_MARGIN * most_ns * (double)flows;
    }
}

enum berth_code plan_bind_price_new(const struct snapshot *snap,
                                    const struct bind_price_request *request,
                                    struct bind_price **ret, struct berth_err *err)
{
    struct bind_price *price = calloc(1, sizeof *price);
    if (price == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for prices");
    price->snap = snap;
    price->request = *request;
    enum berth_code code = find_places(price) && find_flows(price)
                               ? BERTH_OK
                               : err_set(err, BERTH_NO_MEMORY, "no memory for prices");
    if (code == BERTH_OK)
        code =
            plan_load_new(snap, price->place, price->place_count, request->by, &price->table, err);
    if (code == BERTH_OK && !(plan_bind_turns_find(price) && plan_bind_start_find(price)))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for prices");
    if (code == BERTH_OK &&
        (price->scratch = plan_load_scratch_new(price->table, price->flow_count)) == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for prices");
    if (code == BERTH_OK) {
        find_unpriced(price);
        find_lack(price);
        *ret = price;
    } else {
        plan_bind_price_free(price);
    }
    return code;
}

void plan_bind_price_free(struct bind_price *price)
{
    if (price == NULL)
        return;
    plan_load_scratch_free(price->scratch);
    plan_load_free(price->table);
    free(price->place);
    free(price->memory);
    free(price->nic);
    free(price->flow);
    free(price->bytes);
    free(price->order);
    free(price->load);
    free(price->part);
    free(price->start);
    free(price->arc);
    free(price->use);
    free(price->sort);
    free(price->start_ns);
    free(price);
}

/* ---- the price of a choice ---- */

size_t plan_bind_price_load(struct bind_price *price, const uint16_t *slot, const place_id *memory)
{
    size_t unknown = 0, moving = 0;
    price->unpriced = price->lacking = 0;
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct search_flow *flow = &price->flow[f];
        size_t from = slot[flow->from], to = flow->to < 0 ? from : slot[flow->to];
        size_t task = (size_t)flow->from / price->request.each;
        uint16_t host = memory != NULL ? find_place(price, memory[task])
                                       : price->memory[slot[task * price->request.each]];
        struct load_flow load = plan_bind_flow_between(price, price->kind[flow->kind].outside,
                                                       price->bytes[f], from, to, host);
        bool known = plan_bind_flow_is_known(price, &load),
             lacks = !known && price->request.may_lack &&
                     price->kind[flow->kind].outside != OUTSIDE_NONE,
             unpriced = lacks || price->kind[flow->kind].is_unpriced;
        price->lacking += lacks && !price->kind[flow->kind].is_unpriced;
        moving += known && load.from != load.to;
        if (unpriced && price->unpriced++ == 0)
            price->unpriced_one = load;
        if (!known && !unpriced && unknown++ == 0)
            price->unknown = load;
        price->load[f] = known ? load : (struct load_flow){.bytes = 0};
    }
    plan_bind_turns_take(price);
    if (price->lacking > 0 && moving == 0) { /* the price of nothing is none */
        price->unknown = price->unpriced_one;
        unknown += price->unpriced;
        price->unpriced = price->lacking = 0;
    }
    return unknown;
}

bool plan_bind_price_is_mixed(const struct bind_price *price) { return price->start != NULL; }

bool plan_bind_price_is_round(const struct bind_price *price) { return price->is_round; }

bool plan_bind_price_has_host(const struct bind_price *price)
{
    bool has_host = false;
    for (size_t k = 0; k < price->kind_count; k++)
        has_host = has_host || price->kind[k].outside == OUTSIDE_TO_HOST ||
                   price->kind[k].outside == OUTSIDE_FROM_HOST;
    return has_host;
}

bool plan_bind_price_could_lack(const struct bind_price *price)
{
    bool could = false, is_beside = false;
    for (size_t k = 0; k < price->kind_count; k++) {
        could = could || (price->kind[k].outside != OUTSIDE_NONE && !price->kind[k].is_unpriced);
        is_beside = is_beside || price->kind[k].outside == OUTSIDE_NONE;
    }
    return could && is_beside;
}

static struct search_cost price_of(void *context, const uint16_t *slot)
{
    struct bind_price *price = context;
    size_t unknown = plan_bind_price_load(price, slot, NULL);
    struct load_time time = plan_bind_start_time(price);
    double lack_ns = (double)price->lacking * price->lack_ns;
    return (struct search_cost){.time_ns =
                                    fmax(time.step_ns + lack_ns, unknown > 0 ? UNKNOWN_NS : 0),
                                .sum_ns = time.sum_ns + (double)unknown * UNKNOWN_NS};
}

/* ---- the search ---- */

/* What differs by less takes equally long as far as is known: the intervals of both overlap. They
 * are those of the transfer that ends last, with what it shares and what starting it is measured to
 * differ by between pairs of its kind; who comes first and who waits for whose launches moves both
 * steps alike. */
static double error_of(struct bind_price *price, const uint16_t *slot)
{
    plan_bind_price_load(price, slot, NULL);
    size_t slowest;
    struct load_part last =
        plan_load_slowest(price->table, price->load, price->flow_count, price->scratch, &slowest);
    if (last.move == NULL)
        return PRICE_SAME_UNKNOWN;
    struct prediction alone = plan_move_queued(last.move, price->load[slowest].bytes);
    struct prediction end = load_interval_one(
        last.time.time_ns, &alone,
        last.shared != NULL ? &last.shared->step[last.shared->step_count - 1] : NULL,
        last.move->drift);
    end =
        load_interval_begun(&end, plan_move_call_half_ns(last.move, price->load[slowest].bytes), 0);
    double overlap = end.high_ns / fmax(end.low_ns, end.time_ns / 2) - 1,
           same = isnan(overlap) ? PRICE_SAME_UNKNOWN : overlap;
    return same * last.time.time_ns / (last.time.time_ns + (double)price->lacking * price->lack_ns);
}

static struct search_problem problem_of(struct bind_price *price,
                                        const struct bind_price_choice *choice)
{
    const struct bind_price_request *request = &price->request;
    return (struct search_problem){
        .slots = request->gpu_count,
        .tasks = request->tasks,
        .each = request->each,
        .in_order = choice->in_order,
        .flow = price->flow,
        .flow_count = price->flow_count,
        .kinds = price->kind_count,
        .arc = price->arc,
        .use = price->use,
        .resources = plan_load_resource_count(price->table),
        .sort = price->sort,
        .start_ns = price->start_ns,
        .far = choice->far,
        .apart = choice->apart,
        .meet = plan_bind_price_has_host(price) ? choice->meet : NULL,
        .unit = choice->unit,
        .most = choice->most,
        .price = price_of,
        .context = price,
    };
}

enum berth_code plan_bind_price_search(struct bind_price *price,
                                       const struct bind_price_choice *choice, uint16_t *ret_slot,
                                       struct search_result *ret, struct berth_err *err)
{
    if (!plan_bind_arcs(price))
        return err_set(err, BERTH_NO_MEMORY, "no memory for a search");
    struct search_problem problem = problem_of(price, choice);
    struct search_result result;
    if (!plan_search(&problem, ret_slot, &result) ||
        !plan_search_settle(&problem, fmin(error_of(price, ret_slot), PRICE_SETTLED), ret_slot,
                            &result))
        return err_set(err, BERTH_NO_MEMORY, "no memory for a search");
    /* in time, without what stands for what lacks a price */
    if (plan_bind_price_load(price, ret_slot, NULL) == 0 && price->lacking > 0) {
        double lack_ns = (double)price->lacking * price->lack_ns;
        result.settled *= result.cost.time_ns / fmax(result.cost.time_ns - lack_ns, 1);
        result.bound_ns = result.is_proven ? result.bound_ns - lack_ns : (double)NAN;
    }
    if (price->is_rounded) {
        result.is_proven = false;
        result.bound_ns = NAN;
    }
    result.bound_ns -= fmin(plan_bind_start_most_ns(price), result.bound_ns);
    *ret = result;
    return BERTH_OK;
}
