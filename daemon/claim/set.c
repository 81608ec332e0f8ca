#include "claim/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "node/gpu.h"

/* Resources that a new claim covers. */
struct cover {
    struct cpuset cpus;
    bool *part; /* by place: inside a claimed place, or contains one */
    bool *gpu;  /* by place: a GPU inside a claimed place */
};

static void cover_done(struct cover *cover)
{
    free(cover->part);
    free(cover->gpu);
}

static bool cover_init(struct cover *cover, const struct graph *graph, const struct claim *claim)
{
    char name[CLAIM_PLACE_SIZE];
    *cover = (struct cover){.part = calloc(graph->place_count, sizeof(bool)),
                            .gpu = calloc(graph->place_count, sizeof(bool))};
    bool *named = calloc(graph->place_count, sizeof *named);
    if (cover->part == NULL || cover->gpu == NULL || named == NULL) {
        free(named);
        cover_done(cover);
        return false;
    }
    for (const char *at = claim->places; claim_next_place(&at, name);) {
        place_id place = graph_find(graph, name);
        if (place == PLACE_NONE)
            continue;
        named[place] = true;
        if (claim_cpus(graph_place(graph, place)) != NULL)
            cpuset_or(&cover->cpus, claim_cpus(graph_place(graph, place)));
        for (place_id up = place; up != PLACE_NONE; up = graph_place(graph, up)->parent)
            cover->part[up] = true;
    }
    for (size_t p = 0; p < graph->place_count; p++)
        for (place_id up = (place_id)p; up != PLACE_NONE; up = graph_place(graph, up)->parent)
            if (named[up]) {
                cover->part[p] = true;
                cover->gpu[p] = graph->places[p].kind == PLACE_GPU;
                break;
            }
    free(named);
    return true;
}

static enum berth_code refuse(const struct claim *by, uid_t uid, const char *place,
                              struct berth_err *err)
{
    char text[96];
    claim_describe(by, text, sizeof text);
    err_text(err, 0, place);
    err_text(err, 1, text);
    return err_set(err, BERTH_ALREADY_CLAIMED, "%s is claimed already, by %s%s", place, text,
                   by->uid == uid ? ", a claim of your own" : "");
}

/* Fails when a claim for computing shares a resource with the cover. */
static enum berth_code check_compute(const struct graph *graph, const struct cover *cover,
                                     const struct claim *claim, const struct claim *other,
                                     struct berth_err *err)
{
    char name[CLAIM_PLACE_SIZE];
    for (const char *at = other->places; claim_next_place(&at, name);) {
        place_id place = graph_find(graph, name);
        if (place == PLACE_NONE)
            continue;
        const struct cpuset *cpus = claim_cpus(graph_place(graph, place));
        if (cover->part[place] || (cpus != NULL && cpuset_intersects(cpus, &cover->cpus)))
            return refuse(other, claim->uid, name, err);
    }
    return BERTH_OK;
}

/* True when both claims may profile the GPU. AMD configures sampling for the whole GPU. NVIDIA lets
 * one process profile; an unknown vendor counts as NVIDIA. */
static bool may_share(const struct place *gpu, const struct claim *a, const struct claim *b)
{
    return gpu_vendor(gpu) == VENDOR_AMD && a->configuration != NULL && b->configuration != NULL &&
           strcmp(a->configuration, b->configuration) == 0;
}

/* Refuses a claim on a GPU of the other claim, unless both have one purpose and may share that
 * GPU. */
static enum berth_code check_gpus(const struct graph *graph, const struct cover *cover,
                                  const struct claim *claim, const struct claim *other,
                                  struct berth_err *err)
{
    char name[CLAIM_PLACE_SIZE];
    for (const char *at = other->places; claim_next_place(&at, name);) {
        place_id place = graph_find(graph, name);
        for (place_id g = graph_next(graph, PLACE_GPU, 0); place != PLACE_NONE && g != PLACE_NONE;
             g = graph_next(graph, PLACE_GPU, g + 1))
            if (cover->gpu[g] && claim_is_inside(graph, place, g) &&
                (claim->purpose != other->purpose ||
                 !may_share(graph_place(graph, g), claim, other)))
                return refuse(other, claim->uid, graph_place(graph, g)->name, err);
    }
    return BERTH_OK;
}

