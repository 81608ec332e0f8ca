#include "cost/resource_narrow.h"

#include <math.h>

/* of the share that others get: the widths of links are whole multiples of the narrowest's, so that
 * one which lost some carries half or less */
#define NARROW 0.5

/* What a kernel gets straight over the link, as a share of what that is said to carry; NAN not
 * known, or its bytes go another way. */
static double share_of(const struct resource_structure *structure, const struct graph *graph,
                       const struct values *values, size_t number)
{
    const struct resource_nominal *item = &structure->item[number];
    const struct resource_role *role = &item->role;
    bool out = role->direction == RESOURCE_OUT;
    place_id from = out ? role->place : role->other, to = out ? role->other : role->place;
    uint16_t use[RESOURCE_STRUCTURE_USES];
    if (role->part != RESOURCE_LINK || graph_place(graph, from)->kind != PLACE_GPU ||
        graph_place(graph, to)->kind != PLACE_GPU || !(item->bytes_per_s > 0))
        return NAN;
    const struct value *value = values_find(values, METRIC_GPU_GPU_KERNEL, from, to, "");
    bool is_straight = resource_structure_uses(structure, from, to, use) == 1 && use[0] == number;
    return is_straight && value != NULL && value->source == VALUE_MEASURED && value->value > 0
               ? value->value / item->bytes_per_s
               : NAN;
}

void resource_narrow(struct resource_structure *structure, const struct graph *graph,
                     const struct values *values)
{
    double most = 0;
    for (size_t i = 0; i < structure->count; i++)
        most = fmax(most, share_of(structure, graph, values, i));
    for (size_t i = 0; i < structure->count; i++) {
        double share = share_of(structure, graph, values, i);
        if (share < NARROW * most) {
            structure->item[i].bytes_per_s *= share / most;
            structure->item[i].is_measured = true;
        }
    }
}
