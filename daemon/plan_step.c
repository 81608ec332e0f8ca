#include "plan_step.h"

#include <math.h>
#include <stdlib.h>

struct state {
    double t0_ns, rate; /* bytes per ns, alone */
    double left;        /* bytes */
};

struct work {
    const struct snapshot *snap;
    const struct resource_model *model;
    struct step_flow *flow;
    struct state *state;
    size_t count;
    struct resource_limit *limit; /* those of the model that any flow uses; users by flow */
    const struct resource_found **found;
    size_t limit_count;
    unsigned char *users;
    double *alone;
};

/* The metric of sets in which transfers like this one are measured together. */
static enum metric metric_of(const struct graph *graph, const struct move *move)
{
    bool peers = graph_place(graph, move->from)->kind == PLACE_GPU && graph_place(graph, move->to)->kind == PLACE_GPU;
    if (move->by == MOVE_COPY_ENGINE)
        return peers ? METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT : METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT;
    return peers ? METRIC_GPU_GPU_KERNEL_CONCURRENT : METRIC_HOST_GPU_KERNEL_CONCURRENT;
}

/* False when out of memory. */
static bool prepare(struct work *work)
{
    const struct resource_model *model = work->model;
    work->state = calloc(work->count, sizeof *work->state);
    work->alone = calloc(work->count, sizeof *work->alone);
    work->limit = calloc(model->found_count + 1, sizeof *work->limit);
    work->found = calloc(model->found_count + 1, sizeof *work->found);
    work->users = calloc((model->found_count + 1) * work->count, 1);
    if (work->state == NULL || work->alone == NULL || work->limit == NULL || work->found == NULL || work->users == NULL)
        return false;
    for (size_t i = 0; i < work->count; i++) {
        const struct move *move = work->flow[i].move;
        struct state *state = &work->state[i];
        double time_ns = plan_move_queued(move, work->flow[i].bytes).time_ns;
        state->t0_ns = fmin(plan_move_start_ns(move), time_ns);
        state->left = work->flow[i].bytes;
        state->rate = state->left / fmax(time_ns - state->t0_ns, 1e-3);
        work->alone[i] = state->rate * 1e9;
    }
    for (size_t r = 0; r < model->found_count; r++) {
        const struct resource_found *found = &model->found[r];
        unsigned char *users = work->users + work->limit_count * work->count;
        unsigned any = 0;
        for (size_t i = 0; i < work->count; i++) {
            const struct move *move = work->flow[i].move;
            const char *axes = move->rate != NULL ? values_axes(work->snap->values, move->rate) : "";
            users[i] = resource_model_uses(work->snap->graph, found, metric_of(work->snap->graph, move), move->from, move->to, axes);
            any += users[i];
        }
        if (any == 0)
            continue;
        struct resource_limit *limit = &work->limit[work->limit_count];
        *limit = (struct resource_limit){.candidate = RESOURCE_NO_CANDIDATE, .users = users, .step_count = found->step_count};
        for (size_t s = 0; s < found->step_count; s++)
            limit->step[s] = found->step[s];
        work->found[work->limit_count++] = found;
    }
    return true;
}

/* The fullest of what the flow uses. */
static const struct resource_found *fullest(const struct work *work, size_t flow, const size_t *active, size_t count, const double *rates)
{
    const struct resource_found *found = NULL;
    double most = 0;
    for (size_t r = 0; r < work->limit_count; r++) {
        const struct resource_limit *limit = &work->limit[r];
        double sum = 0;
        unsigned users = 0;
        for (size_t i = 0; i < count && limit->users[flow]; i++)
            if (limit->users[active[i]]) {
                sum += rates[i];
                users++;
            }
        double share = users > 0 ? sum / resource_capacity(limit, users) : 0;
        if (share > most) {
            most = share;
            found = work->found[r];
        }
    }
    return found;
}

/* From one moment at which a flow begins or ends to the next. False when all have ended. */
static bool advance(struct work *work, double *now_ns)
{
    size_t active[STEP_FLOWS_MAX], count = 0;
    double rates[STEP_FLOWS_MAX], next_ns = INFINITY;
    for (size_t i = 0; i < work->count; i++) {
        const struct state *state = &work->state[i];
        if (!(state->left > 0))
            continue;
        if (state->t0_ns > *now_ns)
            next_ns = fmin(next_ns, state->t0_ns);
        else
            active[count++] = i;
    }
    if (count == 0 && isinf(next_ns))
        return false;
    resource_share(work->alone, work->limit, work->limit_count, active, count, rates);
    for (size_t i = 0; i < count; i++) {
        rates[i] = fmax(rates[i], 1e-3);
        next_ns = fmin(next_ns, *now_ns + work->state[active[i]].left / rates[i] * 1e9);
    }
    for (size_t i = 0; i < count; i++) {
        struct state *state = &work->state[active[i]];
        struct step_flow *flow = &work->flow[active[i]];
        if (rates[i] < work->alone[active[i]] * (1 - 1e-9))
            flow->shared = fullest(work, active[i], active, count, rates);
        bool ends = *now_ns + state->left / rates[i] * 1e9 <= next_ns;
        state->left = ends ? 0 : state->left - rates[i] * 1e-9 * (next_ns - *now_ns);
        if (!(state->left > 0))
            flow->time.time_ns = next_ns;
    }
    *now_ns = next_ns;
    return true;
}

/* As far to both sides as alone; where a shared resource slowed the flow, as far as its capacity at least. */
static void set_interval(struct step_flow *flow, const struct prediction *alone)
{
    double low = alone->low_ns / alone->time_ns, high = alone->high_ns / alone->time_ns;
    if (flow->shared != NULL && flow->shared->step_count > 0) {
        const struct resource_step *step = &flow->shared->step[flow->shared->step_count - 1];
        low = isnan(step->high) ? NAN : fmin(low, step->bytes_per_s / step->high);
        high = isnan(step->low) ? NAN : fmax(high, step->bytes_per_s / step->low);
    }
    flow->time.low_ns = flow->time.time_ns * low;
    flow->time.high_ns = flow->time.time_ns * high;
    if (isnan(flow->time.low_ns) || isnan(flow->time.high_ns))
        flow->time.low_ns = flow->time.high_ns = NAN;
}

static void run(struct work *work)
{
    double now_ns = 0;
    for (size_t i = 0; i < work->count; i++) {
        work->flow[i].time = plan_move_queued(work->flow[i].move, work->flow[i].bytes);
        work->flow[i].shared = NULL;
    }
    while (advance(work, &now_ns)) {}
    for (size_t i = 0; i < work->count; i++) {
        struct prediction alone = plan_move_queued(work->flow[i].move, work->flow[i].bytes);
        set_interval(&work->flow[i], &alone);
    }
}

enum berth_code plan_step(struct snapshot *snap, struct step_flow *flows, size_t count, struct berth_err *err)
{
    struct work work = {.snap = snap, .model = snapshot_resources(snap), .flow = flows, .count = count};
    bool ok = work.model != NULL && prepare(&work);
    if (ok)
        run(&work);
    free(work.state);
    free(work.alone);
    free(work.limit);
    free(work.found);
    free(work.users);
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for transfers");
}
