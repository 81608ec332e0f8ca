/**
 * Slots that nothing tells apart: ways to rename the slots of a problem that leave every flow's
 * time, every resource and every distance as it is. Of a choice and those that it becomes by
 * renaming, the one with the lowest numbers is enough. For at most SEARCH_EXACT_SLOTS slots.
 *
 * Pure.
 */
#pragma once
#include "search/search.h"

#define ALIKE_MAX 64 /* renamings that are looked for: fewer merge less and are as right */

/* Bit i is about renaming i. */
struct search_alike {
    size_t count;
    uint64_t lowers[SEARCH_EXACT_SLOTS]; /* by slot: those that give it a lower number */
    uint64_t keeps[SEARCH_EXACT_SLOTS];  /* those that leave it where it is */
};

/* False when out of memory. */
bool plan_search_alike(const struct search_problem *problem, struct search_alike *ret);
