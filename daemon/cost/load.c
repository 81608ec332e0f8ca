#include "cost/load.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "cost/evidence.h"
#include "cost/limits.h"
#include "cost/load_interval.h"
#include "cost/load_known.h"
#include "cost/load_table.h"
#include "cost/load_unexplained.h"
#include "cost/load_why.h"
#include "node/reasons.h"

#define MEMO_MAX 16384

/* Who is first takes all that it can: each weighs so much of the one before it. */
#define WEIGHT       1e-3
#define WEIGHT_LEAST 1e-12

enum berth_code plan_load_new(const struct snapshot *snap, const place_id *places, size_t count,
                              enum load_by by, struct load_table **ret, struct berth_err *err)
{
    if (count > LOAD_PLACES_MAX)
        return err_invalid(err, "places", "traffic between more than %d places is not weighed",
                           LOAD_PLACES_MAX);
    struct load_table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for transfers");
    table->snap = snap;
    table->place_count = count;
    table->by = by;
    if (!plan_load_table_fill(table, places) || !plan_load_known_find(table)) {
        plan_load_free(table);
        return err_set(err, BERTH_NO_MEMORY, "no memory for transfers");
    }
    *ret = table;
    return BERTH_OK;
}

void plan_load_free(struct load_table *table)
{
    if (table == NULL)
        return;
    plan_load_table_empty(table);
    free(table);
}

size_t plan_load_place_count(const struct load_table *table) { return table->place_count; }
place_id plan_load_place(const struct load_table *table, size_t index)
{
    return table->place[index];
}

enum load_known plan_load_known(const struct load_table *table, size_t from, size_t to)
{
    enum load_known engine = plan_load_table_ride(table, MOVE_COPY_ENGINE, from, to)->known,
                    kernel = plan_load_table_ride(table, MOVE_KERNEL, from, to)->known;
    return engine > kernel ? engine : kernel;
}

double plan_load_alone_ns(const struct load_table *table, size_t from, size_t to, double bytes)
{
    const struct load_ride *ride = plan_load_table_choose(table, from, to, bytes);
    return ride != NULL && bytes > 0 ? plan_load_table_alone_ns(ride, bytes, NULL) : 0;
}

struct load_lone plan_load_lone(const struct load_table *table, size_t from, size_t to,
                                double bytes)
{
    const struct load_ride *ride = plan_load_table_choose(table, from, to, bytes);
    struct load_lone lone = {.kind = ride != NULL ? ride->kind : 0};
    if (ride != NULL && bytes > 0)
        plan_load_table_alone_ns(ride, bytes, &lone.bytes_ns);
    return lone;
}

static bool lacks_start(const struct load_ride *ride)
{
    return ride->move.curve == NULL && isnan(ride->move.t0_queue_ns) &&
           isnan(ride->move.t0_call_ns);
}

bool plan_load_start(const struct load_table *table, size_t from, size_t to, double bytes,
                     struct load_start *ret)
{
    const struct load_ride *ride = plan_load_table_choose(table, from, to, bytes);
    if (ride == NULL || lacks_start(ride))
        return false;
    *ret = (struct load_start){
        fmax(plan_load_table_alone_ns(ride, bytes, NULL) - bytes * 1e9 / ride->move.bytes_per_s, 0),
        ride->launch_ns};
    return true;
}

bool plan_load_has_starts(const struct load_table *table)
{
    bool has = true;
    for (size_t i = 0; i < 2 * table->place_count * table->place_count && has; i++)
        has = table->ride[i].known == LOAD_NOTHING || !lacks_start(&table->ride[i]);
    return has;
}

size_t plan_load_resource_count(const struct load_table *table) { return table->resource_count; }
const struct load_resource *plan_load_resource(const struct load_table *table, size_t index)
{
    return &table->resource[index];
}

