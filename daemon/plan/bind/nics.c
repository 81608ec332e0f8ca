#include "plan/bind/nics.h"

#include <math.h>
#include <string.h>

#include "node/locality.h"

static double distance_of(const struct snapshot *snap, const struct nics_of *who, place_id nic)
{
    double least = INFINITY;
    for (size_t i = 0; i < who->gpu_count; i++)
        least = fmin(least, locality_distance(snap, who->gpu[i], nic));
    if (who->gpu_count > 0)
        return least;
    const struct cpuset *next_to = graph_place(snap->graph, nic)->cpus;
    if ((next_to != NULL && cpuset_intersects(next_to, who->cpus)) || who->memory == PLACE_NONE)
        return 0;
    return locality_distance(snap, who->memory, nic);
}

static bool is_fabric(const struct place *nic)
{
    const char *fabric = place_detail(nic, "fabric");
    return fabric != NULL && strcmp(fabric, "ethernet") != 0;
}

size_t plan_bind_nics(const struct snapshot *snap, const struct nics_of *who, place_id *ret)
{
    const struct graph *graph = snap->graph;
    bool has_fabric = false;
    double least = INFINITY;
    size_t count = 0;
    for (place_id n = graph_next(graph, PLACE_NIC, 0); n != PLACE_NONE;
         n = graph_next(graph, PLACE_NIC, n + 1))
        has_fabric |= is_fabric(graph_place(graph, n));
    for (place_id n = graph_next(graph, PLACE_NIC, 0); n != PLACE_NONE;
         n = graph_next(graph, PLACE_NIC, n + 1)) {
        double distance = distance_of(snap, who, n);
        if (has_fabric && !is_fabric(graph_place(graph, n)))
            continue;
        if (distance < least)
            count = 0;
        least = fmin(least, distance);
        if (distance == least)
            ret[count++] = n;
    }
    return count;
}
