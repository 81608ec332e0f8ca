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

/* ---- flows ---- */

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
    price->turn = calloc(most, sizeof *price->turn);
    bool ok = sorted != NULL && price->flow != NULL && price->bytes != NULL &&
              price->load != NULL && price->turn != NULL;
    for (size_t i = 0; ok && i < given; i++)
        sorted[i] = request->traffic != NULL ? request->traffic->flow[i]
                                             : (struct traffic_flow){(int32_t)i, TRAFFIC_HOST, 1};
    if (ok)
        qsort_r(sorted, given, sizeof *sorted, compare_launches, price);
    for (size_t i = 0; ok && i < given; i++)
        add_flow(price, &sorted[i]);
    free(sorted);
    price->known = calloc(price->kind_count * request->gpu_count * request->gpu_count + 1,
                          sizeof *price->known);
    return ok && price->known != NULL;
}

static void find_flow(const struct bind_price *price, const struct bind_kind *kind, double bytes,
                      size_t from, place_id other, struct bind_known *ret)
{
    const struct bind_price_request *request = &price->request;
    place_id gpu = request->gpu[from];
    bool is_in = kind->end == END_FROM_HOST || kind->end == END_FROM_NIC;
    struct bind_ends ends = {is_in ? other : gpu, is_in ? gpu : other};
    const struct user *user =
        usage_choose(price->snap->derived.usage, ends.from, ends.to, bytes, request->by);
    *ret = (struct bind_known){.flow = iteration_flow(user, bytes),
                               .ends = ends,
                               .is_known = request->traffic != NULL &&
                                           (user != NULL || ends.from == ends.to),
                               .is_filled = true};
}

const struct bind_known *plan_bind_price_flow(const struct bind_price *price,
                                              const struct bind_kind *kind, double bytes,
                                              size_t from, size_t to, place_id memory,
                                              struct bind_known *own)
{
    const struct bind_price_request *request = &price->request;
    size_t n = request->gpu_count, at = kind->end == END_GPU ? to : from;
    place_id next = kind->end == END_GPU ? request->gpu[to]
                    : is_host(kind)      ? request->memory[from]
                                         : request->nic[from],
             other = is_host(kind) && memory != PLACE_NONE ? memory : next;
    struct bind_known *known =
        other == next && bytes == kind->bytes
            ? &price->known[((size_t)(kind - price->kind) * n + from) * n + at]
            : own;
    if (known == own || !known->is_filled)
        find_flow(price, kind, bytes, from, other, known);
    return known;
}

bool plan_bind_price_has_start(const struct flow *flow)
{
    const struct transfer *alone = flow->transfer;
    return alone == NULL || alone->curve != NULL || !isnan(alone->t0_queue_ns) ||
           !isnan(alone->t0_call_ns);
}

double plan_bind_price_start(const struct bind_kind *kind, struct flow *flow)
{
    if (plan_bind_price_has_start(flow))
        return flow->transfer != NULL ? transfer_launch_ns(flow->transfer) : 0;
    flow->start_ns += kind->start.start_ns;
    return kind->start.launch_ns;
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
    struct bind_start least = {INFINITY, INFINITY};
    bool is_assumed = false;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            struct bind_known own;
            if (!is_pair && a != b)
                continue;
            const struct flow *flow = &plan_bind_price_flow(price, kind, kind->bytes, a, b,
                                                            price->request.memory[b], &own)
                                           ->flow;
            if (flow->user == NULL || !plan_bind_price_has_start(flow)) {
                is_assumed = is_assumed || flow->user != NULL;
                continue;
            }
            double large_ns = flow->bytes * 1e9 / flow->transfer->bytes_per_s;
            least.start_ns =
                fmin(least.start_ns, fmax(flow->start_ns + flow->bytes_ns - large_ns, 0));
            least.launch_ns = fmin(least.launch_ns, transfer_launch_ns(flow->transfer));
        }
    kind->start = isinf(least.start_ns) ? (struct bind_start){0, 0} : least;
    price->assumed_ns = fmax(price->assumed_ns, is_assumed ? kind->start.start_ns : 0);
}

enum berth_code plan_bind_price_new(const struct snapshot *snap,
                                    const struct bind_price_request *request,
                                    struct bind_price **ret, struct berth_err *err)
{
    struct bind_price *price = calloc(1, sizeof *price);
    if (price != NULL)
        *price = (struct bind_price){.snap = snap, .request = *request};
    bool ok = price != NULL && find_flows(price) &&
              (price->iteration = iteration_new(snap->derived.usage, price->flow_count)) != NULL;
    if (!ok) {
        plan_bind_price_free(price);
        return err_set(err, BERTH_NO_MEMORY, "no memory for prices");
    }
    for (size_t k = 0; k < price->kind_count; k++)
        find_start(price, &price->kind[k]);
    *ret = price;
    return BERTH_OK;
}

void plan_bind_price_free(struct bind_price *price)
{
    if (price == NULL)
        return;
    iteration_free(price->iteration);
    free(price->known);
    free(price->flow);
    free(price->bytes);
    free(price->load);
    free(price->turn);
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
    struct bind_ends one; /* that nothing predicts */
    double lack;
};