const uint16_t *plan_load_used(const struct load_table *table, size_t from, size_t to, double bytes,
                               size_t *ret_count)
{
    const struct load_ride *ride = plan_load_table_choose(table, from, to, bytes);
    *ret_count = ride != NULL ? ride->use_count : 0;
    return ride != NULL ? table->use + ride->use : NULL;
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

struct load_scratch *plan_load_scratch_new(const struct load_table *table, size_t most_flows)
{
    struct load_scratch *scratch = calloc(1, sizeof *scratch);
    if (scratch == NULL)
        return NULL;
    scratch->table = table;
    scratch->sim = sim_new(most_flows, table->most_uses, table->resource_count,
                           2 * table->place_count * table->place_count);
    scratch->flow = calloc(most_flows + 1, sizeof *scratch->flow);
    scratch->run = calloc(most_flows + 1, sizeof *scratch->run);
    scratch->limit = calloc(table->resource_count + 1, sizeof *scratch->limit);
    scratch->step = calloc(table->resource_count + 1, sizeof *scratch->step);
    scratch->kinds = calloc(table->resource_count + 1, sizeof *scratch->kinds);
    scratch->ride = calloc(most_flows + 1, sizeof *scratch->ride);
    scratch->end = calloc(most_flows + 1, sizeof *scratch->end);
    scratch->memo_count = table->place_count * table->place_count < MEMO_MAX
                              ? table->place_count * table->place_count + 1
                              : MEMO_MAX;
    scratch->memo = calloc(scratch->memo_count, sizeof *scratch->memo);
    if (scratch->memo != NULL && scratch->sim != NULL && scratch->flow != NULL &&
        scratch->ride != NULL && scratch->end != NULL && scratch->run != NULL &&
        scratch->limit != NULL && scratch->step != NULL && scratch->kinds != NULL) {
        for (size_t i = 0; i < table->resource_count; i++) {
            scratch->limit[i] = table->limit[i];
            if (table->resource[i].apart == NULL)
                continue;
            scratch->step[i] = table->limit[i].step[0];
            scratch->limit[i].step = &scratch->step[i];
        }
        return scratch;
    }
    plan_load_scratch_free(scratch);
    return NULL;
}

void plan_load_scratch_free(struct load_scratch *scratch)
{
    if (scratch == NULL)
        return;
    sim_free(scratch->sim);
    free(scratch->flow);
    free(scratch->run);
    free(scratch->limit);
    free(scratch->step);
    free(scratch->kinds);
    free(scratch->ride);
    free(scratch->end);
    free(scratch->memo);
    free(scratch);
}

static const struct load_memo *recall(const struct load_table *table, const struct load_flow *flow,
                                      struct load_scratch *scratch)
{
    struct load_memo *memo =
        &scratch->memo[(flow->from * table->place_count + flow->to) % scratch->memo_count];
    if (memo->from == flow->from && memo->to == flow->to && memo->bytes == flow->bytes)
        return memo;
    *memo = (struct load_memo){
        .bytes = flow->bytes,
        .from = flow->from,
        .to = flow->to,
        .ride = plan_load_table_choose(table, flow->from, flow->to, flow->bytes)};
    if (memo->ride != NULL)
        memo->time_ns = plan_load_table_alone_ns(memo->ride, flow->bytes, &memo->bytes_ns);
    return memo;
}

/* What structure states limits no more transfers of one kind than sets had without loss; of several
 * kinds it limits all. */
static void limit_by_kinds(const struct load_table *table, size_t count,
                           struct load_scratch *scratch)
{
    for (size_t i = 0; i < count; i++)
        for (unsigned u = 0; u < scratch->flow[i].limit_count; u++)
            scratch->kinds[scratch->flow[i].limit[u]] = 0;
    for (size_t i = 0; i < count; i++)
        for (unsigned u = 0; u < scratch->flow[i].limit_count; u++) {
            uint16_t at = scratch->flow[i].limit[u];
            const struct load_ride *ride = scratch->ride[i];
            const unsigned *apart = table->resource[at].apart;
            unsigned kinds = scratch->kinds[at] |= ride != NULL ? ride->kind : 0;
            if (apart == NULL)
                continue;
            unsigned most = (kinds & (kinds - 1)) == 0 ? apart[transfer_kind_index(kinds)] : 0;
            scratch->step[at].users = most < UINT_MAX ? most + 1 : most;
        }
}

static bool share_a_limit(const struct sim_flow *a, const struct sim_flow *b)
{
    for (unsigned u = 0; u < a->limit_count; u++)
        for (unsigned v = 0; v < b->limit_count; v++)
            if (a->limit[u] == b->limit[v])
                return true;
    return false;
}

/* Which of the run's transfers the flow is; its count: none. */
static size_t find_in_run(const struct load_run *run, const struct sim_flow *flow)
{
    size_t at = 0;
    while (at < run->count && run->who[at] != flow->queue)
        at++;
    return at;
}

/* Whether the step has the run's transfers, and no other shares anything with them. */
static bool has_run(const struct load_run *run, const struct sim_flow *flow, size_t count)
{
    bool has[SETS_FLOWS_MAX] = {false};
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = find_in_run(run, &flow[i]);
        found += at < run->count && !has[at];
        if (at < run->count)
            has[at] = true;
    }
    for (size_t i = 0; i < count && found == run->count; i++)
        for (size_t k = 0; k < count && find_in_run(run, &flow[i]) == run->count; k++)
            if (find_in_run(run, &flow[k]) < run->count && share_a_limit(&flow[i], &flow[k]))
                return false;
    return found == run->count;
}

