#include "cost/load.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "cost/limits.h"
#include "cost/load_table.h"
#include "cost/load_why.h"
#include "node/spread.h"

/* One flow goes first: each weighs so much of the one before it. */
#define WEIGHT       1e-3
#define WEIGHT_LEAST 1e-12

/* The latest of n independent normal deviations: its 97.5th percentile is about
 * sqrt(1 + LATEST ln(n)) times as far out as that of one. */
#define LATEST 0.35

/* ---- tables ---- */

enum berth_code plan_load_new(const struct snapshot *snap, const place_id *places, size_t count,
                              enum load_by by, struct load_table **ret, struct berth_err *err)
{
    if (count > LOAD_PLACES_MAX)
        return err_invalid(err, "places", "traffic between more than %d places is not weighed",
                           LOAD_PLACES_MAX);
    *ret = plan_load_table_new(snap, places, count, by);
    return *ret != NULL ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for transfers");
}

enum load_known plan_load_known(const struct load_table *table, size_t from, size_t to)
{
    enum load_known engine =
                        plan_load_table_transfer(table, MECHANISM_COPY_ENGINE, from, to)->known,
                    kernel = plan_load_table_transfer(table, MECHANISM_KERNEL, from, to)->known;
    return engine > kernel ? engine : kernel;
}

double plan_load_alone_ns(const struct load_table *table, size_t from, size_t to, double bytes)
{
    const struct load_transfer *transfer = plan_load_table_choose(table, from, to, bytes);
    return transfer != NULL && bytes > 0 ? plan_load_table_alone_ns(transfer, bytes, NULL) : 0;
}

struct load_lone plan_load_lone(const struct load_table *table, size_t from, size_t to,
                                double bytes)
{
    const struct load_transfer *transfer = plan_load_table_choose(table, from, to, bytes);
    struct load_lone lone = {.kind = transfer != NULL ? transfer->kind : 0};
    if (transfer != NULL && bytes > 0)
        plan_load_table_alone_ns(transfer, bytes, &lone.bytes_ns);
    return lone;
}

static bool lacks_start(const struct load_transfer *transfer)
{
    return transfer->alone.curve == NULL && isnan(transfer->alone.t0_queue_ns) &&
           isnan(transfer->alone.t0_call_ns);
}

bool plan_load_start(const struct load_table *table, size_t from, size_t to, double bytes,
                     struct load_start *ret)
{
    const struct load_transfer *transfer = plan_load_table_choose(table, from, to, bytes);
    if (transfer == NULL || lacks_start(transfer))
        return false;
    *ret = (struct load_start){fmax(plan_load_table_alone_ns(transfer, bytes, NULL) -
                                        bytes * 1e9 / transfer->alone.bytes_per_s,
                                    0),
                               transfer->launch_ns};
    return true;
}

size_t plan_load_resource_count(const struct load_table *table) { return table->resource_count; }
const struct load_resource *plan_load_resource(const struct load_table *table, size_t index)
{
    return &table->resource[index];
}

const uint16_t *plan_load_used(const struct load_table *table, size_t from, size_t to, double bytes,
                               size_t *ret_count)
{
    const struct load_transfer *transfer = plan_load_table_choose(table, from, to, bytes);
    *ret_count = transfer != NULL ? transfer->use_count : 0;
    return transfer != NULL ? table->use + transfer->use : NULL;
}

bool plan_load_uses(const struct load_table *table, size_t resource, size_t from, size_t to,
                    double bytes)
{
    size_t count;
    const uint16_t *used = plan_load_used(table, from, to, bytes, &count);
    for (size_t u = 0; u < count; u++)
        if (used[u] == resource)
            return true;
    return false;
}

/* ---- scratch ---- */

struct load_scratch *plan_load_scratch_new(const struct load_table *table, size_t most_flows)
{
    struct load_scratch *scratch = calloc(1, sizeof *scratch);
    if (scratch == NULL)
        return NULL;
    size_t resources = table->resource_count;
    *scratch = (struct load_scratch){.table = table,
                                     .sim = sim_new(most_flows, resources, table->transfer_count),
                                     .flow = calloc(most_flows + 1, sizeof *scratch->flow),
                                     .transfer = calloc(most_flows + 1, sizeof *scratch->transfer),
                                     .run = calloc(most_flows + 1, sizeof *scratch->run),
                                     .part = calloc(most_flows + 1, sizeof *scratch->part),
                                     .limit = calloc(resources + 1, sizeof *scratch->limit),
                                     .step = calloc(resources + 1, sizeof *scratch->step),
                                     .kinds = calloc(resources + 1, sizeof *scratch->kinds)};
    if (scratch->sim == NULL || scratch->flow == NULL || scratch->transfer == NULL ||
        scratch->run == NULL || scratch->part == NULL || scratch->limit == NULL ||
        scratch->step == NULL || scratch->kinds == NULL) {
        plan_load_scratch_free(scratch);
        return NULL;
    }
    for (size_t i = 0; i < resources; i++) {
        scratch->limit[i] = table->limit[i];
        scratch->step[i] = *table->limit[i].step;
        if (table->resource[i].apart != NULL)
            scratch->limit[i].step = &scratch->step[i];
    }
    return scratch;
}

