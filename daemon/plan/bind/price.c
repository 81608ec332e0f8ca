#include "plan/bind/price.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/load_table.h"

#define LACK_MARGIN 4

static bool is_host(const struct bind_kind *kind)
{
    return kind->end == END_TO_HOST || kind->end == END_FROM_HOST;
}

static size_t task_of(const struct bind_price *price, size_t flow)
{
    return (size_t)price->flow[flow].from / price->request.each;
}

static const struct bind_kind *kind_of(const struct bind_price *price, size_t flow)
{
    return &price->kind[price->flow[flow].kind];
}

/* ---- places and flows ---- */

static uint16_t find_place(const struct bind_price *price, place_id id)
{
    for (size_t i = price->request.gpu_count; i < price->place_count; i++)
        if (price->place[i] == id)
            return (uint16_t)i;
    return PRICE_NOWHERE;
}

static uint16_t add_place(struct bind_price *price, place_id id)
{
    uint16_t found = id == PLACE_NONE ? PRICE_NOWHERE : find_place(price, id);
    if (id == PLACE_NONE || found != PRICE_NOWHERE)
        return found;
    price->place[price->place_count] = id;
    return (uint16_t)price->place_count++;
}

static bool find_places(struct bind_price *price)
{
    const struct bind_price_request *request = &price->request;
    const struct graph *graph = price->snap->graph;
    size_t most =
        request->gpu_count + graph_count(graph, PLACE_NUMA) + graph_count(graph, PLACE_NIC);
    price->place = calloc(most + 1, sizeof *price->place);
    price->memory = calloc(request->gpu_count + 1, sizeof *price->memory);
    price->nic = calloc(request->gpu_count + 1, sizeof *price->nic);
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
static uint16_t find_kind(struct bind_price *price, enum bind_end end, double bytes)
{
    size_t best = price->kind_count;
    for (size_t k = 0; k < price->kind_count; k++) {
        const struct bind_kind *kind = &price->kind[k], *other = &price->kind[best];
        if (kind->end != end)
            continue;
        if (kind->bytes == bytes)
            return (uint16_t)k;
        if (best == price->kind_count ||
            (kind->bytes < bytes ? other->bytes > bytes || kind->bytes > other->bytes
                                 : kind->bytes < other->bytes && other->bytes > bytes))
            best = k;
    }
    if (price->kind_count < PRICE_KINDS_MAX || best == price->kind_count) {
        price->kind[price->kind_count] = (struct bind_kind){.end = end, .bytes = bytes};
        return (uint16_t)price->kind_count++;
    }
    price->is_rounded = true;
    return (uint16_t)best;
}

static void add_flow(struct bind_price *price, const struct traffic_flow *flow)
{
    enum bind_end end = flow->to == TRAFFIC_HOST     ? END_TO_HOST
                        : flow->from == TRAFFIC_HOST ? END_FROM_HOST
                        : flow->to == TRAFFIC_AWAY   ? END_TO_NIC
                        : flow->from == TRAFFIC_AWAY ? END_FROM_NIC
                                                     : END_GPU;
    size_t each = price->request.each, others = end == END_GPU ? each : 1,
           from = (size_t)(flow->from >= 0 ? flow->from : flow->to) * each,
           to = (size_t)(flow->to >= 0 ? flow->to : 0) * each;
    double bytes = flow->bytes / (double)(each * others);
    uint16_t kind = find_kind(price, end, bytes);
    for (size_t i = 0; i < each * others; i++) {
        price->bytes[price->flow_count] = bytes;
        price->flow[price->flow_count++] =
            (struct search_flow){.kind = kind,
                                 .from = (int32_t)(from + i / others),
                                 .to = end == END_GPU ? (int32_t)(to + i % others) : -1};
    }
}

static bool find_flows(struct bind_price *price)
{
    const struct bind_price_request *request = &price->request;
    size_t most = request->traffic->count * request->each * request->each + 1;
    price->flow = calloc(most, sizeof *price->flow);
    price->bytes = calloc(most, sizeof *price->bytes);
    price->order = calloc(most, sizeof *price->order);
    price->load = calloc(most, sizeof *price->load);
    price->part = calloc(most, sizeof *price->part);
    price->start = calloc(most, sizeof *price->start);
    if (price->flow == NULL || price->bytes == NULL || price->order == NULL ||
        price->load == NULL || price->part == NULL || price->start == NULL)
        return false;
    for (size_t i = 0; i < request->traffic->count; i++)
        add_flow(price, &request->traffic->flow[i]);
    return true;
}

struct load_flow plan_bind_price_flow(const struct bind_price *price, const struct bind_kind *kind,
                                      double bytes, size_t from, size_t to, uint16_t memory)
{
    uint16_t gpu = (uint16_t)from, other = kind->end == END_GPU      ? (uint16_t)to
                                           : !is_host(kind)          ? price->nic[from]
                                           : memory != PRICE_NOWHERE ? memory
                                                                     : price->memory[from];
    bool is_in = kind->end == END_FROM_HOST || kind->end == END_FROM_NIC;
    return (struct load_flow){
        .from = is_in ? other : gpu, .to = is_in ? gpu : other, .bytes = bytes};
}

bool plan_bind_price_knows(const struct bind_price *price, const struct load_flow *flow)
{
    return flow->from == flow->to ||
           (flow->from != PRICE_NOWHERE && flow->to != PRICE_NOWHERE &&
            plan_load_known(price->table, flow->from, flow->to) != LOAD_NOTHING);
}

/* ---- launch order ---- */

/* Each task sends to every other by engine, so that copies queue. */
static bool is_all_by_engine(const struct bind_price *price)
{
    size_t tasks = price->request.tasks, each = price->request.each, all = 0, flows = 0;
    for (size_t f = 0; f < price->flow_count; f++) {
        flows = f > 0 && task_of(price, f) == task_of(price, f - 1) ? flows : 0;
        if (price->flow[f].to < 0)
            continue;
        const struct load_transfer *transfer =
            price->request.gpu_count > 1
                ? plan_load_table_choose(price->table, 0, 1, price->bytes[f])
                : NULL;
        if (transfer == NULL || transfer->alone.by != MECHANISM_COPY_ENGINE)
            return false;
        all += ++flows == (tasks - 1) * each * each;
    }
    return tasks > 2 && all == tasks;
}

/* All that each GPU sends leaves by one port, as to a switch. */
static bool has_one_port_each(const struct bind_price *price)
{
    const struct limits *limits = price->snap->derived.limits;
    const place_id *gpu = price->request.gpu;
    size_t n = price->request.gpu_count;
    bool one = n > 2;
    for (size_t a = 0; one && a < n; a++)
        for (size_t b = 0, first = a == 0; one && b < n; b++)
            one = b == a || b == first ||
                  limits_meet(limits, (struct limits_ends){gpu[a], gpu[first]},
                              (struct limits_ends){gpu[a], gpu[b]});
    return one;
}

/* By task, then by the task that it is for. */
static int compare_turns(const void *a, const void *b, void *data)
{
    const struct bind_price *price = data;
    size_t each = price->request.each, tasks = price->request.tasks, key[2], task[2];
    const size_t index[] = {*(const uint32_t *)a, *(const uint32_t *)b};
    for (int i = 0; i < 2; i++) {
        const struct search_flow *flow = &price->flow[index[i]];
        task[i] = task_of(price, index[i]);
        key[i] = flow->to < 0      ? tasks
                 : price->is_round ? ((size_t)flow->to / each + tasks - task[i]) % tasks
                                   : 0;
    }
    if (task[0] != task[1])
        return task[0] < task[1] ? -1 : 1;
    return key[0] != key[1] ? (key[0] < key[1] ? -1 : 1)
                            : (index[0] > index[1]) - (index[0] < index[1]);
}

static void find_order(struct bind_price *price)
{
    price->is_round = is_all_by_engine(price) && has_one_port_each(price);
    for (size_t f = 0; f < price->flow_count; f++)
        price->order[f] = (uint32_t)f;
    qsort_r(price->order, price->flow_count, sizeof *price->order, compare_turns, price);
    /* flows between tasks on one GPU have no turn */
    if (price->request.tasks * price->request.each > price->request.gpu_count)
        return;
    for (size_t i = 1; i < price->flow_count; i++)
        if (task_of(price, price->order[i]) == task_of(price, price->order[i - 1]))
            price->flow[price->order[i]].turn =
                (uint16_t)(price->flow[price->order[i - 1]].turn + 1);
}

/* ---- kinds of which less is known ---- */

/* What is known of flows of a kind on all GPUs. */
struct seen {
    bool is_known, has_start, lacks_start;
    struct load_start least;
    double most_ns; /* alone */
};

static void look(const struct bind_price *price, const struct load_flow *flow, struct seen *seen)
{
    struct load_start start;
    if (!plan_bind_price_knows(price, flow))
        return;
    seen->is_known = true;
    seen->most_ns =
        fmax(seen->most_ns, plan_load_alone_ns(price->table, flow->from, flow->to, flow->bytes));
    if (flow->from == flow->to)
        return;
    if (!plan_load_start(price->table, flow->from, flow->to, flow->bytes, &start)) {
        seen->lacks_start = true;
        return;
    }
    if (!seen->has_start)
        seen->least = start;
    seen->least.start_ns = fmin(seen->least.start_ns, start.start_ns);
    seen->least.launch_ns = fmin(seen->least.launch_ns, start.launch_ns);
    seen->has_start = true;
}

/* On every pair that such a flow may be between: of several GPUs of a task any may be the first,
 * next to which its memory is. */
static struct seen look_at_kind(const struct bind_price *price, const struct bind_kind *kind)
{
    size_t n = price->request.gpu_count;
    struct seen seen = {0};
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            bool is_one = kind->end != END_GPU && !(is_host(kind) && price->request.each > 1);
            struct load_flow flow =
                plan_bind_price_flow(price, kind, kind->bytes, a, b, price->memory[b]);
            if (!is_one || a == b)
                look(price, &flow, &seen);
        }
    return seen;
}

