#include "cost/resource_between.h"

#include <math.h>

#define LESS 0.95 /* of what would be expected: clearly less than measuring is uncertain by */

/* What both directions of a gpu and that memory get at once; 0 not measured. */
static double both_of(const struct values *values, enum metric metric, place_id gpu, place_id numa)
{
    const struct value *there = values_find(values, metric, gpu, numa, "direction=both"),
                       *back = values_find(values, metric, numa, gpu, "direction=both");
    const struct value *value = there != NULL ? there : back;
    return value != NULL && value->source == VALUE_MEASURED && value->value > 0 ? value->value : 0;
}

static double one_way(const struct values *values, enum metric metric, place_id from, place_id to)
{
    const struct value *value = values_find(values, metric, from, to, "");
    return value != NULL && value->source == VALUE_MEASURED && value->value > 0 ? value->value : 0;
}

/* Sets have transfers that meet there, and say what they share. */
static bool is_told(const struct resource_nominal *item)
{
    unsigned most = 0;
    for (size_t k = 0; k < TRANSFER_KINDS; k++)
        most = item->together[k] > most ? item->together[k] : most;
    return most > 0;
}

/* The items of both directions of links between packages on the path. */
static size_t between(const struct resource_structure *structure, place_id gpu, place_id numa,
                      uint16_t *ret_use)
{
    uint16_t use[RESOURCE_STRUCTURE_USES];
    size_t count = resource_structure_uses(structure, gpu, numa, use), kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct resource_role *role = &structure->item[use[i]].role;
        if (role->part == RESOURCE_LINK && role->direction == RESOURCE_BOTH)
            ret_use[kept++] = use[i];
    }
    return kept;
}

static void look_at(struct resource_structure *structure, const struct graph *graph,
                    const struct values *values, enum metric metric, place_id gpu, place_id numa)
{
    uint16_t use[RESOURCE_STRUCTURE_USES];
    place_id own = graph_place(graph, gpu)->numa;
    double both = own != PLACE_NONE ? both_of(values, metric, gpu, numa) : 0,
           near = own != PLACE_NONE ? both_of(values, metric, gpu, own) : 0;
    double there = one_way(values, metric, gpu, numa), back = one_way(values, metric, numa, gpu);
    size_t count = both > 0 && there > 0 && back > 0 ? between(structure, gpu, numa, use) : 0;
    /* of several links nothing says which it is */
    if (count != 1 || is_told(&structure->item[use[0]]))
        return;
    struct resource_nominal *item = &structure->item[use[0]];
    item->is_measured = true;
    if (both >= LESS * (there + back))
        item->bytes_per_s = INFINITY;
    else if (both < LESS * near)
        item->bytes_per_s = fmax(item->bytes_per_s, both);
}

void resource_between(struct resource_structure *structure, const struct graph *graph,
                      const struct values *values)
{
    static const enum metric metrics[] = {METRIC_HOST_GPU_COPY_ENGINE, METRIC_HOST_GPU_KERNEL};
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1))
        for (place_id numa = graph_next(graph, PLACE_NUMA, 0); numa != PLACE_NONE;
             numa = graph_next(graph, PLACE_NUMA, numa + 1))
            for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++)
                look_at(structure, graph, values, metrics[m], gpu, numa);
    for (size_t i = 0; i < structure->count; i++)
        if (isinf(structure->item[i].bytes_per_s))
            structure->item[i].bytes_per_s = 0;
}