void plan_load_scratch_free(struct load_scratch *scratch)
{
    if (scratch == NULL)
        return;
    sim_free(scratch->sim);
    free(scratch->flow);
    free(scratch->transfer);
    free(scratch->run);
    free(scratch->part);
    free(scratch->limit);
    free(scratch->step);
    free(scratch->kinds);
    free(scratch);
}

/* ---- flows ---- */

/* The stated rate limits no more transfers of one kind than runs had without loss; of several kinds
 * it limits all. */
void plan_load_limit_by_kinds(struct load_scratch *scratch, size_t count)
{
    const struct load_resource *resource = scratch->table->resource;
    for (size_t i = 0; i < count; i++)
        for (unsigned u = 0; u < scratch->flow[i].limit_count; u++)
            scratch->kinds[scratch->flow[i].limit[u]] = 0;
    for (size_t i = 0; i < count; i++)
        for (unsigned u = 0; u < scratch->flow[i].limit_count; u++) {
            uint16_t at = scratch->flow[i].limit[u];
            const struct load_transfer *transfer = scratch->transfer[i];
            unsigned kinds = scratch->kinds[at] |= transfer != NULL ? transfer->kind : 0;
            bool is_one = (kinds & (kinds - 1)) == 0;
            if (resource[at].apart == NULL)
                continue;
            unsigned most = is_one ? resource[at].apart[transfer_kind_index(kinds)] : 0;
            scratch->step[at].users = most < UINT_MAX ? most + 1 : most;
        }
}

void plan_load_set_flow(struct load_scratch *scratch, size_t i,
                        const struct load_transfer *transfer, double bytes, double bytes_ns)
{
    scratch->transfer[i] = transfer;
    scratch->run[i] = NULL;
    scratch->flow[i] = (struct sim_flow){.bytes_per_s = 1};
    if (transfer == NULL)
        return;
    scratch->flow[i] = (struct sim_flow){.bytes = bytes,
                                         .bytes_per_s = bytes / fmax(bytes_ns, 1e-3) * 1e9,
                                         .limit = scratch->table->use + transfer->use,
                                         .limit_count = transfer->use_count,
                                         .queue = plan_load_table_number(scratch->table, transfer)};
}

/* start: of flows of which nothing says what starting them costs; NULL nothing. */
static void prepare(struct load_scratch *scratch, const struct load_flow *flows, size_t count,
                    const struct load_start *start)
{
    const struct load_table *table = scratch->table;
    for (size_t i = 0; i < count; i++) {
        const struct load_flow *flow = &flows[i];
        const struct load_transfer *transfer =
            flow->bytes > 0 ? plan_load_table_choose(table, flow->from, flow->to, flow->bytes)
                            : NULL;
        double bytes_ns = 0,
               alone_ns = transfer != NULL
                              ? plan_load_table_alone_ns(transfer, flow->bytes, &bytes_ns)
                              : 0;
        plan_load_set_flow(scratch, i, transfer, flow->bytes, bytes_ns);
        if (transfer == NULL)
            continue;
        struct load_start its = start != NULL && lacks_start(transfer)
                                    ? start[i]
                                    : (struct load_start){0, transfer->launch_ns};
        scratch->flow[i].begin_ns = flow->turn * its.launch_ns;
        scratch->flow[i].start_ns = fmax(alone_ns + its.start_ns - bytes_ns, 0);
    }
    plan_load_limit_by_kinds(scratch, count);
}

/* ---- runs that no limit explains ---- */

static bool uses(const struct sim_flow *flow, uint16_t limit)
{
    unsigned u = 0;
    while (u < flow->limit_count && flow->limit[u] != limit)
        u++;
    return u < flow->limit_count;
}

