/**
 * Equivalent tasks: of choices that only differ by them, the one with the lowest slots is enough.
 *
 * Tasks that can change places while all before them stay: the later one gets the higher slot
 * (J.-F. Puget, "Breaking symmetries in all different problems", IJCAI 2005). Not with slots in
 * order.
 */
#pragma once
#include "search/search.h"

#define SYMMETRY_TASKS 16 /* with more they count as different */

struct search_symmetry {
    uint64_t after[SYMMETRY_TASKS]; /* by task: those that get higher slots than it */
    bool are_tasks_equivalent;      /* all of them */
};

void plan_search_symmetry(const struct search_problem *problem, struct search_symmetry *ret);
