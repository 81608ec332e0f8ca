#include "cost/resource_hive.h"

#include <stdlib.h>

static bool is_joined(const struct graph *graph, place_id place)
{
    enum place_kind kind = graph_place(graph, place)->kind;
    return kind == PLACE_GPU || kind == PLACE_SWITCH;
}

/* The lower number of both, until nothing changes. */
static void join(const struct graph *graph, place_id *hive)
{
    bool moves = true;
    while (moves) {
        moves = false;
        for (size_t i = 0; i < graph->link_count; i++) {
            const struct link *link = &graph->links[i];
            if (link->kind == LINK_PCIE || link->state == LINK_DOWN ||
                !is_joined(graph, link->from) || !is_joined(graph, link->to) ||
                hive[link->from] == hive[link->to])
                continue;
            hive[link->from] = hive[link->to] =
                hive[link->from] < hive[link->to] ? hive[link->from] : hive[link->to];
            moves = true;
        }
    }
}

place_id *resource_hive_find(const struct graph *graph)
{
    place_id *hive = calloc(graph->place_count + 1, sizeof *hive);
    if (hive == NULL)
        return NULL;
    for (place_id p = 0; p < (place_id)graph->place_count; p++)
        hive[p] = is_joined(graph, p) ? p : PLACE_NONE; /* gpus come before switches */
    join(graph, hive);
    for (place_id p = 0; p < (place_id)graph->place_count; p++)
        hive[p] = graph_place(graph, p)->kind == PLACE_GPU ? hive[p] : PLACE_NONE;
    return hive;
}