static void find_unknown(struct bind_price *price)
{
    size_t unpriced = 0;
    for (size_t k = 0; k < price->kind_count; k++) {
        struct bind_kind *kind = &price->kind[k];
        struct seen seen = look_at_kind(price, kind);
        unpriced += kind->is_unpriced = kind->end != END_GPU && !seen.is_known;
        if (seen.has_start && seen.lacks_start)
            kind->start = seen.least;
        price->is_mixed = price->is_mixed || (seen.has_start && seen.lacks_start);
        for (size_t f = 0; f < price->flow_count; f++)
            if (price->flow[f].kind == k) {
                price->start[f] = kind->start;
                price->lack_ns += LACK_MARGIN * seen.most_ns;
            }
    }
    /* the time of nothing is none */
    for (size_t k = 0; k < price->kind_count && unpriced == price->kind_count; k++)
        price->kind[k].is_unpriced = false;
}

struct load_start plan_bind_price_start(const struct bind_price *price,
                                        const struct bind_kind *kind, const struct load_flow *flow)
{
    struct load_start start = {0, 0};
    if (flow->from != flow->to &&
        !plan_load_start(price->table, flow->from, flow->to, flow->bytes, &start))
        start = kind->start;
    return start;
}

double plan_bind_price_assumed_ns(const struct bind_price *price)
{
    double most_ns = 0;
    for (size_t f = 0; f < price->flow_count; f++)
        most_ns = fmax(most_ns,
                       price->start[f].start_ns + price->load[f].turn * price->start[f].launch_ns);
    return most_ns;
}

