#include "plan_bind_price.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_NS 1e18 /* of a flow that nothing known predicts: anything is better */
#define TAKES_SIZES 4 /* of more different sizes of flows nobody looks which mechanism each pair takes */
#define KINDS_MAX  64   /* more sizes of flows than that are taken for the nearest below, in what the search knows beside prices */

/* Flows of a kind have the same bytes and the same sort of other end. */
enum outside { OUTSIDE_NONE, OUTSIDE_TO_HOST, OUTSIDE_FROM_HOST, OUTSIDE_TO_NIC, OUTSIDE_FROM_NIC, OUTSIDES };

struct kind {
    enum outside outside;
    double bytes;
};

struct bind_price {
    struct snapshot *snap;
    struct bind_price_request request;
    struct load_table *table;
    struct load_scratch *scratch;
    place_id *place;          /* of the table: gpus, then memories and nics, each once */
    size_t place_count;
    uint16_t *memory, *nic;   /* by gpu: index of place; NOWHERE */
    struct search_flow *flow; /* traffic by berth */
    double *bytes;            /* by flow */
    size_t flow_count;
    struct kind kind[KINDS_MAX + OUTSIDES];
    size_t kind_count;
    bool is_rounded;          /* flows are of kinds with fewer bytes */
    struct load_flow *load;   /* the same between places */
    struct load_part *part;
    /* For the search. */
    struct search_arc *arc;
    struct search_use *use;
    size_t use_count, use_room;
    uint16_t *sort;
};

#define NOWHERE ((uint16_t)-1)

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
        price->kind[price->kind_count] = (struct kind){outside, bytes};
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
    if (code == BERTH_OK && (price->scratch = plan_load_scratch_new(price->table, price->flow_count)) == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for prices");
    if (code == BERTH_OK)
        *ret = price;
    else
        plan_bind_price_free(price);
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
    free(price->load);
    free(price->part);
    free(price->arc);
    free(price->use);
    free(price->sort);
    free(price);
}

/* ---- the price of a choice ---- */

/* A flow with this sort of other end on these slots; memory NOWHERE: that of the gpu. */
static struct load_flow between(const struct bind_price *price, enum outside outside, double bytes, size_t from, size_t to, uint16_t memory)
{
    uint16_t slot = (uint16_t)from, host = memory != NOWHERE ? memory : price->memory[from], nic = price->nic[from];
    switch (outside) {
    case OUTSIDE_TO_HOST: return (struct load_flow){slot, host, bytes};
    case OUTSIDE_FROM_HOST: return (struct load_flow){host, slot, bytes};
    case OUTSIDE_TO_NIC: return (struct load_flow){slot, nic, bytes};
    case OUTSIDE_FROM_NIC: return (struct load_flow){nic, slot, bytes};
    case OUTSIDE_NONE:
    case OUTSIDES: break;
    }
    return (struct load_flow){slot, (uint16_t)to, bytes};
}

static bool is_known(const struct bind_price *price, const struct load_flow *flow)
{
    return flow->from == flow->to || (flow->from != NOWHERE && flow->to != NOWHERE && plan_load_known(price->table, flow->from, flow->to) != LOAD_NOTHING);
}

/* Fills load, with the memory next to a task's first gpu where none is given; returns how many of the flows nothing known predicts: those move nothing then. */
static size_t make_load(struct bind_price *price, const uint16_t *slot, const place_id *memory)
{
    size_t unknown = 0;
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct search_flow *flow = &price->flow[f];
        size_t from = slot[flow->from], to = flow->to < 0 ? from : slot[flow->to];
        size_t task = (size_t)flow->from / price->request.each;
        uint16_t host = memory != NULL ? find_place(price, memory[task]) : price->memory[slot[task * price->request.each]];
        struct load_flow load = between(price, price->kind[flow->kind].outside, price->bytes[f], from, to, host);
        bool known = is_known(price, &load);
        unknown += !known;
        price->load[f] = known ? load : (struct load_flow){0, 0, 0};
    }
    return unknown;
}

