/*
 * Tasks are placed in rounds: first those that fit within the nearest L3, then within another L3 of
 * its NUMA node, and so on (steps). In each step the task with the fewest near cores chooses first.
 *
 * Invariants: (1) a core is taken at most once; (2) a group's free is the number of its cores that
 * are not taken; (3) after success every task has exactly cores_per_task cores.
 */
#include "plan/bind/core_allocator.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
    enum core_level level;
    unsigned near_cores, missing, family_missing; /* family: of its lowest task */
};

struct work {
    const struct snapshot *snap;
    const struct bind_cores *cores;
    const struct core_request *request;
    struct bind_task *task;
    struct part *part;
    double *far;        /* by task and group */
    double *nearest;    /* by task: the least of groups that may be used */
    unsigned *free;     /* by group */
    unsigned *reserved; /* by group: of its package, for tasks at home there */
    bool *is_taken;     /* by core */
};

static double far_of(const struct work *work, size_t task, size_t group)
{
    return work->far[task * work->cores->group_count + group];
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
    return level >= LEVEL_PACKAGE ? count - work->reserved[group] : count;
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
    bool is_placed = part->home != NOWHERE,
         is_first = is_placed && cpuset_is_empty(&work->task[part->task].cpus);
    return (struct cost){
        {far_of(work, part->task, group), is_first && work->free[group] < part->missing,
         is_placed ? locality_distance(work->snap, groups[part->home].place, groups[group].place)
                   : 0,
         numa != NULL && groups[group].numa != numa[part->task],
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

/* Takes what a task misses, or all there is, from the unit around a group. */
static void take_within(struct work *work, struct part *part, size_t start, enum core_level level)
{
    for (size_t g = cheapest(work, part, start, level, level); g != NOWHERE && part->missing > 0;
         g = cheapest(work, part, start, level, level))
        for (size_t i = 0; i < work->cores->count && part->missing > 0; i++) {
            if (work->cores->core[i].group != g || work->is_taken[i])
                continue;
            work->is_taken[i] = true;
            cpuset_or(&work->task[part->task].cpus, &work->cores->core[i].use);
            work->free[g]--;
            part->missing--;
        }
}

static size_t family_of(const struct work *work, const struct part *part)
{
    return work->request->family != NULL ? work->request->family[part->task] : part->task;
}

/* Places a family in one unit if one has room. Tasks with GPUs take the cores of one NUMA node
 * there; what they miss then is reserved, so that they take further NUMA nodes in turn. */
static void place(struct work *work, const struct part *family, size_t step)
{
    enum core_level level = steps[step].within;
    size_t home = cheapest(work, family, NOWHERE, level, steps[step].beside);
    for (size_t i = 0; home != NOWHERE && i < work->request->tasks; i++) {
        struct part *part = &work->part[i];
        if (family_of(work, part) != family->task)
            continue;
        part->home = home;
        part->level = level;
        take_within(work, part, home,
                    level > LEVEL_NUMA && work->request->gpus_per_task > 0 ? LEVEL_NUMA : level);
        for (size_t g = 0; level == LEVEL_PACKAGE && g < work->cores->group_count; g++)
            work->reserved[g] += in_one(work, g, home, level) ? part->missing : 0;
    }
}

/* Gives each task of these units the cores of one NUMA node a round. */
static void take_in_turns(struct work *work, enum core_level level)
{
    bool is_missing = true;
    while (is_missing) {
        is_missing = false;
        for (size_t i = 0; i < work->request->tasks; i++) {
            struct part *part = &work->part[i];
            if (part->missing == 0 || part->level != level)
                continue;
            take_within(work, part, cheapest(work, part, part->home, level, level), LEVEL_NUMA);
            is_missing = is_missing || part->missing > 0;
        }
    }
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->near_cores != y->near_cores)
        return x->near_cores < y->near_cores ? -1 : 1;
    return (x->task > y->task) - (x->task < y->task);
}

static void place_in_order(struct work *work, size_t each)
{
    for (size_t i = 0; i < each * work->request->tasks; i++)
        cpuset_or(&work->task[i / each].cpus, &work->cores->core[i].use);
}

static void place_all(struct work *work, unsigned each)
{
    size_t tasks = work->request->tasks;
    for (size_t t = 0; t < tasks; t++) {
        work->part[t].home = NOWHERE;
        work->part[t].missing = each;
        work->part[family_of(work, &work->part[t])].family_missing += each;
        for (size_t g = 0; g < work->cores->group_count; g++)
            work->part[t].near_cores += is_near(work, t, g) ? work->cores->group[g].cores : 0;
    }
    qsort(work->part, tasks, sizeof *work->part, compare_parts);
    for (size_t step = 0; step < sizeof steps / sizeof steps[0]; step++) {
        if (steps[step].within == LEVEL_MACHINE)
            take_in_turns(work, LEVEL_PACKAGE);
        for (size_t i = 0; i < tasks; i++)
            if (work->part[i].home == NOWHERE && work->part[i].family_missing > 0)
                place(work, &work->part[i], step);
    }
    take_in_turns(work, LEVEL_MACHINE);
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

/* Counts the tasks of so many cores that fit, each within one NUMA node. */
static size_t fitting(const struct bind_cores *cores, int64_t each)
{
    size_t tasks = 0;
    for (size_t g = 0; g < cores->group_count; g++) {
        size_t first = 0;
        while (cores->group[first].unit[LEVEL_NUMA] != cores->group[g].unit[LEVEL_NUMA])
            first++;
        tasks += first == g ? plan_bind_cores_in(cores, g, LEVEL_NUMA) / (size_t)each : 0;
    }
    return tasks;
}

/* Returns an even share, or a few cores less where every task then fits into one NUMA node. */
static int64_t share_evenly(const struct work *work, struct bind_answer *answer)
{
    int64_t even = (int64_t)(work->cores->count / work->request->tasks), each = even;
    while ((double)each >= (double)even * LEAST_SHARE &&
           fitting(work->cores, each) < work->request->tasks)
        each--;
    if (each == even || (double)each < (double)even * LEAST_SHARE)
        return even;
    reasons_add(&answer->warnings, REASON_CORES_IN_ONE_NUMA, NO_SUBJECTS,
                NUMBERS((double)each, (double)even));
    return each;
}

/* Whether all groups near a task are near another. */
static bool is_within(const struct work *work, size_t task, size_t other)
{
    for (size_t g = 0; g < work->cores->group_count; g++)
        if (is_near(work, task, g) && !is_near(work, other, g))
            return false;
    return true;
}

/* Returns the cores near a task for each of the tasks that have no others near. */
static int64_t share_near(const struct work *work, size_t task)
{
    int64_t cores = 0, tasks = 1;
    for (size_t g = 0; g < work->cores->group_count; g++)
        cores += is_near(work, task, g) ? work->cores->group[g].cores : 0;
    for (size_t t = 0; t < work->request->tasks; t++)
        tasks += t != task && is_within(work, t, task);
    return cores / tasks;
}

/* As many for every task as all find next to their GPUs. Where near groups are nested or apart, as
 * in a tree, the scarcest set decides (P. Hall's theorem). */
static int64_t share_scarcest(const struct work *work, struct bind_answer *answer)
{
    int64_t even = (int64_t)(work->cores->count / work->request->tasks), each = even, most = 0;
    for (size_t t = 0; t < work->request->tasks; t++) {
        int64_t share = share_near(work, t);
        each = share < each ? share : each;
        most = share > most ? share : most;
    }
    each = each > 0 ? each : 1;
    for (size_t t = 0; each < even && t < work->request->tasks; t++)
        if (most > each && share_near(work, t) <= each)
            add_about(&answer->warnings, REASON_CORES_SCARCE, t, NUMBERS((double)each));
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
    for (size_t g = 0; g < work->cores->group_count; g++)
        if (far_of(work, task, g) <= nearest) {
            near += work->cores->group[g].all;
            allowed += work->cores->group[g].cores;
        }
    for (size_t i = 0; i < work->cores->count; i++) {
        bool is_own = cpuset_intersects(&work->cores->core[i].use, &work->task[task].cpus),
             is_next = far_of(work, task, work->cores->core[i].group) <= nearest;
        is_away = is_away || (is_own && !is_next);
        others += is_next && !is_own && work->is_taken[i];
    }
    if (is_away)
        add_about(&answer->warnings, REASON_CORES_AWAY, task, NUMBERS(near, allowed, others));
    else if (work->request->numa == NULL)
        add_about(&answer->reasons, REASON_CORES_NEAREST, task, NO_NUMBERS);
}

static bool find_near(struct work *work, struct evidence *evidence)
{
    const struct core_request *request = work->request;
    size_t groups = work->cores->group_count;
    bool ok = true;
    for (size_t t = 0; t < request->tasks; t++) {
        ok =
            plan_bind_cores_far(work->snap, work->cores, work->task[t].gpus, request->gpus_per_task,
                                request->allowed, evidence, work->far + t * groups) &&
            ok;
        work->nearest[t] = INFINITY;
        for (size_t g = 0; g < groups; g++)
            if (work->cores->group[g].cores > 0)
                work->nearest[t] = fmin(work->nearest[t], far_of(work, t, g));
    }
    return ok;
}

static enum berth_code give_memory(const struct work *work, struct evidence *evidence,
                                   struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; code == BERTH_OK && i < work->request->tasks; i++) {
        struct bind_task *task = &work->task[work->part[i].task];
        place_id near = work->request->gpus_per_task > 0
                            ? work->cores->group[work->part[i].home].numa
                            : PLACE_NONE,
                 home = plan_bind_memory_home(work->cores, &task->cpus, near);
        code = plan_bind_memory(work->snap, work->request->allowed, work->cores, &task->cpus, home,
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
    int64_t available = (int64_t)work->cores->count, tasks = (int64_t)request->tasks,
            each = request->cores_per_task;
    if (!find_near(work, &answer->evidence))
        return err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    if (each == 0)
        each =
            request->gpus_per_task > 0 ? share_scarcest(work, answer) : share_evenly(work, answer);
    if (each > available / tasks)
        return err_not_enough(err, "cores", each > INT64_MAX / tasks ? INT64_MAX : each * tasks,
                              available,
                              "%" PRId64 " task%s of %" PRId64 " core%s %s not fit on the %" PRId64
                              " that %s allowed",
                              tasks, tasks == 1 ? "" : "s", each, each == 1 ? "" : "s",
                              tasks == 1 ? "does" : "do", available, available == 1 ? "is" : "are");
    answer->cores_per_task = each;
    for (size_t g = 0; g < work->cores->group_count; g++)
        work->free[g] = work->cores->group[g].cores;
    for (size_t t = 0; t < request->tasks; t++) {
        work->part[t].task = t;
        work->task[t].cpus = (struct cpuset){0};
    }
    if (request->in_order)
        place_in_order(work, (size_t)each);
    else
        place_all(work, (unsigned)each);
    for (size_t t = 0; request->gpus_per_task > 0 && t < request->tasks; t++)
        explain_away(work, t, answer);
    enum berth_code code = give_memory(work, &answer->evidence, err);
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
                        .free = calloc(2 * groups, sizeof *work.free),
                        .is_taken = calloc(cores->count, sizeof *work.is_taken)};
    enum berth_code code = BERTH_OK;
    if (work.part == NULL || work.far == NULL || work.free == NULL || work.is_taken == NULL) {
        code = err_set(err, BERTH_NO_MEMORY, "no memory for tasks");
    } else {
        work.nearest = work.far + tasks * groups;
        work.reserved = work.free + groups;
        code = allocate(&work, answer, err);
    }
    free(work.part);
    free(work.far);
    free(work.free);
    free(work.is_taken);
    return code;
}
