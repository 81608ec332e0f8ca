#include "slurm/cores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/task/slurm_list.h"

#define CPUS_MOST    4096
#define DEPTH_MOST   8
#define THREADS_MOST 64 /* threads of a core */

/* A core and its location: the places around it, outermost first, by their index among all places.
 */
struct core {
    size_t path[DEPTH_MOST];
    int depth;
    const char *cpus;
};

static const char *text_of(const json_t *place, const char *key)
{
    const char *text = json_string_value(json_object_get(place, key));
    return text != NULL ? text : "";
}

static bool find_place(const json_t *places, const char *name, size_t *ret)
{
    size_t i;
    const json_t *place;
    json_array_foreach(places, i, place) if (strcmp(text_of(place, "name"), name) == 0)
    {
        *ret = i;
        return true;
    }
    return false;
}

static struct core core_at(const json_t *places, size_t at)
{
    struct core core = {.cpus = text_of(json_array_get(places, at), "cpus")};
    size_t inward[DEPTH_MOST];
    do
        inward[core.depth++] = at;
    while (core.depth < DEPTH_MOST &&
           find_place(places, text_of(json_array_get(places, at), "parent"), &at));
    for (int i = 0; i < core.depth; i++)
        core.path[i] = inward[core.depth - 1 - i];
    return core;
}

static int compare(const void *a, const void *b)
{
    const struct core *one = a, *other = b;
    for (int i = 0; i < one->depth && i < other->depth; i++)
        if (one->path[i] != other->path[i])
            return one->path[i] < other->path[i] ? -1 : 1;
    return one->depth - other->depth;
}

/* Lists the cores in Slurm's order and returns their number. The caller frees the list. */
static int list_cores(const json_t *places, struct core **ret_cores)
{
    size_t i;
    const json_t *place;
    struct core *cores = calloc(json_array_size(places) + 1, sizeof *cores);
    int count = 0;
    if (cores == NULL)
        return 0;
    json_array_foreach(places, i, place) if (strcmp(text_of(place, "kind"), "core") == 0)
        cores[count++] = core_at(places, i);
    qsort(cores, (size_t)count, sizeof *cores, compare);
    *ret_cores = cores;
    return count;
}

bool slurm_cores_cpus(const json_t *node, const char *numbers, char *ret, size_t size)
{
    int *number = calloc(CPUS_MOST, sizeof *number);
    struct core *cores = NULL;
    int count = number != NULL ? slurm_list_numbers(numbers, CPUS_MOST, number) : -1;
    int known = count > 0 ? list_cores(json_object_get(node, "places"), &cores) : 0;
    bool fine = count > 0;
    size_t used = 0;
    for (int i = 0; fine && i < count; i++) {
        fine = cores != NULL && number[i] < known && *cores[number[i]].cpus != '\0' && used < size;
        if (fine)
            used += (size_t)snprintf(ret + used, size - used, "%s%s", i > 0 ? "," : "",
                                     cores[number[i]].cpus);
    }
    free(number);
    free(cores);
    return fine && used < size;
}

/* Number of a place's cpus among the given ones; *ret_all: true when all are. */
static int count_given(const json_t *place, const bool *given, bool *ret_all)
{
    int cpu[THREADS_MOST], its = slurm_list_numbers(text_of(place, "cpus"), THREADS_MOST, cpu),
                           count = 0;
    for (int i = 0; i < its; i++)
        count += cpu[i] < CPUS_MOST && given[cpu[i]];
    *ret_all = its > 0 && count == its;
    return count;
}

static bool add_kind(const json_t *node, const char *kind, bool *given, json_t *ret_places)
{
    size_t i;
    const json_t *place;
    bool fine = true, is_all;
    json_array_foreach(json_object_get(node, "places"), i, place)
    {
        int cpu[THREADS_MOST], count = 0;
        if (!fine || strcmp(text_of(place, "kind"), kind) != 0 ||
            count_given(place, given, &is_all) == 0 || !is_all)
            continue;
        fine = json_array_append_new(ret_places, json_string(text_of(place, "name"))) == 0;
        count = slurm_list_numbers(text_of(place, "cpus"), THREADS_MOST, cpu);
        for (int c = 0; c < count; c++)
            given[cpu[c]] = false;
    }
    return fine;
}

json_t *slurm_cores_places(const json_t *node, const char *cpus)
{
    int *number = calloc(CPUS_MOST, sizeof *number),
        count = number != NULL ? slurm_list_numbers(cpus, CPUS_MOST, number) : -1;
    bool *given = calloc(CPUS_MOST, sizeof *given);
    json_t *places = json_array();
    for (int i = 0; given != NULL && i < count; i++)
        if (number[i] < CPUS_MOST)
            given[number[i]] = true;
    bool fine = given != NULL && count >= 0 && places != NULL &&
                add_kind(node, "core", given, places) && add_kind(node, "pu", given, places);
    free(number);
    free(given);
    if (fine)
        return places;
    json_decref(places);
    return NULL;
}
