/*
 * Tasks that are near the same groups are one class. They find so many cores each if a flow brings
 * as many from the classes to the groups next to them (D. Gale, "A theorem on flows in networks",
 * 1957); where one core more each is too many, the classes that are left with too few and those
 * whose cores they could have instead are the ones that are short.
 *
 * Invariants: (1) taken[c][g] > 0 only where class c is near group g; (2) left[g] is cores less
 * what is taken of g.
 */
#include "plan/bind/share.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY SIZE_MAX

struct work {
    const struct bind_share_request *request;
    size_t classes, groups;
    size_t *tasks;  /* by class */
    size_t *first;  /* by class: a task of it */
    size_t *class;  /* by task */
    int64_t *taken; /* by class and group */
    int64_t *left;  /* by group */
    int64_t *wants; /* by class: what is not taken yet */
    size_t *from;   /* by group: the class from which it was reached */
    size_t *before; /* by class: the group from which it was reached */
    bool *seen;     /* by class */
    size_t *queue;  /* of classes */
    bool *gone;     /* by group: it has no cores for those that are looked at */
};

static bool is_near(const struct work *work, size_t class, size_t group)
{
    return work->request->near[work->first[class] * work->groups + group];
}

/* Reaches what it can from one class, over groups to those who have taken of them. The first group
 * with something left; NOBODY: there is none. */
static size_t reach(struct work *work, size_t class)
{
    size_t begin = 0, end = 0;
    memset(work->seen, 0, work->classes * sizeof *work->seen);
    for (size_t g = 0; g < work->groups; g++)
        work->from[g] = NOBODY;
    work->seen[class] = true;
    work->queue[end++] = class;
    while (begin < end) {
        size_t c = work->queue[begin++];
        for (size_t g = 0; g < work->groups; g++) {
            if (!is_near(work, c, g) || work->from[g] != NOBODY)
                continue;
            work->from[g] = c;
            if (work->left[g] > 0)
                return g;
            for (size_t other = 0; other < work->classes; other++)
                if (!work->seen[other] && work->taken[other * work->groups + g] > 0) {
                    work->seen[other] = true;
                    work->before[other] = g;
                    work->queue[end++] = other;
                }
        }
    }
    return NOBODY;
}

/* Brings as much as it can from class to the group over those that reach found. */
static void bring(struct work *work, size_t class, size_t group)
{
    int64_t most = work->wants[class] < work->left[group] ? work->wants[class] : work->left[group];
    for (size_t g = group; work->from[g] != class;) {
        size_t c = work->from[g];
        g = work->before[c];
        most = work->taken[c * work->groups + g] < most ? work->taken[c * work->groups + g] : most;
    }
    work->left[group] -= most;
    work->wants[class] -= most;
    for (size_t g = group;;) {
        size_t c = work->from[g];
        work->taken[c * work->groups + g] += most;
        if (c == class)
            return;
        g = work->before[c];
        work->taken[c * work->groups + g] -= most;
    }
}

/* Whether each task finds so many. When not, seen are the classes that are short. */
static bool fits(struct work *work, int64_t each)
{
    memset(work->taken, 0, work->classes * work->groups * sizeof *work->taken);
    for (size_t g = 0; g < work->groups; g++)
        work->left[g] = work->gone[g] ? 0 : work->request->cores->group[g].cores;
    for (size_t c = 0; c < work->classes; c++)
        work->wants[c] = each * (int64_t)work->tasks[c];
    for (size_t c = 0; c < work->classes; c++)
        while (work->wants[c] > 0) {
            size_t group = reach(work, c);
            if (group == NOBODY)
                return false;
            bring(work, c, group);
        }
    return true;
}

/* The most that fits, up to most. */
static int64_t find_most(struct work *work, int64_t most)
{
    int64_t least = 1;
    while (least < most) {
        int64_t middle = least + (most - least + 1) / 2;
        if (fits(work, middle))
            least = middle;
        else
            most = middle - 1;
    }
    return least;
}

/* Those that are short, and the cores next to them, are looked at no more. Their cores. */
static int64_t leave_out_short(struct work *work)
{
    int64_t cores = 0;
    for (size_t g = 0; g < work->groups; g++) {
        for (size_t c = 0; c < work->classes && !work->gone[g]; c++)
            work->gone[g] = work->seen[c] && is_near(work, c, g);
        cores += work->gone[g] ? work->request->cores->group[g].cores : 0;
    }
    for (size_t c = 0; c < work->classes; c++)
        work->tasks[c] = work->seen[c] ? 0 : work->tasks[c];
    return cores;
}

static void find(struct work *work, struct bind_share *ret)
{
    const struct bind_share_request *request = work->request;
    int64_t each = find_most(work, (int64_t)(request->cores->count / request->tasks));
    *ret = (struct bind_share){.each = each, .others = each};
    if (fits(work, each + 1))
        return;
    for (size_t t = request->tasks; t-- > 0;)
        if (work->seen[work->class[t]]) {
            ret->short_task = t;
            ret->short_count++;
        }
    ret->short_cores = leave_out_short(work);
    int64_t others =
        ret->short_count < request->tasks ? find_most(work, (int64_t)request->cores->count) : 0;
    ret->others = others > each ? others : each;
}

/* Several tasks on one gpu follow each other. */
static void find_classes(struct work *work)
{
    const bool *near = work->request->near;
    size_t row = work->groups * sizeof *near;
    for (size_t t = 0; t < work->request->tasks; t++) {
        size_t c = t > 0 && memcmp(near + t * work->groups, near + (t - 1) * work->groups, row) == 0
                       ? work->class[t - 1]
                       : 0;
        while (c < work->classes &&
               memcmp(near + t * work->groups, near + work->first[c] * work->groups, row) != 0)
            c++;
        if (c == work->classes)
            work->first[work->classes++] = t;
        work->class[t] = c;
        work->tasks[c]++;
    }
}

static bool make_room(struct work *work)
{
    size_t tasks = work->request->tasks;
    work->tasks = calloc(tasks, sizeof *work->tasks);
    work->first = calloc(tasks, sizeof *work->first);
    work->class = calloc(tasks, sizeof *work->class);
    work->left = calloc(work->groups, sizeof *work->left);
    work->from = calloc(work->groups, sizeof *work->from);
    work->gone = calloc(work->groups, sizeof *work->gone);
    if (work->tasks == NULL || work->first == NULL || work->class == NULL || work->left == NULL ||
        work->from == NULL || work->gone == NULL)
        return false;
    find_classes(work);
    work->taken = calloc(work->classes * work->groups, sizeof *work->taken);
    work->wants = calloc(work->classes, sizeof *work->wants);
    work->before = calloc(work->classes, sizeof *work->before);
    work->seen = calloc(work->classes, sizeof *work->seen);
    work->queue = calloc(work->classes, sizeof *work->queue);
    return work->taken != NULL && work->wants != NULL && work->before != NULL &&
           work->seen != NULL && work->queue != NULL;
}

enum berth_code plan_bind_share(const struct bind_share_request *request, struct bind_share *ret,
                                struct berth_err *err)
{
    struct work work = {.request = request, .groups = request->cores->group_count};
    bool ok = make_room(&work);
    if (ok)
        find(&work, ret);
    free(work.tasks);
    free(work.first);
    free(work.class);
    free(work.taken);
    free(work.left);
    free(work.wants);
    free(work.from);
    free(work.before);
    free(work.seen);
    free(work.queue);
    free(work.gone);
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for the tasks' cores");
}
