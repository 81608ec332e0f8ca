/*
 * Invariants: (1) a core is taken at most once; (2) a group's free is the number of its cores that are not taken;
 * (3) when plan_bind_cores succeeds every task has exactly cores_per_task cores.
 */
#include "plan_bind_cores.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memkind.h"
#include "plan_bind_share.h"

/* Measured rates to a gpu that differ by less than this are the same: then structure decides. */
#define SAME_RATE 1.05

/* How near a group is to a task's gpus: less is nearer. */
struct nearness {
    double slowness; /* measured: how many times slower than the best NUMA node, 1 where not measured or nearly the same */
    double distance; /* plan_distance */
};

/* What is done for one request. */
struct hand {
    const struct snapshot *snap;
    struct bind_cores *cores;
    const struct bind_cores_request *request;
    struct nearness *near; /* by task and group; NULL without gpus */
    struct nearness *nearest; /* by task: the least of its near */
    unsigned *missing;     /* cores that a task still needs */
    struct cpuset *cpus;
    struct plan_evidence *evidence;
    struct plan_warnings *warnings;
};

/* Host memory to gpu, as measured. */
static const struct value *rate_to(const struct snapshot *snap, place_id numa, place_id gpu)
{
    const struct value *v = numa != PLACE_NONE ? values_find(snap->values, METRIC_HOST_GPU_COPY_ENGINE, numa, gpu, "") : NULL;
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

static int compare_nearness(const struct nearness *a, const struct nearness *b)
{
    if (a->slowness != b->slowness)
        return a->slowness < b->slowness ? -1 : 1;
    return (a->distance > b->distance) - (a->distance < b->distance);
}

static struct nearness *near_of(const struct hand *hand, size_t task, size_t group)
{
    return &hand->near[task * hand->cores->group_count + group];
}

/* A group is as near to a task as it is to the nearest of the task's gpus. */
static enum berth_code compare_groups(struct hand *hand, const struct memkind_node *memories, struct berth_err *err)
{
    const struct bind_cores_request *request = hand->request;
    hand->near = calloc(request->tasks * hand->cores->group_count, sizeof *hand->near);
    hand->nearest = calloc(request->tasks, sizeof *hand->nearest);
    if (hand->near == NULL || hand->nearest == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for distances");
    for (size_t i = 0; i < request->tasks * request->gpus_per_task; i++) {
        place_id gpu = request->gpus[i];
        const struct value *best = memkind_is_one(memories, gpu) ? NULL : best_rate(hand, gpu); /* a copy within one memory is slow, and nobody needs it */
        if (best != NULL && !plan_evidence_add(hand->evidence, 0, best))
            return err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
        for (size_t g = 0; g < hand->cores->group_count; g++) {
            const struct bind_group *group = &hand->cores->group[g];
            struct nearness near = {1, plan_distance(hand->snap, gpu, group->place)};
            if (best != NULL) {
                double ratio = best->value / rate_to(hand->snap, group->numa, gpu)->value;
                near.slowness = ratio > SAME_RATE ? ratio : 1;
            }
            size_t task = i / request->gpus_per_task;
            struct nearness *known = near_of(hand, task, g), *nearest = &hand->nearest[task];
            bool is_first = i % request->gpus_per_task == 0;
            if (is_first || compare_nearness(&near, known) < 0)
                *known = near;
            if ((is_first && g == 0) || compare_nearness(&near, nearest) < 0)
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

static bool is_nearest(const struct hand *hand, size_t task, size_t group)
{
    return compare_nearness(near_of(hand, task, group), &hand->nearest[task]) == 0;
}

enum berth_code plan_bind_cores_nearest(const struct snapshot *snap, struct bind_cores *cores, const place_id *gpus, size_t count, bool *ret, struct berth_err *err)
{
    struct bind_cores_request request = {.tasks = 1, .gpus = gpus, .gpus_per_task = count};
    struct plan_evidence unsaid = {0};
    struct hand hand = {.snap = snap, .cores = cores, .request = &request, .evidence = &unsaid};
    enum berth_code code = find_nearness(&hand, err);
    for (size_t g = 0; code == BERTH_OK && g < cores->group_count; g++)
        ret[g] = is_nearest(&hand, 0, g);
    plan_evidence_done(&unsaid);
    free(hand.near);
    free(hand.nearest);
    return code;
}

enum berth_code plan_bind_cores_numas(const struct snapshot *snap, struct bind_cores *cores, place_id gpu, place_id *ret, size_t *ret_count, struct berth_err *err)
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
    const char *gpu = graph_place(hand->snap->graph, request->gpus[share->short_task * request->gpus_per_task])->name;
    char more[60] = "";
    if (share->others == share->each)
        return;
    if (share->short_count > 1)
        snprintf(more, sizeof more, " and of %zu more tasks", share->short_count - 1);
    plan_warn(hand->warnings, "%" PRId64 " core%s a task: there %s %" PRId64 " next to the gpus of task %zu (%s)%s; the others would have %" PRId64 " each (cores_per_task says how many all get)", share->each,
              share->each == 1 ? "" : "s", share->short_cores == 1 ? "is" : "are", share->short_cores, share->short_task, gpu, more, share->others);
}

/* With gpus as many as every task finds next to its own. */
static enum berth_code even_share(const struct hand *hand, int64_t *ret, struct berth_err *err)
{
    size_t tasks = hand->request->tasks, groups = hand->cores->group_count;
    struct bind_share share = {.each = (int64_t)(hand->cores->count / tasks)};
    bool *near = hand->near != NULL ? calloc(tasks * groups, sizeof *near) : NULL;
    enum berth_code code = hand->near == NULL || near != NULL ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for distances");
    for (size_t i = 0; near != NULL && i < tasks * groups; i++)
        near[i] = is_nearest(hand, i / groups, i % groups);
    if (near != NULL) {
        code = plan_bind_share(&(struct bind_share_request){hand->cores, tasks, near}, &share, err);
        if (code == BERTH_OK)
            say_share(hand, &share);
    }
    free(near);
    *ret = share.each;
    return code;
}

/* Gives a task its missing cores from a group, as many as are free. */
static void take(struct hand *hand, size_t task, size_t group)
{
    struct bind_group *from = &hand->cores->group[group];
    from->tasks++;
    for (size_t i = 0; i < hand->cores->count && hand->missing[task] > 0 && from->free > 0; i++) {
        struct bind_core *core = &hand->cores->core[i];
        if (core->group != group || core->taken)
            continue;
        core->taken = true;
        cpuset_or(&hand->cpus[task], &core->use);
        from->free--;
        hand->missing[task]--;
    }
}

static bool is_wanted(const struct hand *hand, size_t task, size_t group)
{
    return hand->request->numa != NULL && hand->cores->group[group].numa == hand->request->numa[task];
}

/* Of the nearest groups that have room for the whole task, those of the NUMA node that is wanted first, then the one with the fewest tasks. */
static void take_nearest(struct hand *hand, size_t task)
{
    const struct bind_group *group = hand->cores->group;
    size_t best = SIZE_MAX;
    for (size_t g = 0; g < hand->cores->group_count; g++) {
        if (group[g].free < hand->missing[task] || !is_nearest(hand, task, g))
            continue;
        bool wanted = is_wanted(hand, task, g), best_wanted = best != SIZE_MAX && is_wanted(hand, task, best);
        if (best == SIZE_MAX || (wanted != best_wanted ? wanted : group[g].tasks < group[best].tasks))
            best = g;
    }
    if (best != SIZE_MAX)
        take(hand, task, best);
}

/* A group that has room for the whole task and lies in the NUMA node of a nearest one. */
static void take_same_numa(struct hand *hand, size_t task)
{
    const struct bind_cores *cores = hand->cores;
    size_t best = SIZE_MAX;
    for (size_t g = 0; g < cores->group_count; g++) {
        bool beside = false;
        for (size_t n = 0; n < cores->group_count && cores->group[g].numa != PLACE_NONE && !beside; n++)
            beside = is_nearest(hand, task, n) && cores->group[n].numa == cores->group[g].numa;
        if (beside && cores->group[g].free >= hand->missing[task] &&
            (best == SIZE_MAX || compare_nearness(near_of(hand, task, g), near_of(hand, task, best)) < 0))
            best = g;
    }
    if (best != SIZE_MAX)
        take(hand, task, best);
}

/* One round: each task that misses cores takes what the nearest group with any has. */
static void take_what_is_left(struct hand *hand, size_t task)
{
    const struct bind_cores *cores = hand->cores;
    size_t best = SIZE_MAX;
    for (size_t g = 0; g < cores->group_count; g++) {
        int order = best == SIZE_MAX ? -1 : compare_nearness(near_of(hand, task, g), near_of(hand, task, best));
        if (cores->group[g].free > 0 && (order < 0 || (order == 0 && is_wanted(hand, task, g) && !is_wanted(hand, task, best))))
            best = g;
    }
    take(hand, task, best);
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
    struct turn *turn = calloc(tasks, sizeof *turn);
    for (size_t t = 0; turn != NULL && t < tasks; t++) {
        turn[t].task = t;
        for (size_t g = 0; g < hand->cores->group_count; g++)
            turn[t].cores += is_nearest(hand, t, g) ? hand->cores->group[g].cores : 0;
    }
    if (turn != NULL)
        qsort(turn, tasks, sizeof *turn, compare_turns);
    return turn;
}

static bool hand_out_by_gpus(struct hand *hand)
{
    size_t tasks = hand->request->tasks, waiting = 0;
    struct turn *turn = find_turns(hand);
    if (turn == NULL)
        return false;
    for (size_t i = 0; i < tasks; i++)
        take_nearest(hand, turn[i].task);
    for (size_t i = 0; i < tasks; i++)
        if (hand->missing[turn[i].task] > 0)
            take_same_numa(hand, turn[i].task);
    do {
        waiting = 0;
        for (size_t i = 0; i < tasks; i++)
            if (hand->missing[turn[i].task] > 0) {
                take_what_is_left(hand, turn[i].task);
                waiting += hand->missing[turn[i].task] > 0;
            }
    } while (waiting > 0);
    free(turn);
    return true;
}

/* How busy the NUMA node of a group would be with one task more. */
static double load(const struct hand *hand, size_t group)
{
    const struct bind_cores *cores = hand->cores;
    place_id numa = cores->group[group].numa;
    unsigned all = 0, tasks = 1;
    for (size_t g = 0; g < cores->group_count; g++)
        if (g == group || (numa != PLACE_NONE && cores->group[g].numa == numa)) {
            all += cores->group[g].cores;
            tasks += cores->group[g].tasks;
        }
    return (double)tasks / all;
}

/* A task without gpus goes where the least other tasks are: the NUMA node first, then the llc. */
static size_t least_loaded(const struct hand *hand, unsigned room)
{
    const struct bind_group *group = hand->cores->group;
    size_t best = SIZE_MAX;
    double best_load = 0, best_own = 0;
    for (size_t g = 0; g < hand->cores->group_count; g++) {
        double numa_load = load(hand, g), own = (group[g].tasks + 1.0) / group[g].cores;
        if (group[g].free >= room && (best == SIZE_MAX || numa_load < best_load || (numa_load == best_load && own < best_own))) {
            best = g;
            best_load = numa_load;
            best_own = own;
        }
    }
    return best;
}

static void hand_out_evenly(struct hand *hand)
{
    const struct bind_cores *cores = hand->cores;
    for (size_t t = 0; t < hand->request->tasks; t++) {
        size_t group = least_loaded(hand, hand->missing[t]);
        if (group == SIZE_MAX)
            group = least_loaded(hand, 1);
        place_id start = cores->group[group].place;
        for (take(hand, t, group); hand->missing[t] > 0; take(hand, t, group)) {
            double nearest = INFINITY;
            for (size_t g = 0; g < cores->group_count; g++) {
                double distance = plan_distance(hand->snap, start, cores->group[g].place);
                if (cores->group[g].free > 0 && distance < nearest) {
                    nearest = distance;
                    group = g;
                }
            }
        }
    }
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
        return plan_not_enough(err, "cores", tasks, available, "%" PRId64 " tasks need a core each; %" PRId64 " are allowed", tasks, available);
    enum berth_code code = find_nearness(hand, err);
    if (code != BERTH_OK)
        return code;
    int64_t each = request->cores_per_task;
    code = each > 0 ? BERTH_OK : even_share(hand, &each, err);
    if (code != BERTH_OK)
        return code;
    if (each > available / tasks)
        return plan_not_enough(err, "cores", each > INT64_MAX / tasks ? INT64_MAX : each * tasks, available,
                               "%" PRId64 " tasks of %" PRId64 " cores do not fit on the %" PRId64 " that are allowed", tasks, each, available);
    for (size_t t = 0; t < request->tasks; t++)
        hand->missing[t] = (unsigned)each;
    if (hand->near != NULL && !hand_out_by_gpus(hand))
        return err_set(err, BERTH_NO_MEMORY, "no memory for tasks");
    if (hand->near == NULL)
        hand_out_evenly(hand);
    if (hand->near == NULL)
        qsort(hand->cpus, request->tasks, sizeof *hand->cpus, compare_cpus);
    *ret_cores = each;
    return BERTH_OK;
}

enum berth_code plan_bind_cores(const struct snapshot *snap, struct bind_cores *cores, const struct bind_cores_request *request,
                                struct plan_evidence *evidence, struct plan_warnings *warnings, struct cpuset *ret_cpus, int64_t *ret_cores,
                                struct berth_err *err)
{
    struct hand hand = {.snap = snap, .cores = cores, .request = request, .evidence = evidence, .warnings = warnings};
    hand.cpus = calloc(request->tasks, sizeof *hand.cpus);
    hand.missing = calloc(request->tasks, sizeof *hand.missing);
    enum berth_code code = BERTH_OK;
    if (hand.cpus == NULL || hand.missing == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for tasks");
    else if ((code = hand_out(&hand, ret_cores, err)) == BERTH_OK)
        memcpy(ret_cpus, hand.cpus, request->tasks * sizeof *ret_cpus);
    free(hand.cpus);
    free(hand.missing);
    free(hand.near);
    free(hand.nearest);
    return code;
}
