/*
 * Tasks are placed in rounds: first those that fit within the nearest L3, then within another L3 of
 * its NUMA node, and so on (steps). In each step the task with the fewest near cores chooses first.
 *
 * Invariants: (1) a core is taken at most once; (2) a group's free is the number of its cores that
 * are not taken; (3) after success every task has exactly cores_per_task cores.
 */
#include "plan/bind/core_allocator.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "node/locality.h"
#include "plan/bind/memory.h"

#define NOWHERE SIZE_MAX

/* The smallest part of an even share of the cores that keeps each task in one NUMA node. */
#define LEAST_SHARE (7.0 / 8)

enum level { LEVEL_L3, LEVEL_NUMA, LEVEL_PACKAGE, LEVEL_MACHINE };

/* A task lies within one unit of this level, and that unit within one that has cores nearest to its
 * GPUs. */
static const struct {
    enum level within, beside;
} steps[] = {
    {LEVEL_L3, LEVEL_L3},           {LEVEL_L3, LEVEL_NUMA},         {LEVEL_NUMA, LEVEL_NUMA},
    {LEVEL_NUMA, LEVEL_MACHINE},    {LEVEL_PACKAGE, LEVEL_PACKAGE}, {LEVEL_PACKAGE, LEVEL_MACHINE},
    {LEVEL_MACHINE, LEVEL_MACHINE},
};

struct task {
    size_t number;
    size_t home; /* a group of the unit that has room for its family; NOWHERE not placed yet */
    enum level level;
    unsigned near_cores, missing, family_missing; /* family: of its lowest task */
};

struct work {
    const struct snapshot *snap;
    const struct bind_cores *cores;
    const struct core_request *request;
    struct task *task;
    struct nearness *near; /* by task and group */
    bool *is_near;         /* likewise: no group is nearer */
    unsigned *free;        /* by group */
    unsigned *reserved;    /* by group: of its package, for tasks at home there */
    bool *is_taken;        /* by core */
    struct cpuset *cpus;   /* by task */
};

static const struct nearness *near_of(const struct work *work, const struct task *task,
                                      size_t group)
{
    return &work->near[task->number * work->cores->group_count + group];
}

static bool in_one(const struct work *work, size_t a, size_t b, enum level level)
{
    const struct bind_group *x = &work->cores->group[a], *y = &work->cores->group[b];
    switch (level) {
    case LEVEL_L3:
        break;
    case LEVEL_NUMA:
        return a == b || (x->numa != PLACE_NONE && x->numa == y->numa);
    case LEVEL_PACKAGE:
        return a == b || (x->package != PLACE_NONE && x->package == y->package);
    case LEVEL_MACHINE:
        return true;
    }
    return a == b;
}

static unsigned free_in(const struct work *work, size_t group, enum level level)
{
    unsigned count = 0;
    for (size_t g = 0; g < work->cores->group_count; g++)
        count += in_one(work, g, group, level) ? work->free[g] : 0;
    return level >= LEVEL_PACKAGE ? count - work->reserved[group] : count;
}

/* Returns which part of a unit stays free behind a family. */
static double idle(const struct work *work, const struct task *task, size_t group, enum level level)
{
    unsigned all = 0;
    for (size_t g = 0; g < work->cores->group_count; g++)
        all += in_one(work, g, group, level) ? work->cores->group[g].cores : 0;
    return ((double)free_in(work, group, level) - task->family_missing) / all;
}

static bool is_beside(const struct work *work, const struct task *task, size_t group,
                      enum level level)
{
    for (size_t g = 0; g < work->cores->group_count; g++)
        if (work->is_near[task->number * work->cores->group_count + g] &&
            in_one(work, g, group, level))
            return true;
    return false;
}

static bool is_wanted(const struct work *work, const struct task *task, size_t group)
{
    const place_id *numa = work->request->numa;
    return numa != NULL && work->cores->group[group].numa == numa[task->number];
}

/* How good a group is: less is better, the first difference decides. */
#define TERMS 7
struct cost {
    double term[TERMS];
};

static bool is_less(const struct cost *a, const struct cost *b)
{
    size_t i = 0;
    while (i + 1 < TERMS && a->term[i] == b->term[i])
        i++;
    return a->term[i] < b->term[i];
}

/* Where a family starts: near, in the wanted NUMA node, where most of the memory and the L3 stays
 * free. */
static struct cost start_cost(const struct work *work, const struct task *task, size_t group,
                              enum level level)
{
    const struct nearness *near = near_of(work, task, group);
    return (struct cost){{near->slowness, near->distance, !is_wanted(work, task, group),
                          level == LEVEL_PACKAGE ? -idle(work, task, group, level) : 0,
                          -idle(work, task, group, LEVEL_NUMA),
                          -idle(work, task, group, LEVEL_L3)}};
}

