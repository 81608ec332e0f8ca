/*
 * Invariants: (1) a core is taken at most once; (2) a group's free is the number of its cores that
 * are not taken; (3) when plan_bind_cores succeeds every task has exactly cores_per_task cores.
 */
#include "plan/bind/cores.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/evidence.h"
#include "cost/memkind.h"
#include "node/locality.h"
#include "node/reasons.h"
#include "plan/bind/hand.h"
#include "plan/bind/share.h"

/* Measured rates to a gpu that differ by less than this are the same: then structure decides. */
#define SAME_RATE 1.05

/* The least part of an even share of the cores that tasks get to stay in one NUMA node each. */
#define NUMA_SHARE (7.0 / 8)

/* Host memory to gpu, as measured. */
static const struct value *rate_to(const struct snapshot *snap, place_id numa, place_id gpu)
{
    const struct value *v =
        numa != PLACE_NONE ? values_find(snap->values, METRIC_HOST_GPU_COPY_ENGINE, numa, gpu, "")
                           : NULL;
    return v != NULL && v->source == VALUE_MEASURED && v->value > 0 ? v : NULL;
}

/* The best of all groups, or NULL when one of them was not measured: then nothing is compared. */
static const struct value *best_rate(const struct hand *hand, place_id gpu)
{
    const struct value *best = NULL;
    for (size_t g = 0; g < hand->cores->group_count; g++) {
        const struct value *v = rate_to(hand->snap, hand->cores->group[g].numa, gpu);
        if (v == NULL)
            return NULL;
        if (best == NULL || v->value > best->value)
            best = v;
    }
    return best;
}

