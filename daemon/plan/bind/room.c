#include "plan/bind/room.h"

#include <stdlib.h>

#include "plan/bind/core_allocator.h"
#include "search/search.h"

enum berth_code plan_bind_room_memory(const struct snapshot *snap,
                                      const struct bind_request *request,
                                      const struct bind_cores *cores,
                                      const struct bind_room_choice *choice, place_id *ret_memory,
                                      int64_t *ret_cores, struct berth_err *err)
{
    size_t tasks = choice->tasks, each = choice->each;
    struct bind_answer answer = {.task = calloc(tasks, sizeof *answer.task)};
    place_id *gpus = calloc(tasks * each, sizeof *gpus), *numa = calloc(tasks, sizeof *numa);
    const struct core_request wanted = {.tasks = tasks,
                                        .gpus_per_task = each,
                                        .cores_per_task = request->cores_per_task,
                                        .numa = numa,
                                        .allowed = request->allowed};
    bool has_memory = answer.task != NULL && gpus != NULL && numa != NULL;
    for (size_t b = 0; has_memory && b < tasks * each; b++) {
        gpus[b] = choice->gpus->gpu[choice->slot[b]];
        numa[b / each] = choice->numa[choice->slot[b / each * each]];
        answer.task[b / each].gpus = gpus + b / each * each;
    }
    enum berth_code code = has_memory ? plan_bind_allocate(snap, cores, &wanted, &answer, err)
                                      : err_set(err, BERTH_NO_MEMORY, "no memory for the tasks");
    for (size_t t = 0; has_memory && t < tasks; t++)
        ret_memory[t] = answer.task[t].memory;
    *ret_cores = answer.cores_per_task;
    free(answer.task);
    evidence_done(&answer.evidence);
    free(gpus);
    free(numa);
    return code;
}

enum berth_code plan_bind_room_find(const struct bind_cores *cores, const place_id *numa,
                                    size_t gpus, int64_t cores_per_task, struct bind_room *ret,
                                    struct berth_err *err)
{
    unsigned each = cores_per_task > 0 ? (unsigned)cores_per_task : 1;
    *ret = (struct bind_room){.unit = calloc(gpus + 1, sizeof *ret->unit),
                              .most = calloc(cores->group_count + 1, sizeof *ret->most)};
    if (ret->unit == NULL || ret->most == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for NUMA nodes");
    for (size_t g = 0; g < gpus; g++) {
        size_t group = 0, first = 0;
        while (group < cores->group_count && cores->group[group].numa != numa[g])
            group++;
        ret->unit[g] = SEARCH_ANYWHERE;
        if (numa[g] == PLACE_NONE || group == cores->group_count)
            continue;
        enum core_level level =
            plan_bind_cores_in(cores, group, LEVEL_NUMA) < each ? LEVEL_PACKAGE : LEVEL_NUMA;
        while (cores->group[first].unit[level] != cores->group[group].unit[level])
            first++;
        ret->unit[g] = (uint16_t)first;
        ret->most[first] = (uint16_t)(plan_bind_cores_in(cores, group, level) / each);
    }
    return BERTH_OK;
}

void plan_bind_room_done(struct bind_room *room)
{
    free(room->unit);
    free(room->most);
    *room = (struct bind_room){0};
}
