/*
 * Tasks are placed in rounds: first those that fit within the nearest L3, then within another L3 of
 * its NUMA node, and so on (steps). In each step the task with the fewest near cores chooses first.
 *
 * Invariants: (1) a group's free and the tasks' counts there add up to its cores; (2) after success
 * every task has exactly cores_per_task cores.
 */
#include "plan/bind/core_allocator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/locality.h"
#include "plan/bind/memory.h"

#define NOWHERE SIZE_MAX

/* The smallest part of an even share of the cores that keeps each task in one NUMA node. */
#define LEAST_SHARE (7.0 / 8)

/* A task lies within one unit of this level, and that unit within one that has cores nearest to its
 * GPUs. */
static const struct {
    enum core_level within, beside;
} steps[] = {
    {LEVEL_L3, LEVEL_L3},           {LEVEL_L3, LEVEL_NUMA},         {LEVEL_NUMA, LEVEL_NUMA},
    {LEVEL_NUMA, LEVEL_MACHINE},    {LEVEL_PACKAGE, LEVEL_PACKAGE}, {LEVEL_PACKAGE, LEVEL_MACHINE},
    {LEVEL_MACHINE, LEVEL_MACHINE},
};

struct part {
    size_t task;
    size_t home; /* a group of the unit that has room for its family; NOWHERE not placed yet */
    unsigned near_cores, missing, family_missing; /* family: of its lowest task */
};

struct work {
    const struct snapshot *snap;
    const struct bind_cores *cores;
    const struct core_request *request;
    struct bind_task *task;
    struct part *part;
    unsigned each;   /* cores a task */
    double *far;     /* by task and group */
    double *nearest; /* by task: the least of groups that may be used */
    unsigned *count; /* by task and group: the task's cores */
    unsigned *free;  /* by group */
    unsigned *users; /* by group: the tasks that it is near */
};

static double far_of(const struct work *work, size_t task, size_t group)
{
    return work->far[task * work->cores->group_count + group];
}

static unsigned *count_of(const struct work *work, size_t task, size_t group)
{
    return &work->count[task * work->cores->group_count + group];
}

static bool is_near(const struct work *work, size_t task, size_t group)
{
    return work->cores->group[group].cores > 0 && far_of(work, task, group) <= work->nearest[task];
}

static bool in_one(const struct work *work, size_t a, size_t b, enum core_level level)
{
    return work->cores->group[a].unit[level] == work->cores->group[b].unit[level];
}

static unsigned free_in(const struct work *work, size_t group, enum core_level level)
{
    unsigned count = 0;
    for (size_t g = 0; g < work->cores->group_count; g++)
        count += in_one(work, g, group, level) ? work->free[g] : 0;
    return count;
}

static bool is_beside(const struct work *work, size_t task, size_t group, enum core_level level)
{
    size_t g = 0;
    while (g < work->cores->group_count &&
           !(is_near(work, task, g) && in_one(work, g, group, level)))
        g++;
    return g < work->cores->group_count;
}

/* How good a group is: less is better, the first difference decides. */
#define TERMS 8
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

/* A family starts where most cores stay free. The rest of a task goes where it fits, and of such
 * units into the smallest. */
static double room_cost(const struct work *work, const struct part *part, size_t group,
                        enum core_level level)
{
    double free = free_in(work, group, level);
    if (part->home == NOWHERE)
        return part->family_missing - free;
    return free >= part->missing ? free : 2.0 * CPUSET_MAX - free;
}

static struct cost cost_of(const struct work *work, const struct part *part, size_t group)
{
    const struct bind_group *groups = work->cores->group;
    const place_id *numa = work->request->numa;
    bool is_placed = part->home != NOWHERE, is_first = is_placed && part->missing == work->each;
    return (struct cost){
        {far_of(work, part->task, group), is_first && work->free[group] < part->missing,
         is_placed ? locality_distance(work->snap, groups[part->home].place, groups[group].place)
                   : 0,
         numa != NULL && groups[group].numa != numa[part->task],
         is_near(work, part->task, group) ? 0 : work->users[group],
         room_cost(work, part, group, LEVEL_PACKAGE), room_cost(work, part, group, LEVEL_NUMA),
         room_cost(work, part, group, LEVEL_L3)}};
}

