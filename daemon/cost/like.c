#include "cost/like.h"

#include <math.h>
#include <string.h>

#define ALIKE 0.05 /* the same as the probe's for pairs of which one stands for all */

static bool is_same_sort(const struct graph *graph, place_id a, place_id b)
{
    const struct place *x = graph_place(graph, a), *y = graph_place(graph, b);
    if (x->kind != y->kind || (x->model == NULL) != (y->model == NULL))
        return false;
    return x->model == NULL || strcmp(x->model, y->model) == 0;
}

static bool shares_gpu(const struct graph *graph, const struct curve *curve,
                       const struct value *rate)
{
    return (curve->from == rate->from && graph_place(graph, rate->from)->kind == PLACE_GPU) ||
           (curve->to == rate->to && graph_place(graph, rate->to)->kind == PLACE_GPU);
}

const struct value *plan_like_latency(const struct snapshot *snap, const struct value *rate)
{
    const char *axes = values_axes(snap->values, rate);
    bool by_engine =
        rate->metric == METRIC_HOST_GPU_COPY_ENGINE || rate->metric == METRIC_GPU_GPU_COPY_ENGINE;
    if (!by_engine || (*axes != '\0' && strcmp(axes, "sdma=off") != 0))
        return NULL;
    const struct value *latency =
        values_find(snap->values, METRIC_COPY_LATENCY, rate->from, rate->to, axes);
    return latency != NULL && latency->source == VALUE_MEASURED && latency->value > 0 ? latency
                                                                                      : NULL;
}

/* most_off: how far its rate may be from that of many bytes, and, where it is known what few bytes
 * take, what starting one costs from that. */
static const struct curve *find(const struct snapshot *snap, const struct value *rate,
                                double most_off)
{
    const struct value *latency = plan_like_latency(snap, rate);
    const struct graph *graph = snap->graph;
    const struct curves *curves = snap->derived.curves;
    const struct curve *first, *found = NULL;
    double found_off = INFINITY;
    size_t count = curve_range(curves, rate->metric, &first);
    for (size_t i = 0; i < count; i++) {
        const struct curve *curve = &first[i];
        double off = fabs(curve_wmax_bytes_per_s(curve) / rate->value - 1);
        if (!(off <= most_off) || (isinf(most_off) && isnan(curve->t0_queue_ns)) ||
            strcmp(curve->axes, values_axes(snap->values, rate)) != 0 ||
            !is_same_sort(graph, curve->from, rate->from) ||
            !is_same_sort(graph, curve->to, rate->to))
            continue;
        if (latency != NULL && !(fabs(curve->t0_queue_ns / latency->value - 1) <= most_off) &&
            !isinf(most_off))
            continue;
        off += shares_gpu(graph, curve, rate) ? 0 : ALIKE;
        if (off < found_off) {
            found = curve;
            found_off = off;
        }
    }
    return found;
}

const struct curve *plan_like_curve(const struct snapshot *snap, const struct value *rate)
{
    return find(snap, rate, ALIKE);
}

const struct curve *plan_like_start(const struct snapshot *snap, const struct value *rate)
{
    return find(snap, rate, INFINITY);
}
