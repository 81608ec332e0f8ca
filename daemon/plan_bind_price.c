#include "plan_bind_price_inner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "load_interval.h"
#include "plan_bind_start.h"
#include "plan_bind_turns.h"

#define LACK_MARGIN 4
#define COMMON_MAX 16 /* resources that are looked at of one transfer with the host: of more it is certain as well that the first ones are used */
#define UNKNOWN_NS 1e18 /* of a flow that nothing known predicts: anything is better */

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
    price->place = calloc(request->gpu_count + graph_count(graph, PLACE_NUMA) + graph_count(graph, PLACE_NIC), sizeof *price->place);
    price->memory = calloc(request->gpu_count, sizeof *price->memory);
    price->nic = calloc(request->gpu_count, sizeof *price->nic);
    if (price->place == NULL || price->memory == NULL || price->nic == NULL)
        return false;
    memcpy(price->place, request->gpu, request->gpu_count * sizeof *request->gpu);
    price->place_count = request->gpu_count;
    for (size_t g = 0; g < request->gpu_count; g++)
        price->memory[g] = add_place(price, request->memory[g]);
    /* A task's memory may be none of these in the end. */
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); n != PLACE_NONE; n = graph_next(graph, PLACE_NUMA, n + 1))
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
        bool fits = kind->bytes < bytes, best_fits = best < price->kind_count && price->kind[best].bytes < bytes;
        if (best == price->kind_count || (fits ? !best_fits || kind->bytes > price->kind[best].bytes : !best_fits && kind->bytes < price->kind[best].bytes))
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
    size_t from = (size_t)(flow->from >= 0 ? flow->from : flow->to) * each, to = (size_t)(flow->to >= 0 ? flow->to : 0) * each;
    for (size_t i = 0; i < each * others; i++) {
        price->bytes[price->flow_count] = bytes;
        price->flow[price->flow_count++] = (struct search_flow){kind, (int32_t)(from + i / others), outside == OUTSIDE_NONE ? (int32_t)(to + i % others) : -1};
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

/* A flow with this sort of other end on these slots; memory NOWHERE: that of the gpu. */
static struct load_flow between(const struct bind_price *price, enum outside outside, double bytes, size_t from, size_t to, uint16_t memory)
{
    uint16_t slot = (uint16_t)from, host = memory != NOWHERE ? memory : price->memory[from], nic = price->nic[from];
    switch (outside) {
    case OUTSIDE_TO_HOST: return (struct load_flow){.from = slot, .to = host, .bytes = bytes};
    case OUTSIDE_FROM_HOST: return (struct load_flow){.from = host, .to = slot, .bytes = bytes};
    case OUTSIDE_TO_NIC: return (struct load_flow){.from = slot, .to = nic, .bytes = bytes};
    case OUTSIDE_FROM_NIC: return (struct load_flow){.from = nic, .to = slot, .bytes = bytes};
    case OUTSIDE_NONE:
    case OUTSIDES: break;
    }
    return (struct load_flow){.from = slot, .to = (uint16_t)to, .bytes = bytes};
}

static bool is_known(const struct bind_price *price, const struct load_flow *flow)
{
    return flow->from == flow->to || (flow->from != NOWHERE && flow->to != NOWHERE && plan_load_known(price->table, flow->from, flow->to) != LOAD_NOTHING);
}

/* Nothing is known of it on any gpu, with any of the memories that are next to one. */
static bool is_unknown_everywhere(const struct bind_price *price, const struct kind *kind)
{
    size_t n = price->request.gpu_count;
    for (size_t g = 0; g < n; g++)
        for (size_t memory = 0; memory < n; memory++) {
            struct load_flow flow = between(price, kind->outside, kind->bytes, g, g, price->memory[memory]);
            if (is_known(price, &flow))
                return false;
        }
    return true;
}

/* What goes to the host or leaves the node, if nothing says what that takes on any gpu: no choice is better or worse by it. It is left out where something else moves, whose time is
 * known. */
static void find_unpriced(struct bind_price *price)
{
    size_t unpriced = 0;
    for (size_t k = 0; k < price->kind_count; k++)
        unpriced += price->kind[k].is_unpriced = price->kind[k].outside != OUTSIDE_NONE && is_unknown_everywhere(price, &price->kind[k]);
    for (size_t k = 0; k < price->kind_count && unpriced == price->kind_count; k++)
        price->kind[k].is_unpriced = false;
}

/* More than any step takes: all flows one after the other, each where it takes longest, and some more for what they share. */
static void find_lack(struct bind_price *price)
{
    size_t n = price->request.gpu_count;
    for (size_t k = 0; k < price->kind_count && price->request.may_lack; k++) {
        double most_ns = 0;
        size_t flows = 0;
        for (size_t pair = 0; pair < n * n; pair++) {
            struct load_flow flow = between(price, price->kind[k].outside, price->kind[k].bytes, pair / n, pair % n, NOWHERE);
            if (is_known(price, &flow))
                most_ns = fmax(most_ns, plan_bind_start_alone_ns(price, &price->kind[k], &flow));
        }
        for (size_t f = 0; f < price->flow_count; f++)
            flows += price->flow[f].kind == k;
        price->lack_ns += LACK_MARGIN * most_ns * (double)flows;
    }
}

enum berth_code plan_bind_price_new(struct snapshot *snap, const struct bind_price_request *request, struct bind_price **ret, struct berth_err *err)
{
    struct bind_price *price = calloc(1, sizeof *price);
    if (price == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for prices");
    price->snap = snap;
    price->request = *request;
    enum berth_code code = find_places(price) && find_flows(price) ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for prices");
    if (code == BERTH_OK)
        code = plan_load_new(snap, price->place, price->place_count, request->by, &price->table, err);
    if (code == BERTH_OK && !(plan_bind_turns_find(price) && plan_bind_start_find(price)))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for prices");
    if (code == BERTH_OK && (price->scratch = plan_load_scratch_new(price->table, price->flow_count)) == NULL)
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
        uint16_t host = memory != NULL ? find_place(price, memory[task]) : price->memory[slot[task * price->request.each]];
        struct load_flow load = between(price, price->kind[flow->kind].outside, price->bytes[f], from, to, host);
        bool known = is_known(price, &load), lacks = !known && price->request.may_lack && price->kind[flow->kind].outside != OUTSIDE_NONE, unpriced = lacks || price->kind[flow->kind].is_unpriced;
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
        has_host = has_host || price->kind[k].outside == OUTSIDE_TO_HOST || price->kind[k].outside == OUTSIDE_FROM_HOST;
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
    return (struct search_cost){.time_ns = fmax(time.step_ns + lack_ns, unknown > 0 ? UNKNOWN_NS : 0), .sum_ns = time.sum_ns + (double)unknown * UNKNOWN_NS, .looked = (double)time.looked};
}

/* ---- the search ---- */

static double capacity_of(const struct bind_price *price, size_t resource, double fastest)
{
    const struct load_resource *found = plan_load_resource(price->table, resource);
    double most = found->step_count > 0 ? (found->step[0].flows - 1) * fastest : INFINITY; /* so few are not limited */
    for (unsigned kind = 0; found->apart != NULL && kind < RESOURCE_KINDS; kind++)
        most = fmax(most, found->apart[kind] * fastest); /* nor so many of one kind */
    for (size_t i = 0; i < found->step_count; i++)
        most = fmax(most, found->step[i].bytes_per_s);
    return most;
}

static bool add_use(struct bind_price *price, uint16_t resource, double ns)
{
    if (price->use_count == price->use_room) {
        size_t room = price->use_room > 0 ? 2 * price->use_room : 256;
        struct search_use *use = realloc(price->use, room * sizeof *use);
        if (use == NULL)
            return false;
        price->use = use;
        price->use_room = room;
    }
    price->use[price->use_count++] = (struct search_use){resource, ns};
    return true;
}

/* Of several gpus of a task any may be the first, next to which its memory is: what is used wherever that is, and the least that it takes. */
static bool make_host_arc(struct bind_price *price, const struct kind *kind, size_t slot, double *fastest, struct search_arc *ret)
{
    struct search_use common[COMMON_MAX];
    size_t count = 0;
    bool is_first = true;
    *ret = (struct search_arc){.alone_ns = kind->is_unpriced ? 0 : price->request.may_lack ? price->lack_ns : UNKNOWN_NS, .use = (uint32_t)price->use_count};
    for (size_t g = 0; g < price->request.gpu_count && !kind->is_unpriced; g++) {
        struct load_flow flow = between(price, kind->outside, kind->bytes, slot, slot, price->memory[g]);
        if (!is_known(price, &flow))
            continue;
        double alone_ns = plan_bind_start_alone_ns(price, kind, &flow);
        size_t used_count = 0;
        const uint16_t *used = flow.from != flow.to ? plan_load_used(price->table, flow.from, flow.to, flow.bytes, &used_count) : NULL;
        for (size_t u = 0; u < used_count; u++)
            fastest[used[u]] = fmax(fastest[used[u]], flow.bytes / fmax(alone_ns, 1e-3) * 1e9);
        size_t before = is_first ? used_count < COMMON_MAX ? used_count : COMMON_MAX : count, kept = 0;
        for (size_t i = 0; i < before; i++) {
            struct search_use use = is_first ? (struct search_use){used[i], flow.bytes} : common[i];
            if (used_count > 0 && plan_load_uses(price->table, use.resource, flow.from, flow.to, flow.bytes))
                common[kept++] = use;
        }
        count = kept;
        is_first = false;
        ret->alone_ns = fmin(ret->alone_ns, alone_ns);
    }
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++)
        ok = add_use(price, common[i].resource, common[i].ns);
    ret->use_count = (uint32_t)price->use_count - ret->use;
    return ok;
}

/* Alone, and what it uses; ns are bytes until it is known how fast the users of each resource are. */
static bool make_arc(struct bind_price *price, const struct kind *kind, size_t from, size_t to, double *fastest, struct search_arc *ret)
{
    if (price->request.each > 1 && (kind->outside == OUTSIDE_TO_HOST || kind->outside == OUTSIDE_FROM_HOST))
        return make_host_arc(price, kind, from, fastest, ret);
    struct load_flow flow = between(price, kind->outside, kind->bytes, from, to, NOWHERE);
    double unknown_ns = price->request.may_lack && kind->outside != OUTSIDE_NONE ? price->lack_ns : UNKNOWN_NS;
    struct search_arc arc = {.alone_ns = kind->is_unpriced ? 0 : unknown_ns, .use = (uint32_t)price->use_count};
    if (is_known(price, &flow)) {
        size_t used_count;
        const uint16_t *used = plan_load_used(price->table, flow.from, flow.to, flow.bytes, &used_count);
        arc.alone_ns = plan_bind_start_alone_ns(price, kind, &flow);
        for (size_t i = 0; i < used_count && flow.from != flow.to; i++) {
            if (!add_use(price, used[i], flow.bytes))
                return false;
            fastest[used[i]] = fmax(fastest[used[i]], flow.bytes / fmax(arc.alone_ns, 1e-3) * 1e9);
        }
    }
    arc.use_count = (uint32_t)price->use_count - arc.use;
    *ret = arc;
    return true;
}

static bool is_as_apart(const struct load_resource *a, const struct load_resource *b)
{
    return a->apart == b->apart || (a->apart != NULL && b->apart != NULL && memcmp(a->apart, b->apart, RESOURCE_KINDS * sizeof *a->apart) == 0);
}

/* Resources with the same capacities are of one sort. */
static void find_sorts(struct bind_price *price)
{
    size_t count = plan_load_resource_count(price->table);
    for (size_t r = 0; r < count; r++) {
        const struct load_resource *a = plan_load_resource(price->table, r);
        price->sort[r] = (uint16_t)r;
        for (size_t s = 0; s < r && price->sort[r] == r; s++) {
            const struct load_resource *b = plan_load_resource(price->table, s);
            bool same = a->step_count == b->step_count && is_as_apart(a, b) && a->is_nominal == b->is_nominal;
            for (size_t i = 0; i < a->step_count && same; i++)
                same = a->step[i].flows == b->step[i].flows && a->step[i].bytes_per_s == b->step[i].bytes_per_s;
            if (same)
                price->sort[r] = (uint16_t)s;
        }
    }
}

static bool make_arcs(struct bind_price *price)
{
    size_t n = price->request.gpu_count, resources = plan_load_resource_count(price->table);
    double *fastest = calloc(resources + 1, sizeof *fastest);
    price->arc = calloc(price->kind_count * n * n + 1, sizeof *price->arc);
    price->sort = calloc(resources + 1, sizeof *price->sort);
    bool ok = fastest != NULL && price->arc != NULL && price->sort != NULL;
    for (size_t k = 0; ok && k < price->kind_count; k++)
        for (size_t from = 0; from < n; from++)
            for (size_t to = 0; ok && to < n; to++)
                if (price->kind[k].outside == OUTSIDE_NONE || from == to)
                    ok = make_arc(price, &price->kind[k], from, to, fastest, &price->arc[(k * n + from) * n + to]);
    for (size_t u = 0; ok && u < price->use_count; u++)
        price->use[u].ns *= 1e9 / capacity_of(price, price->use[u].resource, fastest[price->use[u].resource]);
    if (ok)
        find_sorts(price);
    free(fastest);
    return ok;
}

/* What differs by less takes equally long as far as is known: the intervals of both overlap. They are those of the transfer that ends last, with what it shares and what starting it is measured to
 * differ by between pairs of its kind; who comes first and who waits for whose launches moves both steps alike. */
static double error_of(struct bind_price *price, const uint16_t *slot)
{
    plan_bind_price_load(price, slot, NULL);
    size_t slowest;
    struct load_part last = plan_load_slowest(price->table, price->load, price->flow_count, price->scratch, &slowest);
    if (last.move == NULL)
        return PRICE_SAME_UNKNOWN;
    struct prediction alone = plan_move_queued(last.move, price->load[slowest].bytes);
    struct prediction end = load_interval_one(last.time.time_ns, &alone, last.shared != NULL ? &last.shared->step[last.shared->step_count - 1] : NULL, last.move->drift);
    end = load_interval_begun(&end, plan_move_call_half_ns(last.move), 0);
    double overlap = end.high_ns / fmax(end.low_ns, end.time_ns / 2) - 1, same = isnan(overlap) ? PRICE_SAME_UNKNOWN : overlap;
    return same * last.time.time_ns / (last.time.time_ns + (double)price->lacking * price->lack_ns);
}

static struct search_problem problem_of(struct bind_price *price, const struct bind_price_choice *choice)
{
    const struct bind_price_request *request = &price->request;
    return (struct search_problem){
        .slots = request->gpu_count, .tasks = request->tasks, .each = request->each, .share = choice->share, .in_order = choice->in_order,
        .flow = price->flow, .flow_count = price->flow_count, .kinds = price->kind_count, .arc = price->arc, .use = price->use,
        .resources = plan_load_resource_count(price->table), .sort = price->sort, .far = choice->far, .apart = choice->apart, .unit = choice->unit, .most = choice->most, .unwanted_ns = choice->unwanted_ns, .price = price_of, .context = price,
    };
}

enum berth_code plan_bind_price_search(struct bind_price *price, const struct bind_price_choice *choice, uint16_t *ret_slot, struct search_result *ret, struct berth_err *err)
{
    if (!make_arcs(price))
        return err_set(err, BERTH_NO_MEMORY, "no memory for a search");
    struct search_problem problem = problem_of(price, choice);
    struct search_result result;
    if (!plan_search(&problem, ret_slot, &result) || !plan_search_settle(&problem, error_of(price, ret_slot), ret_slot, &result))
        return err_set(err, BERTH_NO_MEMORY, "no memory for a search");
    if (plan_bind_price_load(price, ret_slot, NULL) == 0 && price->lacking > 0) { /* in time, without what stands for what lacks a price */
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

enum berth_code plan_bind_price_bound(struct bind_price *price, const struct bind_price_choice *choice, double *ret_ns, struct berth_err *err)
{
    if (!make_arcs(price))
        return err_set(err, BERTH_NO_MEMORY, "no memory for a search");
    struct search_problem problem = problem_of(price, choice);
    double bound_ns;
    if (!plan_search_least(&problem, &bound_ns))
        return err_set(err, BERTH_NO_MEMORY, "no memory for a search");
    *ret_ns = price->is_rounded ? (double)NAN : bound_ns - fmin(plan_bind_start_most_ns(price), bound_ns);
    return BERTH_OK;
}