static bool share_a_limit(const struct sim_flow *a, const struct sim_flow *b)
{
    bool share = false;
    for (unsigned u = 0; u < a->limit_count && !share; u++)
        share = uses(b, a->limit[u]);
    return share;
}

/* Index of the run's flow that it is; the run's count: none. */
static size_t find_in_run(const struct load_run *run, const struct sim_flow *flow)
{
    size_t at = 0;
    while (at < run->set->flow_count && run->transfer[at] != flow->queue)
        at++;
    return at;
}

/* Whether the run's flows are there, and no other shares anything with them. */
static bool has_run(const struct load_run *run, const struct sim_flow *flow, size_t count)
{
    bool has[SETS_FLOWS_MAX] = {false};
    size_t found = 0, all = run->set->flow_count;
    for (size_t i = 0; i < count; i++) {
        size_t at = find_in_run(run, &flow[i]);
        found += at < all && !has[at];
        has[at < all ? at : 0] |= at < all;
    }
    for (size_t i = 0; i < count && found == all; i++)
        for (size_t k = 0; k < count && find_in_run(run, &flow[i]) == all; k++)
            if (find_in_run(run, &flow[k]) < all && share_a_limit(&flow[i], &flow[k]))
                return false;
    return found == all;
}

/* Until the first of them has ended flows get what they got in their run. */
static void take_runs(struct load_scratch *scratch, size_t count)
{
    const struct load_table *table = scratch->table;
    for (const struct load_run *run = table->run; run < table->run + table->run_count; run++) {
        size_t all = run->set->flow_count;
        double least = INFINITY;
        if (!has_run(run, scratch->flow, count))
            continue;
        for (size_t i = 0; i < count; i++)
            if (find_in_run(run, &scratch->flow[i]) < all)
                least = fmin(least, scratch->flow[i].bytes);
        for (size_t i = 0; i < count; i++) {
            struct sim_flow *flow = &scratch->flow[i];
            size_t at = find_in_run(run, flow);
            if (at == all)
                continue;
            const struct place *from = graph_place(table->snap->graph, run->set->flow[at].from);
            double rate = run->rate[from->kind == PLACE_NUMA];
            if (rate >= flow->bytes_per_s)
                continue;
            flow->bytes_per_s =
                flow->bytes / (least / rate + (flow->bytes - least) / flow->bytes_per_s);
            scratch->run[i] = run;
        }
    }
}

/* The first of its limits that all flows of its run use. */
static uint16_t limit_of_run(const struct load_scratch *scratch, size_t count, size_t flow)
{
    for (unsigned u = 0; u < scratch->flow[flow].limit_count; u++) {
        uint16_t limit = scratch->flow[flow].limit[u];
        bool is_common = true;
        for (size_t i = 0; i < count && is_common; i++)
            is_common = scratch->run[i] != scratch->run[flow] || uses(&scratch->flow[i], limit);
        if (is_common)
            return limit;
    }
    return SIM_NO_LIMIT;
}

/* Simulates the flows; the latest end. */
static double simulate(struct load_scratch *scratch, const struct load_flow *flows, size_t count,
                       const struct load_start *start)
{
    prepare(scratch, flows, count, start);
    take_runs(scratch, count);
    double last_ns = sim_run(scratch->sim, scratch->limit, scratch->flow, count);
    for (size_t i = 0; i < count && scratch->table->run_count > 0; i++) {
        if (scratch->flow[i].slowed_by != SIM_NO_LIMIT)
            scratch->run[i] = NULL;
        else if (scratch->run[i] != NULL)
            scratch->flow[i].slowed_by = limit_of_run(scratch, count, i);
    }
    return last_ns;
}

struct load_time plan_load_time_from(const struct load_table *table, const struct load_flow *flows,
                                     size_t count, const struct load_start *start,
                                     struct load_scratch *scratch)
{
    (void)table;
    struct load_time time = {simulate(scratch, flows, count, start), 0};
    for (size_t i = 0; i < count; i++)
        time.sum_ns += scratch->flow[i].end_ns;
    return time;
}

struct load_time plan_load_time(const struct load_table *table, const struct load_flow *flows,
                                size_t count, struct load_scratch *scratch)
{
    return plan_load_time_from(table, flows, count, NULL, scratch);
}

/* ---- intervals ---- */

/* Half the interval of a flow's end, relative: of its rate alone or of what it shares, whichever is
 * wider, and of what lies between one measurement and another. NAN unknown. */
