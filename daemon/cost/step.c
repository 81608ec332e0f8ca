#include "cost/step.h"

#include <math.h>
#include <stdlib.h>

#include "cost/load_interval.h"
#include "cost/resource_model.h"
#include "sim/share.h"

struct work {
    const struct snapshot *snap;
    const struct resource_model *model;
    struct step_flow *flow;
    size_t count;
    struct load_stream *stream;
    /* what was found, then what structure has, then what was found where mechanisms mix */
    struct load_limit *limit;
    struct resource_step *step; /* of the latter */
    uint16_t *use;
    struct load_share *share;
};

static bool make_room(struct work *work)
{
    size_t items = work->model->structure->count + work->model->found_count,
           limits = work->model->found_count + items,
           uses = 2 * work->model->found_count + RESOURCE_STRUCTURE_USES;
    work->stream = calloc(work->count + 1, sizeof *work->stream);
    work->limit = calloc(limits + 1, sizeof *work->limit);
    work->step = calloc(items + 1, sizeof *work->step);
    work->use = calloc(work->count * uses + 1, sizeof *work->use);
    work->share = load_share_new(limits, work->count, uses, 0);
    return work->stream != NULL && work->limit != NULL && work->step != NULL && work->use != NULL &&
           work->share != NULL && limits < LOAD_NO_LIMIT;
}

static unsigned use_found(struct work *work, const struct move *move, unsigned kind, uint16_t *use)
{
    const char *axes = move->rate != NULL ? values_axes(work->snap->values, move->rate) : "";
    unsigned count = 0;
    for (size_t r = 0; r < work->model->found_count; r++) {
        const struct resource_found *found = &work->model->found[r];
        if (transfer_kind_of(found->metric) != kind ||
            !resource_model_uses(work->snap->graph, found, found->metric, move->from, move->to,
                                 axes))
            continue;
        work->limit[r] = (struct load_limit){.step = found->step, .step_count = found->step_count};
        use[count++] = (uint16_t)r;
    }
    return count;
}

static unsigned use_nominal(struct work *work, const struct move *move, uint16_t *use)
{
    const struct resource_structure *structure = work->model->structure;
    uint16_t item[RESOURCE_STRUCTURE_USES];
    size_t items = resource_structure_uses(structure, move->from, move->to, item);
    unsigned count = 0;
    for (size_t i = 0; i < items; i++) {
        const struct resource_nominal *nominal = &structure->item[item[i]];
        struct resource_step *step = &work->step[item[i]];
        if (!(nominal->bytes_per_s > 0))
            continue;
        *step = (struct resource_step){1, nominal->bytes_per_s, NAN, NAN, NAN};
        work->limit[work->model->found_count + item[i]] =
            (struct load_limit){.step = step, .step_count = 1, .apart = nominal->together};
        use[count++] = (uint16_t)(work->model->found_count + item[i]);
    }
    return count;
}

static unsigned use_mixed(struct work *work, const struct move *move, unsigned kind, uint16_t *use)
{
    unsigned count = 0;
    for (size_t r = 0; r < work->model->found_count; r++) {
        const struct resource_nominal *mixed = &work->model->mixed[r];
        size_t item = work->model->structure->count + r, at = work->model->found_count + item;
        if (!resource_model_mixes(work->snap->graph, work->model, r, kind, move->from, move->to))
            continue;
        work->step[item] = (struct resource_step){1, mixed->bytes_per_s, NAN, NAN, NAN};
        work->limit[at] = (struct load_limit){
            .step = &work->step[item], .step_count = 1, .apart = mixed->together};
        use[count++] = (uint16_t)at;
    }
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
        struct load_stream *stream = &work->stream[i];
        double bytes = work->flow[i].bytes, time_ns = plan_move_queued(move, bytes).time_ns,
               start_ns = fmin(plan_move_start_ns(move), time_ns);
        *stream = (struct load_stream){.start_ns = (bytes > 0 ? start_ns : time_ns) +
                                                   work->flow[i].begin_ns,
                                       .begin_ns = work->flow[i].begin_ns,
                                       .bytes = bytes,
                                       .bytes_per_s = 1,
                                       .use = use,
                                       .kind = plan_move_kind(work->snap->graph, move)};
        if (bytes > 0)
            stream->bytes_per_s = bytes / fmax(time_ns - start_ns, 1e-3) * 1e9;
        stream->use_count = use_found(work, move, stream->kind, use);
        stream->use_count += use_nominal(work, move, use + stream->use_count);
        stream->use_count += use_mixed(work, move, stream->kind, use + stream->use_count);
        use += stream->use_count;
    }
}

/* Where fair shares do not reproduce the sets, who comes first is not known. */
static void look_at_order(struct work *work)
{
    bool is_uneven = false;
    for (size_t i = 0; i < work->count; i++) {
        struct step_flow *flow = &work->flow[i];
        flow->soonest_ns = flow->latest_ns = flow->time.time_ns;
        is_uneven = is_uneven || (work->stream[i].shared < work->model->found_count &&
                                  work->model->found[work->stream[i].shared].is_uneven);
    }
    for (int order = LOAD_SHARE_FIRST; is_uneven && order <= LOAD_SHARE_LAST; order++) {
        load_share_set_order(work->share, (enum load_share_order)order);
        load_share_run(work->share, work->limit, work->stream, work->count);
        for (size_t i = 0; i < work->count; i++) {
            struct step_flow *flow = &work->flow[i];
            flow->soonest_ns = fmin(flow->soonest_ns, work->stream[i].end_ns - flow->begin_ns);
            flow->latest_ns = fmax(flow->latest_ns, work->stream[i].end_ns - flow->begin_ns);
        }
    }
}

static void take(struct work *work)
{
    for (size_t i = 0; i < work->count; i++) {
        struct step_flow *flow = &work->flow[i];
        const struct load_stream *stream = &work->stream[i];
        struct prediction alone = plan_move_queued(flow->move, flow->bytes);
        const struct load_limit *limit =
            stream->shared != LOAD_NO_LIMIT ? &work->limit[stream->shared] : NULL;
        size_t found = work->model->found_count;
        flow->is_nominal = limit != NULL && stream->shared >= found;
        flow->shared = limit != NULL ? name_of(work, stream->shared) : NULL;
        flow->time = load_interval_one(fmax(stream->end_ns - flow->begin_ns, alone.time_ns), &alone,
                                       limit != NULL ? &limit->step[limit->step_count - 1] : NULL,
                                       agree_of(work->model->agree, stream->kind));
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
        load_share_run(work.share, work.limit, work.stream, count);
        take(&work);
        look_at_order(&work);
    }
    free(work.stream);
    free(work.limit);
    free(work.step);
    free(work.use);
    load_share_free(work.share);
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for transfers");
}