/* The cheapest group with free cores: of the unit around a group, or (start NOWHERE) of the units
 * beside the near ones that have room for the family. */
static size_t cheapest(const struct work *work, const struct part *part, size_t start,
                       enum core_level level, enum core_level beside)
{
    size_t best = NOWHERE;
    struct cost least = {0};
    for (size_t g = 0; g < work->cores->group_count; g++) {
        if (work->free[g] == 0 ||
            !(start != NOWHERE ? in_one(work, g, start, level)
                               : is_beside(work, part->task, g, beside) &&
                                     (level == LEVEL_MACHINE ||
                                      free_in(work, g, level) >= part->family_missing)))
            continue;
        struct cost cost = cost_of(work, part, g);
        if (best == NOWHERE || is_less(&cost, &least)) {
            best = g;
            least = cost;
        }
    }
    return best;
}

/* Takes what a task misses from the unit around its home. */
static void take_within(struct work *work, struct part *part, enum core_level level)
{
    while (part->missing > 0) {
        size_t g = cheapest(work, part, part->home, level, level);
        unsigned taken = part->missing < work->free[g] ? part->missing : work->free[g];
        *count_of(work, part->task, g) += taken;
        work->free[g] -= taken;
        part->missing -= taken;
    }
}

static size_t family_of(const struct work *work, const struct part *part)
{
    return work->request->family != NULL ? work->request->family[part->task] : part->task;
}

/* Places a family in one unit if one has room. */
static void place(struct work *work, const struct part *family, size_t step)
{
    enum core_level level = steps[step].within;
    size_t home = cheapest(work, family, NOWHERE, level, steps[step].beside);
    for (size_t i = 0; home != NOWHERE && i < work->request->tasks; i++) {
        struct part *part = &work->part[i];
        if (family_of(work, part) != family->task)
            continue;
        part->home = home;
        take_within(work, part, level);
    }
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->near_cores != y->near_cores)
        return x->near_cores < y->near_cores ? -1 : 1;
    return (x->task > y->task) - (x->task < y->task);
}

static void place_all(struct work *work, unsigned each)
{
    const struct core_request *request = work->request;
    size_t groups = work->cores->group_count;
    work->each = each;
    memset(work->count, 0, request->tasks * groups * sizeof *work->count);
    memset(work->users, 0, groups * sizeof *work->users);
    for (size_t g = 0; g < groups; g++)
        work->free[g] = work->cores->group[g].cores;
    for (size_t t = 0; t < request->tasks; t++) {
        work->part[t] = (struct part){.task = t, .home = NOWHERE, .missing = each};
        for (size_t g = 0; g < groups; g++) {
            work->part[t].near_cores += is_near(work, t, g) ? work->cores->group[g].cores : 0;
            work->users[g] += is_near(work, t, g);
        }
        for (size_t i = t * each; request->in_order && i < (t + 1) * each; i++)
            ++*count_of(work, t, work->cores->core[i].group);
    }
    for (size_t t = 0; t < request->tasks; t++)
        work->part[request->family != NULL ? request->family[t] : t].family_missing += each;
    qsort(work->part, request->tasks, sizeof *work->part, compare_parts);
    for (size_t step = 0; !request->in_order && step < sizeof steps / sizeof steps[0]; step++)
        for (size_t i = 0; i < request->tasks; i++)
            if (work->part[i].home == NOWHERE && work->part[i].family_missing > 0)
                place(work, &work->part[i], step);
}

/* ---- how many cores ---- */

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

/* Whether each task has only cores near its GPUs, or, without GPUs, of one NUMA node. */
static bool are_together(const struct work *work)
{
    const struct bind_group *group = work->cores->group;
    for (size_t t = 0; t < work->request->tasks; t++)
        for (size_t g = 0, first = NOWHERE; g < work->cores->group_count; g++) {
            if (*count_of(work, t, g) == 0)
                continue;
            first = first == NOWHERE ? g : first;
            if (work->request->gpus_per_task > 0 ? !is_near(work, t, g)
                                                 : group[g].numa != group[first].numa)
                return false;
        }
    return true;
}