double plan_load_spread(const struct load_scratch *scratch, size_t i)
{
    const struct load_transfer *transfer = scratch->transfer[i];
    const struct load_resource *shared = plan_load_shared(scratch, i);
    const struct limits *limits = scratch->table->snap->derived.limits;
    struct estimate alone = transfer_queued(&transfer->alone, scratch->flow[i].bytes);
    double spread = alone.time_ns > 0 ? alone.high_ns / alone.time_ns - 1 : 0;
    if (shared != NULL) {
        double its = shared->step[shared->step_count - 1].spread;
        spread = isnan(its) || isnan(spread) ? (double)NAN : fmax(spread, its);
    }
    const struct agreement *drift = agreement_of(limits->agree, transfer->kind);
    return drift != NULL && drift->rates > 0
               ? hypot(spread, spread_one(0, drift->rate, drift->rates, 1))
               : spread;
}

/* Its own call deviates as well; and it is not known when it begins, by launches_ns. */
static struct estimate end_of(const struct load_scratch *scratch, size_t i, double launches_ns)
{
    const struct sim_flow *flow = &scratch->flow[i];
    if (scratch->transfer[i] == NULL)
        return estimate_of(0, 0, 0);
    double half_ns = hypot(flow->end_ns * plan_load_spread(scratch, i),
                           transfer_call_half_ns(&scratch->transfer[i]->alone, flow->bytes)) +
                     launches_ns;
    return estimate_of(flow->end_ns, isnan(half_ns) ? half_ns : fmax(flow->end_ns - half_ns, 0),
                       flow->end_ns + half_ns);
}

/* The last of count ends. Of those that may be the last each deviates on its own. */
static struct estimate last_of(const struct load_part *parts, size_t count)
{
    struct estimate last = estimate_of(0, 0, 0);
    size_t may_be_last = 0;
    bool unknown = false;
    for (size_t i = 0; i < count; i++) {
        unknown = unknown || isnan(parts[i].time.high_ns);
        last.time_ns = fmax(last.time_ns, parts[i].time.time_ns);
        last.low_ns = fmax(last.low_ns, parts[i].time.low_ns);
        last.high_ns = fmax(last.high_ns, parts[i].time.high_ns);
        last.source = estimate_worse(last.source, parts[i].time.source);
    }
    for (size_t i = 0; i < count; i++)
        may_be_last += parts[i].time.time_ns > 0 && parts[i].time.high_ns >= last.time_ns;
    if (unknown)
        last.low_ns = last.high_ns = NAN;
    else if (may_be_last > 1)
        last.high_ns = last.time_ns +
                       sqrt(1 + LATEST * log((double)may_be_last)) * (last.high_ns - last.time_ns);
    return last;
}

/* Whether all that slows flows is known to be shared fairly, by runs. */
static bool is_fair(const struct load_scratch *scratch, size_t count)
{
    bool fair = true;
    for (size_t i = 0; i < count && fair; i++) {
        const struct load_resource *shared = plan_load_shared(scratch, i);
        fair = shared == NULL || (!shared->is_nominal && scratch->run[i] == NULL &&
                                  (shared->limit == NULL || !shared->limit->is_uneven));
    }
    return fair;
}

/* The first flows first, or the last ones. */
double plan_load_run_in_order(struct load_scratch *scratch, size_t count, bool from_last)
{
    for (size_t i = 0; i < count; i++)
        scratch->flow[i].weight =
            fmax(pow(WEIGHT, (double)(from_last ? count - 1 - i : i)), WEIGHT_LEAST);
    return sim_run(scratch->sim, scratch->limit, scratch->flow, count);
}

/* The same flows shared otherwise: all fairly, whatever runs say, or one first. */
static void widen_by_order(struct load_scratch *scratch, const struct load_flow *flows,
                           size_t count, struct estimate *step)
{
    prepare(scratch, flows, count, NULL);
    double fair_ns = sim_run(scratch->sim, scratch->limit, scratch->flow, count),
           first_ns = plan_load_run_in_order(scratch, count, false),
           last_ns = plan_load_run_in_order(scratch, count, true);
    step->low_ns *= fmin(1, fmin(fair_ns, fmin(first_ns, last_ns)) / step->time_ns);
    step->high_ns *= fmax(1, fmax(fair_ns, fmax(first_ns, last_ns)) / step->time_ns);
}

/* How long beginning a transfer keeps another thread of the same process from beginning one: the
 * first of a caller for its whole call, each after it for a launch. */
