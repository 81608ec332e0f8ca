#include "cost/step.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "cost/load_interval.h"
#include "cost/resource_model.h"
#include "sim/sim.h"

#define STEP_WEIGHT 1e-3 /* of each beside the one before it, where the first takes all */

struct work {
    const struct snapshot *snap;
    const struct resource_model *model;
    struct step_flow *flow;
    size_t count;
    struct sim_flow *sim_flow;
    /* what was found, then what structure has, then what was found where mechanisms mix */
    struct sim_limit *limit;
    struct sim_step *step; /* RESOURCE_STEPS_MAX of each */
    unsigned *kinds;
    uint16_t *use;
    struct sim *sim;
};

static bool make_room(struct work *work)
{
    size_t items = work->model->structure->count + work->model->found_count,
           limits = work->model->found_count + items,
           uses = 2 * work->model->found_count + RESOURCE_STRUCTURE_USES;
    work->sim_flow = calloc(work->count + 1, sizeof *work->sim_flow);
    work->limit = calloc(limits + 1, sizeof *work->limit);
    work->step = calloc(limits * RESOURCE_STEPS_MAX + 1, sizeof *work->step);
    work->kinds = calloc(limits + 1, sizeof *work->kinds);
    work->use = calloc(work->count * uses + 1, sizeof *work->use);
    work->sim = sim_new(work->count, uses, limits, 0);
    return work->sim_flow != NULL && work->limit != NULL && work->step != NULL &&
           work->kinds != NULL && work->use != NULL && work->sim != NULL && limits < SIM_NO_LIMIT;
}

static unsigned use_found(struct work *work, const struct move *move, unsigned kind, uint16_t *use)
{
    const char *axes = move->rate != NULL ? values_axes(work->snap->values, move->rate) : "";
    unsigned count = 0;
    for (size_t r = 0; r < work->model->found_count; r++) {
        const struct resource_found *found = &work->model->found[r];
        struct sim_step *step = &work->step[r * RESOURCE_STEPS_MAX];
        if (transfer_kind_of(found->metric) != kind ||
            !resource_model_uses(work->snap->graph, found, found->metric, move->from, move->to,
                                 axes))
            continue;
        for (size_t s = 0; s < found->step_count; s++)
            step[s] = (struct sim_step){found->step[s].flows, found->step[s].bytes_per_s};
        work->limit[r] = (struct sim_limit){step, found->step_count};
        use[count++] = (uint16_t)r;
    }
    return count;
}

/* Of structure: of one kind of transfers it limits no more than sets had without loss. */
static uint16_t use_one(struct work *work, const struct resource_nominal *nominal, size_t at,
                        unsigned kind)
{
    struct sim_step *step = &work->step[at * RESOURCE_STEPS_MAX];
    unsigned kinds = work->kinds[at] |= kind,
             most = kinds != 0 && (kinds & (kinds - 1)) == 0
                        ? nominal->together[transfer_kind_index(kinds)]
                        : 0;
    *step = (struct sim_step){most < UINT_MAX ? most + 1 : most, nominal->bytes_per_s};
    work->limit[at] = (struct sim_limit){step, 1};
    return (uint16_t)at;
}

static unsigned use_nominal(struct work *work, const struct move *move, unsigned kind,
                            uint16_t *use)
{
    const struct resource_structure *structure = work->model->structure;
    uint16_t item[RESOURCE_STRUCTURE_USES];
    size_t items = resource_structure_uses(structure, move->from, move->to, item),
           found = work->model->found_count;
    unsigned count = 0;
    for (size_t i = 0; i < items; i++)
        if (structure->item[item[i]].bytes_per_s > 0)
            use[count++] = use_one(work, &structure->item[item[i]], found + item[i], kind);
    for (size_t r = 0; r < found; r++)
        if (resource_model_mixes(work->snap->graph, work->model, r, kind, move->from, move->to))
            use[count++] =
                use_one(work, &work->model->mixed[r], found + structure->count + r, kind);
    return count;
}

/* Of structure, or of what was found. */
static const char *name_of(const struct work *work, size_t limit)
{
    size_t found = work->model->found_count, item = limit - found,
           items = work->model->structure->count;
    return limit < found  ? work->model->found[limit].name
           : item < items ? work->model->structure->item[item].name
                          : work->model->mixed[item - items].name;
}

static void prepare(struct work *work)
{
    uint16_t *use = work->use;
    for (size_t i = 0; i < work->count; i++) {
        const struct move *move = work->flow[i].move;
        double bytes = work->flow[i].bytes, time_ns = plan_move_queued(move, bytes).time_ns,
               start_ns = fmin(plan_move_start_ns(move), time_ns);
        unsigned kind = plan_move_kind(work->snap->graph, move), count;
        count = bytes > 0 ? use_found(work, move, kind, use) : 0;
        count += bytes > 0 ? use_nominal(work, move, kind, use + count) : 0;
        work->sim_flow[i] = (struct sim_flow){
            .bytes = bytes,
            .bytes_per_s = bytes > 0 ? bytes / fmax(time_ns - start_ns, 1e-3) * 1e9 : 1,
            .begin_ns = work->flow[i].begin_ns,
            .start_ns = bytes > 0 ? start_ns : time_ns,
            .limit = use,
            .limit_count = count};
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
        is_uneven =
            is_uneven || (by < work->model->found_count && work->model->found[by].is_uneven);
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
        const struct resource_step nominal = {.spread = NAN}, *step = NULL;
        bool is_slowed = its->slowed_by != SIM_NO_LIMIT;
        flow->is_nominal = is_slowed && its->slowed_by >= work->model->found_count;
        flow->shared = is_slowed ? name_of(work, its->slowed_by) : NULL;
        if (is_slowed && !flow->is_nominal) {
            const struct resource_found *found = &work->model->found[its->slowed_by];
            step = &found->step[found->step_count - 1];
        }
        flow->time = load_interval_one(
            fmax(its->end_ns - flow->begin_ns, alone.time_ns), &alone,
            flow->is_nominal ? &nominal : step,
            agree_of(work->model->agree, plan_move_kind(work->snap->graph, flow->move)));
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
        .snap = snap, .model = snap->derived.resources, .flow = flows, .count = count};
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
