#include "claim/around.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/allowed.h"
#include "node/reasons.h"

#define CLAIMS_NAMED 6 /* claims with a warning of their own; the others are counted */

bool claim_is_under(const struct claim *claim, const struct claim_caller *caller)
{
    size_t length = claim->key != NULL ? strlen(claim->key) : 0;
    return length > 0 && caller->key != NULL && (claim->uid == caller->uid || claim->uid == 0) &&
           strncmp(claim->key, caller->key, length) == 0 &&
           (caller->key[length] == '\0' || caller->key[length] == '.');
}

/* True for the user's own claim without a job: every plan of the user may use it. */
static bool is_for_all(const struct claim *claim, const struct claim_caller *caller)
{
    return claim->uid == caller->uid && claim->key == NULL && claim->owner.pid == 0 &&
           claim->owner.cgroup == NULL;
}

static bool is_own(const struct files *io, const struct claim *claim,
                   const struct claim_caller *caller)
{
    return is_for_all(claim, caller) || claim_is_under(claim, caller) ||
           claim_owner_is_for(io, claim, caller->uid, caller->process);
}

/* Makes the list of allowed places if there is none yet: NULL allows all. */
static bool ensure_list(bool **list, size_t count)
{
    if (*list != NULL)
        return true;
    *list = malloc(count * sizeof **list);
    if (*list != NULL)
        memset(*list, true, count * sizeof **list);
    return *list != NULL;
}

/* Resources removed for one claim, as text: "gpu0, numa1, cpus 0-7". */
struct removed {
    struct cpuset cpus;
    char places[40];
    size_t more; /* number of places that did not fit */
    bool any;
};

static void note_place(struct removed *removed, const char *name)
{
    size_t used = strlen(removed->places);
    removed->any = true;
    if (used + strlen(name) + 3 < sizeof removed->places)
        snprintf(removed->places + used, sizeof removed->places - used, "%s, ", name);
    else
        removed->more++;
}

static void remove_cpus(struct allowed *allowed, const struct cpuset *cpus, struct removed *removed)
{
    for (int c = cpuset_next(cpus, 0); c >= 0; c = cpuset_next(cpus, (unsigned)c + 1))
        if (cpuset_has(&allowed->cpus, (unsigned)c)) {
            cpuset_remove(&allowed->cpus, (unsigned)c);
            cpuset_add(&removed->cpus, (unsigned)c);
            removed->any = true;
        }
}

static bool remove_inside(const struct graph *graph, place_id outer, struct allowed *allowed,
                          struct removed *removed)
{
    for (place_id p = 0; (size_t)p < graph->place_count; p++) {
        enum place_kind kind = graph_place(graph, p)->kind;
        if ((kind != PLACE_GPU && kind != PLACE_NUMA) || !claim_is_inside(graph, outer, p))
            continue;
        bool **list = kind == PLACE_GPU ? &allowed->gpus : &allowed->memory;
        if (!ensure_list(list, graph->place_count))
            return false;
        if ((*list)[p])
            note_place(removed, graph_place(graph, p)->name);
        (*list)[p] = false;
    }
    return true;
}

static bool remove_claim(const struct graph *graph, const struct claim *claim,
                         struct allowed *allowed, struct removed *removed)
{
    char name[CLAIM_PLACE_SIZE];
    for (const char *at = claim->places; claim_next_place(&at, name);) {
        place_id place = graph_find(graph, name);
        if (place == PLACE_NONE)
            continue;
        if (claim_cpus(graph_place(graph, place)) != NULL)
            remove_cpus(allowed, claim_cpus(graph_place(graph, place)), removed);
        if (!remove_inside(graph, place, allowed, removed))
            return false;
    }
    return true;
}

