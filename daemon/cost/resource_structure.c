#include "cost/resource_structure.h"

#include <stdlib.h>

#include "cost/resource_structure_inner.h"

#define NONE UINT16_MAX

struct resource_pair *resource_structure_pair(const struct resource_structure *structure,
                                              place_id from, place_id to)
{
    uint16_t a = structure->slot != NULL ? structure->slot[from] : NONE,
             b = structure->slot != NULL ? structure->slot[to] : NONE;
    return a == NONE || b == NONE ? NULL : &structure->pair[a * structure->slot_count + b];
}

static bool is_of_host(const struct graph *graph, place_id place)
{
    return graph_place(graph, place)->kind == PLACE_NUMA ||
           graph_place(graph, place)->kind == PLACE_PACKAGE;
}

void resource_structure_free(struct resource_structure *structure)
{
    if (structure == NULL)
        return;
    link_paths_free(structure->paths);
    free(structure->item);
    free(structure->hive);
    free(structure->pair);
    free(structure->slot);
    free(structure);
}

/* ---- what is asked ---- */

size_t resource_structure_uses(const struct resource_structure *structure, place_id from,
                               place_id to, uint16_t ret_use[RESOURCE_STRUCTURE_USES])
{
    const struct resource_pair *pair = resource_structure_pair(structure, from, to);
    for (size_t i = 0; pair != NULL && i < pair->use_count; i++)
        ret_use[i] = pair->use[i];
    return pair != NULL ? pair->use_count : 0;
}

bool resource_structure_is_guess(const struct resource_structure *structure, place_id from,
                                 place_id to)
{
    const struct resource_pair *pair = resource_structure_pair(structure, from, to);
    return pair != NULL && pair->is_guess;
}

bool resource_structure_is_over_host(const struct resource_structure *structure, place_id from,
                                     place_id to)
{
    const struct resource_pair *pair = resource_structure_pair(structure, from, to);
    return pair != NULL && pair->over_host;
}

double resource_structure_width(const struct resource_structure *structure, place_id from,
                                place_id to, bool *ret_several)
{
    const struct resource_pair *pair = resource_structure_pair(structure, from, to);
    if (ret_several != NULL)
        *ret_several = pair != NULL && pair->several;
    return pair != NULL ? pair->bytes_per_s : 0;
}

bool resource_structure_kind(const struct resource_structure *structure, place_id from, place_id to,
                             enum link_kind *ret)
{
    const struct resource_pair *pair = resource_structure_pair(structure, from, to);
    if (pair == NULL || !(pair->bytes_per_s > 0) || pair->narrowest == LINK_PATH_STATED)
        return false;
    *ret = structure->graph->links[pair->narrowest].kind;
    return true;
}

const struct value *resource_structure_cores(const struct resource_structure *structure,
                                             place_id from, place_id to)
{
    const struct resource_pair *pair = resource_structure_pair(structure, from, to);
    return pair != NULL ? pair->cores : NULL;
}

uint32_t resource_structure_unstated(const struct resource_structure *structure, place_id from,
                                     place_id to)
{
    const struct resource_pair *pair = resource_structure_pair(structure, from, to);
    return pair != NULL ? pair->unstated : LINK_PATH_STATED;
}

struct resource_nominal *resource_structure_find(const struct resource_structure *structure,
                                                 const struct resource_role *role)
{
    for (size_t i = 0; i < structure->count; i++) {
        const struct resource_role *its = &structure->item[i].role;
        if (its->part == role->part && its->direction == role->direction &&
            its->place == role->place && its->other == role->other && its->level == role->level)
            return &structure->item[i];
    }
    return NULL;
}

bool resource_structure_has(const struct resource_structure *structure, const struct graph *graph,
                            const struct resource_role *role, place_id from, place_id to)
{
    const struct resource_pair *pair = resource_structure_pair(structure, from, to);
    bool is_between_hosts = role->part == RESOURCE_LINK && is_of_host(graph, role->place) &&
                            is_of_host(graph, role->other);
    if (role->part != RESOURCE_SWITCH_PORT && role->part != RESOURCE_PCIE_PORT &&
        (role->part != RESOURCE_LINK || role->direction == RESOURCE_BOTH) && !is_between_hosts)
        return resource_role_has(graph, role, structure->hive,
                                 pair != NULL ? pair->over_host : false, from, to);
    for (size_t i = 0; pair != NULL && i < pair->use_count; i++) {
        const struct resource_role *its = &structure->item[pair->use[i]].role;
        if (its->part == role->part && its->direction == role->direction &&
            its->place == role->place && its->other == role->other && its->level == role->level)
            return true;
    }
    return false;
}
