#include "plan/bind/host_reasons.h"

#include <stdio.h>
#include <stdlib.h>

#include "node/locality.h"

const char *plan_bind_task_name(size_t task, char name[32])
{
    snprintf(name, 32, "task %zu", task);
    return name;
}

static void add_about(struct reasons *reasons, enum reason_code code, size_t task,
                      struct reason_numbers numbers)
{
    char name[32];
    reasons_add_about(reasons, code, plan_bind_task_name(task, name), numbers);
}

void plan_bind_explain_default(const struct core_allocation *allocation, struct bind_answer *answer)
{
    double each = (double)allocation->each;
    for (size_t t = 0; t < answer->task_count; t++)
        if (allocation->is_short[t])
            add_about(&answer->warnings, REASON_CORES_SCARCE, t, NUMBERS(each));
    if (allocation->torn > 0)
        reasons_add(&answer->warnings, REASON_CORES_IN_ONE_NUMA, NO_SUBJECTS,
                    NUMBERS(each, (double)allocation->torn));
}

/* ---- cores away from GPUs ---- */

/* Returns the cpus of the cores of flagged groups. */
static struct cpuset cpus_of(const struct bind_cores *cores, const bool *flag)
{
    struct cpuset cpus = {0};
    for (size_t i = 0; i < cores->count; i++)
        if (flag == NULL || flag[cores->core[i].group])
            cpuset_or(&cpus, &cores->core[i].use);
    return cpus;
}

/* Counts the cores with a cpu in each of two sets. */
static double count_in(const struct bind_cores *cores, const struct cpuset *a,
                       const struct cpuset *b)
{
    size_t count = 0;
    for (size_t i = 0; i < cores->count; i++)
        count +=
            cpuset_intersects(&cores->core[i].use, a) && cpuset_intersects(&cores->core[i].use, b);
    return (double)count;
}

/* Compares a task's cores with those nearest to its GPUs, allowed or not. */
static enum berth_code explain_away(const struct host_facts *facts, const struct bind_cores *all,
                                    size_t task, struct bind_answer *answer, struct berth_err *err)
{
    size_t gpus = facts->request->gpus_per_task;
    const struct bind_task *its = &answer->task[task];
    struct cpuset usable = cpus_of(facts->cores, NULL), others = {0};
    bool *is_near = calloc(all->group_count + 1, sizeof *is_near);
    if (is_near == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for distances");
    for (size_t t = 0; t < answer->task_count; t++)
        if (t != task)
            cpuset_or(&others, &answer->task[t].cpus);
    enum berth_code code = plan_bind_cores_nearest(facts->snap, all, its->gpus, gpus, is_near, err);
    struct cpuset near = cpus_of(all, is_near), known = near;
    double allowed = count_in(all, &near, &usable);
    /* rates may be measured from the allowed part alone */
    if (code == BERTH_OK && allowed > 0) {
        code = plan_bind_cores_nearest(facts->snap, facts->cores, its->gpus, gpus, is_near, err);
        struct cpuset near_usable = cpus_of(facts->cores, is_near);
        cpuset_or(&known, &near_usable);
    }
    free(is_near);
    if (code != BERTH_OK)
        return code;
    if (!cpuset_contains(&known, &its->cpus))
        add_about(&answer->warnings, REASON_CORES_AWAY, task,
                  NUMBERS(count_in(all, &near, &near), allowed, count_in(all, &near, &others)));
    else if (facts->by_locality)
        add_about(&answer->reasons, REASON_CORES_NEAREST, task, NO_NUMBERS);
    return BERTH_OK;
}

/* ---- cores far from each other ---- */

static void explain_torn(const struct host_facts *facts, bool by_l3, size_t task,
                         struct bind_answer *answer)
{
    const struct bind_group *group = facts->cores->group;
    size_t first = SIZE_MAX;
    bool in_l3s = false, in_numas = false;
    for (size_t i = 0; i < facts->cores->count; i++) {
        size_t g = facts->cores->core[i].group;
        if (!cpuset_intersects(&facts->cores->core[i].use, &answer->task[task].cpus))
            continue;
        first = first == SIZE_MAX ? g : first;
        in_l3s = in_l3s || g != first;
        in_numas = in_numas || group[g].numa != group[first].numa;
    }
    if (in_numas)
        add_about(&answer->warnings, REASON_CORES_IN_NUMAS, task, NO_NUMBERS);
    else if (in_l3s && by_l3)
        add_about(&answer->warnings, REASON_CORES_IN_L3S, task, NO_NUMBERS);
}

/* L3s are mentioned only without GPUs, and where the number was asked for or an L3 is as large. */
static bool is_by_l3(const struct host_facts *facts, const struct bind_answer *answer)
{
    bool fits = facts->request->cores_per_task > 0;
    for (size_t g = 0; g < facts->cores->group_count; g++)
        fits = fits || facts->cores->group[g].cores >= answer->cores_per_task;
    return fits && facts->request->gpus_per_task == 0;
}

enum berth_code plan_bind_explain_cores(const struct host_facts *facts, struct bind_answer *answer,
                                        struct berth_err *err)
{
    struct cpuset node;
    struct bind_cores all = {0};
    enum berth_code code = BERTH_OK;
    locality_cpus(facts->snap->graph, &node);
    if (facts->request->gpus_per_task > 0)
        code = plan_bind_cores_init(facts->snap->graph, &node, 0, &all, err);
    for (size_t t = 0; code == BERTH_OK && t < answer->task_count; t++) {
        if (facts->request->gpus_per_task > 0)
            code = explain_away(facts, &all, t, answer, err);
        explain_torn(facts, is_by_l3(facts, answer), t, answer);
    }
    plan_bind_cores_done(&all);
    return code;
}

void plan_bind_explain_memory(const place_id *home, struct bind_answer *answer)
{
    for (size_t t = 0; t < answer->task_count; t++) {
        place_id memory = answer->task[t].memory;
        if (memory == PLACE_NONE)
            reasons_add(&answer->warnings, REASON_MEMORY_NONE, NO_SUBJECTS, NO_NUMBERS);
        else if (home[t] != PLACE_NONE && memory != home[t])
            add_about(&answer->warnings, REASON_MEMORY_ELSEWHERE, t, NO_NUMBERS);
    }
}
