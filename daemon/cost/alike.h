/**
 * Alike: transfers of one sort (mechanism, kinds and models of both ends, axes, where they come
 * from) that nothing known tells apart, because one time is within the intervals of all of them,
 * for few bytes and for many. Who has to choose between them takes one's numbers for all: what
 * cannot be told apart is no reason to prefer any.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/move.h"

/* For each of count moves, all measured or published, the one whose numbers stand for it, itself if
 * it is like no other: indices, in ret. False when out of memory. */
bool plan_alike(const struct snapshot *snap, const struct move *const *move, size_t count,
                uint32_t *ret);

/* The same of count numbers of one sort, each with its interval (NAN: none); room for count indices
 * in ret. False when out of memory. */
struct alike_number {
    double value, low, high;
};
bool plan_alike_numbers(const struct alike_number *number, size_t count, uint32_t *ret);

/* The move with the numbers of the one that stands for it: what it takes, and how far that
 * deviates. Its places, and the values that are cited for it, stay its own. */
void plan_alike_take(struct move *move, const struct move *other);
