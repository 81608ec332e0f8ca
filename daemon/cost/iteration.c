#include "cost/iteration.h"

#include <math.h>
#include <stdlib.h>

#include "cost/iteration_why.h"
#include "node/spread.h"

#define LEAST_NS 1e-3
#define FASTEST  0.1 /* relative: an interval takes no more than the rest off a time */

struct iteration {
    const struct usage *usage;
    struct sim *sim;
    struct sim_flow *flow;
    struct sim_limit *limit; /* the usage's, for the kinds and the end of the run at hand */
    unsigned *kinds;         /* by limit: of its users */
};

struct iteration *iteration_new(const struct usage *usage, size_t most_flows)
{
    struct iteration *iteration = calloc(1, sizeof *iteration);
    if (iteration == NULL)
        return NULL;
    *iteration = (struct iteration){
        .usage = usage,
        .sim = sim_new(most_flows, usage->limit_count, usage->place_count * usage->place_count),
        .flow = calloc(most_flows + 1, sizeof *iteration->flow),
        .limit = calloc(usage->limit_count + 1, sizeof *iteration->limit),
        .kinds = calloc(usage->limit_count + 1, sizeof *iteration->kinds)};
    if (iteration->sim != NULL && iteration->flow != NULL && iteration->limit != NULL &&
        iteration->kinds != NULL)
        return iteration;
    iteration_free(iteration);
    return NULL;
}

void iteration_free(struct iteration *iteration)
{
    if (iteration == NULL)
        return;
    sim_free(iteration->sim);
    free(iteration->flow);
    free(iteration->limit);
    free(iteration->kinds);
    free(iteration);
}

struct flow iteration_queued(const struct user *user, const struct transfer *transfer, double bytes)
{
    if (user == NULL || !(bytes > 0))
        return (struct flow){.bytes = bytes};
    double start_ns = transfer_start_ns(transfer);
    unsigned both = user->is_pair_limited && (transfer->both != NULL || transfer->both_set != NULL);
    return (struct flow){.user = user,
                         .transfer = transfer,
                         .bytes = bytes,
                         .piece = bytes,
                         .start_ns = start_ns,
                         .bytes_ns = fmax(transfer_queued_ns(transfer, bytes) - start_ns, LEAST_NS),
                         .limit = user->limit + both,
                         .limit_count = user->limit_count - both,
                         .is_queued = true};
}

struct flow iteration_flow(const struct user *user, double bytes)
{
    if (user == NULL)
        return (struct flow){.bytes = bytes};
    struct flow flow = iteration_queued(user, &user->alone, bytes);
    flow.is_queued = false;
    if (flow.user != NULL)
        flow.start_ns = fmax(transfer_called_ns(&user->alone, bytes) - flow.bytes_ns, 0);
    return flow;
}

bool iteration_is_stated(const struct flow *flow)
{
    return flow->shared != NULL ? limits_is_stated(flow->shared) : flow->is_queued;
}

/* ---- runs ---- */

/* Factor on a time with half an interval, relative, at one end; 1 where it is unknown. */
static double at_end(double spread, enum iteration_end end)
{
    return isnan(spread) ? 1 : fmax(1 + end * spread, FASTEST);
}

/* Half the interval of a flow alone, relative; NAN unknown. */
static double spread_of(const struct flow *flow)
{
    const struct agreement *drift = flow->transfer->drift;
    struct estimate alone = flow->is_queued ? transfer_queued(flow->transfer, flow->piece)
                                            : transfer_called(flow->transfer, flow->piece);
    double spread = alone.high_ns / alone.time_ns - 1;
    return flow->is_queued && drift != NULL && drift->rates > 0
               ? hypot(spread, spread_one(0, drift->rate, drift->rates, 1))
               : spread;
}

static double spread_of_limit(const struct limit *limit)
{
    return limits_is_stated(limit) || limit->step_count == 0
               ? 0
               : limit->step[limit->step_count - 1].spread;
}

/* A stated capacity limits no more users of one kind than runs had without loss; of several kinds
 * it limits all. */
