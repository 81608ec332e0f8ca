/* What a price is made of: who shares what, how each flow goes, and the numbers that it rests on.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cost/ends.h"
#include "cost/evidence.h"
#include "cost/load_table.h"
#include "cost/load_why.h"
#include "node/reasons.h"
#include "plan/bind/start.h"

static place_id gpu_of(const struct bind_price *price, const struct load_flow *load)
{
    return price->place[load->from < price->request.gpu_count ? load->from : load->to];
}

static double alone_rate(const struct bind_price *price, size_t f)
{
    return price->load[f].bytes / fmax(price->part[f].alone_ns, 1e-3) * 1e9;
}

static double capacity_of_users(const struct load_resource *resource, size_t users)
{
    double capacity = INFINITY;
    for (size_t i = 0; i < resource->step_count && resource->step[i].flows <= users; i++)
        capacity = resource->step[i].bytes_per_s;
    return capacity;
}

/* All that goes through it, and whether that is notably more than fits. */
static struct bind_sharing describe(const struct bind_price *price,
                                    const struct load_resource *resource, bool *ret_slows)
{
    struct bind_sharing sharing = {.resource = resource, .alone_bytes_per_s = INFINITY};
    size_t index = (size_t)(resource - plan_load_resource(price->table, 0));
    bool has[LOAD_PLACES_MAX] = {false};
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct load_flow *load = &price->load[f];
        if (price->part[f].move == NULL || price->part[f].is_behind ||
            !plan_load_uses(price->table, index, load->from, load->to, load->bytes))
            continue;
        size_t gpu = load->from < price->request.gpu_count ? load->from : load->to;
        sharing.users++;
        sharing.together_bytes_per_s += alone_rate(price, f);
        sharing.alone_bytes_per_s = fmin(sharing.alone_bytes_per_s, alone_rate(price, f));
        sharing.most_bytes_per_s = fmax(sharing.most_bytes_per_s, alone_rate(price, f));
        sharing.is_by_size = sharing.is_by_size || price->part[f].move->bytes_per_s >
                                                       alone_rate(price, f) * (1 + PRICE_WORTH);
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
static void note(struct bind_priced *priced, const struct bind_price *price,
                 const struct load_resource *resource)
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

static void find_untried(const struct bind_price *price, struct bind_priced *priced)
{
    priced->untried =
        plan_load_untried(price->table, price->load, price->flow_count, price->scratch);
    priced->is_measured = priced->is_measured && !priced->untried.is_any;
    for (size_t i = 0; priced->untried.is_any && i < 2; i++) {
        const struct load_flow *flow = &price->load[priced->untried.flow[i]];
        priced->untried_ends[i][0] = plan_load_place(price->table, flow->from);
        priced->untried_ends[i][1] = plan_load_place(price->table, flow->to);
    }
}

struct bind_priced plan_bind_price_of(struct bind_price *price, const uint16_t *slot,
                                      const place_id *memory)
{
    size_t unknown = plan_bind_price_load(price, slot, memory);
    struct load_prediction load = plan_load_predict(price->table, price->load, price->flow_count,
                                                    price->scratch, price->part);
    struct bind_priced priced = {.step = load.step,
                                 .lacking = price->lacking,
                                 .waits_ns = load.waits_ns,
                                 .is_explained = load.is_explained,
                                 .is_measured = load.is_measured && unknown == 0};
    find_untried(price, &priced);
    if (price->flow_count > 0 && price->part[load.last].move != NULL) {
        priced.slowest = price->part[load.last].move;
        priced.seen = price->part[load.last].seen;
        priced.slowest_bytes = price->load[load.last].bytes;
        priced.slowest_ns = price->part[load.last].time.time_ns;
        priced.slowest_alone_ns = price->part[load.last].alone_ns;
        priced.slowest_waits_ns = price->part[load.last].waits_ns;
        priced.slowest_starts_ns = price->part[load.last].starts_ns;
        priced.slowest_bytes_ns = price->part[load.last].bytes_ns;
        priced.slowest_turn = price->load[load.last].turn;
        for (size_t f = 0; f < price->flow_count; f++) {
            bool is_with = price->part[f].move == priced.slowest && price->load[f].bytes > 0;
            priced.slowest_queue += is_with;
            priced.slowest_queue_ns += is_with ? price->part[f].bytes_ns : 0;
        }
    }
    if (unknown > 0)
        priced.step = (struct prediction){NAN, NAN, NAN};
    else if (load.shared != NULL)
        snprintf(priced.bottleneck, sizeof priced.bottleneck, "%s", load.shared->name);
    for (size_t f = 0; f < price->flow_count; f++)
        priced.unstarted += price->part[f].move != NULL &&
                            plan_move_lacks_start(price->part[f].move, price->load[f].bytes);
    priced.ordered_ns = unknown > 0            ? (double)NAN
                        : price->start != NULL ? plan_bind_start_time(price).step_ns
                                               : priced.step.time_ns;
    priced.assumed_ns = plan_bind_start_most_ns(price);
    bool is_ceiling = false;
    for (size_t f = 0; f < price->flow_count && !is_ceiling; f++)
        is_ceiling = price->part[f].move != NULL && plan_move_is_ceiling(price->part[f].move);
    priced.is_least = price->unpriced > 0 || priced.unstarted > 0;
    if (priced.is_least || is_ceiling) {
        priced.is_measured = false;
        priced.step.low_ns = priced.step.time_ns;
        priced.step.high_ns = NAN;
    }
    bool slows;
    if (load.shared != NULL && describe(price, load.shared, &slows).users == 1)
        priced.narrow = load.shared;
    else if (load.shared != NULL)
        note(&priced, price, load.shared);
    for (size_t f = 0; f < price->flow_count; f++)
        if (price->part[f].shared != NULL)
            note(&priced, price, price->part[f].shared);
    return priced;
}

/* Each task's transfers the other way round. */
static void turn_round(struct bind_price *price)
{
    int32_t each = (int32_t)price->request.each;
    for (size_t first = 0, next; first < price->flow_count; first = next) {
        unsigned last = 0;
        for (next = first;
             next < price->flow_count && price->flow[price->order[next]].from / each ==
                                             price->flow[price->order[first]].from / each;
             next++)
            last = price->load[price->order[next]].turn > last
                       ? price->load[price->order[next]].turn
                       : last;
        for (size_t i = first; i < next; i++)
            price->load[price->order[i]].turn =
                (uint16_t)(last - price->load[price->order[i]].turn);
    }
}

/* Whether the flow that ends last waits for others of its task that differ in size. */
static bool waits_for_others(const struct bind_price *price, size_t f)
{
    size_t each = price->request.each;
    bool differs = false;
    for (size_t other = 0; other < price->flow_count && !differs; other++)
        differs = price->flow[other].from / (int32_t)each == price->flow[f].from / (int32_t)each &&
                  price->bytes[other] != price->bytes[f];
    return differs && price->part[f].waits_ns > PRICE_WORTH * price->part[f].time.time_ns;
}

bool plan_bind_price_is_by_order(struct bind_price *price, const uint16_t *slot,
                                 const place_id *memory)
{
    if (price->is_round || plan_bind_price_load(price, slot, memory) > 0 || price->flow_count == 0)
        return false;
    struct load_prediction load = plan_load_predict(price->table, price->load, price->flow_count,
                                                    price->scratch, price->part);
    if (waits_for_others(price, load.last))
        return true;
    turn_round(price);
    double other_ns =
        plan_load_time(price->table, price->load, price->flow_count, price->scratch).step_ns;
    return fabs(other_ns - load.step.time_ns) > PRICE_WORTH * load.step.time_ns;
}

size_t plan_bind_price_ride_count(const struct bind_price *price) { return price->flow_count; }

struct bind_ride plan_bind_price_ride(const struct bind_price *price, size_t index)
{
    const struct search_flow *flow = &price->flow[index];
    return (struct bind_ride){.task = (size_t)flow->from / price->request.each,
                              .other = flow->to < 0 ? BIND_NO_TASK
                                                    : (size_t)flow->to / price->request.each,
                              .is_behind = price->part[index].is_behind,
                              .move = price->part[index].move};
}

unsigned plan_bind_price_takes(struct bind_price *price)
{
    static const unsigned both = 1U << MOVE_COPY_ENGINE | 1U << MOVE_KERNEL;
    size_t n = price->request.gpu_count;
    unsigned takes = 0;
    for (size_t k = 0; k < price->kind_count && takes != both; k++)
        for (size_t pair = 0;
             pair < n * n && price->kind[k].outside == OUTSIDE_NONE && takes != both; pair++) {
            const struct load_ride *ride =
                plan_load_table_choose(price->table, pair / n, pair % n, price->kind[k].bytes);
            takes |= ride == NULL ? 0 : price->is_rounded ? both : 1U << ride->move.by;
        }
    return takes;
}

/* What a number is of: starting a transfer, several at once, or its rate. */
enum cited { CITED_START, CITED_SET, CITED_RATE };

static enum cited cited_as(const struct evidence *found, size_t i)
{
    const struct value *value = found->item[i];
    return value == NULL ? CITED_SET
           : value->metric == METRIC_TRANSFER_OVERHEAD || value->metric == METRIC_COPY_LATENCY
               ? CITED_START
               : CITED_RATE;
}

/* One kind of what was found, the first of it; false: no memory. */
static bool take(const struct evidence *found, enum cited kind, size_t most, size_t *taken,
                 struct evidence *evidence)
{
    bool ok = true;
    for (size_t i = 0; i < found->count && *taken < most && ok; i++)
        if (cited_as(found, i) == kind) {
            ok = evidence_add_same(evidence, 0, found, i);
            ++*taken;
        }
    return ok;
}

/* The first of found, those first that decide: what starting one costs, where that is a good part
 * of the time, and then, where that is not all of it, what several got together, and rates. */
static bool take_few(const struct evidence *found, size_t most, const struct load_part *last,
                     struct evidence *evidence)
{
    double starts_ns = last->waits_ns + last->starts_ns;
    bool has_set = false, ok = true;
    size_t taken = 0;
    for (size_t i = 0; i < found->count; i++)
        has_set = has_set || cited_as(found, i) == CITED_SET;
    if (starts_ns > PRICE_STARTS * last->time.time_ns)
        ok = take(found, CITED_START,
                  has_set && starts_ns <= PRICE_STARTS_ONLY * last->time.time_ns ? 1 : most, &taken,
                  evidence);
    if (taken > 0)
        return ok && (starts_ns > PRICE_STARTS_ONLY * last->time.time_ns ||
                      (take(found, CITED_SET, most, &taken, evidence) &&
                       take(found, CITED_RATE, most, &taken, evidence)));
    for (size_t i = 0; i < found->count && taken < most && ok; i++)
        if (cited_as(found, i) != CITED_START) {
            ok = evidence_add_same(evidence, 0, found, i);
            taken++;
        }
    return ok;
}

/* What the flow that ends last rests on comes first. */
static enum berth_code cite_few(struct bind_price *price, size_t most, struct evidence *evidence,
                                struct berth_err *err)
{
    struct load_prediction load = plan_load_predict(price->table, price->load, price->flow_count,
                                                    price->scratch, price->part);
    struct evidence found = {0};
    struct load_part last =
        price->flow_count > 0 ? price->part[load.last] : (struct load_part){.time = {0, NAN, NAN}};
    enum berth_code code = plan_load_cite_last(price->table, price->load, price->flow_count,
                                               price->scratch, &found, 0, err);
    if (code == BERTH_OK && !take_few(&found, most, &last, evidence))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    evidence_done(&found);
    return code;
}

static void warn_of_unknown(struct bind_price *price, size_t unknown, struct reasons *warnings)
{
    const struct graph *graph = price->snap->graph;
    const struct load_flow *flow = &price->unknown;
    char which[2 * MOVE_WHY_SIZE] = "", why[MOVE_WHY_SIZE];
    if (flow->from < price->place_count && flow->to < price->place_count) {
        plan_move_why_not(price->snap, price->place[flow->from], price->place[flow->to], why);
        snprintf(which, sizeof which, " (%s to %s%s)",
                 graph_place(graph, price->place[flow->from])->name,
                 graph_place(graph, price->place[flow->to])->name, why);
    }
    reasons_note(warnings,
                 "no time is predicted: neither measurements nor links say what %zu of the %zu "
                 "transfers take%s",
                 unknown, price->flow_count, which);
}

/* Those of which nothing is known on any gpu are in no time. */
static void warn_of_unpriced(struct bind_price *price, struct reasons *warnings)
{
    const struct graph *graph = price->snap->graph;
    const struct load_flow *flow = &price->unpriced_one;
    char which[4 * MOVE_WHY_SIZE] = ": this node has no nic", why[MOVE_WHY_SIZE];
    if (flow->from < price->place_count && flow->to < price->place_count) {
        plan_move_why_not(price->snap, price->place[flow->from], price->place[flow->to], why);
        snprintf(which, sizeof which, ": neither measurements nor links say what %s to %s takes%s",
                 graph_place(graph, price->place[flow->from])->name,
                 graph_place(graph, price->place[flow->to])->name, why);
    } else if (graph_count(graph, PLACE_NIC) > 0) {
        snprintf(which, sizeof which, ": no memory or nic is next to these gpus");
    }
    reasons_note(warnings, "%zu of the %zu transfers are not in the time, which is at least this%s",
                 price->unpriced, price->flow_count, which);
}

static void warn_of_down(struct bind_price *price, struct reasons *warnings)
{
    const struct graph *graph = price->snap->graph;
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct load_flow *flow = &price->load[f];
        char down[2][PLAN_ENDS_DOWN_SIZE];
        bool are_here = flow->from < price->place_count && flow->to < price->place_count;
        size_t count = are_here ? plan_ends_down_between(graph, price->place[flow->from],
                                                         price->place[flow->to], down)
                                : 0;
        for (size_t i = 0; i < count; i++)
            reasons_note(warnings, "%s: what is known of it may be from before", down[i]);
    }
}

