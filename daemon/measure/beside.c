#include "measure/beside.h"

#include "node/gpu.h"

static bool covers(const struct claim *claim, const struct graph *graph, place_id gpu)
{
    char name[CLAIM_PLACE_SIZE];
    bool found = false;
    for (const char *at = claim->places; !found && claim_next_place(&at, name);) {
        place_id place = graph_find(graph, name);
        found = place != PLACE_NONE &&
                (claim_is_inside(graph, place, gpu) || claim_is_inside(graph, gpu, place));
    }
    return found;
}

void beside_add_claimed(struct gpu_use *use, const struct graph *graph,
                        const struct claim_set *claims)
{
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1))
        for (size_t i = 0; claims != NULL && i < claims->count; i++)
            if (gpu_use_counts(use, graph, gpu) && covers(claims->item[i], graph, gpu))
                gpu_use_add(use, gpu, 0);
}

static bool joins(const struct graph *graph, place_id a, place_id b)
{
    bool found = false;
    for (size_t i = 0; i < graph->link_count && !found; i++) {
        const struct link *link = &graph->links[i];
        bool is_fabric = link->kind == LINK_NVLINK || link->kind == LINK_XGMI;
        found = is_fabric && link->state != LINK_DOWN &&
                ((link->from == a && link->to == b) || (link->from == b && link->to == a));
    }
    return found;
}

static bool are_joined(const struct graph *graph, place_id a, place_id b)
{
    bool found = joins(graph, a, b);
    for (place_id at = graph_next(graph, PLACE_SWITCH, 0); at != PLACE_NONE && !found;
         at = graph_next(graph, PLACE_SWITCH, at + 1))
        found = joins(graph, a, at) && joins(graph, b, at);
    return found;
}

bool beside_is_meshed(const struct graph *graph)
{
    bool all = true;
    for (place_id a = graph_next(graph, PLACE_GPU, 0); a != PLACE_NONE && all;
         a = graph_next(graph, PLACE_GPU, a + 1))
        for (place_id b = graph_next(graph, PLACE_GPU, a + 1); b != PLACE_NONE && all;
             b = graph_next(graph, PLACE_GPU, b + 1))
            all = are_joined(graph, a, b);
    return all;
}

bool beside_is_free(const struct gpu_use *used, const struct graph *graph, place_id gpu)
{
    return graph_is(graph, gpu, PLACE_GPU) && !gpu_use_has(used, gpu) &&
           !gpu_is_slice(graph_place(graph, gpu)) && !gpu_is_cut(graph, gpu) &&
           !gpu_is_apu(graph_place(graph, gpu));
}