/* ---- a price ---- */

enum berth_code plan_bind_price_new(const struct snapshot *snap,
                                    const struct bind_price_request *request,
                                    struct bind_price **ret, struct berth_err *err)
{
    struct bind_price *price = calloc(1, sizeof *price);
    enum berth_code code = BERTH_OK;
    if (price != NULL)
        *price = (struct bind_price){.snap = snap, .request = *request};
    bool ok = price != NULL && find_places(price) && find_flows(price);
    if (ok)
        code =
            plan_load_new(snap, price->place, price->place_count, request->by, &price->table, err);
    if (ok && code == BERTH_OK) {
        find_order(price);
        find_unknown(price);
        price->scratch = plan_load_scratch_new(price->table, price->flow_count);
        ok = price->scratch != NULL;
    }
    if (!ok)
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
    free(price->order);
    free(price->load);
    free(price->part);
    free(price->start);
    free(price);
}

bool plan_bind_price_has_host(const struct bind_price *price)
{
    bool has_host = false;
    for (size_t k = 0; k < price->kind_count; k++)
        has_host = has_host || is_host(&price->kind[k]);
    return has_host;
}

bool plan_bind_price_could_lack(const struct bind_price *price)
{
    bool could = false, has_gpus = false;
    for (size_t k = 0; k < price->kind_count; k++) {
        has_gpus = has_gpus || price->kind[k].end == END_GPU;
        could = could || (price->kind[k].end != END_GPU && !price->kind[k].is_unpriced);
    }
    return could && has_gpus;
}

bool plan_bind_price_is_round(const struct bind_price *price) { return price->is_round; }

unsigned plan_bind_price_takes(const struct bind_price *price)
{
    size_t n = price->request.gpu_count;
    unsigned takes = 0;
    for (size_t k = 0; k < price->kind_count; k++)
        for (size_t pair = 0; pair < n * n && price->kind[k].end == END_GPU; pair++) {
            const struct load_transfer *transfer =
                plan_load_table_choose(price->table, pair / n, pair % n, price->kind[k].bytes);
            takes |= transfer == NULL    ? 0
                     : price->is_rounded ? 1U << MECHANISM_COPY_ENGINE | 1U << MECHANISM_KERNEL
                                         : 1U << transfer->alone.by;
        }
    return takes;
}

