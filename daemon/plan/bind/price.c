#include "plan/bind/price.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Distances between the GPUs of one task beside those of peers, where nothing predicts a flow. */
#define OWN 100

static bool is_host(const struct bind_kind *kind)
{
    return kind->end == END_TO_HOST || kind->end == END_FROM_HOST;
}

size_t plan_bind_price_task(const struct bind_price *price, size_t flow)
{
    return (size_t)price->flow[flow].from / price->request.each;
}

size_t plan_bind_price_peer(const struct bind_price *price, size_t flow)
{
    return price->flow[flow].to < 0 ? BIND_NO_TASK
                                    : (size_t)price->flow[flow].to / price->request.each;
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
    price->most_bytes = fmax(price->most_bytes, bytes);
    for (size_t i = 0; i < each * others; i++) {
        struct search_flow *last = &price->flow[price->flow_count];
        *last = (struct search_flow){.kind = kind,
                                     .from = (int32_t)(from + i / others),
                                     .to = end == END_GPU ? (int32_t)(to + i % others) : -1};
        /* flows between tasks on one GPU have no turn */
        if (price->flow_count > 0 && (size_t)last[-1].from / each == from / each &&
            price->request.tasks * each <= price->request.gpu_count)
            last->turn = (uint16_t)(last[-1].turn + 1);
        price->bytes[price->flow_count++] = bytes;
    }
}

/* Orders flows by task, then by the task at the other end, the next one first, the host last. */
static int compare_launches(const void *a, const void *b, void *data)
{
    const struct traffic_flow *flow[] = {a, b};
    int64_t tasks = (int64_t)((const struct bind_price *)data)->request.tasks, key[2];
    for (int i = 0; i < 2; i++) {
        int64_t from = flow[i]->from, to = flow[i]->to, own = from >= 0 ? from : to;
        bool is_peer = from >= 0 && to >= 0;
        key[i] = own * (tasks + 1) + (is_peer ? (to + tasks - own) % tasks : tasks);
    }
    return key[0] != key[1] ? (key[0] > key[1]) - (key[0] < key[1])
                            : (flow[0]->from > flow[1]->from) - (flow[0]->from < flow[1]->from);
}

static bool find_flows(struct bind_price *price)
{
    const struct bind_price_request *request = &price->request;
    size_t given = request->traffic != NULL ? request->traffic->count : request->tasks,
           most = given * request->each * request->each + 1;
    struct traffic_flow *sorted = calloc(given + 1, sizeof *sorted);
    price->flow = calloc(most, sizeof *price->flow);
    price->bytes = calloc(most, sizeof *price->bytes);
    price->load = calloc(most, sizeof *price->load);
    price->start = calloc(most, sizeof *price->start);
    bool ok = sorted != NULL && price->flow != NULL && price->bytes != NULL &&
              price->load != NULL && price->start != NULL;
    for (size_t i = 0; ok && i < given; i++)
        sorted[i] = request->traffic != NULL ? request->traffic->flow[i]
                                             : (struct traffic_flow){(int32_t)i, TRAFFIC_HOST, 1};
    if (ok)
        qsort_r(sorted, given, sizeof *sorted, compare_launches, price);
    for (size_t i = 0; ok && i < given; i++)
        add_flow(price, &sorted[i]);
    free(sorted);
    return ok;
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
    return price->request.traffic != NULL &&
           (flow->from == flow->to ||
            (flow->from != PRICE_NOWHERE && flow->to != PRICE_NOWHERE &&
             plan_load_known(price->table, flow->from, flow->to) != LOAD_NOTHING));
}

double plan_bind_price_lack(const struct bind_price *price, const struct bind_kind *kind,
                            size_t from, size_t to)
{
    return kind->end != END_GPU
               ? 1
               : 1 + kind->bytes / price->most_bytes *
                         price->request.apart[from * price->request.gpu_count + to];
}

/* Finds the least start-up that is known of a kind, on every pair that such a flow may be between;
 * of several GPUs of a task any may be the first, next to which its memory is. */
static void find_start(struct bind_price *price, struct bind_kind *kind)
{
    size_t n = price->request.gpu_count;
    bool is_pair = kind->end == END_GPU || (is_host(kind) && price->request.each > 1);
    struct load_start least = {INFINITY, INFINITY}, start;
    bool is_assumed = false;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            struct load_flow flow =
                plan_bind_price_flow(price, kind, kind->bytes, a, b, price->memory[b]);
            if ((!is_pair && a != b) || flow.from == flow.to ||
                !plan_bind_price_knows(price, &flow))
                continue;
            if (!plan_load_start(price->table, flow.from, flow.to, flow.bytes, &start)) {
                is_assumed = true;
                continue;
            }
            least.start_ns = fmin(least.start_ns, start.start_ns);
            least.launch_ns = fmin(least.launch_ns, start.launch_ns);
        }
    kind->start = isinf(least.start_ns) ? (struct load_start){0, 0} : least;
    price->assumed_ns = fmax(price->assumed_ns, is_assumed ? kind->start.start_ns : 0);
}

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
        for (size_t k = 0; k < price->kind_count; k++)
            find_start(price, &price->kind[k]);
        for (size_t f = 0; f < price->flow_count; f++)
            price->start[f] = price->kind[price->flow[f].kind].start;
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
    free(price->load);
    free(price->start);
    free(price);
}

bool plan_bind_price_has(const struct bind_price *price, enum bind_end end)
{
    bool has = false;
    for (size_t k = 0; k < price->kind_count; k++)
        has = has || price->kind[k].end == end;
    return has;
}