static void set_limits(struct iteration *iteration, const struct flow *flows, size_t count)
{
    const struct usage *usage = iteration->usage;
    for (size_t i = 0; i < count; i++)
        for (unsigned u = 0; u < flows[i].limit_count; u++)
            iteration->kinds[flows[i].limit[u]] = 0;
    for (size_t i = 0; i < count; i++)
        for (unsigned u = 0; u < flows[i].limit_count; u++) {
            uint16_t at = flows[i].limit[u];
            unsigned before = iteration->kinds[at], kinds = before | flows[i].user->alone.kind;
            if (kinds == before)
                continue;
            iteration->kinds[at] = kinds;
            iteration->limit[at] = usage->sim[at];
            if (limits_is_stated(&usage->limit[at]) && before == 0)
                iteration->limit[at].free = usage->limit[at].apart[transfer_kind_index(kinds)];
        }
}

static bool is_in_run(const struct usage_run *run, const struct user *user)
{
    size_t u = 0;
    while (u < run->count && run->user[u] != user)
        u++;
    return u < run->count;
}

static bool share_a_limit(const struct flow *a, const struct flow *b)
{
    for (unsigned i = 0; i < a->limit_count; i++)
        for (unsigned k = 0; k < b->limit_count; k++)
            if (a->limit[i] == b->limit[k])
                return true;
    return false;
}

/* True when all of a run are there, and no other flow shares a limit with them. */
static bool has_run(const struct flow *flows, size_t count, const struct usage_run *run)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        size_t first = 0;
        while (flows[first].user != flows[i].user)
            first++;
        found += first == i && is_in_run(run, flows[i].user);
    }
    for (size_t i = 0; i < count && found == run->count; i++)
        for (size_t k = 0; k < count && is_in_run(run, flows[i].user); k++)
            if (!is_in_run(run, flows[k].user) && share_a_limit(&flows[i], &flows[k]))
                return false;
    return found == run->count;
}

/* Flows of a run get no more than there. */
static void slow_by_run(struct iteration *iteration, struct flow *flows, size_t count,
                        const struct usage_run *run)
{
    bool has = has_run(flows, count, run);
    for (size_t i = 0; i < count && has; i++)
        if (is_in_run(run, flows[i].user)) {
            bool is_read = flows[i].transfer->driver == flows[i].transfer->to;
            struct sim_flow *sim = &iteration->flow[i];
            sim->bytes_per_s = fmin(sim->bytes_per_s, run->rate[is_read]);
            sim->engine_bytes_per_s = sim->bytes_per_s;
            flows[i].run = run->set;
        }
}

/* Moves all inputs to one end. A limit deviates at least as far as a flow through it. */
static void move_inputs(struct iteration *iteration, const struct flow *flows, size_t count,
                        enum iteration_end end)
{
    for (size_t i = 0; i < count; i++) {
        struct sim_flow *sim = &iteration->flow[i];
        double own = flows[i].user != NULL ? at_end(spread_of(&flows[i]), end) : 1;
        sim->bytes_per_s /= own;
        sim->engine_bytes_per_s /= own;
        if (!flows[i].is_queued) {
            sim->start_ns *= own;
            sim->begin_ns *= 1 + end;
        }
        for (unsigned u = 0; u < sim->limit_count; u++) {
            double *off = &iteration->limit[sim->limit[u]].off,
                   its = at_end(spread_of_limit(&iteration->usage->limit[sim->limit[u]]), end);
            *off = end == ITERATION_SLOW ? fmin(*off, 1 / fmax(own, its) - 1)
                                         : fmax(*off, 1 / fmin(own, its) - 1);
        }
    }
}

/* Returns the rate that several transfers of the pair get together; 0: that of one. A kernel alone
 * is limited by itself, so several kernels get the rate of an engine where that is more. */
static double rate_of_pair(const struct usage *usage, const struct user *user)
{
    const struct user *engine =
        user->alone.by == MECHANISM_KERNEL
            ? usage_find(usage, user->alone.from, user->alone.to, MECHANISM_COPY_ENGINE)
            : NULL;
    return engine != NULL ? engine->alone.bytes_per_s : 0;
}