static struct search_cost price_of(void *context, const uint16_t *slot)
{
    struct bind_price *price = context;
    size_t unknown = make_load(price, slot, NULL);
    struct load_time time = plan_load_time(price->table, price->load, price->flow_count, price->scratch);
    return (struct search_cost){.time_ns = fmax(time.step_ns, unknown > 0 ? UNKNOWN_NS : 0), .sum_ns = time.sum_ns + (double)unknown * UNKNOWN_NS};
}

/* ---- what it is made of ---- */

static place_id gpu_of(const struct bind_price *price, const struct load_flow *load)
{
    return price->place[load->from < price->request.gpu_count ? load->from : load->to];
}

static double alone_rate(const struct bind_price *price, size_t f) { return price->load[f].bytes / fmax(price->part[f].alone_ns, 1e-3) * 1e9; }

static double capacity_of_users(const struct load_resource *resource, size_t users)
{
    double capacity = INFINITY;
    for (size_t i = 0; i < resource->step_count && resource->step[i].flows <= users; i++)
        capacity = resource->step[i].bytes_per_s;
    return capacity;
}

/* All that goes through it, and whether that is notably more than fits. */
static struct bind_sharing describe(const struct bind_price *price, const struct load_resource *resource, bool *ret_slows)
{
    struct bind_sharing sharing = {.resource = resource, .alone_bytes_per_s = INFINITY};
    size_t index = (size_t)(resource - plan_load_resource(price->table, 0));
    bool has[LOAD_PLACES_MAX] = {false};
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct load_flow *load = &price->load[f];
        if (price->part[f].move == NULL || !plan_load_uses(price->table, index, load->from, load->to, load->bytes))
            continue;
        size_t gpu = load->from < price->request.gpu_count ? load->from : load->to;
        sharing.users++;
        sharing.together_bytes_per_s += alone_rate(price, f);
        sharing.alone_bytes_per_s = fmin(sharing.alone_bytes_per_s, alone_rate(price, f));
        if (!has[gpu] && sharing.gpu_count++ < BIND_SHARING_GPUS)
            sharing.gpu[sharing.gpu_count - 1] = gpu_of(price, load);
        has[gpu] = true;
    }
    double capacity = capacity_of_users(resource, sharing.users);
    *ret_slows = sharing.together_bytes_per_s > capacity * (1 + PRICE_WORTH);
    sharing.together_bytes_per_s = fmin(sharing.together_bytes_per_s, capacity);
    return sharing;
}

/* What slows one alone shares nothing. */
static void note(struct bind_priced *priced, const struct bind_price *price, const struct load_resource *resource)
{
    for (size_t i = 0; i < priced->sharing_count; i++)
        if (priced->sharing[i].resource == resource)
            return;
    if (priced->sharing_count == BIND_SHARINGS_MAX)
        return;
    bool slows;
    struct bind_sharing sharing = describe(price, resource, &slows);
    if (sharing.users > 1 && slows)
        priced->sharing[priced->sharing_count++] = sharing;
}

struct bind_priced plan_bind_price_of(struct bind_price *price, const uint16_t *slot, const place_id *memory)
{
    size_t unknown = make_load(price, slot, memory);
    struct load_prediction load = plan_load_predict(price->table, price->load, price->flow_count, price->scratch, price->part);
    struct bind_priced priced = {.step = load.step, .is_measured = load.is_measured && unknown == 0};
    if (price->flow_count > 0 && price->part[load.last].move != NULL) {
        priced.slowest = price->part[load.last].move;
        priced.slowest_bytes = price->load[load.last].bytes;
        priced.slowest_ns = price->part[load.last].time.time_ns;
        priced.slowest_alone_ns = price->part[load.last].alone_ns;
    }
    if (unknown > 0)
        priced.step = (struct prediction){NAN, NAN, NAN};
    else if (load.shared != NULL)
        snprintf(priced.bottleneck, sizeof priced.bottleneck, "%s", load.shared->name);
    if (load.shared != NULL)
        note(&priced, price, load.shared);
    for (size_t f = 0; f < price->flow_count; f++)
        if (price->part[f].shared != NULL)
            note(&priced, price, price->part[f].shared);
    return priced;
}