/* ---- the price of a choice ---- */

struct loaded {
    size_t unpriced, moving;
    struct load_flow one; /* that nothing predicts */
    double lack;
};

/* Fills load: slot is an index of GPU by gpu of a task; memory by task, NULL: that of its first
 * GPU. Flows between tasks on one GPU are not launched. */
static struct loaded load(const struct bind_price *price, const uint16_t *slot,
                          const place_id *memory, struct load_flow *load)
{
    size_t each = price->request.each, before = SIZE_MAX;
    struct loaded loaded = {.unpriced = 0};
    uint16_t turn = 0;
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct search_flow *flow = &price->flow[f];
        const struct bind_kind *kind = &price->kind[flow->kind];
        size_t from = slot[flow->from], to = flow->to < 0 ? from : slot[flow->to],
               task = plan_bind_price_task(price, f);
        uint16_t host =
            memory != NULL ? find_place(price, memory[task]) : price->memory[slot[task * each]];
        struct load_flow one = plan_bind_price_flow(price, kind, price->bytes[f], from, to, host);
        bool is_moving = one.from != one.to;
        turn = task == before ? turn : 0;
        before = task;
        if (plan_bind_price_knows(price, &one)) {
            loaded.moving += is_moving;
        } else {
            loaded.one = loaded.unpriced++ == 0 ? one : loaded.one;
            loaded.lack += plan_bind_price_lack(price, kind, from, to);
            one = (struct load_flow){.bytes = 0};
        }
        one.turn = turn;
        turn += is_moving;
        load[f] = one;
    }
    for (size_t b = 0; b < price->request.tasks * each && loaded.unpriced > 0; b++)
        for (size_t own = b - b % each; own < b; own++)
            loaded.lack +=
                OWN * price->request.apart[slot[own] * price->request.gpu_count + slot[b]];
    return loaded;
}

struct search_cost plan_bind_price_search(void *context, const uint16_t *slot)
{
    struct bind_price *price = context;
    struct loaded loaded = load(price, slot, NULL, price->load);
    struct load_time time = plan_load_time_from(price->table, price->load, price->flow_count,
                                                price->start, price->scratch);
    return (struct search_cost){
        .lack = loaded.lack, .time_ns = time.step_ns, .sum_ns = time.sum_ns};
}

bool plan_bind_choice_init(struct bind_choice *choice, const struct bind_price *price)
{
    const struct bind_price_request *request = &price->request;
    *choice = (struct bind_choice){
        .slot = calloc(request->tasks * request->each + 1, sizeof *choice->slot),
        .memory = calloc(request->tasks + 1, sizeof *choice->memory),
        .load = calloc(price->flow_count + 1, sizeof *choice->load),
        .part = calloc(price->flow_count + 1, sizeof *choice->part),
        .time = estimate_of(NAN, NAN, NAN),
        .compared_ns = NAN};
    return choice->slot != NULL && choice->memory != NULL && choice->load != NULL &&
           choice->part != NULL;
}

void plan_bind_choice_done(struct bind_choice *choice)
{
    free(choice->slot);
    free(choice->memory);
    free(choice->load);
    free(choice->part);
    *choice = (struct bind_choice){0};
}

/* Sets what is not known of it. */
static void doubt(const struct bind_price *price, struct bind_choice *choice)
{
    struct estimate *time = &choice->time;
    choice->untried =
        plan_load_untried(price->table, choice->load, price->flow_count, price->scratch);
    choice->unstarted = 0;
    choice->rates = SOURCE_MEASURED;
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct transfer *transfer = choice->part[f].transfer;
        if (transfer == NULL)
            continue;
        double bytes = choice->load[f].bytes;
        choice->unstarted += (transfer_lacks(transfer, bytes, bytes) & LACKS_START) != 0;
        choice->rates = estimate_worse(choice->rates, transfer->source);
    }
    if (choice->untried.is_any)
        time->source = estimate_worse(time->source, SOURCE_SIMILAR_PAIR);
    if (choice->unpriced > 0 || choice->unstarted > 0)
        time->source = SOURCE_LOWER_BOUND;
    if (choice->rates >= SOURCE_NOMINAL || time->source == SOURCE_LOWER_BOUND) {
        time->low_ns = time->time_ns;
        time->high_ns = NAN;
    }
}

void plan_bind_price_of(struct bind_price *price, struct bind_choice *choice)
{
    const struct bind_price_request *request = &price->request;
    struct loaded loaded = load(price, choice->slot, choice->memory, choice->load);
    struct load_prediction load = plan_load_predict(price->table, choice->load, price->flow_count,
                                                    price->scratch, choice->part);
    choice->time = load.step;
    choice->unpriced = loaded.unpriced;
    choice->one = loaded.one;
    choice->is_explained = load.is_explained;
    choice->waits_ns = load.waits_ns;
    choice->last = load.last;
    choice->shared = load.shared;
    choice->is_nearest = true;
    for (size_t t = 0; t < request->tasks; t++)
        choice->is_nearest &= !plan_bind_price_has(price, END_TO_HOST) ||
                              choice->memory[t] == request->memory[choice->slot[t * request->each]];
    doubt(price, choice);
    choice->compared_ns = plan_load_time_from(price->table, choice->load, price->flow_count,
                                              price->start, price->scratch)
                              .step_ns;
    if (loaded.moving == 0 && loaded.unpriced > 0) { /* the time of nothing is none */
        choice->time = estimate_of(NAN, NAN, NAN);
        choice->compared_ns = NAN;
    }
}
