#include "plan/bind/across.h"

#include <stdio.h>
#include <string.h>

#include "node/locality.h"
#include "node/reasons.h"

#define NAMES_MAX 3  /* of NUMA nodes in a row */
#define LIST_SIZE 80 /* of their names */

/* Where the cores of one task are. */
struct across {
    place_id numa[NAMES_MAX + 1]; /* each once, as many as there is room for */
    size_t numas;
    place_id package; /* of the first core */
    bool several_packages, several_groups;
};

static void add_numa(struct across *across, place_id numa)
{
    for (size_t i = 0; i < across->numas; i++)
        if (across->numa[i] == numa)
            return;
    if (numa != PLACE_NONE && across->numas <= NAMES_MAX)
        across->numa[across->numas++] = numa;
}

static struct across find(const struct graph *graph, const struct bind_cores *cores,
                          const struct cpuset *cpus)
{
    struct across across = {.package = PLACE_NONE};
    unsigned group = 0;
    bool any = false;
    for (size_t i = 0; i < cores->count; i++) {
        const struct bind_core *core = &cores->core[i];
        if (!cpuset_intersects(&core->use, cpus))
            continue;
        place_id package = locality_above(graph, core->id, PLACE_PACKAGE);
        add_numa(&across, locality_numa(graph, core->id));
        across.several_packages |= any && package != across.package;
        across.several_groups |= any && core->group != group;
        across.package = any ? across.package : package;
        group = any ? group : core->group;
        any = true;
    }
    return across;
}

/* "numa0, numa1, numa2, ..." */
static void list(const struct graph *graph, const struct across *across, char text[LIST_SIZE])
{
    size_t used = 0;
    for (size_t i = 0; i < across->numas && used < LIST_SIZE; i++)
        used += (size_t)snprintf(text + used, LIST_SIZE - used, "%s%s", i > 0 ? ", " : "",
                                 i < NAMES_MAX ? graph_place(graph, across->numa[i])->name : "...");
}

/* Berth's own default number is no reason to speak of llcs where none is that large. */
static bool tells_of_groups(const struct bind_cores *cores,
                            const struct bind_cores_request *request, int64_t each)
{
    bool fits = request->cores_per_task > 0;
    for (size_t g = 0; g < cores->group_count && !fits; g++)
        fits = cores->group[g].cores >= each;
    return fits && request->gpus_per_task == 0;
}

void plan_bind_across(const struct snapshot *snap, const struct bind_cores *cores,
                      const struct bind_cores_request *request, const struct cpuset *cpus,
                      int64_t each, struct reasons *warnings)
{
    const struct graph *graph = snap->graph;
    bool told = tells_of_groups(cores, request, each), packages = false;
    size_t first = 0, count = 0;
    char names[LIST_SIZE] = "", more[48] = "";
    for (size_t t = 0; t < request->tasks; t++) {
        struct across across = find(graph, cores, &cpus[t]);
        if (across.numas <= 1) {
            if (told && across.several_groups)
                reasons_note_task(warnings, t,
                                  "no llc has enough free cores for it: they come from several");
            continue;
        }
        if (count++ == 0) {
            first = t;
            list(graph, &across, names);
        }
        packages |= across.several_packages;
    }
    if (count > 1)
        snprintf(more, sizeof more, ", and of %zu more tasks", count - 1);
    if (count > 0)
        reasons_note(warnings,
                     "the cores of task %zu are in several NUMA nodes (%s)%s%s: memory is that of "
                     "one, and far from the others",
                     first, names, more, packages ? ", of several packages" : "");
}
