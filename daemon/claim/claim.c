#include "claim/claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

const char *claim_purpose_name(enum claim_purpose purpose)
{
    return purpose == CLAIM_PROFILING ? "profiling" : "compute";
}

/* ---- one claim ---- */

static void free_claim(struct claim *claim)
{
    free(claim->places);
    free(claim->configuration);
    free(claim->key);
    free(claim->owner.cgroup);
    free(claim->plan_asked);
    free(claim->plan_answered);
    free(claim);
}

static bool copy_text(char **field)
{
    if (*field == NULL)
        return true;
    *field = strdup(*field);
    return *field != NULL;
}

struct claim *claim_new(const struct claim *spec)
{
    struct claim *claim = malloc(sizeof *claim);
    if (claim == NULL)
        return NULL;
    *claim = *spec;
    claim->refs = 1;
    char **const texts[] = {&claim->places,       &claim->configuration, &claim->key,
                            &claim->owner.cgroup, &claim->plan_asked,    &claim->plan_answered};
    const size_t count = sizeof texts / sizeof texts[0];
    for (size_t i = 0; i < count; i++)
        if (!copy_text(texts[i])) {
            for (; i < count; i++)
                *texts[i] = NULL; /* still spec's */
            free_claim(claim);
            return NULL;
        }
    return claim;
}

struct claim *claim_ref(struct claim *claim)
{
    claim->refs++;
    return claim;
}

void claim_unref(struct claim *claim)
{
    if (claim != NULL && --claim->refs == 0)
        free_claim(claim);
}

bool claim_has_owner(const struct claim *claim)
{
    return claim != NULL && (claim->owner.pid != 0 || claim->owner.cgroup != NULL);
}

bool claim_next_place(const char **at, char name[CLAIM_PLACE_SIZE])
{
    if (**at == '\0')
        return false;
    size_t length = strcspn(*at, ",");
    snprintf(name, CLAIM_PLACE_SIZE, "%.*s", (int)length, *at);
    *at += length + ((*at)[length] == ',');
    return true;
}

void claim_describe(const struct claim *claim, char *buffer, size_t size)
{
    if (claim->key != NULL)
        snprintf(buffer, size, "%s of uid %ju (key %.32s)", claim->id, (uintmax_t)claim->uid,
                 claim->key);
    else
        snprintf(buffer, size, "%s of uid %ju", claim->id, (uintmax_t)claim->uid);
    text_clean(buffer); /* cutting the key may split a character */
}

/* ---- coverage ---- */

bool claim_is_inside(const struct graph *graph, place_id outer, place_id inner)
{
    while (inner != PLACE_NONE && inner != outer)
        inner = graph_place(graph, inner)->parent;
    return inner == outer;
}

const struct cpuset *claim_cpus(const struct place *place)
{
    return place->kind <= PLACE_PU ? place->cpus : NULL;
}
