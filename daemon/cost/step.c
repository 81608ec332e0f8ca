#include "cost/step.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "cost/limits.h"
#include "cost/load_interval.h"
#include "sim/sim.h"

#define STEP_WEIGHT 1e-3 /* of each beside the one before it, where the first takes all */

struct work {
    const struct snapshot *snap;
    const struct limits *limits;
    struct step_flow *flow;
    size_t count;
    struct sim_flow *sim_flow;
    struct sim_limit *limit; /* by limit of the snapshot */
    struct sim_step *step;   /* LIMIT_STEPS_MAX of each */
    unsigned *kinds;         /* of flows, of each */
    uint16_t *use;
    struct sim *sim;
};

static bool make_room(struct work *work)
{
    size_t limits = work->limits->count;
    work->sim_flow = calloc(work->count + 1, sizeof *work->sim_flow);
    work->limit = calloc(limits + 1, sizeof *work->limit);
    work->step = calloc(limits * LIMIT_STEPS_MAX + 1, sizeof *work->step);
    work->kinds = calloc(limits + 1, sizeof *work->kinds);
    work->use = calloc(work->count * LIMITS_USES_MAX + 1, sizeof *work->use);
    work->sim = sim_new(work->count, LIMITS_USES_MAX, limits, 0);
    return work->sim_flow != NULL && work->limit != NULL && work->step != NULL &&
           work->kinds != NULL && work->use != NULL && work->sim != NULL && limits < SIM_NO_LIMIT;
}

/* A limit of structure holds up more users of one kind than runs had without loss. */
static void add_use(struct work *work, uint16_t at, unsigned kind)
{
    const struct limit *limit = &work->limits->item[at];
    struct sim_step *step = &work->step[(size_t)at * LIMIT_STEPS_MAX];
    unsigned kinds = work->kinds[at] |= kind;
    bool is_one_kind = (kinds & (kinds - 1)) == 0;
    unsigned free =
        limit->source != LIMIT_RUNS && is_one_kind ? limit->apart[transfer_kind_index(kinds)] : 0;
    for (size_t s = 0; s < limit->step_count; s++)
        step[s] = (struct sim_step){limit->step[s].flows, limit->step[s].bytes_per_s};
    if (limit->source != LIMIT_RUNS)
        step->users = free < UINT_MAX ? free + 1 : free;
    work->limit[at] = (struct sim_limit){step, limit->step_count};
}

static void prepare(struct work *work)
{
    uint16_t *use = work->use;
    for (size_t i = 0; i < work->count; i++) {
        const struct move *move = work->flow[i].move;
        double bytes = work->flow[i].bytes, time_ns = plan_move_queued(move, bytes).time_ns,
               start_ns = fmin(plan_move_start_ns(move), time_ns);
        const char *axes = move->rate != NULL ? values_axes(work->snap->values, move->rate) : "";
        unsigned kind = plan_move_kind(work->snap->graph, move);
        size_t count =
            bytes > 0 ? limits_of(work->limits, kind, move->from, move->to, axes, use) : 0;
        for (size_t u = 0; u < count; u++)
            add_use(work, use[u], kind);
        work->sim_flow[i] = (struct sim_flow){
            .bytes = bytes,
            .bytes_per_s = bytes > 0 ? bytes / fmax(time_ns - start_ns, 1e-3) * 1e9 : 1,
            .begin_ns = work->flow[i].begin_ns,
            .start_ns = bytes > 0 ? start_ns : time_ns,
            .limit = use,
            .limit_count = (unsigned)count};
        use += count;
    }
}

/* Where fair shares do not reproduce the sets, who comes first is not known. */
static void look_at_order(struct work *work)
{
    bool is_uneven = false;
    for (size_t i = 0; i < work->count; i++) {
        struct step_flow *flow = &work->flow[i];
        flow->soonest_ns = flow->latest_ns = flow->time.time_ns;
        uint16_t by = work->sim_flow[i].slowed_by;
        is_uneven = is_uneven || (by != SIM_NO_LIMIT && work->limits->item[by].is_uneven);
    }
    for (int order = 0; is_uneven && order < 2; order++) {
        for (size_t i = 0; i < work->count; i++)
            work->sim_flow[i].weight =
                fmax(pow(STEP_WEIGHT, (double)(order == 0 ? i : work->count - 1 - i)), 1e-12);
        sim_run(work->sim, work->limit, work->sim_flow, work->count);
        for (size_t i = 0; i < work->count; i++) {
            struct step_flow *flow = &work->flow[i];
            flow->soonest_ns = fmin(flow->soonest_ns, work->sim_flow[i].end_ns - flow->begin_ns);
            flow->latest_ns = fmax(flow->latest_ns, work->sim_flow[i].end_ns - flow->begin_ns);
        }
    }
}

static void take(struct work *work)
{
    for (size_t i = 0; i < work->count; i++) {
        struct step_flow *flow = &work->flow[i];
        const struct sim_flow *its = &work->sim_flow[i];
        struct prediction alone = plan_move_queued(flow->move, flow->bytes);
        const struct limit *limit =
            its->slowed_by != SIM_NO_LIMIT ? &work->limits->item[its->slowed_by] : NULL;
        flow->is_nominal = limit != NULL && limit->source != LIMIT_RUNS;
        flow->shared = limit != NULL ? limit->name : NULL;
        flow->time = load_interval_one(
            fmax(its->end_ns - flow->begin_ns, alone.time_ns), &alone,
            limit != NULL ? &limit->step[limit->step_count - 1] : NULL,
            agreement_of(work->limits->agree, plan_move_kind(work->snap->graph, flow->move)));
    }
}

double plan_step_launch_ns(const struct move *move)
{
    double queue_ns = isnan(move->t0_queue_ns) ? 0 : move->t0_queue_ns;
    return isnan(move->t0_call_ns)
               ? queue_ns
               : fmin(queue_ns, fmax(move->t0_call_ns - plan_move_start_ns(move), 0) / 2);
}

enum berth_code plan_step(const struct snapshot *snap, struct step_flow *flows, size_t count,
                          struct berth_err *err)
{
    struct work work = {
        .snap = snap, .limits = snap->derived.limits, .flow = flows, .count = count};
    bool ok = make_room(&work);
    if (ok) {
        prepare(&work);
        sim_run(work.sim, work.limit, work.sim_flow, count);
        take(&work);
        look_at_order(&work);
    }
    free(work.sim_flow);
    free(work.limit);
    free(work.step);
    free(work.use);
    free(work.kinds);
    sim_free(work.sim);
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for transfers");
}