/* Places tasks with as many cores for each as all find next to their GPUs, at least one. Without
 * GPUs: with an even share, or a few less where each task then fits into one NUMA node. */
static int64_t place_default(struct work *work, struct bind_answer *answer)
{
    bool has_gpus = work->request->gpus_per_task > 0;
    int64_t even = (int64_t)(work->cores->count / work->request->tasks), each = even,
            least = has_gpus ? 1 : (int64_t)ceil((double)even * LEAST_SHARE);
    place_all(work, (unsigned)each);
    const struct part *scarcest = work->part, *last = work->part + work->request->tasks - 1;
    if (has_gpus && scarcest->near_cores < each)
        each = scarcest->near_cores + 1;
    while (each > least && !are_together(work))
        place_all(work, (unsigned)--each);
    if (!has_gpus && each < even && !are_together(work)) {
        each = even;
        place_all(work, (unsigned)each);
    }
    if (!has_gpus && each < even)
        reasons_add(&answer->warnings, REASON_CORES_IN_ONE_NUMA, NO_SUBJECTS,
                    NUMBERS((double)each, (double)even));
    for (size_t i = 0; has_gpus && each < even && scarcest->near_cores < last->near_cores &&
                       work->part[i].near_cores == scarcest->near_cores;
         i++)
        add_about(&answer->warnings, REASON_CORES_SCARCE, work->part[i].task,
                  NUMBERS((double)each));
    return each;
}

/* ---- the whole ---- */

/* Compares a task's cores with those nearest to its GPUs, allowed or not. */
static void explain_away(const struct work *work, size_t task, struct bind_answer *answer)
{
    double nearest = INFINITY, near = 0, allowed = 0, others = 0;
    bool is_away = false;
    for (size_t g = 0; g < work->cores->group_count; g++)
        nearest = fmin(nearest, far_of(work, task, g));
    for (size_t g = 0; g < work->cores->group_count; g++) {
        const struct bind_group *group = &work->cores->group[g];
        unsigned own = *count_of(work, task, g);
        if (far_of(work, task, g) > nearest) {
            is_away = is_away || own > 0;
            continue;
        }
        near += group->all;
        allowed += group->cores;
        others += group->cores - work->free[g] - own;
    }
    if (is_away)
        add_about(&answer->warnings, REASON_CORES_AWAY, task, NUMBERS(near, allowed, others));
    else if (work->request->numa == NULL)
        add_about(&answer->reasons, REASON_CORES_NEAREST, task, NO_NUMBERS);
}

/* Without GPUs the distance to the nearest memory counts. */
static void find_near(struct work *work, struct evidence *evidence)
{
    const struct core_request *request = work->request;
    for (size_t t = 0; t < request->tasks; t++) {
        double *far = work->far + t * work->cores->group_count;
        plan_bind_cores_far(work->snap, work->cores, work->task[t].gpus, request->gpus_per_task,
                            evidence, far);
        work->nearest[t] = INFINITY;
        for (size_t g = 0; g < work->cores->group_count; g++) {
            const struct bind_group *group = &work->cores->group[g];
            place_id memory =
                request->gpus_per_task == 0
                    ? plan_bind_memory_nearest(work->snap, request->allowed, group->numa)
                    : PLACE_NONE;
            if (group->numa != PLACE_NONE && memory != PLACE_NONE)
                far[g] = locality_distance(work->snap, group->place, memory);
            if (group->cores > 0)
                work->nearest[t] = fmin(work->nearest[t], far[g]);
        }
    }
}

/* Returns the NUMA node of most of a task's cores, or that nearest to its GPUs where it has half as
 * many; NONE unknown. */
static place_id numa_of(const struct work *work, const struct part *part)
{
    const struct bind_group *group = work->cores->group;
    size_t groups = work->cores->group_count;
    place_id best = PLACE_NONE;
    unsigned most = 0;
    for (size_t g = 0; g < groups; g++) {
        unsigned count = 0;
        for (size_t other = 0; group[g].numa != PLACE_NONE && other < groups; other++)
            count += group[other].numa == group[g].numa ? *count_of(work, part->task, other) : 0;
        if (work->request->gpus_per_task > 0 && count > 0 &&
            group[g].numa == group[part->home].numa)
            count = 2 * count + 1;
        best = count > most ? group[g].numa : best;
        most = count > most ? count : most;
    }
    return best;
}

