#include "plan/bind/room.h"

#include <stdlib.h>

#include "cost/evidence.h"
#include "plan/bind/core_allocator.h"
#include "plan/bind/memory.h"
#include "search/search.h"

/* ---- the memory that tasks get ---- */

enum berth_code plan_bind_room_memory(const struct snapshot *snap,
                                      const struct bind_request *request,
                                      const struct bind_cores *cores,
                                      const struct bind_room_choice *choice, place_id *ret_memory,
                                      int64_t *ret_cores, struct berth_err *err)
{
    size_t tasks = choice->tasks, each = choice->each;
    struct core_allocation allocation = {0};
    struct evidence uncited = {0};
    place_id *gpus = calloc(tasks * each + 1, sizeof *gpus),
             *numa = calloc(2 * tasks + 1, sizeof *numa);
    if (gpus == NULL || numa == NULL) {
        free(gpus);
        free(numa);
        return err_set(err, BERTH_NO_MEMORY, "no memory for the tasks");
    }
    for (size_t b = 0; b < tasks * each; b++)
        gpus[b] = choice->gpus->gpu[choice->slot[b]];
    for (size_t t = 0; t < tasks; t++)
        numa[t] = choice->numa[choice->slot[t * each]];
    struct core_request wanted = {.tasks = tasks,
                                  .gpus = gpus,
                                  .gpus_per_task = each,
                                  .cores_per_task = request->cores_per_task,
                                  .numa = numa};
    enum berth_code code = plan_bind_allocate(snap, cores, &wanted, NULL, &allocation, err);
    struct memory_request memory = {.tasks = tasks,
                                    .cpus = allocation.cpus,
                                    .gpus = gpus,
                                    .gpus_per_task = each,
                                    .wanted = numa};
    if (code == BERTH_OK) {
        *ret_cores = allocation.each;
        code = plan_bind_memory(snap, request->allowed, cores, &memory, &uncited, ret_memory,
                                numa + tasks, err);
    }
    evidence_done(&uncited);
    plan_bind_allocation_done(&allocation);
    free(gpus);
    free(numa);
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
                                    struct bind_room *ret, struct berth_err *err)
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
                most = there / each;
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