size_t plan_bind_price_ride_count(const struct bind_price *price) { return price->flow_count; }

struct bind_ride plan_bind_price_ride(const struct bind_price *price, size_t index)
{
    const struct search_flow *flow = &price->flow[index];
    return (struct bind_ride){.task = (size_t)flow->from / price->request.each, .other = flow->to < 0 ? BIND_NO_TASK : (size_t)flow->to / price->request.each,
                              .move = price->part[index].move};
}

unsigned plan_bind_price_takes(struct bind_price *price)
{
    static const unsigned both = 1U << MOVE_COPY_ENGINE | 1U << MOVE_KERNEL;
    size_t n = price->request.gpu_count, sizes = 0;
    unsigned takes = 0;
    for (size_t k = 0; k < price->kind_count; k++)
        sizes += price->kind[k].outside == OUTSIDE_NONE;
    if (price->is_rounded || sizes > TAKES_SIZES)
        return sizes > 0 ? both : 0;
    for (size_t k = 0; k < price->kind_count && takes != both; k++)
        for (size_t pair = 0; pair < n * n && price->kind[k].outside == OUTSIDE_NONE && takes != both; pair++) {
            struct load_flow flow = {(uint16_t)(pair / n), (uint16_t)(pair % n), price->kind[k].bytes};
            struct load_part part;
            plan_load_predict(price->table, &flow, 1, price->scratch, &part);
            takes |= part.move != NULL ? 1U << part.move->by : 0;
        }
    return takes;
}

/* The first of found, but for what starting a call costs its caller: nobody waits for that here. */
static bool take_few(const struct plan_evidence *found, size_t most, struct plan_evidence *evidence)
{
    bool ok = true;
    for (size_t i = 0, taken = 0; i < found->count && taken < most && ok; i++) {
        if (found->item[i] != NULL && found->item[i]->metric == METRIC_TRANSFER_OVERHEAD)
            continue;
        ok = found->item[i] != NULL ? plan_evidence_add(evidence, 0, found->item[i]) : plan_evidence_add_set(evidence, 0, found->set[i]);
        taken++;
    }
    return ok;
}

/* What the flow that ends last rests on comes first. */
static enum berth_code cite_few(struct bind_price *price, size_t most, struct plan_evidence *evidence, struct berth_err *err)
{
    struct load_prediction load = plan_load_predict(price->table, price->load, price->flow_count, price->scratch, price->part);
    struct plan_evidence found = {0};
    struct plan_warnings said = {0};
    size_t kept = 0;
    for (size_t f = 0; f < price->flow_count; f++) {
        if (f != load.last && (load.shared == NULL || price->part[f].shared != load.shared))
            continue;
        struct load_flow flow = price->load[f];
        if (f == load.last) {
            price->load[kept] = price->load[0];
            price->load[0] = flow;
        } else {
            price->load[kept] = flow;
        }
        kept++;
    }
    enum berth_code code = plan_load_cite(price->table, price->load, kept, price->scratch, &found, 0, &said, err);
    if (code == BERTH_OK && !take_few(&found, most, evidence))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    plan_evidence_done(&found);
    return code;
}

enum berth_code plan_bind_price_cite(struct bind_price *price, const uint16_t *slot, const place_id *memory, size_t most, struct plan_evidence *evidence,
                                     struct plan_warnings *warnings, struct berth_err *err)
{
    struct plan_evidence unsaid = {0};
    size_t unknown = make_load(price, slot, memory);
    enum berth_code code = BERTH_OK;
    if (warnings != NULL)
        code = plan_load_cite(price->table, price->load, price->flow_count, price->scratch, &unsaid, 0, warnings, err);
    plan_evidence_done(&unsaid);
    if (code == BERTH_OK && warnings != NULL && unknown > 0)
        plan_warn(warnings, "no time is predicted: neither measurements nor links say what %zu of the %zu transfers take", unknown, price->flow_count);
    return code == BERTH_OK ? cite_few(price, most, evidence, err) : code;
}

