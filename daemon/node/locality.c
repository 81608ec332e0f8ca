#include "node/locality.h"

void locality_cpus(const struct graph *graph, struct cpuset *ret_cpus)
{
    struct cpuset cpus = {0};
    if (graph->place_count > 0 && graph->places[0].cpus != NULL)
        cpus = *graph->places[0].cpus;
    else
        for (place_id c = graph_next(graph, PLACE_CORE, 0); c != PLACE_NONE;
             c = graph_next(graph, PLACE_CORE, c + 1))
            if (graph_place(graph, c)->cpus != NULL)
                cpuset_or(&cpus, graph_place(graph, c)->cpus);
    *ret_cpus = cpus;
}

place_id locality_above(const struct graph *graph, place_id id, enum place_kind kind)
{
    while (id != PLACE_NONE && graph_place(graph, id)->kind != kind)
        id = graph_place(graph, id)->parent;
    return id;
}

place_id locality_numa(const struct graph *graph, place_id id)
{
    const struct place *place = graph_place(graph, id);
    if (place->kind == PLACE_NUMA)
        return id;
    if (place->kind != PLACE_PACKAGE && place->kind != PLACE_MACHINE)
        return place->numa;
    place_id found = PLACE_NONE;
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); n != PLACE_NONE;
         n = graph_next(graph, PLACE_NUMA, n + 1)) {
        if (place->kind == PLACE_PACKAGE && locality_above(graph, n, PLACE_PACKAGE) != id)
            continue;
        if (found != PLACE_NONE)
            return PLACE_NONE;
        found = n;
    }
    return found;
}

const struct value *locality_numa_distance(const struct snapshot *snap, place_id a, place_id b)
{
    const struct value *value = values_find(snap->values, METRIC_NUMA_DISTANCE, a, b, "");
    return value != NULL ? value : values_find(snap->values, METRIC_NUMA_DISTANCE, b, a, "");
}

/* Returns the cpus of a place where they locate it better than its NUMA node. */
static const struct cpuset *fine_cpus(const struct place *place)
{
    return place->kind == PLACE_NUMA || place->kind == PLACE_PACKAGE || place->kind == PLACE_MACHINE
               ? NULL
               : place->cpus;
}

double locality_distance(const struct snapshot *snap, place_id a, place_id b)
{
    const struct graph *graph = snap->graph;
    const struct cpuset *x = fine_cpus(graph_place(graph, a)),
                        *y = fine_cpus(graph_place(graph, b));
    if (a == b || (x != NULL && y != NULL && cpuset_intersects(x, y)))
        return 0;
    place_id m = locality_numa(graph, a), n = locality_numa(graph, b);
    if (m != PLACE_NONE && n != PLACE_NONE) {
        if (m == n)
            return 10;
        const struct value *stated = locality_numa_distance(snap, m, n);
        if (stated != NULL)
            return stated->value;
    }
    place_id p = locality_above(graph, m != PLACE_NONE ? m : a, PLACE_PACKAGE),
             q = locality_above(graph, n != PLACE_NONE ? n : b, PLACE_PACKAGE);
    return p != PLACE_NONE && p == q ? 20 : 30;
}
