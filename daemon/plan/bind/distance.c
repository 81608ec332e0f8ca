#include "plan/bind/distance.h"

#include <math.h>

#include "cost/limits.h"
#include "node/locality.h"

#define LEAST     10  /* two GPUs of one NUMA node */
#define BY_LINK   0.1 /* of the distance, over the widest link of the node; over others more */
#define BY_SWITCH 0.5 /* over a PCIe switch, or a narrow link */

static bool joins(const struct link *link, place_id a, place_id b)
{
    return link->state != LINK_DOWN &&
           ((link->from == a && link->to == b) || (link->from == b && link->to == a));
}

static double width_of(const struct link *link) { return fmax(link->nominal_bytes_per_s, 1); }

/* The share of the distance that is left over a link of their own, or one of each to the same
 * switch; 1 without. widest: of the links between GPUs. ret_switch: they have a PCIe switch. */
static double by_links(const struct graph *graph, place_id a, place_id b, double widest,
                       bool *ret_switch)
{
    double nearest = 1;
    *ret_switch = false;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *mine = &graph->links[i];
        place_id between = mine->from == a ? mine->to : mine->to == a ? mine->from : PLACE_NONE;
        if (joins(mine, a, b))
            nearest = fmin(nearest, fmin(BY_LINK * widest / width_of(mine), BY_SWITCH));
        if (between == PLACE_NONE || mine->state == LINK_DOWN ||
            graph_place(graph, between)->kind != PLACE_SWITCH)
            continue;
        for (size_t j = 0; j < graph->link_count; j++) {
            if (!joins(&graph->links[j], between, b))
                continue;
            *ret_switch = *ret_switch || mine->kind == LINK_PCIE;
            nearest = fmin(nearest, mine->kind == LINK_PCIE ? BY_SWITCH : BY_LINK);
        }
    }
    return nearest;
}

static bool share(const struct graph *graph, place_id a, place_id b, enum place_kind kind)
{
    place_id mine = locality_above(graph, a, kind);
    return mine != PLACE_NONE && locality_above(graph, b, kind) == mine;
}

double plan_bind_distance_meet(const struct graph *graph, place_id a, place_id b)
{
    bool shares_switch;
    by_links(graph, a, b, 1, &shares_switch);
    place_id numa = locality_numa(graph, a), port = limits_pcie_port(graph, a, 0);
    if (a == b || (port != PLACE_NONE && port == limits_pcie_port(graph, b, 0)) || shares_switch ||
        share(graph, a, b, PLACE_MODULE))
        return 1;
    return numa != PLACE_NONE && locality_numa(graph, b) == numa ? 0.5
           : share(graph, a, b, PLACE_PACKAGE)                   ? 0.25
                                                                 : 0;
}

void plan_bind_distances(const struct snapshot *snap, const place_id *gpu, size_t count,
                         double *ret)
{
    const struct graph *graph = snap->graph;
    double widest = 1;
    for (size_t i = 0; i < graph->link_count; i++)
        if (graph_are_gpus(graph, graph->links[i].from, graph->links[i].to))
            widest = fmax(widest, width_of(&graph->links[i]));
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < count; b++) {
            bool shares_switch;
            ret[a * count + b] = a == b || share(graph, gpu[a], gpu[b], PLACE_MODULE)
                                     ? 0
                                     : fmax(locality_distance(snap, gpu[a], gpu[b]), LEAST) *
                                           by_links(graph, gpu[a], gpu[b], widest, &shares_switch);
        }
}