/* How well the rest of a task fits: units with room for all go first, and of those the smaller. */
static double fit(unsigned free, unsigned missing)
{
    return free >= missing ? free : 2.0 * CPUSET_MAX - free;
}

/* Where a task continues: near, at first with room for all, near its home, where the rest fits. */
static struct cost next_cost(const struct work *work, const struct task *task, size_t group)
{
    const struct nearness *near = near_of(work, task, group);
    bool is_first = cpuset_is_empty(&work->cpus[task->number]);
    return (struct cost){
        {near->slowness, near->distance, is_first && work->free[group] < task->missing,
         locality_distance(work->snap, work->cores->group[task->home].place,
                           work->cores->group[group].place),
         !is_wanted(work, task, group), fit(free_in(work, group, LEVEL_NUMA), task->missing),
         fit(work->free[group], task->missing)}};
}

static size_t next_group(const struct work *work, const struct task *task, size_t start,
                         enum level level)
{
    size_t best = NOWHERE;
    struct cost least = {0};
    for (size_t g = 0; g < work->cores->group_count; g++) {
        if (work->free[g] == 0 || !in_one(work, g, start, level))
            continue;
        struct cost cost = next_cost(work, task, g);
        if (best == NOWHERE || is_less(&cost, &least)) {
            best = g;
            least = cost;
        }
    }
    return best;
}

static void take(struct work *work, struct task *task, size_t group)
{
    for (size_t i = 0; i < work->cores->count && task->missing > 0; i++) {
        if (work->cores->core[i].group != group || work->is_taken[i])
            continue;
        work->is_taken[i] = true;
        cpuset_or(&work->cpus[task->number], &work->cores->core[i].use);
        work->free[group]--;
        task->missing--;
    }
}

/* Takes what a task misses, or all there is, from one unit. */
static void take_within(struct work *work, struct task *task, size_t start, enum level level)
{
    for (size_t g = next_group(work, task, start, level); g != NOWHERE && task->missing > 0;
         g = next_group(work, task, start, level))
        take(work, task, g);
}

static size_t family_of(const struct work *work, const struct task *task)
{
    return work->request->family != NULL ? work->request->family[task->number] : task->number;
}

/* Places a family in one unit if one has room. Tasks with GPUs take the cores of one NUMA node
 * there; what they miss then is reserved, so that they take further NUMA nodes in turn. */
static void place(struct work *work, struct task *task, size_t step)
{
    enum level level = steps[step].within;
    size_t best = NOWHERE;
    struct cost least = {0};
    for (size_t g = 0; g < work->cores->group_count; g++) {
        if (work->free[g] == 0 || !is_beside(work, task, g, steps[step].beside) ||
            (level < LEVEL_MACHINE && free_in(work, g, level) < task->family_missing))
            continue;
        struct cost cost = start_cost(work, task, g, level);
        if (best == NOWHERE || is_less(&cost, &least)) {
            best = g;
            least = cost;
        }
    }
    if (best == NOWHERE)
        return;
    for (size_t i = 0; i < work->request->tasks; i++) {
        struct task *member = &work->task[i];
        if (family_of(work, member) != task->number)
            continue;
        member->home = best;
        member->level = level;
        take_within(work, member, best,
                    level > LEVEL_NUMA && work->request->gpus_per_task > 0 ? LEVEL_NUMA : level);
        for (size_t g = 0; level == LEVEL_PACKAGE && g < work->cores->group_count; g++)
            work->reserved[g] += in_one(work, g, best, level) ? member->missing : 0;
    }
}

/* Gives each task of these units the cores of one NUMA node a round. */
static void take_in_turns(struct work *work, enum level level)
{
    bool is_missing = true;
    while (is_missing) {
        is_missing = false;
        for (size_t i = 0; i < work->request->tasks; i++) {
            struct task *task = &work->task[i];
            if (task->missing == 0 || task->level != level)
                continue;
            take_within(work, task, next_group(work, task, task->home, level), LEVEL_NUMA);
            is_missing = is_missing || task->missing > 0;
        }
    }
}

