/**
 * Equivalent tasks and equivalent slots: of choices that only differ by them, the one with the
 * lowest slots is enough.
 *
 * Tasks that can change places while all before them stay: the later one gets the higher slot
 * (J.-F. Puget, "Breaking symmetries in all different problems", IJCAI 2005). Of slots that can
 * change places, the lowest free one is taken first. With slots in order neither is.
 */
#pragma once
#include "search/search.h"

#define SYMMETRY_TASKS 16 /* with more they count as different */

struct search_symmetry {
    uint64_t after[SYMMETRY_TASKS];         /* by task: those that get higher slots than it */
    bool are_tasks_equivalent;              /* all of them */
    unsigned char twin[SEARCH_EXACT_SLOTS]; /* by slot: the lowest that is equivalent, or itself */
};

/* False when out of memory. */
bool plan_search_symmetry(const struct search_problem *problem, struct search_symmetry *ret);
