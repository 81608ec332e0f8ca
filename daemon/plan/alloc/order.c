/* The order of the options of Allocate: room, evidence, time, nearness, the plainest kind. */
#include <math.h>
#include <string.h>

#include "cost/policy.h"
#include "plan/alloc/work.h"

/* Returns how doubtful the time is: 0 not, 1 nominal and not the nearest, 2 a bound, 3 unknown. */
static int rank_of(const struct alloc_work *work, const struct alloc_option *option)
{
    if (isnan(option->order.time_ns))
        return 3;
    if (option->order.source == SOURCE_LOWER_BOUND)
        return 2;
    return option->order.source == SOURCE_NOMINAL && !(option->distance <= work->nearest);
}

/* Memory that is there at once comes before memory by a driver, and that before memory that moves.
 * Where gpus alone use memory that they have with a processor, their own runtime's comes first:
 * their figures are of such. */
static int plainness(const struct alloc_work *work, const struct alloc_option *option)
{
    static const int order[MEMKIND_COUNT] = {
        [MEMKIND_SYSTEM] = 0, [MEMKIND_PINNED] = 1, [MEMKIND_DEVICE] = 2, [MEMKIND_MANAGED] = 3};
    bool is_gpus =
        !work->has_cores && option->place.kind == MEMKIND_DEVICE && option->place.apu != PLACE_NONE;
    return is_gpus ? -1 : order[option->place.kind];
}

/* Compares room and evidence: more than 0 when b comes first. */
static int compare_evidence(const struct alloc_work *work, const struct alloc_option *a,
                            const struct alloc_option *b)
{
    int room = a->is_short - b->is_short;
    return room != 0 ? room : rank_of(work, a) - rank_of(work, b);
}

static double compare_same(const struct alloc_work *work, const struct alloc_option *a,
                           const struct alloc_option *b)
{
    if (a->distance != b->distance && !isnan(a->distance))
        return a->distance - b->distance;
    if (a->is_unsure != b->is_unsure)
        return a->is_unsure - b->is_unsure;
    int plain = plainness(work, a) - plainness(work, b);
    return plain != 0 ? plain : a->place.memory - b->place.memory;
}

/* Returns the option that comes first of those from index first on: the nearest of all that take as
 * long as the fastest with the best evidence. */
static size_t next_of(const struct alloc_work *work, size_t first)
{
    const struct alloc_option *option = work->answer.option, *fastest = &option[first];
    for (size_t i = first + 1; i < work->answer.count; i++) {
        int order = compare_evidence(work, &option[i], fastest);
        if (order < 0 || (order == 0 && option[i].order.time_ns < fastest->order.time_ns))
            fastest = &option[i];
    }
    const struct alloc_option *best = fastest;
    for (size_t i = first; i < work->answer.count; i++)
        if (compare_evidence(work, &option[i], fastest) == 0 &&
            !(option[i].order.time_ns > (1 + POLICY_SAME) * fastest->order.time_ns) &&
            compare_same(work, &option[i], best) < 0)
            best = &option[i];
    return (size_t)(best - option);
}

void plan_alloc_order(struct alloc_work *work)
{
    struct alloc_option *option = work->answer.option;
    work->nearest = INFINITY;
    for (size_t i = 0; i < work->answer.count; i++)
        work->nearest = fmin(work->nearest, option[i].distance);
    for (size_t i = 0; i < work->answer.count; i++) {
        size_t best = next_of(work, i);
        struct alloc_option first = option[best];
        memmove(&option[i + 1], &option[i], (best - i) * sizeof *option);
        option[i] = first;
    }
}