/* Gives tasks as many cores of each group as they have taken, the lowest to the lowest task, and
 * memory. */
static enum berth_code give(const struct work *work, struct evidence *evidence,
                            struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    for (size_t t = 0; t < work->request->tasks; t++) {
        struct bind_task *task = &work->task[work->part[t].task];
        task->cpus = (struct cpuset){0};
        task->memory = numa_of(work, &work->part[t]);
    }
    for (size_t i = 0; i < work->cores->count; i++) {
        const struct bind_core *core = &work->cores->core[i];
        size_t t = 0;
        while (t < work->request->tasks && *count_of(work, t, core->group) == 0)
            t++;
        if (t == work->request->tasks)
            continue;
        --*count_of(work, t, core->group);
        cpuset_or(&work->task[t].cpus, &core->use);
    }
    for (size_t t = 0; code == BERTH_OK && t < work->request->tasks; t++) {
        struct bind_task *task = &work->task[t];
        code = plan_bind_memory(work->snap, work->request->allowed, &task->cpus, task->memory,
                                evidence, &task->memory, err);
    }
    return code;
}

static int compare_cpus(const void *a, const void *b)
{
    int x = cpuset_next(&((const struct bind_task *)a)->cpus, 0),
        y = cpuset_next(&((const struct bind_task *)b)->cpus, 0);
    return (x > y) - (x < y);
}

static enum berth_code allocate(struct work *work, struct bind_answer *answer,
                                struct berth_err *err)
{
    const struct core_request *request = work->request;
    find_near(work, &answer->evidence);
    if (request->cores_per_task > 0)
        place_all(work, (unsigned)request->cores_per_task);
    answer->cores_per_task =
        request->cores_per_task > 0 ? request->cores_per_task : place_default(work, answer);
    for (size_t t = 0; request->gpus_per_task > 0 && t < request->tasks; t++)
        explain_away(work, t, answer);
    enum berth_code code = give(work, &answer->evidence, err);
    if (request->gpus_per_task == 0 && request->family == NULL)
        qsort(work->task, request->tasks, sizeof *work->task, compare_cpus);
    return code;
}

enum berth_code plan_bind_allocate(const struct snapshot *snap, const struct bind_cores *cores,
                                   const struct core_request *request, struct bind_answer *answer,
                                   struct berth_err *err)
{
    size_t tasks = request->tasks, groups = cores->group_count;
    struct work work = {.snap = snap,
                        .cores = cores,
                        .request = request,
                        .task = answer->task,
                        .part = calloc(tasks, sizeof *work.part),
                        .far = calloc(tasks * (groups + 1), sizeof *work.far),
                        .count = calloc((tasks + 2) * groups, sizeof *work.count)};
    enum berth_code code = BERTH_OK;
    if (work.part == NULL || work.far == NULL || work.count == NULL) {
        code = err_set(err, BERTH_NO_MEMORY, "no memory for tasks");
    } else {
        work.nearest = work.far + tasks * groups;
        work.free = work.count + tasks * groups;
        work.users = work.free + groups;
        code = allocate(&work, answer, err);
    }
    free(work.part);
    free(work.far);
    free(work.count);
    return code;
}

enum berth_code plan_bind_allocate_memory(const struct snapshot *snap,
                                          const struct bind_cores *cores,
                                          const struct core_request *request, const place_id *gpus,
                                          place_id *ret_memory, int64_t *ret_cores,
                                          struct berth_err *err)
{
    struct bind_answer answer = {.task = calloc(request->tasks, sizeof *answer.task)};
    if (answer.task == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for tasks");
    for (size_t t = 0; t < request->tasks; t++)
        answer.task[t].gpus = gpus + t * request->gpus_per_task;
    enum berth_code code = plan_bind_allocate(snap, cores, request, &answer, err);
    for (size_t t = 0; t < request->tasks; t++)
        ret_memory[t] = answer.task[t].memory;
    *ret_cores = answer.cores_per_task;
    free(answer.task);
    evidence_done(&answer.evidence);
    return code;
}
