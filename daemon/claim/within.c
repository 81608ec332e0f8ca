/* Planning within a claim: narrows a caller's allowed places to those of the claim that it names.
 */
#include "claim/around.h"

#include <stdlib.h>
#include <string.h>

#include "claim/owner.h"

/* Resources that claims cover together, by place. */
struct covered {
    struct cpuset cpus;
    bool *gpus, *memory;
    bool any_gpu, any_memory;
};

static bool holds_caller(const struct files *io, const struct claim *claim,
                         const struct claim_caller *caller)
{
    return claim_owner_is_for(io, claim, caller->uid, caller->process);
}

static bool is_named(const struct files *io, const struct claim *claim,
                     const struct claim_caller *caller)
{
    bool same_key =
        claim->key != NULL && caller->key != NULL && strcmp(claim->key, caller->key) == 0;
    return claim_is_under(claim, caller) || (same_key && holds_caller(io, claim, caller));
}

static void cover_place(const struct graph *graph, place_id place, struct covered *covered)
{
    bool is_host = graph_place(graph, place)->kind <= PLACE_PU;
    if (claim_cpus(graph_place(graph, place)) != NULL)
        cpuset_or(&covered->cpus, claim_cpus(graph_place(graph, place)));
    for (place_id p = 0; (size_t)p < graph->place_count; p++) {
        enum place_kind kind = graph_place(graph, p)->kind;
        if (!claim_is_inside(graph, place, p))
            continue;
        if (kind == PLACE_GPU)
            covered->gpus[p] = covered->any_gpu = true;
        else if (kind == PLACE_NUMA && is_host)
            covered->memory[p] = covered->any_memory = true;
    }
}

static void cover_claim(const struct graph *graph, const struct claim *claim,
                        struct covered *covered)
{
    char name[CLAIM_PLACE_SIZE];
    for (const char *at = claim->places; claim_next_place(&at, name);) {
        place_id place = graph_find(graph, name);
        if (place != PLACE_NONE)
            cover_place(graph, place, covered);
    }
}

/* Replaces the allowed list by its intersection with the covered one. Returns true when any is
 * left. */
static bool narrow(bool **list, bool **take_covered, size_t count)
{
    bool any = false;
    for (size_t p = 0; p < count; p++) {
        (*take_covered)[p] = (*take_covered)[p] && (*list == NULL || (*list)[p]);
        any |= (*take_covered)[p];
    }
    free(*list);
    *list = *take_covered;
    *take_covered = NULL;
    return any;
}

static enum berth_code nothing(const struct claim *claim, const char *what, struct berth_err *err)
{
    char by[96];
    claim_describe(claim, by, sizeof by);
    return err_set(err, BERTH_NOTHING_ALLOWED,
                   "claim %.90s, within which this is planned, has no %s that is allowed", by,
                   what);
}

enum berth_code claim_within(const struct claim_set *claims, const struct files *io,
                             const struct graph *graph, const struct claim_caller *caller,
                             struct allowed *allowed, const struct claim **ret_claim,
                             struct berth_err *err)
{
    struct covered covered = {.gpus = calloc(graph->place_count, sizeof(bool)),
                              .memory = calloc(graph->place_count, sizeof(bool))};
    const struct claim *first = NULL;
    enum berth_code code = BERTH_OK;
    if (covered.gpus == NULL || covered.memory == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for what is allowed");
    for (int by_owner = 0; code == BERTH_OK && first == NULL && by_owner < 2; by_owner++)
        for (size_t i = 0; i < claims->count; i++) {
            const struct claim *claim = claims->item[i];
            if (claim->purpose != CLAIM_COMPUTE ||
                !(by_owner ? holds_caller(io, claim, caller) : is_named(io, claim, caller)))
                continue;
            cover_claim(graph, claim, &covered);
            if (first == NULL)
                first = claim;
        }
    if (code == BERTH_OK && !cpuset_is_empty(&covered.cpus)) {
        cpuset_and(&allowed->cpus, &covered.cpus);
        if (cpuset_is_empty(&allowed->cpus))
            code = nothing(first, "cpu", err);
    }
    if (code == BERTH_OK && covered.any_gpu)
        narrow(&allowed->gpus, &covered.gpus, graph->place_count);
    if (code == BERTH_OK && covered.any_memory &&
        !narrow(&allowed->memory, &covered.memory, graph->place_count))
        code = nothing(first, "memory", err);
    free(covered.gpus);
    free(covered.memory);
    *ret_claim = first;
    return code;
}