static void warn(struct reasons *warnings, const struct claim *claim, const struct removed *removed)
{
    char by[96], cpus[24] = "", more[32] = "", resources[128];
    claim_describe(claim, by, sizeof by);
    if (removed->more > 0)
        snprintf(more, sizeof more, "%zu more, ", removed->more);
    if (!cpuset_is_empty(&removed->cpus) &&
        cpuset_format_list(&removed->cpus, cpus, sizeof cpus) >= sizeof cpus)
        snprintf(cpus, sizeof cpus, "%zu of them", cpuset_count(&removed->cpus));
    snprintf(resources, sizeof resources, "%s%s%s%s", removed->places, more,
             *cpus != '\0' ? "cpus " : "", cpus);
    if (*cpus == '\0')
        resources[strlen(resources) - 2] = '\0'; /* the last comma */
    reasons_add(warnings, REASON_CLAIM_LEFT_OUT, SUBJECTS(resources, by), NO_NUMBERS);
}

/* True when the claim covers an allowed cpu or GPU. */
static bool covers_allowed(const struct graph *graph, const struct claim *claim,
                           const struct allowed *allowed)
{
    char name[CLAIM_PLACE_SIZE];
    for (const char *at = claim->places; claim_next_place(&at, name);) {
        place_id place = graph_find(graph, name);
        const struct cpuset *cpus =
            place != PLACE_NONE ? claim_cpus(graph_place(graph, place)) : NULL;
        if (cpus != NULL && cpuset_intersects(cpus, &allowed->cpus))
            return true;
        for (place_id g = graph_next(graph, PLACE_GPU, 0); place != PLACE_NONE && g != PLACE_NONE;
             g = graph_next(graph, PLACE_GPU, g + 1))
            if (claim_is_inside(graph, place, g) && allowed_has_gpu(allowed, g))
                return true;
    }
    return false;
}

static void warn_of_own(struct reasons *warnings, const struct claim *claim)
{
    char by[96];
    claim_describe(claim, by, sizeof by);
    reasons_add(warnings, REASON_CLAIM_OWN, SUBJECTS(claim->places, by), NO_NUMBERS);
}

static bool allows_any_gpu(const struct graph *graph, const struct allowed *allowed)
{
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1))
        if (allowed_has_gpu(allowed, g))
            return true;
    return false;
}

enum berth_code claim_around(const struct claim_set *claims, const struct files *io,
                             const struct graph *graph, const struct claim_caller *caller,
                             struct allowed *allowed, struct reasons *warnings, bool *ret_left_out,
                             struct berth_err *err)
{
    size_t named = 0, others = 0, own = 0;
    bool had_cpus = !cpuset_is_empty(&allowed->cpus), had_gpus = allows_any_gpu(graph, allowed);
    for (size_t i = 0; i < claims->count; i++) {
        struct removed removed = {.any = false};
        if (claims->item[i]->purpose == CLAIM_COMPUTE && is_for_all(claims->item[i], caller) &&
            own < CLAIMS_NAMED && covers_allowed(graph, claims->item[i], allowed)) {
            warn_of_own(warnings, claims->item[i]);
            own++;
        }
        if (claims->item[i]->purpose != CLAIM_COMPUTE || is_own(io, claims->item[i], caller))
            continue;
        if (!remove_claim(graph, claims->item[i], allowed, &removed))
            return err_set(err, BERTH_NO_MEMORY, "no memory for what is allowed");
        if (removed.any && named++ < CLAIMS_NAMED)
            warn(warnings, claims->item[i], &removed);
    }
    if (named > CLAIMS_NAMED)
        others = named - CLAIMS_NAMED;
    if (others > 0)
        reasons_add(warnings, REASON_CLAIMS_LEFT_OUT, NO_SUBJECTS, NUMBERS((double)others));
    if (had_cpus && cpuset_is_empty(&allowed->cpus))
        return err_set(err, BERTH_NOTHING_ALLOWED,
                       "all cpus that are allowed are claimed (berth claims lists by whom; a claim "
                       "of your own is yours under its key, or within its owner)");
    allowed->gpus_claimed = had_gpus && !allows_any_gpu(graph, allowed);
    *ret_left_out = named > 0;
    return BERTH_OK;
}
