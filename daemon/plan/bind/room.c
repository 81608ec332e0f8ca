#include "plan/bind/room.h"

#include <stdlib.h>
#include <string.h>

#include "cost/evidence.h"
#include "plan/bind/memory.h"
#include "search/search.h"

/* ---- the memory that tasks get ---- */

/* Cores as they are before any is taken, so that the request's own stay as they are. */
static bool copy_cores(const struct bind_cores *cores, struct bind_cores *ret)
{
    *ret = *cores;
    ret->core = calloc(cores->count + 1, sizeof *ret->core);
    ret->group = calloc(cores->group_count + 1, sizeof *ret->group);
    if (ret->core == NULL || ret->group == NULL)
        return false;
    memcpy(ret->core, cores->core, cores->count * sizeof *ret->core);
    memcpy(ret->group, cores->group, cores->group_count * sizeof *ret->group);
    return true;
}

/* What is worked with: the answer is one that nobody sees. */
struct trial {
    struct bind_answer answer;
    struct bind_cores cores;
    struct cpuset *cpus; /* by task */
    place_id *wanted;    /* likewise */
};

static bool make_trial(struct trial *trial, const struct bind_cores *cores,
                       const struct bind_room_choice *choice)
{
    struct bind_answer *answer = &trial->answer;
    answer->task = calloc(choice->tasks, sizeof *answer->task);
    answer->gpu = calloc(choice->tasks * choice->each, sizeof *answer->gpu);
    answer->task_count = choice->tasks;
    answer->gpus_per_task = (int64_t)choice->each;
    trial->cpus = calloc(choice->tasks, sizeof *trial->cpus);
    trial->wanted = calloc(choice->tasks, sizeof *trial->wanted);
    if (!copy_cores(cores, &trial->cores) || answer->task == NULL || answer->gpu == NULL ||
        trial->cpus == NULL || trial->wanted == NULL)
        return false;
    for (size_t b = 0; b < choice->tasks * choice->each; b++)
        answer->gpu[b] = choice->gpus->gpu[choice->slot[b]];
    for (size_t t = 0; t < choice->tasks; t++) {
        answer->task[t].gpus = answer->gpu + t * choice->each;
        trial->wanted[t] = choice->numa[choice->slot[t * choice->each]];
    }
    return true;
}

static enum berth_code try_out(struct trial *trial, const struct snapshot *snap,
                               const struct bind_request *request, place_id *ret_memory,
                               int64_t *ret_cores, struct berth_err *err)
{
    struct bind_answer *answer = &trial->answer;
    struct bind_cores_request cores = {.tasks = answer->task_count,
                                       .gpus = answer->gpu,
                                       .gpus_per_task = (size_t)answer->gpus_per_task,
                                       .cores_per_task = request->cores_per_task,
                                       .numa = trial->wanted};
    enum berth_code code = plan_bind_cores(snap, &trial->cores, &cores, &answer->evidence,
                                           &answer->warnings, trial->cpus, ret_cores, err);
    for (size_t t = 0; code == BERTH_OK && t < answer->task_count; t++) {
        answer->task[t].cpus = trial->cpus[t];
        code = plan_bind_memory(snap, request->allowed, &trial->cores, t, trial->wanted[t], answer,
                                err);
        ret_memory[t] = answer->task[t].memory;
    }
    return code;
}

enum berth_code plan_bind_room_memory(const struct snapshot *snap,
                                      const struct bind_request *request,
                                      const struct bind_cores *cores,
                                      const struct bind_room_choice *choice, place_id *ret_memory,
                                      int64_t *ret_cores, struct berth_err *err)
{
    struct trial *trial = calloc(1, sizeof *trial);
    enum berth_code code = BERTH_NO_MEMORY;
    if (trial == NULL || !make_trial(trial, cores, choice))
        err_set(err, BERTH_NO_MEMORY, "no memory for the tasks");
    else
        code = try_out(trial, snap, request, ret_memory, ret_cores, err);
    if (trial != NULL) {
        free(trial->answer.task);
        free(trial->answer.gpu);
        evidence_done(&trial->answer.evidence);
        plan_bind_cores_done(&trial->cores);
        free(trial->cpus);
        free(trial->wanted);
    }
    free(trial);
    return code;
}