static enum berth_code check_has_gpus(const struct graph *graph, const struct claim *claim,
                                      struct berth_err *err)
{
    char name[CLAIM_PLACE_SIZE];
    for (const char *at = claim->places; claim_next_place(&at, name);) {
        place_id place = graph_find(graph, name), g = graph_next(graph, PLACE_GPU, 0);
        if (place == PLACE_NONE)
            continue;
        while (g != PLACE_NONE && !claim_is_inside(graph, place, g))
            g = graph_next(graph, PLACE_GPU, g + 1);
        if (g == PLACE_NONE) {
            err_text(err, 0, "places");
            return err_set(err, BERTH_INVALID_PARAMETER,
                           "places: %s is and has no gpu, and profiling is claimed for gpus", name);
        }
    }
    return BERTH_OK;
}

/* ---- the set ---- */

void claim_set_done(struct claim_set *claims)
{
    for (size_t i = 0; i < claims->count; i++)
        claim_unref(claims->item[i]);
    free(claims->item);
    *claims = (struct claim_set){0};
}

const struct claim *claim_set_find(const struct claim_set *claims, const char *id)
{
    for (size_t i = 0; i < claims->count; i++)
        if (strcmp(claims->item[i]->id, id) == 0)
            return claims->item[i];
    return NULL;
}

const struct claim *claim_set_find_key(const struct claim_set *claims, uid_t uid, const char *key)
{
    for (size_t i = 0; i < claims->count; i++)
        if (claims->item[i]->uid == uid && claims->item[i]->key != NULL &&
            strcmp(claims->item[i]->key, key) == 0)
            return claims->item[i];
    return NULL;
}

const struct claim *claim_set_computing(const struct claim_set *claims, bool of_admins)
{
    for (size_t i = 0; i < claims->count; i++)
        if (claims->item[i]->purpose == CLAIM_COMPUTE && (!of_admins || claims->item[i]->is_admins))
            return claims->item[i];
    return NULL;
}

const struct claim *claim_set_profiling(const struct claim_set *claims, const struct graph *graph,
                                        place_id place, bool of_admins)
{
    for (size_t i = 0; i < claims->count; i++) {
        struct cover cover;
        bool covers = false;
        if (claims->item[i]->purpose != CLAIM_PROFILING ||
            (of_admins && !claims->item[i]->is_admins))
            continue;
        if (!cover_init(&cover, graph, claims->item[i]))
            return claims->item[i]; /* out of memory: rather no probe than one beside a profiler */
        for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
             g = graph_next(graph, PLACE_GPU, g + 1))
            covers |= cover.gpu[g] && claim_is_inside(graph, place, g);
        cover_done(&cover);
        if (covers)
            return claims->item[i];
    }
    return NULL;
}

static size_t index_of(const struct claim_set *claims, const struct claim *claim)
{
    size_t i = 0;
    while (claims->item[i] != claim)
        i++;
    return i;
}

