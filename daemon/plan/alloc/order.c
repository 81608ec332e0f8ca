#include "plan/alloc/order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/evidence.h"
#include "node/reasons.h"

/* as long in another memory: closer than times are told apart from one day to the next */
#define NEARLY 1.05
/* kinds of allocation in one memory: what was measured wrong of who uses it is as wrong for both */
#define AS_LONG 1.01

bool plan_alloc_had_less(const struct alloc_option *option, int64_t bytes)
{
    return option->free_bytes >= 0 && option->free_bytes < bytes;
}

bool plan_alloc_is_short(const struct alloc_option *option, int64_t bytes)
{
    /* a gpu's driver was asked some time ago */
    bool is_now = option->place.gpu != option->place.memory;
    return is_now && plan_alloc_had_less(option, bytes);
}

static int compare_doubles(double a, double b) { return (a > b) - (a < b); }

/* What is there without more ado comes before what takes a driver, and that before what goes where
 * it is touched. Where processor and gpu have one memory and gpus alone use the buffer, what their
 * own allocator gives comes first: what is known of that memory was measured in such, and is said
 * of other kinds for want of better. */
static int plainness(const struct alloc_option *option)
{
    static const int order[MEMKIND_COUNT] = {
        [MEMKIND_SYSTEM] = 0, [MEMKIND_PINNED] = 1, [MEMKIND_DEVICE] = 2, [MEMKIND_MANAGED] = 3};
    return option->is_gpus_own ? -1 : order[option->place.kind];
}

/* Nearest, then what is reached for sure, then the plainest kind. */
static int compare_nearness(const struct alloc_option *x, const struct alloc_option *y)
{
    int order = compare_doubles(x->distance, y->distance);
    if (order == 0)
        order = x->is_unsure - y->is_unsure;
    if (order == 0)
        order = plainness(x) - plainness(y);
    return order != 0 ? order
                      : (x->place.memory > y->place.memory) - (x->place.memory < y->place.memory);
}

/* What it is put in order by: where no time is predicted, what its bytes take, or it at most. */
static double time_of(const struct alloc_option *option)
{
    if (!isnan(option->bytes_ns))
        return option->bytes_ns;
    return isnan(option->predicted.time_ns) ? option->at_most_ns : option->predicted.time_ns;
}

int plan_alloc_knowledge(const struct alloc_option *option)
{
    if (isnan(time_of(option)))
        return option->unmeasured != 0 ? 1 : 4;
    /* starting kernels is missing of all of them alike */
    if ((option->floor & ~(unsigned)MEMRATE_FLOOR_START) != 0)
        return 3;
    /* the peak of the nearest memory is not behind what was seen farther away */
    bool is_bound = option->at_least || !isnan(option->bytes_ns);
    return is_bound && !option->is_nearest ? 2 : 0;
}

static int compare_options(const void *a, const void *b, void *arg)
{
    const struct alloc_option *x = a, *y = b;
    int64_t bytes = *(const int64_t *)arg;
    int order = plan_alloc_is_short(x, bytes) - plan_alloc_is_short(y, bytes);
    if (order == 0)
        order = plan_alloc_knowledge(x) - plan_alloc_knowledge(y);
    if (order == 0 && !isnan(time_of(x)))
        order = compare_doubles(time_of(x), time_of(y));
    if (order == 0)
        order = (y->unmeasured != 0) - (x->unmeasured != 0);
    return order != 0 ? order : compare_nearness(x, y);
}

/* The interval without the error of what it takes until the memory is there. */
static struct prediction of_use(const struct alloc_option *option)
{
    struct prediction time = option->median;
    return (struct prediction){time.time_ns,
                               time.low_ns + option->setup.time_ns - option->setup.low_ns,
                               time.high_ns + option->setup.time_ns - option->setup.high_ns};
}

static bool is_within(double ns, const struct prediction *time)
{
    return ns >= time->low_ns && ns <= time->high_ns;
}

/* Which of two takes less time is not known where the intervals overlap, if what they say is not
 * far apart for all that. What allocating takes is as wrong for one as for the other of a kind. */
static bool is_equal(const struct alloc_option *faster, const struct alloc_option *other)
{
    double least_ns = faster->median.time_ns, ns = other->median.time_ns;
    if (faster->place.memory == other->place.memory)
        return ns <= AS_LONG * least_ns;
    bool is_same_kind = faster->place.kind == other->place.kind;
    struct prediction a = is_same_kind ? of_use(faster) : faster->median,
                      b = is_same_kind ? of_use(other) : other->median;
    return b.low_ns <= a.high_ns &&
           (ns <= NEARLY * least_ns || (is_within(ns, &a) && is_within(least_ns, &b)));
}

static bool is_weighed_with(const struct alloc_option *x, const struct alloc_option *y,
                            int64_t bytes)
{
    return plan_alloc_is_short(x, bytes) == plan_alloc_is_short(y, bytes) &&
           plan_alloc_knowledge(x) == plan_alloc_knowledge(y);
}

/* Of options that take equally long within the error of their times, the nearest comes first. */
static void put_nearest_first(const struct snapshot *snap, int64_t bytes,
                              struct alloc_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        struct alloc_option *option = answer->option;
        size_t best = i, end = i + 1;
        for (; end < answer->count && is_weighed_with(&option[i], &option[end], bytes) &&
               is_equal(&option[i], &option[end]);
             end++)
            if (compare_nearness(&option[end], &option[best]) < 0)
                best = end;
        if (best == i)
            continue;
        struct alloc_option nearest = option[best];
        char more[48] = "";
        if (best - i > 1)
            snprintf(more, sizeof more, " (and %zu more that follow%s)", best - i - 1,
                     best - i == 2 ? "s" : "");
        if (i == 0)
            reasons_note(&answer->warnings,
                         "%s memory on %s takes as long as %s on %s%s within the error of both "
                         "times: it goes first, because it is nearer or plainer",
                         memkind_names[nearest.place.kind],
                         graph_place(snap->graph, nearest.place.memory)->name,
                         memkind_names[option[i].place.kind],
                         graph_place(snap->graph, option[i].place.memory)->name, more);
        memmove(&option[i + 1], &option[i], (best - i) * sizeof *option);
        option[i] = nearest;
    }
}

/* A gpu's own memory without any figure, in whatever kind, goes before other gpus' of which only
 * links tell. */
static void put_own_before_links(int64_t bytes, struct alloc_answer *answer)
{
    struct alloc_option *option = answer->option;
    size_t first = 0;
    while (first < answer->count &&
           (!option[first].by_links || option[first].is_own ||
            memkind_owner(&answer->node, option[first].place.memory) == PLACE_NONE))
        first++;
    for (size_t i = first + 1; i < answer->count; i++) {
        struct alloc_option own = option[i];
        if (!own.is_own || !isnan(time_of(&own)) ||
            plan_alloc_is_short(&own, bytes) != plan_alloc_is_short(&option[first], bytes))
            continue;
        memmove(&option[first + 1], &option[first], (i - first) * sizeof *option);
        option[first++] = own;
    }
}

void plan_alloc_order(const struct snapshot *snap, int64_t bytes, struct alloc_answer *answer)
{
    double nearest = INFINITY;
    for (size_t i = 0; i < answer->count; i++)
        nearest = fmin(nearest, answer->option[i].distance);
    for (size_t i = 0; i < answer->count; i++)
        answer->option[i].is_nearest = answer->option[i].distance <= nearest;
    qsort_r(answer->option, answer->count, sizeof *answer->option, compare_options, &bytes);
    put_nearest_first(snap, bytes, answer);
    put_own_before_links(bytes, answer);
}
