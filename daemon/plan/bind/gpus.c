#include "plan/bind/gpus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/endpoints.h"
#include "node/allowed.h"
#include "node/gpu.h"
#include "node/locality.h"
#include "node/reasons.h"

static int compare_places(const void *a, const void *b, void *arg)
{
    const struct graph *graph = arg;
    int32_t x = graph_place(graph, *(const place_id *)a)->number,
            y = graph_place(graph, *(const place_id *)b)->number;
    return (x > y) - (x < y);
}

enum berth_code plan_bind_gpus_find(const struct snapshot *snap, const struct allowed *allowed,
                                    struct reasons *warnings, struct bind_gpus *ret,
                                    struct berth_err *err)
{
    const struct graph *graph = snap->graph;
    struct bind_gpus gpus = {.gpu = calloc(graph_count(graph, PLACE_GPU) + 1, sizeof *gpus.gpu),
                             .lost = PLACE_NONE,
                             .cut = PLACE_NONE};
    if (gpus.gpu == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the gpus");
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        bool is_lost = endpoints_is_lost(snap, g), is_cut = gpu_is_cut(graph, g);
        gpus.there += !is_cut;
        if (!allowed_has_gpu(allowed, g))
            continue;
        if (is_lost)
            gpus.lost = g;
        else if (is_cut)
            gpus.cut = g;
        else
            gpus.gpu[gpus.count++] = g;
        if (is_lost || is_cut)
            reasons_add_about(warnings, REASON_GPU_LEFT_OUT, graph_place(graph, g)->name,
                              NO_NUMBERS);
    }
    qsort_r(gpus.gpu, gpus.count, sizeof *gpus.gpu, compare_places, (void *)graph);
    *ret = gpus;
    return BERTH_OK;
}

void plan_bind_gpus_list(const struct graph *graph, const struct bind_gpus *gpus, char *text,
                         size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", gpus->count == 0 ? "no gpu" : "");
    for (size_t i = 0; i < gpus->count && used < size;) {
        size_t last = i;
        while (last + 1 < gpus->count && graph_place(graph, gpus->gpu[last + 1])->number ==
                                             graph_place(graph, gpus->gpu[last])->number + 1)
            last++;
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "",
                                 graph_place(graph, gpus->gpu[i])->name);
        if (last > i && used < size)
            used += (size_t)snprintf(text + used, size - used, "-%s",
                                     graph_place(graph, gpus->gpu[last])->name);
        i = last + 1;
    }
}

void plan_bind_gpus_done(struct bind_gpus *gpus)
{
    free(gpus->gpu);
    *gpus = (struct bind_gpus){0};
}
