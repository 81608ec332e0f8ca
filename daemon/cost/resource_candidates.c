#include "cost/resource_candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/resource_covered.h"

/* Between gpus, or parts of the host. */
static bool is_listed(const struct graph *graph, const struct resource_role *role)
{
    if (role->part != RESOURCE_LINK)
        return false;
    enum place_kind a = graph_place(graph, role->place)->kind,
                    b = graph_place(graph, role->other)->kind;
    return a == b && (a == PLACE_GPU || a == PLACE_NUMA || a == PLACE_PACKAGE);
}

/* The links of the structure that are listed, between gpus or between parts of the host, behind one
 * another; how many. */
static size_t put_links(const struct graph *graph, const struct resource_structure *structure,
                        bool of_gpus, struct resource_role *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < structure->count; i++) {
        const struct resource_role *role = &structure->item[i].role;
        if (is_listed(graph, role) &&
            (graph_place(graph, role->place)->kind == PLACE_GPU) == of_gpus)
            ret[count++] = *role;
    }
    return count;
}

/* Each direction of each link between gpus, which only transfers that go over it use, and behind
 * them those of cost/resource_role.h: where both explain as much, as all that goes into the gpu
 * behind a link and was measured with something else, the link does. Links between packages come
 * behind the gpus' ways to the host, which are more particular. */
struct resource_role *resource_candidates_roles(const struct graph *graph,
                                                const struct resource_structure *structure,
                                                size_t *ret_count)
{
    size_t role_count = 0, count, first = 0;
    struct resource_role *role = resource_role_all(graph, &role_count);
    struct resource_role *all =
        role != NULL ? calloc(role_count + structure->count + 1, sizeof *all) : NULL;
    if (all == NULL) {
        free(role);
        return NULL;
    }
    while (first < role_count &&
           (role[first].part == RESOURCE_LINK || role[first].part == RESOURCE_HOST_LINK))
        first++;
    count = put_links(graph, structure, true, all);
    memcpy(all + count, role, first * sizeof *all);
    count += first;
    count += put_links(graph, structure, false, all + count);
    memcpy(all + count, role + first, (role_count - first) * sizeof *all);
    *ret_count = count + role_count - first;
    free(role);
    return all;
}

/* Whether several users got no more together, in some run, than one of them alone. Then they go
 * through one port: that a memory carries just as much would be chance. */
static bool is_narrow(const struct resource_problem *problem, const unsigned char *users)
{
    for (size_t r = 0; r < problem->run_count; r++) {
        const struct resource_run *run = &problem->run[r];
        double together = 0, alone = 0;
        size_t count = 0;
        for (size_t i = 0; i < run->count; i++) {
            if (!users[run->flow[i]])
                continue;
            together += run->rate[i];
            alone = fmax(alone, problem->alone[run->flow[i]]);
            count++;
        }
        if (count > 1 && together <= alone * (1 + RESOURCE_TOLERANCE))
            return true;
    }
    return false;
}

static bool joins_hosts(const struct graph *graph, const struct resource_role *role)
{
    return role->part == RESOURCE_LINK && graph_place(graph, role->place)->kind != PLACE_GPU &&
           graph_place(graph, role->other)->kind != PLACE_GPU;
}

/* One thing, wherever its users were slower. */
static bool is_one_place(const struct graph *graph, const struct resource_role *role)
{
    return role->part == RESOURCE_GPU || role->part == RESOURCE_HOST_LINK ||
           role->part == RESOURCE_HIVE || joins_hosts(graph, role);
}

/* Whether all that goes from or to the gpu goes through the host: then nothing tells its host link
 * from the gpu. */
static bool is_whole_gpu(const struct resource_candidates *candidates,
                         const struct resource_problem *problem, const struct resource_role *role,
                         const unsigned char *row)
{
    const struct resource_role gpu = {RESOURCE_GPU, role->direction, role->place, role->other, 0};
    bool same = role->part == RESOURCE_HOST_LINK;
    for (size_t i = 0; i < problem->flow_count && same; i++)
        same = row[i] == resource_structure_has(candidates->structure, candidates->graph, &gpu,
                                                candidates->flow[i]->from, candidates->flow[i]->to);
    return same;
}

/* Copies between host memory and gpus of a hive are told by memories and ports. */
static bool has_peers(const struct resource_candidates *candidates,
                      const struct resource_problem *problem, const unsigned char *row)
{
    bool has = false;
    for (size_t i = 0; i < problem->flow_count && !has; i++)
        has = row[i] &&
              graph_place(candidates->graph, candidates->flow[i]->from)->kind == PLACE_GPU &&
              graph_place(candidates->graph, candidates->flow[i]->to)->kind == PLACE_GPU;
    return has;
}

/* A port that structure does not show comes before the memory behind it, which has the same users
 * where no other gpu's transfers with that were measured, only where it is narrow. */
static bool is_weighed(const struct resource_candidates *candidates,
                       const struct resource_problem *problem, const struct resource_role *role,
                       const unsigned char *row)
{
    size_t users = 0;
    for (size_t i = 0; i < problem->flow_count; i++)
        users += row[i];
    return users > 1 &&
           (!resource_role_is_hidden(candidates->graph, role) || is_narrow(problem, row)) &&
           (role->part != RESOURCE_HIVE || has_peers(candidates, problem, row)) &&
           !is_whole_gpu(candidates, problem, role, row);
}

/* Of both directions of one thing: the candidate about the one, where there is one. */
static size_t one_way_of(const struct resource_candidates *candidates,
                         const struct resource_role *kept, size_t count,
                         const struct resource_role *role)
{
    bool has_ways = role->direction == RESOURCE_BOTH && is_one_place(candidates->graph, role);
    for (size_t i = 0; i < count && has_ways; i++)
        if (kept[i].part == role->part && kept[i].direction == RESOURCE_OUT &&
            kept[i].place == role->place && kept[i].other == role->other &&
            kept[i].level == role->level)
            return i;
    return RESOURCE_NO_CANDIDATE;
}

bool resource_candidates_list(const struct resource_candidates *candidates,
                              struct resource_problem *problem, struct resource_role *ret_kept,
                              unsigned char *ret_users, bool *ret_is_end, size_t *ret_one_way)
{
    size_t flows = problem->flow_count;
    bool ok = true;
    for (size_t c = 0; ok && c < candidates->role_count; c++) {
        const struct resource_role *role = &candidates->role[c];
        unsigned char *row = ret_users + problem->candidate_count * flows;
        for (size_t i = 0; i < flows; i++)
            row[i] = resource_structure_has(candidates->structure, candidates->graph, role,
                                            candidates->flow[i]->from, candidates->flow[i]->to);
        ok = role->part != RESOURCE_GPU ||
             resource_covered_restrict(problem, candidates->flow, candidates->structure, row);
        if (!ok || !is_weighed(candidates, problem, role, row))
            continue;
        size_t one_way = one_way_of(candidates, ret_kept, problem->candidate_count, role);
        ret_one_way[problem->candidate_count] = one_way;
        ret_is_end[problem->candidate_count] =
            is_one_place(candidates->graph, role) &&
            (role->direction != RESOURCE_BOTH || one_way != RESOURCE_NO_CANDIDATE);
        ret_kept[problem->candidate_count++] = *role;
    }
    problem->candidate = ret_users;
    problem->is_end = ret_is_end;
    problem->one_way = ret_one_way;
    return ok;
}
