#include "cost/gpurate_start.h"

#include <math.h>

#include "node/curve.h"
#include "node/locality.h"

/* Widens it by the gpu's curves of a metric: the most that any of them has to start with, and the
 * least. */
static void look_at_starts(const struct gpurate *at, enum metric metric, double *most,
                           double *least)
{
    const struct curve *curve;
    for (size_t n = curve_range(at->snap->derived.curves, metric, &curve); n > 0; curve++, n--)
        if (curve->from == at->gpu || curve->to == at->gpu) {
            *most = fmax(*most, curve->fit.piece[0].t0_ns);
            *least = fmin(*least, curve->fit.piece[0].t0_ns);
        }
}

/* As a streaming copy in the gpu's own memory; elsewhere the most that this or one of the gpu's
 * curves of that metric has, because another memory's kernels are not started faster than a near
 * one's. Of host memory that is not next to the gpu another gpu's memory, which is not next to it
 * either, may say more than the host's that is. */
static struct gpurate_start find_start(const struct gpurate *at, enum metric metric)
{
    const struct curves *curves = at->snap->derived.curves;
    const struct curve *curve = curve_find(curves, METRIC_GPU_STREAM, at->gpu, at->gpu, "");
    double most = curve != NULL ? curve->fit.piece[0].t0_ns : 0,
           least = curve != NULL ? most : INFINITY;
    if (metric == METRIC_MEMORY_BANDWIDTH || metric == METRIC_GPU_STREAM)
        return (struct gpurate_start){most, 0};
    look_at_starts(at, metric, &most, &least);
    if (metric == METRIC_HOST_GPU_KERNEL &&
        at->place->memory != locality_numa(at->snap->graph, at->gpu))
        look_at_starts(at, METRIC_GPU_GPU_KERNEL, &most, &least);
    return (struct gpurate_start){most, isinf(least) ? 0 : most - least};
}

struct gpurate_start gpurate_start_of(const struct gpurate *at, enum metric metric)
{
    struct gpurate_memo *memo = at->memo;
    for (size_t i = 0; i < memo->started_count; i++)
        if (memo->started[i].gpu == at->gpu && memo->started[i].memory == at->place->memory &&
            memo->started[i].metric == metric)
            return memo->started[i].start;
    struct gpurate_started *its =
        &memo->started[memo->started_count < GPURATE_STARTS ? memo->started_count++ : 0];
    *its = (struct gpurate_started){.gpu = at->gpu,
                                    .memory = at->place->memory,
                                    .metric = metric,
                                    .start = find_start(at, metric)};
    return its->start;
}