/* A group is as near to a task as it is to the nearest of the task's gpus. */
static enum berth_code compare_groups(struct hand *hand, const struct memkind_node *memories,
                                      struct berth_err *err)
{
    const struct bind_cores_request *request = hand->request;
    hand->near = calloc(request->tasks * hand->cores->group_count, sizeof *hand->near);
    hand->nearest = calloc(request->tasks, sizeof *hand->nearest);
    if (hand->near == NULL || hand->nearest == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for distances");
    for (size_t i = 0; i < request->tasks * request->gpus_per_task; i++) {
        place_id gpu = request->gpus[i];
        /* a copy within one memory is slow, and nobody needs it */
        const struct value *best = memkind_is_one(memories, gpu) ? NULL : best_rate(hand, gpu);
        if (best != NULL && !evidence_add(hand->evidence, 0, best))
            return err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
        for (size_t g = 0; g < hand->cores->group_count; g++) {
            const struct bind_group *group = &hand->cores->group[g];
            struct nearness near = {1, locality_distance(hand->snap, gpu, group->place)};
            if (best != NULL) {
                double ratio = best->value / rate_to(hand->snap, group->numa, gpu)->value;
                near.slowness = ratio > SAME_RATE ? ratio : 1;
            }
            size_t task = i / request->gpus_per_task;
            struct nearness *known = plan_bind_hand_near(hand, task, g),
                            *nearest = &hand->nearest[task];
            bool is_first = i % request->gpus_per_task == 0;
            if (is_first || plan_bind_hand_compare(&near, known) < 0)
                *known = near;
            if ((is_first && g == 0) || plan_bind_hand_compare(&near, nearest) < 0)
                *nearest = near;
        }
    }
    return BERTH_OK;
}

static enum berth_code find_nearness(struct hand *hand, struct berth_err *err)
{
    struct memkind_node memories;
    if (hand->request->gpus_per_task == 0)
        return BERTH_OK;
    enum berth_code code = memkind_node_init(hand->snap->graph, &memories, err);
    if (code != BERTH_OK)
        return code;
    code = compare_groups(hand, &memories, err);
    memkind_node_done(&memories);
    return code;
}

enum berth_code plan_bind_cores_nearest(const struct snapshot *snap, struct bind_cores *cores,
                                        const place_id *gpus, size_t count, bool *ret,
                                        struct berth_err *err)
{
    struct bind_cores_request request = {.tasks = 1, .gpus = gpus, .gpus_per_task = count};
    struct evidence unsaid = {0};
    struct hand hand = {.snap = snap, .cores = cores, .request = &request, .evidence = &unsaid};
    enum berth_code code = find_nearness(&hand, err);
    for (size_t g = 0; code == BERTH_OK && g < cores->group_count; g++)
        ret[g] = plan_bind_hand_is_nearest(&hand, 0, g);
    evidence_done(&unsaid);
    free(hand.near);
    free(hand.nearest);
    return code;
}

enum berth_code plan_bind_cores_numas(const struct snapshot *snap, struct bind_cores *cores,
                                      place_id gpu, place_id *ret, size_t *ret_count,
                                      struct berth_err *err)
{
    bool *nearest = calloc(cores->group_count + 1, sizeof *nearest);
    if (nearest == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for distances");
    enum berth_code code = plan_bind_cores_nearest(snap, cores, &gpu, 1, nearest, err);
    size_t count = 0;
    for (size_t g = 0; code == BERTH_OK && g < cores->group_count; g++) {
        bool is_new = cores->group[g].numa != PLACE_NONE && nearest[g];
        for (size_t i = 0; i < count && is_new; i++)
            is_new = ret[i] != cores->group[g].numa;
        if (is_new)
            ret[count++] = cores->group[g].numa;
    }
    if (code == BERTH_OK)
        *ret_count = count;
    free(nearest);
    return code;
}

static void say_share(const struct hand *hand, const struct bind_share *share)
{
    const struct bind_cores_request *request = hand->request;
    const char *gpu =
        graph_place(hand->snap->graph, request->gpus[share->short_task * request->gpus_per_task])
            ->name;
    char more[60] = "";
    if (share->others == share->each)
        return;
    if (share->short_count > 1)
        snprintf(more, sizeof more, " and of %zu more tasks", share->short_count - 1);
    reasons_note(hand->warnings,
                 "%" PRId64 " core%s a task: there %s %" PRId64
                 " next to the gpus of task %zu (%s)%s; the others would have %" PRId64
                 " each (cores_per_task says how many all get)",
                 share->each, share->each == 1 ? "" : "s", share->short_cores == 1 ? "is" : "are",
                 share->short_cores, share->short_task, gpu, more, share->others);
}

/* Tasks of so many cores that fit, each within one NUMA node. */
static size_t fitting_in_numas(const struct bind_cores *cores, unsigned each)
{
    size_t tasks = 0;
    for (size_t g = 0; g < cores->group_count; g++) {
        unsigned in_numa = 0;
        bool counted = false; /* by a group before it */
        for (size_t h = 0; h < cores->group_count; h++)
            if (h == g || (cores->group[g].numa != PLACE_NONE &&
                           cores->group[h].numa == cores->group[g].numa)) {
                in_numa += cores->group[h].cores;
                counted = counted || h < g;
            }
        tasks += counted ? 0 : in_numa / each;
    }
    return tasks;
}

/* Leaves a few cores unused where every task then fits into one NUMA node. */
static void keep_in_numas(const struct hand *hand, int64_t *each)
{
    unsigned all = (unsigned)*each, less = all;
    while (less >= all * NUMA_SHARE && fitting_in_numas(hand->cores, less) < hand->request->tasks)
        less--;
    if (less == all || less < all * NUMA_SHARE)
        return;
    *each = less;
    reasons_note(hand->warnings,
                 "%u cores a task, not %u: so each task's cores are in one NUMA node "
                 "(cores_per_task says how many all get)",
                 less, all);
}

/* With gpus as many as every task finds next to its own. */
static enum berth_code even_share(const struct hand *hand, int64_t *ret, struct berth_err *err)
{
    size_t tasks = hand->request->tasks, groups = hand->cores->group_count;
    struct bind_share share = {.each = (int64_t)(hand->cores->count / tasks)};
    bool *near = hand->near != NULL ? calloc(tasks * groups, sizeof *near) : NULL;
    enum berth_code code = hand->near == NULL || near != NULL
                               ? BERTH_OK
                               : err_set(err, BERTH_NO_MEMORY, "no memory for distances");
    for (size_t i = 0; near != NULL && i < tasks * groups; i++)
        near[i] = plan_bind_hand_is_nearest(hand, i / groups, i % groups);
    if (near != NULL) {
        code = plan_bind_share(&(struct bind_share_request){hand->cores, tasks, near}, &share, err);
        if (code == BERTH_OK)
            say_share(hand, &share);
    } else if (code == BERTH_OK) {
        keep_in_numas(hand, &share.each);
    }
    free(near);
    *ret = share.each;
    return code;
}

/* Of the nearest groups that have room for the whole task, those of the NUMA node that is wanted
 * first, then the one with the fewest tasks. */
static void take_nearest(struct hand *hand, size_t task)
{
    const struct bind_group *group = hand->cores->group;
    size_t best = SIZE_MAX;
    for (size_t g = 0; g < hand->cores->group_count; g++) {
        if (group[g].free < hand->missing[task] || !plan_bind_hand_is_nearest(hand, task, g))
            continue;
        bool wanted = plan_bind_hand_is_wanted(hand, task, g),
             best_wanted = best != SIZE_MAX && plan_bind_hand_is_wanted(hand, task, best);
        if (best == SIZE_MAX ||
            (wanted != best_wanted ? wanted : group[g].tasks < group[best].tasks))
            best = g;
    }
    if (best != SIZE_MAX)
        plan_bind_hand_take(hand, task, best);
}

/* A group that has room for the whole task and lies in the NUMA node of a nearest one. */
static void take_same_numa(struct hand *hand, size_t task)
{
    const struct bind_cores *cores = hand->cores;
    size_t best = SIZE_MAX;
    for (size_t g = 0; g < cores->group_count; g++)
        if (cores->group[g].free >= hand->missing[task] &&
            plan_bind_hand_is_beside(hand, task, g, UNIT_NUMA) &&
            (best == SIZE_MAX || plan_bind_hand_compare(plan_bind_hand_near(hand, task, g),
                                                        plan_bind_hand_near(hand, task, best)) < 0))
            best = g;
    if (best != SIZE_MAX)
        plan_bind_hand_take(hand, task, best);
}

/* The group that a task takes next: in the unit of home, SIZE_MAX anywhere. */
static size_t next_group(const struct hand *hand, size_t task, size_t home, enum unit unit)
{
    const struct bind_group *group = hand->cores->group;
    size_t best = SIZE_MAX;
    for (size_t g = 0; g < hand->cores->group_count; g++)
        if (group[g].free > 0 && (home == SIZE_MAX || plan_bind_hand_in_one(hand, g, home, unit)) &&
            (best == SIZE_MAX || plan_bind_hand_goes_before(hand, task, g, best)))
            best = g;
    return best;
}

/* What a task misses, or as much as there is, from the NUMA node of a group. */
static void take_in_numa(struct hand *hand, size_t task, size_t group)
{
    for (size_t g = group; g != SIZE_MAX && hand->missing[task] > 0;
         g = next_group(hand, task, group, UNIT_NUMA))
        plan_bind_hand_take(hand, task, g);
}

/* A NUMA node that has room for the whole task: of a group that is nearest, else any, the nearest
 * first. */
static void take_one_numa(struct hand *hand, size_t task, bool nearest)
{
    size_t best = SIZE_MAX;
    for (size_t g = 0; g < hand->cores->group_count; g++)
        if (hand->cores->group[g].free > 0 &&
            plan_bind_hand_free(hand, g, UNIT_NUMA) >= hand->missing[task] &&
            (!nearest || plan_bind_hand_is_beside(hand, task, g, UNIT_NUMA)) &&
            (best == SIZE_MAX || plan_bind_hand_goes_before(hand, task, g, best)))
            best = g;
    if (best != SIZE_MAX)
        take_in_numa(hand, task, best);
}

/* A package that has room for the whole task, beside those whose home it is already: kept for it,
 * so that tasks can take their NUMA nodes in turn. */
static void find_home(struct hand *hand, size_t task, bool nearest)
{
    size_t best = SIZE_MAX;
    for (size_t g = 0; g < hand->cores->group_count; g++)
        if (hand->cores->group[g].free > 0 &&
            plan_bind_hand_free(hand, g, UNIT_PACKAGE) >= hand->reserved[g] + hand->missing[task] &&
            (!nearest || plan_bind_hand_is_beside(hand, task, g, UNIT_PACKAGE)) &&
            (best == SIZE_MAX || plan_bind_hand_goes_before(hand, task, g, best)))
            best = g;
    hand->home[task] = best;
    for (size_t g = 0; g < hand->cores->group_count && best != SIZE_MAX; g++)
        if (plan_bind_hand_in_one(hand, g, best, UNIT_PACKAGE))
            hand->reserved[g] += hand->missing[task];
}

/* A task and how many cores are nearest to it. */
struct turn {
    size_t task, cores;
};

static int compare_turns(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    if (x->cores != y->cores)
        return x->cores < y->cores ? -1 : 1;
    return (x->task > y->task) - (x->task < y->task);
}

/* Who has less to choose from chooses first. */
static struct turn *find_turns(const struct hand *hand)
{
    size_t tasks = hand->request->tasks;
    struct turn *turn = calloc(tasks + 1, sizeof *turn);
    for (size_t t = 0; turn != NULL && t < tasks; t++) {
        turn[t].task = t;
        for (size_t g = 0; g < hand->cores->group_count; g++)
            turn[t].cores +=
                plan_bind_hand_is_nearest(hand, t, g) ? hand->cores->group[g].cores : 0;
    }
    if (turn != NULL)
        qsort(turn, tasks, sizeof *turn, compare_turns);
    return turn;
}

/* Those with a home, or without: one NUMA node a round, the nearest with any free. */
static void take_in_turns(struct hand *hand, const struct turn *turn, bool homeless)
{
    size_t waiting;
    do {
        waiting = 0;
        for (size_t i = 0; i < hand->request->tasks; i++) {
            size_t task = turn[i].task, home = hand->home[task];
            if (hand->missing[task] == 0 || (home == SIZE_MAX) != homeless)
                continue;
            take_in_numa(hand, task, next_group(hand, task, home, UNIT_PACKAGE));
            waiting += hand->missing[task] > 0;
        }
    } while (waiting > 0);
}

static bool hand_out_by_gpus(struct hand *hand)
{
    size_t tasks = hand->request->tasks;
    struct turn *turn = find_turns(hand);
    if (turn == NULL)
        return false;
    for (size_t i = 0; i < tasks; i++)
        take_nearest(hand, turn[i].task);
    for (size_t i = 0; i < tasks; i++)
        if (hand->missing[turn[i].task] > 0)
            take_same_numa(hand, turn[i].task);
    for (int nearest = 1; nearest >= 0; nearest--)
        for (size_t i = 0; i < tasks; i++)
            if (hand->missing[turn[i].task] > 0)
                take_one_numa(hand, turn[i].task, nearest);
    for (int nearest = 1; nearest >= 0; nearest--)
        for (size_t i = 0; i < tasks; i++)
            if (hand->missing[turn[i].task] > 0 && hand->home[turn[i].task] == SIZE_MAX)
                find_home(hand, turn[i].task, nearest);
    for (int homeless = 0; homeless <= 1; homeless++)
        take_in_turns(hand, turn, homeless);
    free(turn);
    return true;
}

static int compare_cpus(const void *a, const void *b)
{
    int x = cpuset_next(a, 0), y = cpuset_next(b, 0);
    return (x > y) - (x < y);
}

static enum berth_code hand_out(struct hand *hand, int64_t *ret_cores, struct berth_err *err)
{
    const struct bind_cores_request *request = hand->request;
    int64_t available = (int64_t)hand->cores->count, tasks = (int64_t)request->tasks;
    if (tasks > available)
        return err_not_enough(err, "cores", tasks, available,
                              "%" PRId64 " tasks need a core each; %" PRId64 " are allowed", tasks,
                              available);
    enum berth_code code = find_nearness(hand, err);
    if (code != BERTH_OK)
        return code;
    int64_t each = request->cores_per_task;
    code = each > 0 ? BERTH_OK : even_share(hand, &each, err);
    if (code != BERTH_OK)
        return code;
    if (each > available / tasks)
        return err_not_enough(err, "cores", each > INT64_MAX / tasks ? INT64_MAX : each * tasks,
                              available,
                              "%" PRId64 " task%s of %" PRId64 " core%s %s not fit on the %" PRId64
                              " that %s allowed",
                              tasks, tasks == 1 ? "" : "s", each, each == 1 ? "" : "s",
                              tasks == 1 ? "does" : "do", available, available == 1 ? "is" : "are");
    for (size_t t = 0; t < request->tasks; t++)
        hand->missing[t] = (unsigned)each;
    for (size_t t = 0; t < request->tasks; t++)
        hand->home[t] = SIZE_MAX;
    if (hand->near != NULL && !hand_out_by_gpus(hand))
        return err_set(err, BERTH_NO_MEMORY, "no memory for tasks");
    if (hand->near == NULL)
        plan_bind_hand_evenly(hand);
    if (hand->near == NULL && request->joined == NULL)
        qsort(hand->cpus, request->tasks, sizeof *hand->cpus, compare_cpus);
    *ret_cores = each;
    return BERTH_OK;
}

enum berth_code plan_bind_cores(const struct snapshot *snap, struct bind_cores *cores,
                                const struct bind_cores_request *request, struct evidence *evidence,
                                struct reasons *warnings, struct cpuset *ret_cpus,
                                int64_t *ret_cores, struct berth_err *err)
{
    struct hand hand = {.snap = snap,
                        .cores = cores,
                        .request = request,
                        .evidence = evidence,
                        .warnings = warnings};
    hand.cpus = calloc(request->tasks, sizeof *hand.cpus);
    hand.missing = calloc(request->tasks, sizeof *hand.missing);
    hand.home = calloc(request->tasks, sizeof *hand.home);
    hand.reserved = calloc(cores->group_count + 1, sizeof *hand.reserved);
    enum berth_code code = BERTH_OK;
    if (hand.cpus == NULL || hand.missing == NULL || hand.home == NULL || hand.reserved == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for tasks");
    else if ((code = hand_out(&hand, ret_cores, err)) == BERTH_OK)
        memcpy(ret_cpus, hand.cpus, request->tasks * sizeof *ret_cpus);
    free(hand.cpus);
    free(hand.missing);
    free(hand.home);
    free(hand.reserved);
    free(hand.near);
    free(hand.nearest);
    return code;
}
