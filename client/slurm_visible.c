#include "slurm_visible.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slurm_gres.h"
#include "slurm_list.h"

bool slurm_visible_is_inside(const char *visible, const char *numbers)
{
    int one[SLURM_GPUS_MOST], other[SLURM_GPUS_MOST];
    int count = visible != NULL && numbers != NULL ? slurm_list_numbers(visible, SLURM_GPUS_MOST, one) : -1;
    return count > 0 && slurm_list_numbers(numbers, SLURM_GPUS_MOST, other) == count && memcmp(one, other, (size_t)count * sizeof one[0]) != 0;
}

/* The driver's number of a gpu, by which the runtime's order goes; -1 none. */
static long order_of(const json_t *place)
{
    const char *order = json_string_value(json_object_get(json_object_get(place, "details"), "kfd_node"));
    return order != NULL ? strtol(order, NULL, 10) : -1;
}

static bool is_one_of(const json_t *place, const char *const *gpus, int count)
{
    const char *name = json_string_value(json_object_get(place, "name"));
    for (int i = 0; name != NULL && i < count; i++)
        if (strcmp(gpus[i], name) == 0)
            return true;
    return false;
}

/* Among all gpus (gpus NULL), or among some: how many the driver has before this one. */
static int rank_of(const json_t *places, const json_t *gpu, const char *const *gpus, int count)
{
    size_t i;
    const json_t *place;
    int rank = 0;
    json_array_foreach(places, i, place)
    {
        long order = order_of(place);
        rank += order >= 0 && order < order_of(gpu) && (gpus == NULL || is_one_of(place, gpus, count));
    }
    return rank;
}

static int inside(const json_t *places, int number, const char *const *gpus, int count)
{
    size_t i;
    const json_t *place;
    json_array_foreach(places, i, place)
        if (order_of(place) >= 0 && is_one_of(place, gpus, count) && rank_of(places, place, NULL, 0) == number)
            return rank_of(places, place, gpus, count);
    return -1;
}

bool slurm_visible_inside(const char *list, const json_t *node, const char *const *gpus, int count, char *ret, size_t size)
{
    int number[SLURM_GPUS_MOST], listed = isdigit((unsigned char)*list) ? slurm_list_numbers(list, SLURM_GPUS_MOST, number) : -1;
    if (listed < 0)
        return (size_t)snprintf(ret, size, "%s", list) < size;
    size_t used = 0;
    for (int i = 0; i < listed && used < size; i++) {
        int its = inside(json_object_get(node, "places"), number[i], gpus, count);
        if (its < 0)
            return false;
        used += (size_t)snprintf(ret + used, size - used, "%s%d", i > 0 ? "," : "", its);
    }
    return used < size;
}

/* The gpus of the driver whose device nodes may be opened, which the device cgroup decides too. How many, and of how many. */
static int find_openable(const json_t *places, const char *ret_gpus[SLURM_GPUS_MOST], int *ret_all)
{
    size_t i;
    const json_t *place;
    int count = 0, all = 0;
    json_array_foreach(places, i, place)
    {
        const char *name = json_string_value(json_object_get(place, "name")), *device = json_string_value(json_object_get(place, "render_node"));
        if (order_of(place) < 0 || name == NULL || all == SLURM_GPUS_MOST)
            continue;
        all++;
        if (device == NULL || faccessat(AT_FDCWD, device, R_OK | W_OK, AT_EACCESS) == 0)
            ret_gpus[count++] = name;
    }
    *ret_all = all;
    return count;
}

bool slurm_visible_value(const char *list, const json_t *node, const struct slurm_visible_job *job, char *ret, size_t size)
{
    const char *openable[SLURM_GPUS_MOST];
    int all = 0;
    if (slurm_visible_is_inside(job->visible, job->numbers))
        return slurm_visible_inside(list, node, job->gpus, job->count, ret, size);
    int count = find_openable(json_object_get(node, "places"), openable, &all);
    if (count > 0 && count < all)
        return slurm_visible_inside(list, node, openable, count, ret, size);
    return (size_t)snprintf(ret, size, "%s", list) < size;
}