/* What was measured together, and no limit explains, is a run of its own: until the first of them
 * has ended they get what they got there. */
static void take_runs(const struct load_table *table, size_t count, struct load_scratch *scratch)
{
    for (size_t r = 0; r < table->known_count; r++) {
        const struct load_run *run = &table->known[r];
        double least = INFINITY;
        if (!has_run(run, scratch->flow, count))
            continue;
        for (size_t i = 0; i < count; i++)
            if (find_in_run(run, &scratch->flow[i]) < run->count)
                least = fmin(least, scratch->flow[i].bytes);
        for (size_t i = 0; i < count; i++) {
            struct sim_flow *flow = &scratch->flow[i];
            size_t at = find_in_run(run, flow);
            if (at == run->count || run->bytes_per_s[at] >= flow->bytes_per_s)
                continue;
            flow->bytes_per_s = flow->bytes / (least / run->bytes_per_s[at] +
                                               (flow->bytes - least) / flow->bytes_per_s);
            scratch->run[i] = run;
        }
    }
}

static bool uses_limit(const struct sim_flow *flow, uint16_t limit)
{
    unsigned u = 0;
    while (u < flow->limit_count && flow->limit[u] != limit)
        u++;
    return u < flow->limit_count;
}

/* The first of its limits that all transfers of its run use. */
static uint16_t limit_of_run(const struct load_scratch *scratch, size_t count, size_t flow)
{
    for (unsigned u = 0; u < scratch->flow[flow].limit_count; u++) {
        uint16_t limit = scratch->flow[flow].limit[u];
        bool is_common = true;
        for (size_t i = 0; i < count && is_common; i++)
            is_common =
                scratch->run[i] != scratch->run[flow] || uses_limit(&scratch->flow[i], limit);
        if (is_common)
            return limit;
    }
    return SIM_NO_LIMIT;
}

static void run_flows(const struct load_table *table, size_t count, struct load_scratch *scratch)
{
    sim_run(scratch->sim, scratch->limit, scratch->flow, count);
    for (size_t i = 0; i < count && table->known_count > 0; i++) {
        if (scratch->flow[i].slowed_by != SIM_NO_LIMIT)
            scratch->run[i] = NULL;
        else if (scratch->run[i] != NULL)
            scratch->flow[i].slowed_by = limit_of_run(scratch, count, i);
    }
}

/* The flows as streams; the time of the slowest alone. assumed: of those of which nothing says what
 * starting them costs, by flow; NULL nothing. */