static bool append(struct claim_set *claims, struct claim *take_claim)
{
    if (take_claim == NULL || !grow_by_one(&claims->item, claims->count, sizeof *claims->item)) {
        claim_unref(take_claim);
        return false;
    }
    claims->item[claims->count++] = take_claim;
    return true;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool names_place(const char *places, const char *place)
{
    char name[CLAIM_PLACE_SIZE];
    while (claim_next_place(&places, name))
        if (strcmp(name, place) == 0)
            return true;
    return false;
}

static bool names_all(const char *places, const char *of)
{
    char name[CLAIM_PLACE_SIZE];
    while (claim_next_place(&of, name))
        if (!names_place(places, name))
            return false;
    return true;
}

/* Returns the first field in which the request under a claim's key contradicts the claim; NULL
 * none. More places are no contradiction. */
static const char *difference(const struct claim *stands, const struct claim *asked)
{
    bool owner_pid = asked->owner.pid != 0 && claim_has_owner(stands),
         owner_cgroup = asked->owner.cgroup != NULL && claim_has_owner(stands);
    return !names_all(asked->places, stands->places)                 ? "places"
           : stands->purpose != asked->purpose                       ? "purpose"
           : !same_text(stands->configuration, asked->configuration) ? "configuration"
           : owner_pid && (stands->owner.pid != asked->owner.pid ||
                           stands->owner.start_ticks != asked->owner.start_ticks)
               ? "owner_pid"
           : owner_cgroup && !same_text(stands->owner.cgroup, asked->owner.cgroup) ? "owner_cgroup"
                                                                                   : NULL;
}

static enum berth_code replace(struct claim_set *claims, const struct claim *old,
                               const struct claim *spec, const struct claim **ret_claim,
                               struct berth_err *err)
{
    struct claim *fresh = claim_new(spec);
    if (fresh == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for a claim");
    fresh->version = ++claims->generation;
    claims->item[index_of(claims, old)] = fresh;
    claim_unref((struct claim *)old);
    *ret_claim = fresh;
    return BERTH_OK;
}

static enum berth_code check_room(const struct claim_set *claims, const struct claim *spec,
                                  const struct claim_limits *limits, const char *resource,
                                  struct berth_err *err)
{
    /* administrators' claims and ordinary users' are limited separately */
    size_t own = 0, all = 0;
    for (size_t i = 0; i < claims->count; i++) {
        own += claims->item[i]->uid == spec->uid;
        all += claims->item[i]->is_admins == spec->is_admins;
    }
    bool full = all >= limits->in_all;
    if (!full && (limits->is_exempt || own < limits->per_user))
        return BERTH_OK;
    err_text(err, 0, resource);
    err_number(err, 1, (int64_t)(full ? all : own) + 1);
    err_number(err, 2, (int64_t)(full ? limits->in_all : limits->per_user));
    return err_set(err, BERTH_NOT_ENOUGH,
                   full ? "there are %zu %s, which is all that this node takes"
                        : "you have %zu %s, which is all that a user may have",
                   full ? all : own, resource);
}

static enum berth_code check_pair(const struct graph *graph, const struct cover *cover,
                                  const struct claim *claim, const struct claim *other,
                                  struct berth_err *err)
{
    bool both_compute = claim->purpose == CLAIM_COMPUTE && other->purpose == CLAIM_COMPUTE;
    return both_compute ? check_compute(graph, cover, claim, other, err)
                        : check_gpus(graph, cover, claim, other, err);
}

/* How a claim is checked against others. */
struct check {
    const struct claim *except; /* the existing claim that it renews; NULL none */
    size_t count;               /* of the first claims of the set */
    bool is_patient;            /* an administrator's overrides none */
};

/* *ret_by: the claim in the way, borrowed; NULL fine. */
static enum berth_code check_others(const struct claim_set *claims, const struct graph *graph,
                                    const struct claim *spec, const struct check *check,
                                    const struct claim **ret_by, struct berth_err *err)
{
    struct cover cover;
    enum berth_code code = BERTH_OK;
    if (check->count == 0)
        return BERTH_OK;
    if (!cover_init(&cover, graph, spec))
        return err_set(err, BERTH_NO_MEMORY, "no memory for a claim");
    for (size_t i = 0; code == BERTH_OK && i < check->count; i++) {
        const struct claim *other = claims->item[i];
        bool is_overridden = spec->is_admins && !other->is_admins && !check->is_patient;
        bool are_strangers = !spec->is_admins && !other->is_admins && spec->uid != other->uid;
        if (other == check->except || is_overridden ||
            (other->purpose != spec->purpose && !are_strangers))
            continue;
        code = check_pair(graph, &cover, spec, other, err);
        if (code != BERTH_OK && ret_by != NULL)
            *ret_by = other;
    }
    cover_done(&cover);
    return code;
}

static enum berth_code check_beside(const struct claim_set *claims, const struct graph *graph,
                                    const struct claim *spec, const struct claim *except,
                                    struct berth_err *err)
{
    enum berth_code code =
        spec->purpose == CLAIM_PROFILING ? check_has_gpus(graph, spec, err) : BERTH_OK;
    const struct check check = {.except = except, .count = claims->count};
    return code == BERTH_OK ? check_others(claims, graph, spec, &check, NULL, err) : code;
}

static enum berth_code renew(struct claim_set *claims, const struct graph *graph,
                             const struct claim *stands, const struct claim *asked,
                             const struct claim **ret_claim, struct berth_err *err)
{
    const char *field = difference(stands, asked);
    if (field != NULL) {
        err_text(err, 0, asked->key);
        err_text(err, 1, field);
        return err_set(err, BERTH_KEY_MISMATCH, "the claim under the key %.60s has other %s",
                       asked->key, field);
    }
    enum berth_code code = check_beside(claims, graph, asked, stands, err);
    if (code != BERTH_OK)
        return code;
    struct claim spec = *stands;
    spec.deadline_ns = asked->deadline_ns;
    spec.places = asked->places;
    spec.is_admins = asked->is_admins;
    if (!claim_has_owner(stands))
        spec.owner = asked->owner;
    return replace(claims, stands, &spec, ret_claim, err);
}

static enum berth_code add(struct claim_set *claims, const struct claim *spec,
                           const struct claim **ret_claim, struct berth_err *err)
{
    struct claim *claim = claim_new(spec);
    if (claim != NULL)
        claim->version = claims->generation + 1;
    if (!append(claims, claim))
        return err_set(err, BERTH_NO_MEMORY, "no memory for a claim");
    claims->generation++;
    *ret_claim = claim;
    return BERTH_OK;
}

enum berth_code claim_set_add(struct claim_set *claims, const struct graph *graph,
                              const struct claim *spec, const struct claim_limits *limits,
                              const struct claim **ret_claim, struct berth_err *err)
{
    const struct claim *stands =
        spec->key != NULL ? claim_set_find_key(claims, spec->uid, spec->key) : NULL;
    if (stands != NULL)
        return renew(claims, graph, stands, spec, ret_claim, err);
    enum berth_code code = check_beside(claims, graph, spec, NULL, err);
    if (code == BERTH_OK)
        code = check_room(claims, spec, limits, "claims", err);
    return code == BERTH_OK ? add(claims, spec, ret_claim, err) : code;
}

enum berth_code claim_set_queue(struct claim_set *waiting, const struct claim *spec,
                                const struct claim_limits *limits, const struct claim **ret_claim,
                                struct berth_err *err)
{
    enum berth_code code = check_room(waiting, spec, limits, "waiting claims", err);
    return code == BERTH_OK ? add(waiting, spec, ret_claim, err) : code;
}

enum berth_code claim_set_in_the_way(const struct claim_set *claims, const struct graph *graph,
                                     const struct claim *spec, const struct claim *before,
                                     bool is_patient, const struct claim **ret_by,
                                     struct berth_err *err)
{
    const struct check check = {.count = before != NULL ? index_of(claims, before) : claims->count,
                                .is_patient = is_patient};
    return check_others(claims, graph, spec, &check, ret_by, err);
}

static bool conflicts(const struct graph *graph, const struct claim *claim,
                      const struct claim *other)
{
    struct cover cover;
    struct berth_err err = {0};
    if (claim == NULL || !cover_init(&cover, graph, claim))
        return false;
    bool they_conflict = check_pair(graph, &cover, claim, other, &err) != BERTH_OK;
    cover_done(&cover);
    return they_conflict;
}

const struct claim *claim_set_overridden(const struct claim_set *claims, const struct graph *graph,
                                         const struct claim *claim, const struct claim *before)
{
    for (size_t i = 0; i < claims->count; i++)
        if (!claims->item[i]->is_admins && conflicts(graph, claim, claims->item[i]) &&
            !conflicts(graph, before, claims->item[i]))
            return claims->item[i];
    return NULL;
}

void claim_set_undo_add(struct claim_set *claims, const struct claim *claim)
{
    claim_set_remove(claims, claim);
    claims->generation -= 2; /* takes back the steps of adding and of removing the claim */
}

void claim_set_undo_replace(struct claim_set *claims, const struct claim *claim,
                            struct claim *take_before)
{
    claims->item[index_of(claims, claim)] = take_before;
    claims->generation--;
    claim_unref((struct claim *)claim);
}

bool claim_set_restore(struct claim_set *claims, const struct claim *stored)
{
    if (claims->generation < stored->version)
        claims->generation = stored->version;
    return append(claims, claim_new(stored));
}

enum berth_code claim_set_check_stored(const struct claim_set *claims, const struct graph *graph,
                                       const struct claim *stored, struct berth_err *err)
{
    const struct claim *same_id = claim_set_find(claims, stored->id),
                       *same_key = stored->key != NULL
                                       ? claim_set_find_key(claims, stored->uid, stored->key)
                                       : NULL;
    if (same_id != NULL)
        return refuse(same_id, stored->uid, "its id", err);
    if (same_key != NULL)
        return refuse(same_key, stored->uid, "its key", err);
    const struct check check = {.count = claims->count};
    return check_others(claims, graph, stored, &check, NULL, err);
}

bool claim_set_keep_plan(struct claim_set *claims, const struct claim *claim, const char *asked,
                         const char *answered)
{
    struct claim spec = *claim;
    struct berth_err err = {0};
    const struct claim *unused;
    spec.plan_asked = (char *)asked;
    spec.plan_answered = (char *)answered;
    return replace(claims, claim, &spec, &unused, &err) == BERTH_OK;
}

void claim_set_remove(struct claim_set *claims, const struct claim *claim)
{
    size_t at = index_of(claims, claim);
    memmove(claims->item + at, claims->item + at + 1,
            (claims->count - at - 1) * sizeof *claims->item);
    claims->count--;
    claims->generation++;
    claim_unref((struct claim *)claim);
}

bool claim_set_expire_one(struct claim_set *claims, uint64_t now_ns, char ret_id[CLAIM_ID_SIZE])
{
    for (size_t i = 0; i < claims->count; i++)
        if (claims->item[i]->deadline_ns <= now_ns) {
            memcpy(ret_id, claims->item[i]->id, CLAIM_ID_SIZE);
            claim_set_remove(claims, claims->item[i]);
            return true;
        }
    return false;
}

uint64_t claim_set_next_deadline(const struct claim_set *claims)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < claims->count; i++)
        if (claims->item[i]->deadline_ns < next)
            next = claims->item[i]->deadline_ns;
    return next;
}

void claim_set_check(const struct claim_set *claims, const struct graph *graph)
{
    for (size_t i = 0; i < claims->count; i++) {
        const struct claim *claim = claims->item[i];
        struct berth_err err = {0};
        bool is_right =
            claim->refs > 0 && claim->version <= claims->generation &&
            claim_set_find(claims, claim->id) == claim &&
            (claim->key == NULL || claim_set_find_key(claims, claim->uid, claim->key) == claim);
        if (!is_right ||
            (graph != NULL && check_beside(claims, graph, claim, claim, &err) != BERTH_OK &&
             err.code != BERTH_NO_MEMORY))
            abort();
    }
}
