/**
 * Equivalent tasks and equivalent slots: of choices that only differ by them, the one with the
 * lowest slots is enough.
 *
 * Tasks that can change places while all before them stay: the later one gets the higher slot
 * (J.-F. Puget, "Breaking symmetries in all different problems", IJCAI 2005). Slots: one is not
 * tried when a renaming that keeps those taken so far gives it a lower number (T. Kelsey et al.,
 * "GE-tree", 2004). With slots in order renaming would break the order; with several slots a task
 * they are not renamed.
 */
#pragma once
#include "search/search.h"

#define SYMMETRY_TASKS 16 /* with more they count as different */

struct search_symmetry {
    uint64_t after[SYMMETRY_TASKS]; /* by task: those that get higher slots than it */
    bool are_tasks_equivalent;      /* all of them */
    /* by slot, bit i for renaming i: it gives the slot a lower number; it leaves it */
    uint64_t lowers[SEARCH_EXACT_SLOTS], keeps[SEARCH_EXACT_SLOTS];
};

/* False when out of memory. */
bool plan_search_symmetry(const struct search_problem *problem, struct search_symmetry *ret);