static double keeps_ns(const struct load_transfer *transfer, unsigned turn)
{
    return transfer == NULL ? 0
           : turn > 0 || isnan(transfer->alone.t0_call_ns)
               ? transfer->launch_ns
               : fmax(transfer->alone.t0_call_ns, transfer->launch_ns);
}

/* Nothing says whether callers start transfers at the same time, or wait for each other, as threads
 * of one process do: how long the last one waits then. */
static double calls_of_others(const struct load_scratch *scratch, const struct load_flow *flows,
                              size_t count, size_t last)
{
    const struct load_transfer *own = scratch->transfer[last];
    double all_ns = -keeps_ns(own, 0) - flows[last].turn * keeps_ns(own, 1);
    for (size_t i = 0; i < count; i++)
        all_ns += keeps_ns(scratch->transfer[i], flows[i].turn);
    return fmax(all_ns, 0);
}

/* ---- predictions ---- */

/* An earlier one is moved by the same engine. */
static bool is_behind(const struct load_scratch *scratch, size_t i)
{
    size_t before = 0;
    while (before < i && scratch->transfer[before] != scratch->transfer[i])
        before++;
    return before < i && scratch->transfer[i] != NULL;
}

static struct load_part part_of(const struct load_scratch *scratch, size_t i, unsigned turn)
{
    const struct load_transfer *transfer = scratch->transfer[i];
    const struct sim_flow *flow = &scratch->flow[i];
    struct load_part part = {.time = estimate_of(flow->end_ns, flow->end_ns, flow->end_ns)};
    if (transfer == NULL)
        return part;
    part = (struct load_part){.time = end_of(scratch, i, turn * transfer->launch_ns),
                              .waits_ns = flow->begin_ns,
                              .starts_ns = flow->start_ns,
                              .is_behind = is_behind(scratch, i),
                              .transfer = &transfer->alone,
                              .shared = plan_load_shared(scratch, i),
                              .seen = scratch->run[i] != NULL ? scratch->run[i]->set : NULL};
    part.alone_ns = plan_load_table_alone_ns(transfer, flow->bytes, &part.bytes_ns);
    part.time.source = estimate_worse(
        transfer_source(&transfer->alone, flow->bytes, flow->bytes),
        part.shared != NULL && part.shared->is_nominal ? SOURCE_NOMINAL : SOURCE_MEASURED);
    return part;
}

struct load_prediction plan_load_predict(const struct load_table *table,
                                         const struct load_flow *flows, size_t count,
                                         struct load_scratch *scratch, struct load_part *ret_parts)
{
    struct load_prediction whole = {.last = 0};
    struct load_part *parts = ret_parts != NULL ? ret_parts : scratch->part;
    simulate(scratch, flows, count, NULL);
    for (size_t i = 0; i < count; i++) {
        parts[i] = part_of(scratch, i, flows[i].turn);
        if (parts[i].time.time_ns > parts[whole.last].time.time_ns)
            whole.last = i;
    }
    whole.is_explained = plan_load_is_explained(table, flows, count, scratch);
    whole.step = last_of(parts, count);
    if (!whole.is_explained)
        whole.step.source = estimate_worse(whole.step.source, SOURCE_SIMILAR_PAIR);
    whole.shared = count > 0 ? parts[whole.last].shared : NULL;
    if (count > 1 && whole.step.time_ns > 0 && !isnan(whole.step.high_ns)) {
        whole.waits_ns = calls_of_others(scratch, flows, count, whole.last);
        if (!is_fair(scratch, count))
            widen_by_order(scratch, flows, count, &whole.step);
        whole.step.high_ns += whole.waits_ns;
    }
    return whole;
}

enum berth_code plan_load_cite(const struct load_table *table, const struct load_flow *flows,
                               size_t count, struct load_scratch *scratch,
                               struct evidence *evidence, size_t start, struct reasons *warnings,
                               struct berth_err *err)
{
    simulate(scratch, flows, count, NULL);
    return plan_load_why(table, flows, count, scratch, evidence, start, warnings, err);
}

enum berth_code plan_load_cite_last(const struct load_table *table, const struct load_flow *flows,
                                    size_t count, struct load_scratch *scratch,
                                    struct evidence *evidence, size_t start, struct berth_err *err)
{
    size_t last = 0;
    simulate(scratch, flows, count, NULL);
    for (size_t i = 0; i < count; i++)
        if (scratch->flow[i].end_ns > scratch->flow[last].end_ns)
            last = i;
    return count > 0 ? plan_load_why_last(table, flows, count, scratch, last, evidence, start, err)
                     : BERTH_OK;
}