static void set_flow(const struct usage *usage, struct flow *flow, struct sim_flow *ret)
{
    flow->run = NULL;
    *ret = (struct sim_flow){.bytes_per_s = 1};
    if (flow->user != NULL)
        *ret = (struct sim_flow){.bytes = flow->bytes,
                                 .bytes_per_s = flow->bytes * 1e9 / flow->bytes_ns,
                                 .begin_ns = flow->begin_ns,
                                 .start_ns = flow->start_ns,
                                 .limit = flow->limit,
                                 .limit_count = flow->limit_count,
                                 .engine = flow->user->pair,
                                 .engine_bytes_per_s = rate_of_pair(usage, flow->user)};
}

double iteration_run(struct iteration *iteration, struct flow *flows, size_t count,
                     enum iteration_end end)
{
    const struct usage *usage = iteration->usage;
    for (size_t i = 0; i < count; i++)
        set_flow(usage, &flows[i], &iteration->flow[i]);
    for (size_t r = 0; r < usage->run_count; r++)
        slow_by_run(iteration, flows, count, &usage->run[r]);
    set_limits(iteration, flows, count);
    if (end != ITERATION_EXPECTED)
        move_inputs(iteration, flows, count, end);
    double last_ns = sim_run(iteration->sim, iteration->limit, iteration->flow, count);
    for (size_t i = 0; i < count; i++) {
        struct flow *flow = &flows[i];
        uint16_t at = iteration->flow[i].slowed_by;
        flow->end_ns = iteration->flow[i].end_ns;
        flow->shared = at != SIM_NO_LIMIT ? &usage->limit[at] : NULL;
        if (end != ITERATION_EXPECTED && flow->user != NULL &&
            (isnan(spread_of(flow)) ||
             (flow->shared != NULL && isnan(spread_of_limit(flow->shared)))))
            flow->end_ns = NAN;
    }
    return last_ns;
}

/* ---- predictions ---- */

static enum source source_of(const struct flow *flow)
{
    if (flow->user == NULL)
        return SOURCE_MEASURED;
    return estimate_worse(transfer_source(flow->transfer, flow->bytes, flow->bytes),
                          iteration_is_stated(flow) ? SOURCE_NOMINAL : SOURCE_MEASURED);
}

/* How long beginning a flow keeps another thread of its process from beginning one: the first of a
 * caller for its whole call, each after it for a launch. */
static double keeps_ns(const struct flow *flow)
{
    const struct transfer *alone = flow->transfer;
    return alone == NULL ? 0
           : flow->begin_ns > 0 || isnan(alone->t0_call_ns)
               ? transfer_launch_ns(alone)
               : fmax(alone->t0_call_ns, transfer_launch_ns(alone));
}

struct prediction iteration_predict(struct iteration *iteration, struct flow *flows, size_t count)
{
    struct prediction whole = {.last = 0};
    double end_ns[] = {0, 0};
    bool is_known = true;
    for (int slow = 0; slow < 2; slow++) {
        end_ns[slow] =
            iteration_run(iteration, flows, count, slow ? ITERATION_SLOW : ITERATION_FAST);
        for (size_t i = 0; i < count; i++)
            is_known = is_known && !isnan(flows[i].end_ns);
    }
    whole.time.time_ns = iteration_run(iteration, flows, count, ITERATION_EXPECTED);
    for (size_t i = 0; i < count; i++) {
        if (flows[i].end_ns > flows[whole.last].end_ns)
            whole.last = i;
        is_known = is_known && !iteration_is_stated(&flows[i]);
        whole.time.source = estimate_worse(whole.time.source, source_of(&flows[i]));
        whole.waits_ns += keeps_ns(&flows[i]);
    }
    if (count > 0) {
        struct flow first = flows[whole.last];
        first.begin_ns = 0; /* it waits for neither its own call nor its caller's */
        whole.waits_ns = fmax(whole.waits_ns - keeps_ns(&first) - flows[whole.last].begin_ns, 0);
    }
    whole.waits_ns = is_known ? whole.waits_ns : 0;
    whole.is_explained = iteration_unexplained(iteration->usage->snap, flows, count) == NULL;
    if (!whole.is_explained)
        whole.time.source = estimate_worse(whole.time.source, SOURCE_SIMILAR_PAIR);
    whole.time.low_ns = is_known ? fmin(end_ns[0], whole.time.time_ns) : NAN;
    whole.time.high_ns = is_known ? fmax(end_ns[1], whole.time.time_ns) + whole.waits_ns : NAN;
    return whole;
}
