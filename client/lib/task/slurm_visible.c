#include "lib/task/slurm_visible.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/task/slurm_list.h"

#define NUMBERED "ROCR_VISIBLE_DEVICES"

static const char *const narrowing[] = {"HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
                                        /* both count among the gpus that NUMBERED leaves */
                                        "CUDA_VISIBLE_DEVICES"};

#define NARROWING (sizeof narrowing / sizeof narrowing[0])

/* 0: both lists have the same numbers; 1: other numbers, as many; -1: no two lists of as many. */
static int compare_lists(const char *visible, const char *numbers)
{
    int one[SLURM_GPUS_MOST], other[SLURM_GPUS_MOST];
    int count =
        visible != NULL && numbers != NULL ? slurm_list_numbers(visible, SLURM_GPUS_MOST, one) : -1;
    if (count <= 0 || slurm_list_numbers(numbers, SLURM_GPUS_MOST, other) != count)
        return -1;
    return memcmp(one, other, (size_t)count * sizeof one[0]) != 0;
}

bool slurm_visible_is_inside(const char *visible, const char *numbers)
{
    return compare_lists(visible, numbers) > 0;
}

/* The driver's number of a gpu, which gives the runtime's order; -1 none. */
static long order_of(const json_t *place)
{
    const char *order =
        json_string_value(json_object_get(json_object_get(place, "details"), "kfd_node"));
    return order != NULL ? strtol(order, NULL, 10) : -1;
}

static const json_t *find_place(const json_t *places, const char *name)
{
    size_t i;
    const json_t *place;
    json_array_foreach(places, i, place)
    {
        const char *its = json_string_value(json_object_get(place, "name"));
        if (its != NULL && strcmp(its, name) == 0)
            return place;
    }
    return NULL;
}

/* Lists the driver's gpus: all, or only those with openable device nodes, which the device cgroup
 * also decides. Returns their number. */
static int list_gpus(const json_t *places, bool is_openable, const char *ret_gpus[SLURM_GPUS_MOST])
{
    size_t i;
    const json_t *place;
    int count = 0;
    json_array_foreach(places, i, place)
    {
        const char *name = json_string_value(json_object_get(place, "name")),
                   *device = json_string_value(json_object_get(place, "render_node"));
        if (order_of(place) >= 0 && name != NULL && count < SLURM_GPUS_MOST &&
            (!is_openable ||
             (device != NULL && faccessat(AT_FDCWD, device, R_OK | W_OK, AT_EACCESS) == 0)))
            ret_gpus[count++] = name;
    }
    return count;
}

/* Lists the gpus among which the runtime counts; 0: unknown. */
static int list_counted(const json_t *places, const struct slurm_visible_job *job,
                        const char *ret_gpus[SLURM_GPUS_MOST])
{
    if (slurm_visible_is_inside(job->visible, job->numbers)) {
        int count = job->count < SLURM_GPUS_MOST ? job->count : SLURM_GPUS_MOST;
        memcpy(ret_gpus, job->gpus, (size_t)count * sizeof ret_gpus[0]);
        return count;
    }
    int count = list_gpus(places, true, ret_gpus);
    return count > 0 || compare_lists(job->visible, job->numbers) != 0
               ? count
               : list_gpus(places, false, ret_gpus);
}

/* Number of these gpus that the driver lists before this one; -1 when it is not among them. */
static int rank_of(const json_t *places, const char *gpu, const char *const *gpus, int count)
{
    const long order = order_of(find_place(places, gpu));
    int rank = 0;
    bool is_there = false;
    for (int i = 0; i < count; i++) {
        is_there |= strcmp(gpus[i], gpu) == 0;
        rank += order_of(find_place(places, gpus[i])) < order;
    }
    return is_there ? rank : -1;
}

static bool has_number(const json_t *place)
{
    return place != NULL && order_of(place) >= 0 && !json_is_string(json_object_get(place, "uuid"));
}

static bool is_among(const char *name, const struct berth_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        if (strcmp(texts->item[i], name) == 0)
            return true;
    return false;
}

bool slurm_visible_value(const json_t *node, const struct slurm_visible_job *job,
                         const struct berth_texts *own, const struct berth_texts *others, char *ret,
                         size_t size)
{
    const json_t *places = json_object_get(node, "places");
    const char *counted[SLURM_GPUS_MOST];
    const int count = list_counted(places, job, counted);
    const size_t all = own->count + (others != NULL ? others->count : 0);
    size_t used = 0;
    for (size_t i = 0; i < all && used < size; i++) {
        const char *name = i < own->count ? own->item[i] : others->item[i - own->count];
        if (i >= own->count && is_among(name, own))
            continue;
        int number =
            has_number(find_place(places, name)) ? rank_of(places, name, counted, count) : -1;
        if (number < 0)
            return false;
        used += (size_t)snprintf(ret + used, size - used, "%s%d", used > 0 ? "," : "", number);
    }
    return used > 0 && used < size;
}

bool slurm_visible_lacks(const struct berth_task *task)
{
    for (size_t i = 0; i < task->environment.count; i++)
        if (strcmp(task->environment.item[i].name, NUMBERED) == 0 ||
            strcmp(task->environment.item[i].name, "CUDA_VISIBLE_DEVICES") == 0)
            return false;
    return task->gpus.count > 0;
}

bool slurm_visible_make(const json_t *node, const struct slurm_visible_job *job,
                        const struct berth_task *task, const struct berth_texts *others,
                        struct slurm_visible *ret)
{
    struct slurm_visible visible = {.task = *task};
    if (!slurm_visible_value(node, job, &task->gpus, others, visible.value, sizeof visible.value))
        return false;
    visible.pairs = calloc(task->environment.count + 1, sizeof *visible.pairs);
    visible.unset = calloc(task->unset.count + NARROWING, sizeof *visible.unset);
    if (visible.pairs == NULL || visible.unset == NULL) {
        slurm_visible_done(&visible);
        return false;
    }
    *ret = visible;
    if (task->environment.count > 0)
        memcpy(ret->pairs, task->environment.item, task->environment.count * sizeof *ret->pairs);
    ret->pairs[task->environment.count] =
        (struct berth_pair){.name = NUMBERED, .value = ret->value};
    ret->task.environment =
        (struct berth_pairs){.item = ret->pairs, .count = task->environment.count + 1};
    memcpy(ret->unset, narrowing, sizeof narrowing);
    for (size_t i = 0; i < task->unset.count; i++)
        ret->unset[NARROWING + i] = task->unset.item[i];
    ret->task.unset =
        (struct berth_texts){.item = ret->unset, .count = task->unset.count + NARROWING};
    return true;
}

void slurm_visible_done(struct slurm_visible *visible)
{
    free(visible->pairs);
    free((void *)visible->unset);
    visible->pairs = NULL;
    visible->unset = NULL;
}