/* Fills flows: slot is an index of GPU by gpu of a task; memory by task, NULL: that of its first
 * GPU. Flows between tasks on one GPU are not launched. is_compared: with the start-up of their
 * kinds. */
static struct loaded load(const struct bind_price *price, const uint16_t *slot,
                          const place_id *memory, bool is_compared, struct flow *flows)
{
    const struct bind_price_request *request = &price->request;
    struct loaded loaded = {.unpriced = 0};
    uint16_t turn = 0;
    size_t before = BIND_NO_TASK;
    for (size_t f = 0; f < price->flow_count; f++) {
        size_t task = plan_bind_price_task(price, f);
        const struct search_flow *flow = &price->flow[f];
        const struct bind_kind *kind = &price->kind[flow->kind];
        size_t from = slot[flow->from], to = flow->to < 0 ? from : slot[flow->to];
        place_id host = memory != NULL ? memory[task] : request->memory[slot[task * request->each]];
        struct bind_known own;
        const struct bind_known *known =
            plan_bind_price_flow(price, kind, price->bytes[f], from, to, host, &own);
        flows[f] = known->flow;
        price->turn[f] = turn = task == before ? turn : 0;
        before = task;
        if (flows[f].user != NULL)
            flows[f].begin_ns =
                (double)turn * (is_compared ? plan_bind_price_start(kind, &flows[f])
                                            : transfer_launch_ns(flows[f].transfer));
        loaded.moving += flows[f].user != NULL;
        turn += flows[f].user != NULL || !known->is_known;
        if (known->is_known)
            continue;
        if (loaded.unpriced++ == 0)
            loaded.one = known->ends;
        loaded.lack += plan_bind_price_lack(price, kind, from, to);
    }
    for (size_t b = 0; b < request->tasks * request->each && loaded.unpriced > 0; b++)
        for (size_t own = b - b % request->each; own < b; own++)
            loaded.lack += OWN * request->apart[slot[own] * request->gpu_count + slot[b]];
    return loaded;
}

struct search_cost plan_bind_price_search(void *context, const uint16_t *slot)
{
    struct bind_price *price = context;
    struct search_cost cost = {.lack = load(price, slot, NULL, true, price->load).lack};
    cost.time_ns =
        iteration_run(price->iteration, price->load, price->flow_count, ITERATION_EXPECTED);
    for (size_t f = 0; f < price->flow_count; f++)
        cost.sum_ns += price->load[f].end_ns;
    return cost;
}

bool plan_bind_choice_init(struct bind_choice *choice, const struct bind_price *price)
{
    const struct bind_price_request *request = &price->request;
    *choice = (struct bind_choice){
        .slot = calloc(request->tasks * request->each + 1, sizeof *choice->slot),
        .memory = calloc(request->tasks + 1, sizeof *choice->memory),
        .flow = calloc(price->flow_count + 1, sizeof *choice->flow),
        .time = estimate_of(NAN, NAN, NAN),
        .compared_ns = NAN};
    return choice->slot != NULL && choice->memory != NULL && choice->flow != NULL;
}

void plan_bind_choice_done(struct bind_choice *choice)
{
    free(choice->slot);
    free(choice->memory);
    free(choice->flow);
    *choice = (struct bind_choice){0};
}

/* Sets what is not known of it. */
static void doubt(const struct bind_price *price, struct bind_choice *choice)
{
    struct estimate *time = &choice->time;
    choice->untried = iteration_untried(price->snap, choice->flow, price->flow_count);
    choice->unstarted = 0;
    choice->rates = SOURCE_MEASURED;
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct flow *flow = &choice->flow[f];
        if (flow->user == NULL)
            continue;
        choice->unstarted +=
            (transfer_lacks(flow->transfer, flow->bytes, flow->bytes) & LACKS_START) != 0;
        choice->rates = estimate_worse(choice->rates, flow->transfer->source);
    }
    if (iteration_is_untried(&choice->untried))
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
    struct loaded loaded = load(price, choice->slot, choice->memory, true, price->load);
    choice->compared_ns =
        iteration_run(price->iteration, price->load, price->flow_count, ITERATION_EXPECTED);
    load(price, choice->slot, choice->memory, false, choice->flow);
    struct prediction predicted =
        iteration_predict(price->iteration, choice->flow, price->flow_count);
    choice->time = predicted.time;
    choice->unpriced = loaded.unpriced;
    choice->one = loaded.one;
    choice->is_explained = predicted.is_explained;
    choice->waits_ns = predicted.waits_ns;
    choice->last = predicted.last;
    choice->shared = price->flow_count > 0 ? choice->flow[predicted.last].shared : NULL;
    choice->is_nearest = true;
    for (size_t t = 0; t < request->tasks; t++)
        choice->is_nearest &= !plan_bind_price_has(price, END_TO_HOST) ||
                              choice->memory[t] == request->memory[choice->slot[t * request->each]];
    if (loaded.moving == 0) /* all of it within GPUs, which nothing here prices */
        choice->time.source = SOURCE_LOWER_BOUND;
    doubt(price, choice);
    if (loaded.moving == 0 && loaded.unpriced > 0) { /* the time of nothing is none */
        choice->time = estimate_of(NAN, NAN, NAN);
        choice->compared_ns = NAN;
    }
}