/* ---- the search ---- */

static double capacity_of(const struct bind_price *price, size_t resource, double fastest)
{
    const struct load_resource *found = plan_load_resource(price->table, resource);
    double most = found->step_count > 0 ? (found->step[0].flows - 1) * fastest : INFINITY; /* so few are not limited */
    for (size_t i = 0; i < found->step_count; i++)
        most = fmax(most, found->step[i].bytes_per_s);
    return found->apart != 0 ? INFINITY : most; /* it limits some mixtures only */
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

/* Of several gpus of a task any may be the first, next to which its memory is. */
static double least_to_host(const struct bind_price *price, const struct kind *kind, size_t slot)
{
    double least = UNKNOWN_NS;
    for (size_t g = 0; g < price->request.gpu_count; g++) {
        struct load_flow flow = between(price, kind->outside, kind->bytes, slot, slot, price->memory[g]);
        if (is_known(price, &flow))
            least = fmin(least, plan_load_alone_ns(price->table, flow.from, flow.to, flow.bytes));
    }
    return least;
}

/* Alone, and what it uses; ns are bytes until it is known how fast the users of each resource are. */
static bool make_arc(struct bind_price *price, const struct kind *kind, size_t from, size_t to, double *fastest, struct search_arc *ret)
{
    if (price->request.each > 1 && (kind->outside == OUTSIDE_TO_HOST || kind->outside == OUTSIDE_FROM_HOST)) {
        *ret = (struct search_arc){.alone_ns = least_to_host(price, kind, from), .use = (uint32_t)price->use_count};
        return true;
    }
    struct load_flow flow = between(price, kind->outside, kind->bytes, from, to, NOWHERE);
    struct search_arc arc = {.alone_ns = UNKNOWN_NS, .use = (uint32_t)price->use_count};
    if (is_known(price, &flow)) {
        size_t resources = plan_load_resource_count(price->table);
        arc.alone_ns = plan_load_alone_ns(price->table, flow.from, flow.to, flow.bytes);
        for (size_t r = 0; r < resources && flow.from != flow.to; r++) {
            if (!plan_load_uses(price->table, r, flow.from, flow.to, flow.bytes))
                continue;
            if (!add_use(price, (uint16_t)r, flow.bytes))
                return false;
            fastest[r] = fmax(fastest[r], flow.bytes / fmax(arc.alone_ns, 1e-3) * 1e9);
        }
    }
    arc.use_count = (uint32_t)price->use_count - arc.use;
    *ret = arc;
    return true;
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
            bool same = a->step_count == b->step_count && a->apart == b->apart && a->is_nominal == b->is_nominal;
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

enum berth_code plan_bind_price_search(struct bind_price *price, const struct bind_price_choice *choice, uint16_t *ret_slot, struct search_result *ret, struct berth_err *err)
{
    const struct bind_price_request *request = &price->request;
    if (!make_arcs(price))
        return err_set(err, BERTH_NO_MEMORY, "no memory for a search");
    struct search_problem problem = {
        .slots = request->gpu_count, .tasks = request->tasks, .each = request->each, .share = choice->share, .in_order = choice->in_order,
        .flow = price->flow, .flow_count = price->flow_count, .kinds = price->kind_count, .arc = price->arc, .use = price->use,
        .resources = plan_load_resource_count(price->table), .sort = price->sort, .far = choice->far, .apart = choice->apart, .price = price_of, .context = price,
    };
    struct search_result result;
    if (!plan_search(&problem, ret_slot, &result))
        return err_set(err, BERTH_NO_MEMORY, "no memory for a search");
    if (price->is_rounded) {
        result.is_proven = false;
        result.bound_ns = NAN;
    }
    *ret = result;
    return BERTH_OK;
}
