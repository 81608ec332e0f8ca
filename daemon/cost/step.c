#include "cost/step.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "node/spread.h"
#include "sim/sim.h"

#define FASTER_MOST 0.9 /* relative: the most that an interval takes off a time */
#define LEAST_NS    1e-3
/* Where shares are unfair, each flow weighs so much of the one before. */
#define FIRST       1e-3
#define FIRST_LEAST 1e-12

/* A limit as the simulator has it. */
struct shared {
    const struct limit *limit;             /* of the snapshot; NULL: of one pair */
    struct sim_step step[LIMIT_STEPS_MAX]; /* at the end of its interval that is run */
    unsigned kinds;                        /* of its users */
};

struct step {
    const struct snapshot *snap;
    const struct transfer *transfer[STEP_FLOWS_MAX];
    struct sim_flow flow[STEP_FLOWS_MAX];
    size_t count, shared_count;
    struct shared *shared;
    struct sim_limit *limit; /* by shared */
    uint16_t *use;           /* by flow, room each */
    size_t room;
    struct sim *sim;
};

/* ---- limits ---- */

static const char *axes_of(const struct step *step, const struct transfer *transfer)
{
    return transfer->basis == BASIS_OWN ? values_axes(step->snap->values, transfer->value) : "";
}

static void use(struct step *step, size_t flow, uint16_t shared)
{
    struct sim_flow *its = &step->flow[flow];
    step->use[flow * step->room + its->limit_count++] = shared;
    step->shared[shared].kinds |= step->transfer[flow]->kind;
}

static uint16_t add_shared(struct step *step, const struct limit *limit)
{
    size_t at = 0;
    while (at < step->shared_count && (limit == NULL || step->shared[at].limit != limit))
        at++;
    if (at == step->shared_count)
        step->shared[step->shared_count++] = (struct shared){.limit = limit};
    return (uint16_t)at;
}

/* Sets the capacities that do not depend on the end that is run. A stated one limits no more
 * transfers of one kind than runs had without loss; of several kinds it limits all. */
static void set_users(struct step *step, size_t at)
{
    struct shared *shared = &step->shared[at];
    const struct limit *limit = shared->limit;
    bool is_one = (shared->kinds & (shared->kinds - 1)) == 0;
    size_t steps = limit == NULL || limit->source != LIMIT_RUNS ? 1 : limit->step_count;
    for (size_t i = 0; i < steps && limit != NULL; i++)
        shared->step[i].users = limit->step[i].flows;
    if (limit != NULL && limit->source != LIMIT_RUNS) {
        unsigned most = is_one ? limit->apart[transfer_kind_index(shared->kinds)] : 0;
        shared->step[0].users = most < UINT_MAX ? most + 1 : most;
    }
    step->limit[at] = (struct sim_limit){shared->step, steps};
}

static bool is_same(const struct transfer *a, const struct transfer *b)
{
    return a->from == b->from && a->to == b->to && a->by == b->by;
}

/* Several transfers of one pair by one mechanism get together what one of them gets. */
static void share_repeated(struct step *step)
{
    uint16_t pair[STEP_FLOWS_MAX];
    for (size_t i = 0; i < step->count; i++) {
        size_t first = 0;
        const struct transfer *transfer = step->transfer[i];
        pair[i] = SIM_NO_LIMIT;
        while (!is_same(step->transfer[first], transfer))
            first++;
        if (first < i && pair[first] == SIM_NO_LIMIT) {
            pair[first] = add_shared(step, NULL);
            step->shared[pair[first]].step[0] =
                (struct sim_step){1, transfer->bytes_per_s / transfer->slowdown};
            use(step, first, pair[first]);
        }
        if (first < i)
            use(step, i, pair[first]);
    }
}

static void find_limits(struct step *step)
{
    const struct limits *limits = step->snap->derived.limits;
    uint16_t item[LIMITS_USES_MAX];
    share_repeated(step);
    for (size_t i = 0; i < step->count; i++) {
        const struct transfer *transfer = step->transfer[i];
        size_t uses = limits_of(limits, step->transfer[i]->kind, transfer->from, transfer->to,
                                axes_of(step, transfer), item);
        for (size_t u = 0; u < uses; u++)
            use(step, i, add_shared(step, &limits->item[item[u]]));
    }
    for (size_t i = 0; i < step->shared_count; i++)
        set_users(step, i);
}

struct step *step_new(const struct snapshot *snap, const struct transfer *const *transfers,
                      size_t count)
{
    struct step *step = calloc(1, sizeof *step);
    if (step == NULL)
        return NULL;
    step->snap = snap;
    step->count = count;
    memcpy(step->transfer, transfers, count * sizeof *transfers);
    step->room = LIMITS_USES_MAX + count;
    step->use = malloc(count * step->room * sizeof *step->use);
    size_t most = snap->derived.limits->count + count + 1;
    step->shared = malloc(most * sizeof *step->shared);
    step->limit = malloc(most * sizeof *step->limit);
    step->sim = sim_new(count, most, 0);
    if (step->use != NULL && step->shared != NULL && step->limit != NULL && step->sim != NULL) {
        find_limits(step);
        return step;
    }
    step_free(step);
    return NULL;
}

