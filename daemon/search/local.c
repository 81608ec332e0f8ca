/*
 * Local search: a gpu moves to a slot with room, or two gpus change places. First by the
 * bound of a choice, then, from the best of all starts, by price.
 *
 * The first is annealed by the sum of the sixth powers of all flows' times alone and all resources'
 * times: near the greatest of them, but every improvement counts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/work.h"

#define SEED        UINT64_C(0x9e3779b97f4a7c15)
#define HOT         0.05 /* of the power that a start has */
#define COLD        1e-5
#define SUM_WEIGHT  1e-4 /* beside the powers, so that equals are told apart */
#define FAR_WEIGHT  1e-7
#define LACK_WEIGHT 1e100 /* what has no time, and a task without room, are worse than any time */
#define OVER_WEIGHT 1e200

static uint64_t next(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    return *random ^= *random << 17;
}

static int compare_slots(const void *a, const void *b)
{
    uint16_t x = *(const uint16_t *)a, y = *(const uint16_t *)b;
    return (x > y) - (x < y);
}

/* Moves the gpu to that slot, or has it change places with one there; false where neither is
 * another choice. */
static bool change(const struct search_work *work, uint16_t *slot, size_t gpu, uint16_t to)
{
    size_t each = work->problem->each, here = 0, there = 0, other = SIZE_MAX;
    uint16_t from = slot[gpu];
    bool in_order = work->problem->in_order;
    if (from == to)
        return false;
    for (size_t b = 0; b < work->gpus; b++) {
        here += slot[b] == from;
        there += slot[b] == to;
        if (slot[b] == to && b / each != gpu / each)
            other = b;
    }
    bool has_room = there + 1 == work->fullest && here == work->fullest;
    if (!has_room && (in_order || other == SIZE_MAX))
        return false;
    slot[gpu] = to;
    if (!has_room)
        slot[other] = from;
    for (size_t b = 0; b < work->gpus && (in_order || each > 1); b += in_order ? work->gpus : each)
        qsort(slot + b, in_order ? work->gpus : each, sizeof *slot, compare_slots);
    return true;
}

static double sixth(double x)
{
    double square = x * x;
    return square * square * square;
}

static double weight_of(const struct search_work *work, const uint16_t *slot)
{
    const struct search_problem *problem = work->problem;
    struct search_partial all = plan_search_work_bound(work, slot);
    double scale = 1 / fmax(work->result.cost.time_ns, 1e-3), power = 0;
    for (size_t f = 0; f < problem->flow_count; f++) {
        const struct search_flow *flow = &problem->flow[f];
        const struct search_arc *arc = plan_search_work_arc(problem, flow, slot);
        power += sixth((arc->alone_ns + flow->turn * arc->launch_ns) * scale);
    }
    for (size_t r = 0; r < problem->resources; r++)
        power += sixth(all.load[r] * scale);
    return power + SUM_WEIGHT * all.cost.sum_ns * scale +
           FAR_WEIGHT * (all.cost.apart + all.cost.far) + LACK_WEIGHT * all.cost.lack +
           OVER_WEIGHT * (double)all.cost.over;
}

/* From the choice in now, where the best found is left; other and best have room for one. */
static void anneal(const struct search_work *work, size_t steps, uint64_t *random, uint16_t *now,
                   uint16_t *other, uint16_t *best)
{
    size_t size = work->gpus * sizeof *now;
    double weight = weight_of(work, now), least = weight, heat = HOT * weight,
           cooling = pow(COLD / HOT, 1.0 / (double)(steps + 1));
    memcpy(best, now, size);
    for (size_t step = 0; step < steps; step++) {
        size_t gpu = next(random) % work->gpus;
        heat *= cooling;
        memcpy(other, now, size);
        if (!change(work, other, gpu, (uint16_t)(next(random) % work->problem->slots)))
            continue;
        double then = weight_of(work, other), chance = ((double)(next(random) >> 11) + 1) * 0x1p-53;
        if (then - weight > -heat * log(chance))
            continue;
        memcpy(now, other, size);
        weight = then;
        if (weight < least * (1 - SEARCH_SAME)) {
            least = weight;
            memcpy(best, now, size);
        }
    }
    memcpy(now, best, size);
}

/* Every change of the best, again from there when one is better, while prices are left. */
static void polish(struct search_work *work, uint64_t prices, uint16_t *other)
{
    size_t slots = work->problem->slots, all = work->gpus * slots;
    uint64_t last = work->result.priced + prices;
    for (size_t i = 0, tried = 0; tried < all && work->result.priced < last; i++, tried++) {
        memcpy(other, work->best, work->gpus * sizeof *other);
        if (!change(work, other, i / slots % work->gpus, (uint16_t)(i % slots)))
            continue;
        struct search_cost bound = plan_search_work_bound(work, other).cost;
        if (plan_search_work_compare(&bound, &work->result.cost) < 0 &&
            plan_search_work_try(work, other) < 0)
            tried = 0;
    }
}

bool plan_search_local(struct search_work *work, unsigned starts, size_t steps, size_t prices)
{
    size_t slots = work->problem->slots, gpus = work->gpus;
    if (gpus == 0 || slots == 0)
        return true;
    uint64_t random = SEED;
    uint16_t *now = calloc(3 * work->gpus + 1, sizeof *now), *other = now + work->gpus;
    for (unsigned start = 0; now != NULL && start < starts; start++) {
        plan_search_in_order(work->problem->slots, work->gpus, now);
        for (size_t i = 0; start > 0 && i < 4 * work->gpus; i++) {
            size_t gpu = next(&random) % gpus;
            change(work, now, gpu, (uint16_t)(next(&random) % slots));
        }
        anneal(work, steps, &random, now, other, other + work->gpus);
        plan_search_work_try(work, now);
    }
    if (now != NULL)
        polish(work, prices, other);
    free(now);
    return now != NULL;
}