static double prepare_from(const struct load_table *table, const struct load_flow *flows,
                           size_t count, const struct load_start *assumed,
                           struct load_scratch *scratch)
{
    double most_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const struct load_memo *memo =
            flows[i].bytes > 0 ? recall(table, &flows[i], scratch) : NULL;
        const struct load_ride *ride = memo != NULL ? memo->ride : NULL;
        struct sim_flow *flow = &scratch->flow[i];
        scratch->ride[i] = ride;
        scratch->run[i] = NULL;
        *flow = (struct sim_flow){.bytes_per_s = 1};
        if (ride == NULL)
            continue;
        struct load_start start = assumed != NULL && lacks_start(ride)
                                      ? assumed[i]
                                      : (struct load_start){0, ride->launch_ns};
        double bytes_ns = memo->bytes_ns,
               time_ns = memo->time_ns + start.start_ns + flows[i].turn * start.launch_ns;
        flow->begin_ns = flows[i].turn * start.launch_ns;
        flow->start_ns = fmax(time_ns - flow->begin_ns - bytes_ns, 0);
        flow->bytes = flows[i].bytes;
        flow->bytes_per_s = flow->bytes / fmax(bytes_ns, 1e-3) * 1e9;
        flow->limit = &table->use[ride->use];
        flow->limit_count = ride->use_count;
        flow->queue = plan_load_table_number(table, ride);
        most_ns = fmax(most_ns, time_ns);
    }
    limit_by_kinds(table, count, scratch);
    return most_ns;
}

static double prepare(const struct load_table *table, const struct load_flow *flows, size_t count,
                      struct load_scratch *scratch)
{
    double most_ns = prepare_from(table, flows, count, NULL, scratch);
    take_runs(table, count, scratch);
    return most_ns;
}

struct load_time plan_load_time_from(const struct load_table *table, const struct load_flow *flows,
                                     size_t count, const struct load_start *start,
                                     struct load_scratch *scratch)
{
    struct load_time time = {0, 0, 0};
    prepare_from(table, flows, count, start, scratch);
    take_runs(table, count, scratch);
    run_flows(table, count, scratch);
    time.looked = 8 * count;
    for (size_t i = 0; i < count; i++) {
        time.step_ns = fmax(time.step_ns, scratch->flow[i].end_ns);
        time.sum_ns += scratch->flow[i].end_ns;
    }
    return time;
}

struct load_time plan_load_time(const struct load_table *table, const struct load_flow *flows,
                                size_t count, struct load_scratch *scratch)
{
    return plan_load_time_from(table, flows, count, NULL, scratch);
}

double plan_load_bound_ns(const struct load_table *table, const struct load_flow *flows,
                          size_t count, struct load_scratch *scratch)
{
    prepare(table, flows, count, scratch);
    return sim_bound_ns(scratch->sim, scratch->limit, scratch->flow, count);
}

/* ---- a prediction ---- */

static const struct load_resource *shared_of(const struct load_table *table,
                                             const struct sim_flow *stream)
{
    return stream->slowed_by != SIM_NO_LIMIT ? &table->resource[stream->slowed_by] : NULL;
}

/* Runs the step; the flow that ends last. */
static size_t run_to_last(const struct load_table *table, const struct load_flow *flows,
                          size_t count, struct load_scratch *scratch)
{
    size_t last = 0;
    prepare(table, flows, count, scratch);
    run_flows(table, count, scratch);
    for (size_t i = 0; i < count; i++)
        if (scratch->flow[i].end_ns > scratch->flow[last].end_ns)
            last = i;
    return last;
}

struct load_part plan_load_slowest(const struct load_table *table, const struct load_flow *flows,
                                   size_t count, struct load_scratch *scratch, size_t *ret_index)
{
    struct load_part last = {.time = {0, NAN, NAN}};
    *ret_index = run_to_last(table, flows, count, scratch);
    const struct load_ride *ride = count > 0 ? scratch->ride[*ret_index] : NULL;
    if (ride == NULL)
        return last;
    last.time.time_ns = scratch->flow[*ret_index].end_ns;
    last.alone_ns = plan_load_table_alone_ns(ride, flows[*ret_index].bytes, NULL);
    last.move = &ride->move;
    last.shared = shared_of(table, &scratch->flow[*ret_index]);
    last.seen = scratch->run[*ret_index] != NULL ? scratch->run[*ret_index]->set : NULL;
    return last;
}

