#include "cost/resource_rate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/resource_role.h"
#include "node/gpu.h"

#define WIDER 0.01 /* links differ by more, or not at all */

double resource_rate_memory(const struct values *values, place_id memory, const char *how)
{
    const struct value *v;
    double most = 0;
    for (size_t left = values_range(values, METRIC_MEMORY_BANDWIDTH, PLACE_NONE, &v); left > 0;
         left--, v++) {
        char text[16];
        const char *its =
            axes_get(v->metric, values_axes(values, v), "operation", text, sizeof text);
        if (v->to == memory && v->why_not == NULL && v->value > most && its != NULL &&
            (*how == '\0' || strcmp(its, how) == 0))
            most = v->value;
    }
    return most;
}

/* What a gpu streams in the memory that it has in common with a processor, else what firmware says
 * of that; what cores were seen to get of it says nothing of the gpu. 0 not known. */
static double one_rate(const struct values *values, place_id gpu, place_id numa)
{
    double most =
        fmax(resource_rate_memory(values, gpu, "read"), resource_rate_memory(values, gpu, "copy"));
    const struct value *stream = values_find(values, METRIC_GPU_STREAM, gpu, gpu, ""),
                       *stated = values_find(values, METRIC_MEMORY_BANDWIDTH, numa, numa, "");
    return most > 0                                            ? most
           : stream != NULL && stream->value > 0               ? stream->value
           : stated != NULL && stated->source == VALUE_NOMINAL ? stated->value
                                                               : 0;
}

double resource_rate_both(const struct graph *graph, const struct values *values, place_id memory)
{
    place_id gpu = gpu_apu_at(graph, memory);
    return gpu == PLACE_NONE ? resource_rate_memory(values, memory, "")
                             : one_rate(values, gpu, memory) / 2;
}

double resource_rate_module(const struct graph *graph, place_id module, size_t *ret_gpus)
{
    double most = 0;
    *ret_gpus = 0;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1))
        *ret_gpus += graph_place(graph, g)->parent == module;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        const struct place *a = graph_place(graph, link->from), *b = graph_place(graph, link->to);
        bool there = a->kind == PLACE_NUMA && b->kind == PLACE_GPU && b->parent == module,
             back = b->kind == PLACE_NUMA && a->kind == PLACE_GPU && a->parent == module;
        if ((there || back) && link->nominal_bytes_per_s > most)
            most = link->nominal_bytes_per_s;
    }
    return most;
}

double resource_rate_pcie_port(const struct graph *graph, place_id gpu, size_t level,
                               bool *ret_is_wider)
{
    char key[PCI_PORT_KEY];
    const char *text =
        place_detail(graph_place(graph, gpu), pci_port_key(level, "_bytes_per_s", key));
    double stated = text != NULL ? strtod(text, NULL) : 0, most = 0;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        place_id end = graph_place(graph, link->from)->kind == PLACE_GPU ? link->from : link->to;
        if (link->kind == LINK_PCIE && link->nominal_bytes_per_s > most &&
            graph_place(graph, end)->kind == PLACE_GPU &&
            resource_role_pcie_port(graph, end, level) == gpu)
            most = link->nominal_bytes_per_s;
    }
    *ret_is_wider = isfinite(stated) && stated > most * (1 + WIDER);
    return *ret_is_wider ? stated : most;
}

static bool is_in(const struct graph *graph, place_id memory, place_id package)
{
    return graph_place(graph, memory)->kind == PLACE_NUMA &&
           graph_place(graph, memory)->parent == package;
}

const struct value *resource_rate_cores(const struct graph *graph, const struct values *values,
                                        place_id from, place_id to)
{
    const struct value *v, *most = NULL;
    for (size_t left = values_range(values, METRIC_MEMORY_BANDWIDTH, PLACE_NONE, &v); left > 0;
         left--, v++) {
        const char *axes = values_axes(values, v);
        bool is_read = axes[0] == '\0', is_write = strcmp(axes, "operation=write") == 0;
        if (v->why_not != NULL || !(v->value > 0) || (most != NULL && v->value <= most->value) ||
            (!is_read && !is_write))
            continue;
        if (is_in(graph, is_read ? v->to : v->from, from) &&
            is_in(graph, is_read ? v->from : v->to, to))
            most = v;
    }
    return most;
}

double resource_rate_one_memory(const struct graph *graph, const struct values *values,
                                const struct link *link)
{
    place_id numa = graph_place(graph, link->from)->kind == PLACE_NUMA ? link->from : link->to,
             gpu = numa == link->from ? link->to : link->from;
    return graph_place(graph, numa)->kind == PLACE_NUMA && gpu_apu_at(graph, numa) == gpu
               ? resource_rate_both(graph, values, numa)
               : 0;
}