void step_free(struct step *step)
{
    if (step == NULL)
        return;
    free(step->use);
    free(step->shared);
    free(step->limit);
    sim_free(step->sim);
    free(step);
}

/* ---- runs ---- */

struct step_flow step_flow_of(const struct transfer *transfer, double bytes)
{
    double time_ns = transfer_queued_ns(transfer, bytes),
           start_ns = fmin(transfer_start_ns(transfer), time_ns);
    return (struct step_flow){
        .bytes = bytes, .piece = bytes, .start_ns = start_ns, .moves_ns = time_ns - start_ns};
}

/* Factor on times with that half interval, and on how rates differ from one measurement to the
 * next; NAN unknown. */
static double factor(const struct step *step, double spread, unsigned kind, enum step_end end)
{
    const struct agreement *drift = agreement_of(step->snap->derived.limits->agree, kind);
    if (drift != NULL && drift->rates > 0)
        spread = hypot(spread, spread_one(0, drift->rate, drift->rates, 1));
    return isnan(spread) ? spread : end == STEP_SLOW ? 1 + spread : 1 - fmin(spread, FASTER_MOST);
}

static double flow_factor(const struct step *step, size_t i, double piece, enum step_end end)
{
    if (end == STEP_EXPECTED)
        return 1;
    struct estimate queued = transfer_queued(step->transfer[i], piece);
    return factor(step, queued.high_ns / queued.time_ns - 1, step->transfer[i]->kind, end);
}

/* A stated capacity has no interval of its own. */
static double limit_factor(const struct step *step, const struct limit *limit, enum step_end end)
{
    if (end == STEP_EXPECTED || limit->source != LIMIT_RUNS)
        return 1;
    return factor(step, limit->step[limit->step_count - 1].spread, transfer_kind_of(limit->metric),
                  end);
}

/* Sets the capacities of the snapshot's limits at that end. */
static void set_capacities(struct step *step, enum step_end end)
{
    for (size_t i = 0; i < step->shared_count; i++) {
        struct shared *shared = &step->shared[i];
        const struct limit *limit = shared->limit;
        for (size_t s = 0; s < step->limit[i].step_count && limit != NULL; s++) {
            double slower = limit_factor(step, limit, end);
            shared->step[s].bytes_per_s = limit->step[s].bytes_per_s / (isnan(slower) ? 1 : slower);
        }
    }
}

static void set_flows(struct step *step, const struct step_flow *flows, enum step_end end)
{
    for (size_t i = 0; i < step->count; i++) {
        const struct step_flow *from = &flows[i];
        struct sim_flow *flow = &step->flow[i];
        double slower = flow_factor(step, i, from->piece, end);
        double moves_ns = fmax(from->moves_ns * (isnan(slower) ? 1 : slower), LEAST_NS);
        flow->bytes = from->bytes;
        flow->bytes_per_s = from->bytes / moves_ns * 1e9;
        flow->begin_ns = from->begin_ns;
        flow->start_ns = from->start_ns;
        flow->limit = &step->use[i * step->room];
        flow->weight = 0;
    }
}

/* Sets what slowed a flow; true when that limit is not shared fairly. */
static bool take(const struct step *step, size_t i, enum step_end end, struct step_flow *flow)
{
    uint16_t at = step->flow[i].slowed_by;
    const struct limit *limit = at == SIM_NO_LIMIT ? NULL : step->shared[at].limit;
    flow->end_ns = step->flow[i].end_ns;
    flow->shared = limit;
    flow->is_stated = at != SIM_NO_LIMIT && (limit == NULL || limit->source != LIMIT_RUNS);
    if (isnan(flow_factor(step, i, flow->piece, end)) ||
        (limit != NULL && isnan(limit_factor(step, limit, end))))
        flow->end_ns = NAN;
    return limit != NULL && limit->is_uneven;
}

void step_run(struct step *step, struct step_flow *flows, enum step_end end)
{
    bool is_uneven = false;
    set_capacities(step, end);
    set_flows(step, flows, end);
    sim_run(step->sim, step->limit, step->flow, step->count);
    for (size_t i = 0; i < step->count; i++)
        is_uneven = take(step, i, end, &flows[i]) || is_uneven;
    /* the first flow, or the last one, takes all that it can */
    for (int last = 0; last < 2 && is_uneven && end != STEP_EXPECTED; last++) {
        for (size_t i = 0; i < step->count; i++)
            step->flow[i].weight =
                fmax(pow(FIRST, (double)(last ? step->count - 1 - i : i)), FIRST_LEAST);
        sim_run(step->sim, step->limit, step->flow, step->count);
        for (size_t i = 0; i < step->count; i++) {
            double end_ns = step->flow[i].end_ns;
            if ((end == STEP_SLOW) == (end_ns > flows[i].end_ns) && !isnan(flows[i].end_ns))
                flows[i].end_ns = end_ns;
        }
    }
}