static struct prediction end_of(const struct load_table *table, const struct sim_flow *stream,
                                const struct load_ride *ride, unsigned turn)
{
    const struct load_resource *shared = shared_of(table, stream);
    struct prediction alone = {0, 0, 0};
    const struct agreement *drift =
        ride != NULL ? agreement_of(table->snap->derived.limits->agree, ride->kind) : NULL;
    if (ride != NULL)
        alone = plan_move_queued(&ride->move, stream->bytes);
    struct prediction end =
        load_interval_one(stream->end_ns, &alone,
                          shared != NULL ? &shared->step[shared->step_count - 1] : NULL, drift);
    return ride != NULL
               ? load_interval_begun(&end, plan_move_call_half_ns(&ride->move, stream->bytes),
                                     turn * ride->launch_ns)
               : end;
}

/* Whether what slows some is known to be shared fairly: by sets, all of which fair shares
 * reproduce. */
static bool is_shared_fairly(const struct load_table *table, size_t count,
                             const struct load_scratch *scratch)
{
    bool fair = true;
    for (size_t i = 0; i < count && fair; i++) {
        const struct load_resource *shared = shared_of(table, &scratch->flow[i]);
        fair = shared == NULL ||
               (!shared->is_nominal && (shared->limit == NULL || !shared->limit->is_uneven));
    }
    return fair;
}

static double last_end_ns(const struct load_table *table, size_t count,
                          struct load_scratch *scratch)
{
    double last_ns = 0;
    run_flows(table, count, scratch);
    for (size_t i = 0; i < count; i++)
        last_ns = fmax(last_ns, scratch->flow[i].end_ns);
    return last_ns;
}

/* Where it is not, the interval has the step also where those who are first take all that they can,
 * whoever is first; and where what some leave is given to the others after all. */
static void widen_by_order(const struct load_table *table, const struct load_flow *flows,
                           size_t count, struct load_scratch *scratch, struct prediction *step)
{
    double other_ns[3];
    prepare_from(table, flows, count, NULL, scratch);
    other_ns[2] = last_end_ns(table, count, scratch);
    for (int order = 0; order < 2; order++) {
        for (size_t i = 0; i < count; i++)
            scratch->flow[i].weight =
                fmax(pow(WEIGHT, (double)(order == 0 ? i : count - 1 - i)), WEIGHT_LEAST);
        other_ns[order] = last_end_ns(table, count, scratch);
    }
    step->low_ns *= fmin(1, fmin(other_ns[0], fmin(other_ns[1], other_ns[2])) / step->time_ns);
    step->high_ns *= fmax(1, fmax(other_ns[0], fmax(other_ns[1], other_ns[2])) / step->time_ns);
}

/* An earlier one is moved by the same engine. */
static bool is_behind(const struct load_scratch *scratch, size_t i)
{
    bool found = false;
    for (size_t k = 0; k < i && !found; k++)
        found = scratch->flow[k].queue == scratch->flow[i].queue && scratch->flow[k].bytes > 0;
    return found && scratch->flow[i].bytes > 0;
}

/* What beginning a transfer keeps another thread of the same process from doing: the first of a
 * caller its whole call, each after it a launch. */
static double keeps_ns(const struct load_ride *ride, unsigned turn)
{
    return ride == NULL ? 0
           : turn > 0 || isnan(ride->move.t0_call_ns)
               ? ride->launch_ns
               : fmax(ride->move.t0_call_ns, ride->launch_ns);
}

/* Nothing says whether several callers start transfers at the same time, or one waits for the
 * other, as threads of one process do: what the last one waits for then. */
