#include "cost/resource_covered.h"

#include <stdlib.h>

#include "cost/resource_slower.h"

/* Whether both are known to use one thing, or nothing is known of both. */
static bool meet(const struct resource_structure *structure, place_id from, place_id to,
                 place_id other_from, place_id other_to)
{
    uint16_t use[RESOURCE_STRUCTURE_USES], other[RESOURCE_STRUCTURE_USES];
    size_t uses = resource_structure_uses(structure, from, to, use),
           others = resource_structure_uses(structure, other_from, other_to, other);
    bool found = (uses == 0 && others == 0) || (from == other_from && to == other_to);
    for (size_t i = 0; i < uses; i++)
        for (size_t k = 0; k < others && !found; k++)
            found = use[i] == other[k];
    return found;
}

bool resource_covered_has(const struct resource_structure *structure, const struct set_flow *user,
                          size_t user_count, place_id from, place_id to)
{
    bool found = false;
    for (size_t i = 0; i < user_count && !found; i++)
        found = meet(structure, from, to, user[i].from, user[i].to);
    return found;
}

bool resource_covered_restrict(const struct resource_problem *problem,
                               const struct set_flow *const *flow,
                               const struct resource_structure *structure, unsigned char *row)
{
    unsigned char *slower = calloc(problem->flow_count + 1, 1);
    if (slower == NULL)
        return false;
    resource_slower_mark(problem, row, slower);
    for (size_t f = 0; f < problem->flow_count; f++) {
        bool covered = false;
        for (size_t i = 0; i < problem->flow_count && row[f] && !covered; i++)
            covered = slower[i] &&
                      meet(structure, flow[f]->from, flow[f]->to, flow[i]->from, flow[i]->to);
        row[f] = covered;
    }
    free(slower);
    return true;
}
