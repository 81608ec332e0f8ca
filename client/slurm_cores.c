#include "slurm_cores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm_list.h"

#define CPUS_MOST  4096
#define DEPTH_MOST 8

/* A core, and where it stands: the places around it from the outermost in, by their position among all places. */
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
    json_array_foreach(places, i, place)
        if (strcmp(text_of(place, "name"), name) == 0) {
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
    while (core.depth < DEPTH_MOST && find_place(places, text_of(json_array_get(places, at), "parent"), &at));
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

/* The kernel's number of each hardware thread, core by core; how many. */
static int count_threads(const json_t *places, int *ret_threads)
{
    size_t i;
    const json_t *place;
    struct core *cores = calloc(json_array_size(places) + 1, sizeof *cores);
    int count = 0, threads = 0;
    if (cores == NULL)
        return 0;
    json_array_foreach(places, i, place)
        if (strcmp(text_of(place, "kind"), "core") == 0)
            cores[count++] = core_at(places, i);
    qsort(cores, (size_t)count, sizeof *cores, compare);
    for (int c = 0; c < count; c++) {
        int its = slurm_list_numbers(cores[c].cpus, CPUS_MOST - threads, ret_threads + threads);
        threads += its > 0 ? its : 0;
    }
    free(cores);
    return threads;
}

bool slurm_cores_cpus(const json_t *node, const char *numbers, char *ret, size_t size)
{
    int *number = calloc(2 * CPUS_MOST, sizeof *number), *threads = number != NULL ? number + CPUS_MOST : NULL;
    int count = number != NULL ? slurm_list_numbers(numbers, CPUS_MOST, number) : -1;
    int known = count > 0 ? count_threads(json_object_get(node, "places"), threads) : 0;
    bool fine = count > 0;
    size_t used = 0;
    for (int i = 0; fine && i < count; i++) {
        fine = number[i] < known && used < size;
        if (fine)
            used += (size_t)snprintf(ret + used, size - used, "%s%d", i > 0 ? "," : "", threads[number[i]]);
    }
    free(number);
    return fine && used < size;
}