/* ---- how many there is room for ---- */

static place_id package_of(const struct bind_cores *cores, place_id numa)
{
    for (size_t g = 0; g < cores->group_count; g++)
        if (cores->group[g].numa == numa)
            return cores->group[g].package;
    return PLACE_NONE;
}

/* Those of a NUMA node or of a package. */
static int64_t cores_of(const struct bind_cores *cores, place_id unit)
{
    int64_t count = 0;
    for (size_t g = 0; g < cores->group_count; g++)
        count += cores->group[g].numa == unit || cores->group[g].package == unit
                     ? cores->group[g].cores
                     : 0;
    return count;
}

/* Whether each task has room somewhere, one gpu each. */
static bool is_enough(const struct bind_room *room, size_t gpus, size_t tasks)
{
    size_t fitting = 0, share = gpus > 0 ? (tasks + gpus - 1) / gpus : 0;
    for (size_t u = 0; u < room->units; u++) {
        size_t here = 0;
        for (size_t g = 0; g < gpus; g++)
            here += room->unit[g] == u;
        fitting += here * share < room->most[u] ? here * share : room->most[u];
    }
    for (size_t g = 0; g < gpus; g++)
        fitting += room->unit[g] == SEARCH_ANYWHERE ? share : 0;
    return fitting >= tasks;
}

enum berth_code plan_bind_room_find(const struct bind_cores *cores, const place_id *numa,
                                    size_t gpus, size_t tasks, int64_t cores_per_task,
                                    bool is_generous, struct bind_room *ret, struct berth_err *err)
{
    place_id *place = calloc(gpus + 1, sizeof *place); /* by unit */
    struct bind_room room = {.unit = calloc(gpus + 1, sizeof *room.unit),
                             .most = calloc(gpus + 1, sizeof *room.most)};
    if (place == NULL || room.unit == NULL || room.most == NULL) {
        free(place);
        plan_bind_room_done(&room);
        return err_set(err, BERTH_NO_MEMORY, "no memory for NUMA nodes");
    }
    for (size_t g = 0; g < gpus; g++) {
        place_id unit = numa[g];
        if (unit != PLACE_NONE && cores_of(cores, unit) < cores_per_task &&
            package_of(cores, unit) != PLACE_NONE)
            unit = package_of(cores, unit);
        size_t u = 0;
        while (u < room.units && place[u] != unit)
            u++;
        room.unit[g] = unit != PLACE_NONE ? (uint16_t)u : SEARCH_ANYWHERE;
        if (unit == PLACE_NONE || u < room.units)
            continue;
        int64_t there = cores_of(cores, unit), each = cores_per_task > 0 ? cores_per_task : 1,
                most = there / each +
                       (is_generous && there % each > 0 && there % each >= (each + 2) / 3);
        room.most[u] = (uint16_t)(most < UINT16_MAX ? most : UINT16_MAX);
        place[room.units++] = unit;
    }
    free(place);
    for (bool more = gpus > 0; more && !is_enough(&room, gpus, tasks);) {
        more = false;
        for (size_t u = 0; u < room.units; u++) {
            more = more || room.most[u] < UINT16_MAX;
            room.most[u] = (uint16_t)(room.most[u] + (room.most[u] < UINT16_MAX));
        }
    }
    *ret = room;
    return BERTH_OK;
}

void plan_bind_room_done(struct bind_room *room)
{
    free(room->unit);
    free(room->most);
    *room = (struct bind_room){0};
}

bool plan_bind_room_fits(const struct bind_room *room, const uint16_t *slot, size_t tasks,
                         size_t each)
{
    size_t in_unit[SEARCH_SLOTS_MAX] = {0};
    for (size_t t = 0; room->most != NULL && t < tasks; t++) {
        uint16_t unit = room->unit[slot[t * each]];
        if (unit != SEARCH_ANYWHERE && in_unit[unit]++ >= room->most[unit])
            return false;
    }
    return true;
}