static double calls_of_others(const struct load_flow *flows, size_t count,
                              const struct load_scratch *scratch, size_t last)
{
    const struct load_ride *own = scratch->ride[last];
    double all_ns = 0, own_ns = keeps_ns(own, 0) + flows[last].turn * keeps_ns(own, 1);
    for (size_t i = 0; i < count; i++)
        all_ns += keeps_ns(scratch->ride[i], flows[i].turn);
    return fmax(all_ns - own_ns, 0);
}

/* All of it, of just this pair. */
static bool is_measured(const struct load_ride *ride, double bytes)
{
    return ride->known == LOAD_MEASURED && plan_move_knows(&ride->move, bytes) &&
           !plan_move_is_by_another(&ride->move, bytes, bytes);
}

struct load_prediction plan_load_predict(const struct load_table *table,
                                         const struct load_flow *flows, size_t count,
                                         struct load_scratch *scratch, struct load_part *ret_parts)
{
    struct load_prediction whole = {
        .alone_ns = prepare(table, flows, count, scratch), .is_known = true, .is_measured = true};
    run_flows(table, count, scratch);
    for (size_t i = 0; i < count; i++) {
        const struct sim_flow *stream = &scratch->flow[i];
        const struct load_ride *ride = scratch->ride[i];
        const struct load_resource *shared = shared_of(table, stream);
        scratch->end[i] = end_of(table, stream, ride, flows[i].turn);
        if (stream->end_ns > scratch->end[whole.last].time_ns)
            whole.last = i;
        whole.sum_ns += stream->end_ns;
        whole.is_known = whole.is_known &&
                         (ride != NULL || flows[i].from == flows[i].to || !(flows[i].bytes > 0));
        whole.is_measured = whole.is_measured &&
                            (ride == NULL || is_measured(ride, flows[i].bytes)) &&
                            (shared == NULL || !shared->is_nominal);
        double bytes_ns = 0,
               alone_ns = ride != NULL && ret_parts != NULL
                              ? plan_load_table_alone_ns(ride, flows[i].bytes, &bytes_ns)
                              : 0;
        if (ret_parts != NULL)
            ret_parts[i] =
                (struct load_part){.time = scratch->end[i],
                                   .alone_ns = alone_ns,
                                   .waits_ns = stream->begin_ns,
                                   .starts_ns = stream->start_ns,
                                   .bytes_ns = bytes_ns,
                                   .is_behind = is_behind(scratch, i),
                                   .move = ride != NULL ? &ride->move : NULL,
                                   .shared = shared,
                                   .seen = scratch->run[i] != NULL ? scratch->run[i]->set : NULL};
    }
    whole.is_explained =
        plan_load_unexplained(table, flows, count, scratch, false, 0) == LOAD_NO_SET;
    whole.is_measured = whole.is_measured && whole.is_explained;
    whole.step = load_interval_last(scratch->end, count);
    whole.shared = count > 0 ? shared_of(table, &scratch->flow[whole.last]) : NULL;
    if (count > 1 && whole.step.time_ns > 0 && !isnan(whole.step.high_ns)) {
        if (!is_shared_fairly(table, count, scratch))
            widen_by_order(table, flows, count, scratch, &whole.step);
        whole.waits_ns = calls_of_others(flows, count, scratch, whole.last);
        whole.step.high_ns += whole.waits_ns;
    }
    return whole;
}

enum berth_code plan_load_cite(const struct load_table *table, const struct load_flow *flows,
                               size_t count, struct load_scratch *scratch,
                               struct evidence *evidence, size_t start, struct reasons *warnings,
                               struct berth_err *err)
{
    prepare(table, flows, count, scratch);
    run_flows(table, count, scratch);
    return plan_load_why(table, flows, count, scratch, evidence, start, warnings, err);
}

enum berth_code plan_load_cite_last(const struct load_table *table, const struct load_flow *flows,
                                    size_t count, struct load_scratch *scratch,
                                    struct evidence *evidence, size_t start, struct berth_err *err)
{
    size_t last = run_to_last(table, flows, count, scratch);
    return count > 0 ? plan_load_why_last(table, flows, count, scratch, last, evidence, start, err)
                     : BERTH_OK;
}