enum berth_code plan_bind_price_cite(struct bind_price *price, const uint16_t *slot,
                                     const place_id *memory, size_t most, struct evidence *evidence,
                                     struct reasons *warnings, struct berth_err *err)
{
    struct evidence unsaid = {0};
    size_t unknown = plan_bind_price_load(price, slot, memory);
    enum berth_code code = BERTH_OK;
    if (warnings != NULL)
        code = plan_load_cite(price->table, price->load, price->flow_count, price->scratch, &unsaid,
                              0, warnings, err);
    evidence_done(&unsaid);
    if (code == BERTH_OK && warnings != NULL)
        warn_of_down(price, warnings);
    if (code == BERTH_OK && warnings != NULL && unknown > 0)
        warn_of_unknown(price, unknown, warnings);
    if (code == BERTH_OK && warnings != NULL && unknown == 0 && price->unpriced > 0)
        warn_of_unpriced(price, warnings);
    return code == BERTH_OK ? cite_few(price, most, evidence, err) : code;
}

void plan_bind_price_warn_of_ways(struct bind_price *price, const uint16_t *slot,
                                  const place_id *memory, const char *prefix,
                                  struct reasons *warnings)
{
    plan_bind_price_load(price, slot, memory);
    plan_load_predict(price->table, price->load, price->flow_count, price->scratch, price->part);
    plan_load_why_beside(price->table, price->load, price->flow_count, price->scratch, prefix,
                         warnings);
}