/* ---- the price of a choice ---- */

/* Flows between tasks on one GPU are not launched. */
static void take_turns(const struct bind_price *price)
{
    uint16_t turn = 0;
    for (size_t i = 0; i < price->flow_count; i++) {
        size_t f = price->order[i];
        struct load_flow *load = &price->load[f];
        if (i > 0 && task_of(price, f) != task_of(price, price->order[i - 1]))
            turn = 0;
        load->turn = turn;
        turn += load->from != load->to || !(load->bytes > 0);
    }
}

void plan_bind_price_load(struct bind_price *price, const uint16_t *slot, const place_id *memory)
{
    size_t each = price->request.each, moving = 0;
    price->unknown = price->unpriced = price->lacking = 0;
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct search_flow *flow = &price->flow[f];
        const struct bind_kind *kind = kind_of(price, f);
        size_t from = slot[flow->from], to = flow->to < 0 ? from : slot[flow->to],
               task = task_of(price, f);
        uint16_t host =
            memory != NULL ? find_place(price, memory[task]) : price->memory[slot[task * each]];
        struct load_flow load = plan_bind_price_flow(price, kind, price->bytes[f], from, to, host);
        bool known = plan_bind_price_knows(price, &load), lacks = !known && !kind->is_unpriced &&
                                                                  price->request.may_lack &&
                                                                  kind->end != END_GPU;
        price->lacking += lacks;
        moving += known && load.from != load.to;
        if ((lacks || kind->is_unpriced) && price->unpriced++ == 0)
            price->unpriced_one = load;
        if (!known && !lacks && !kind->is_unpriced && price->unknown++ == 0)
            price->unknown_one = load;
        price->load[f] = known ? load : (struct load_flow){.bytes = 0};
    }
    take_turns(price);
    if (price->lacking > 0 && moving == 0) { /* the time of nothing is none */
        price->unknown_one = price->unpriced_one;
        price->unknown += price->unpriced;
        price->unpriced = price->lacking = 0;
    }
}

struct load_time plan_bind_price_compared(struct bind_price *price)
{
    return plan_load_time_from(price->table, price->load, price->flow_count,
                               price->is_mixed ? price->start : NULL, price->scratch);
}

struct bind_priced plan_bind_price_of(struct bind_price *price, const uint16_t *slot,
                                      const place_id *memory)
{
    plan_bind_price_load(price, slot, memory);
    struct load_prediction load = plan_load_predict(price->table, price->load, price->flow_count,
                                                    price->scratch, price->part);
    struct bind_priced priced = {.step = load.step,
                                 .is_explained = load.is_explained,
                                 .lacking = price->lacking,
                                 .waits_ns = load.waits_ns,
                                 .last = load.last,
                                 .shared = load.shared};
    priced.untried =
        plan_load_untried(price->table, price->load, price->flow_count, price->scratch);
    bool is_ceiling = false;
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct transfer *transfer = price->part[f].transfer;
        double bytes = price->load[f].bytes;
        unsigned lacks = transfer != NULL ? transfer_lacks(transfer, bytes, bytes) : 0;
        priced.unstarted += (lacks & LACKS_START) != 0;
        is_ceiling = is_ceiling || (lacks & LACKS_RATE) != 0;
    }
    priced.is_least = price->unpriced > 0 || priced.unstarted > 0;
    if (priced.untried.is_any)
        priced.step.source = estimate_worse(priced.step.source, SOURCE_SIMILAR_PAIR);
    if (priced.is_least)
        priced.step.source = SOURCE_LOWER_BOUND;
    if (priced.is_least || is_ceiling) {
        priced.step.low_ns = priced.step.time_ns;
        priced.step.high_ns = NAN;
    }
    if (price->unknown > 0)
        priced.step = estimate_of(NAN, NAN, NAN);
    priced.compared_ns = price->unknown > 0 ? (double)NAN
                         : price->is_mixed  ? plan_bind_price_compared(price).step_ns
                                            : priced.step.time_ns;
    return priced;
}

size_t plan_bind_price_ride_count(const struct bind_price *price) { return price->flow_count; }

struct bind_ride plan_bind_price_ride(const struct bind_price *price, size_t index)
{
    const struct search_flow *flow = &price->flow[index];
    return (struct bind_ride){.task = task_of(price, index),
                              .other = flow->to < 0 ? BIND_NO_TASK
                                                    : (size_t)flow->to / price->request.each,
                              .is_behind = price->part[index].is_behind,
                              .transfer = price->part[index].transfer};
}
