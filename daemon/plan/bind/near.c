#include "plan/bind/near.h"

#include <math.h>
#include <stdio.h>

#include "node/locality.h"
#include "node/reasons.h"

#define SAID_MAX  3 /* tasks, one sentence each; the others are counted */
#define TEXT_SIZE 120
#define NAMES_MAX 3

/* "llc6 (numa3), llc7 (numa3), ..."; ret_near: of the task's cores and gpus those that are nearest
 * to each other. */
static void put_groups(const struct snapshot *snap, const struct bind_cores *cores,
                       const struct bind_task *task, size_t gpus, char text[TEXT_SIZE],
                       place_id ret_near[2])
{
    const struct graph *graph = snap->graph;
    size_t used = 0, n = 0;
    unsigned last = 0;
    double least = INFINITY;
    text[0] = '\0';
    for (size_t i = 0; i < cores->count; i++) {
        const struct bind_core *core = &cores->core[i];
        if (!cpuset_intersects(&core->use, &task->cpus) || (n > 0 && core->group == last))
            continue;
        const struct bind_group *group = &cores->group[core->group];
        bool in_numa = group->numa != PLACE_NONE && group->numa != group->place;
        if (used < TEXT_SIZE && n < NAMES_MAX)
            used += (size_t)snprintf(text + used, TEXT_SIZE - used, "%s%s%s%s%s", n > 0 ? ", " : "",
                                     graph_place(graph, group->place)->name, in_numa ? " (" : "",
                                     in_numa ? graph_place(graph, group->numa)->name : "",
                                     in_numa ? ")" : "");
        else if (used < TEXT_SIZE && n == NAMES_MAX)
            used += (size_t)snprintf(text + used, TEXT_SIZE - used, ", ...");
        for (size_t g = 0; g < gpus; g++) {
            double distance = locality_distance(snap, task->gpus[g], group->place);
            if (distance < least) {
                least = distance;
                ret_near[0] = task->gpus[g];
                ret_near[1] = group->place;
            }
        }
        last = core->group;
        n++;
    }
}

/* How a gpu and the cores lie to each other. */
static void put_relation(const struct snapshot *snap, place_id gpu, place_id group,
                         char text[TEXT_SIZE])
{
    const struct graph *graph = snap->graph;
    const struct place *its = graph_place(graph, gpu), *there = graph_place(graph, group);
    place_id numa = locality_numa(graph, gpu), other = locality_numa(graph, group);
    const struct value *distance = numa != PLACE_NONE && other != PLACE_NONE
                                       ? locality_numa_distance(snap, numa, other)
                                       : NULL;
    if (its->cpus != NULL && there->cpus != NULL && cpuset_intersects(its->cpus, there->cpus))
        snprintf(text, TEXT_SIZE, ", as %.30s hangs on %.30s", its->name, there->name);
    else if (numa != PLACE_NONE && numa == other)
        snprintf(text, TEXT_SIZE, ", as %.30s is in %.30s", its->name,
                 graph_place(graph, numa)->name);
    else if (distance != NULL)
        snprintf(text, TEXT_SIZE,
                 ", the nearest allowed: %.30s is in %.30s, at distance %.0f by the firmware",
                 its->name, graph_place(graph, numa)->name, distance->value);
    else
        snprintf(text, TEXT_SIZE, ", the nearest allowed that structure tells of");
}

static void say_task(const struct snapshot *snap, const struct bind_cores *cores,
                     const struct bind_answer *answer, size_t t, struct reasons *reasons)
{
    const struct bind_task *task = &answer->task[t];
    size_t gpus = (size_t)answer->gpus_per_task;
    char groups[TEXT_SIZE], relation[TEXT_SIZE] = "", memory[48] = "", names[64] = "";
    place_id near[2] = {PLACE_NONE, PLACE_NONE};
    put_groups(snap, cores, task, gpus, groups, near);
    for (size_t g = 0, used = 0; g < gpus && used < sizeof names; g++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%.12s%s",
                                 graph_place(snap->graph, task->gpus[g])->name,
                                 g + 1 == gpus ? " and " : ", ");
    if (near[0] != PLACE_NONE)
        put_relation(snap, near[0], near[1], relation);
    if (task->memory != PLACE_NONE)
        snprintf(memory, sizeof memory, "; memory of %.30s",
                 graph_place(snap->graph, task->memory)->name);
    reasons_note(reasons, "task %zu has %scores of %.80s%s%s", t, names, groups, relation, memory);
}

void plan_bind_near_say(const struct snapshot *snap, const struct bind_cores *cores, size_t gpus,
                        enum bind_order order, bool is_placed, struct bind_answer *answer)
{
    size_t tasks = answer->task_count;
    if (order == ORDER_LAUNCHER)
        reasons_note(&answer->reasons,
                     "tasks have the cores in order: an iteration takes less so than "
                     "where the fewest others are for the cores there");
    else if (order == ORDER_PEERS)
        reasons_note(&answer->reasons,
                     "tasks that send each other bytes are in one llc, else in one NUMA node, as "
                     "long as they fit; such groups go where the fewest others are");
    else if (answer->gpus_per_task == 0)
        reasons_note(&answer->reasons, "tasks go where the fewest others are for the cores there: "
                                       "the NUMA node first, then the llc");
    else if (is_placed)
        reasons_note(
            &answer->reasons,
            "tasks that send each other bytes have gpus near each other: a link between them, else "
            "one switch or module, NUMA node, package; those that copy with the host are spread");
    else if (tasks * (size_t)answer->gpus_per_task < gpus)
        reasons_note(&answer->reasons,
                     "not all gpus are needed: each task's first has allowed cores next to it, and "
                     "is on the module, then in the NUMA node with the fewest taken");
    for (size_t t = 0; t < tasks && t < SAID_MAX; t++)
        say_task(snap, cores, answer, t, &answer->reasons);
    if (tasks > SAID_MAX)
        reasons_note(&answer->reasons, "%zu more task%s likewise", tasks - SAID_MAX,
                     tasks - SAID_MAX == 1 ? "" : "s");
}