static int compare_tasks(const void *a, const void *b)
{
    const struct task *x = a, *y = b;
    if (x->near_cores != y->near_cores)
        return x->near_cores < y->near_cores ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static void place_all(struct work *work, unsigned each)
{
    for (size_t t = 0; t < work->request->tasks; t++) {
        struct task *task = &work->task[t];
        *task = (struct task){.number = t, .home = NOWHERE, .missing = each};
        work->task[family_of(work, task)].family_missing += each;
        for (size_t g = 0; g < work->cores->group_count; g++)
            task->near_cores +=
                work->is_near[t * work->cores->group_count + g] ? work->cores->group[g].cores : 0;
    }
    qsort(work->task, work->request->tasks, sizeof *work->task, compare_tasks);
    for (size_t step = 0; step < sizeof steps / sizeof steps[0]; step++) {
        if (steps[step].within == LEVEL_MACHINE)
            take_in_turns(work, LEVEL_PACKAGE);
        for (size_t i = 0; i < work->request->tasks; i++)
            if (work->task[i].home == NOWHERE && work->task[i].family_missing > 0)
                place(work, &work->task[i], step);
    }
    take_in_turns(work, LEVEL_MACHINE);
}

/* ---- how many cores ---- */

/* Counts the tasks of so many cores that fit, each within one NUMA node. */
static size_t fitting(const struct bind_cores *cores, unsigned each)
{
    size_t tasks = 0;
    for (size_t g = 0; g < cores->group_count; g++) {
        unsigned in_numa = 0;
        bool is_counted = false; /* with a group before it */
        for (size_t h = 0; h < cores->group_count; h++)
            if (h == g || (cores->group[g].numa != PLACE_NONE &&
                           cores->group[h].numa == cores->group[g].numa)) {
                in_numa += cores->group[h].cores;
                is_counted = is_counted || h < g;
            }
        tasks += is_counted ? 0 : in_numa / each;
    }
    return tasks;
}

/* Leaves a few cores unused where every task then fits into one NUMA node. */
static void keep_in_numas(const struct work *work, struct core_allocation *ret)
{
    unsigned all = (unsigned)ret->each, less = all;
    while (less > all * LEAST_SHARE && fitting(work->cores, less) < work->request->tasks)
        less--;
    if (less == all || less < all * LEAST_SHARE ||
        fitting(work->cores, less) < work->request->tasks)
        return;
    ret->each = less;
    ret->torn = all;
}

/* Whether the near groups of a task are all among those of a set. */
static bool is_within(const struct work *work, size_t task, const bool *set)
{
    for (size_t g = 0; g < work->cores->group_count; g++)
        if (work->is_near[task * work->cores->group_count + g] && !set[g])
            return false;
    return true;
}

/* Returns the cores of a set of groups for each of the tasks that have no others near. */
static int64_t share_of(const struct work *work, const bool *set)
{
    int64_t cores = 0, tasks = 0;
    for (size_t g = 0; g < work->cores->group_count; g++)
        cores += set[g] ? work->cores->group[g].cores : 0;
    for (size_t t = 0; t < work->request->tasks; t++)
        tasks += is_within(work, t, set);
    return tasks > 0 ? cores / tasks : cores;
}

/* As many for every task as all find next to their GPUs. Where near groups are nested or apart, as
 * in a tree, the scarcest set decides (P. Hall's theorem). */
static void share_near(const struct work *work, struct core_allocation *ret)
{
    size_t groups = work->cores->group_count, tasks = work->request->tasks;
    size_t count = 0;
    for (size_t s = 0; s < tasks; s++) {
        const bool *set = work->is_near + s * groups;
        if (s > 0 && memcmp(set, set - groups, groups) == 0)
            continue;
        int64_t share = share_of(work, set);
        if (share < ret->each)
            memset(ret->is_short, 0, tasks * sizeof *ret->is_short);
        ret->each = share < ret->each ? share : ret->each;
        for (size_t t = 0; share == ret->each && t < tasks; t++)
            ret->is_short[t] = ret->is_short[t] || is_within(work, t, set);
    }
    ret->each = ret->each > 0 ? ret->each : 1;
    for (size_t t = 0; t < tasks; t++)
        count += ret->is_short[t];
    if (count == tasks)
        memset(ret->is_short, 0, tasks * sizeof *ret->is_short);
}

/* ---- the whole ---- */

/* Without GPUs the distance to the nearest memory counts. */
static void find_memory_distances(const struct work *work, struct nearness *near)
{
    for (size_t g = 0; g < work->cores->group_count; g++) {
        const struct bind_group *group = &work->cores->group[g];
        place_id memory = plan_bind_memory_nearest(work->snap, work->request->allowed, group->numa);
        if (group->numa != PLACE_NONE && memory != PLACE_NONE)
            near[g].distance = locality_distance(work->snap, group->place, memory);
    }
}

static enum berth_code find_near(struct work *work, struct evidence *evidence,
                                 struct berth_err *err)
{
    const struct core_request *request = work->request;
    size_t groups = work->cores->group_count, each = request->gpus_per_task;
    enum berth_code code = BERTH_OK;
    for (size_t t = 0; code == BERTH_OK && t < request->tasks; t++) {
        struct nearness *near = work->near + t * groups;
        const place_id *gpus = each > 0 ? request->gpus + t * each : NULL;
        code = plan_bind_cores_nearness(work->snap, work->cores, gpus, each, evidence, near, err);
        if (code == BERTH_OK && each == 0 && request->allowed != NULL)
            find_memory_distances(work, near);
        size_t best = 0;
        for (size_t g = 1; g < groups; g++)
            best = plan_bind_cores_compare(&near[g], &near[best]) < 0 ? g : best;
        for (size_t g = 0; g < groups; g++)
            work->is_near[t * groups + g] = plan_bind_cores_compare(&near[g], &near[best]) == 0;
    }
    return code;
}

static int compare_cpus(const void *a, const void *b)
{
    int x = cpuset_next(a, 0), y = cpuset_next(b, 0);
    return (x > y) - (x < y);
}

static enum berth_code allocate(struct work *work, struct evidence *evidence,
                                struct core_allocation *ret, struct berth_err *err)
{
    const struct core_request *request = work->request;
    int64_t available = (int64_t)work->cores->count, tasks = (int64_t)request->tasks;
    if (tasks > available)
        return err_not_enough(err, "cores", tasks, available,
                              "%" PRId64 " tasks need a core each; %" PRId64 " are allowed", tasks,
                              available);
    enum berth_code code = find_near(work, evidence, err);
    ret->each = request->cores_per_task > 0 ? request->cores_per_task : available / tasks;
    if (code == BERTH_OK && request->cores_per_task == 0) {
        if (request->gpus_per_task > 0)
            share_near(work, ret);
        else
            keep_in_numas(work, ret);
    }
    if (code == BERTH_OK && ret->each > available / tasks)
        code = err_not_enough(
            err, "cores", ret->each > INT64_MAX / tasks ? INT64_MAX : ret->each * tasks, available,
            "%" PRId64 " task%s of %" PRId64 " core%s %s not fit on the %" PRId64
            " that %s allowed",
            tasks, tasks == 1 ? "" : "s", ret->each, ret->each == 1 ? "" : "s",
            tasks == 1 ? "does" : "do", available, available == 1 ? "is" : "are");
    if (code != BERTH_OK)
        return code;
    for (size_t g = 0; g < work->cores->group_count; g++)
        work->free[g] = work->cores->group[g].cores;
    place_all(work, (unsigned)ret->each);
    if (request->gpus_per_task == 0 && request->family == NULL)
        qsort(work->cpus, request->tasks, sizeof *work->cpus, compare_cpus);
    return BERTH_OK;
}

enum berth_code plan_bind_allocate(const struct snapshot *snap, const struct bind_cores *cores,
                                   const struct core_request *request, struct evidence *evidence,
                                   struct core_allocation *ret, struct berth_err *err)
{
    size_t tasks = request->tasks, groups = cores->group_count;
    struct work work = {.snap = snap,
                        .cores = cores,
                        .request = request,
                        .task = calloc(tasks, sizeof *work.task),
                        .near = calloc(tasks * groups, sizeof *work.near),
                        .is_near = calloc(tasks * groups, sizeof *work.is_near),
                        .free = calloc(groups, sizeof *work.free),
                        .reserved = calloc(groups, sizeof *work.reserved),
                        .is_taken = calloc(cores->count, sizeof *work.is_taken),
                        .cpus = calloc(tasks, sizeof *work.cpus)};
    struct core_allocation found = {.cpus = work.cpus,
                                    .is_short = calloc(tasks, sizeof *found.is_short)};
    enum berth_code code = BERTH_OK;
    if (work.task == NULL || work.near == NULL || work.is_near == NULL || work.free == NULL ||
        work.reserved == NULL || work.is_taken == NULL || work.cpus == NULL ||
        found.is_short == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for tasks");
    else
        code = allocate(&work, evidence, &found, err);
    free(work.task);
    free(work.near);
    free(work.is_near);
    free(work.free);
    free(work.reserved);
    free(work.is_taken);
    if (code == BERTH_OK)
        *ret = found;
    else
        plan_bind_allocation_done(&found);
    return code;
}

void plan_bind_allocation_done(struct core_allocation *allocation)
{
    free(allocation->cpus);
    free(allocation->is_short);
    *allocation = (struct core_allocation){0};
}
