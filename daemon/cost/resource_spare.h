/**
 * Capacities for so many users that the runs do not need: other limits, which were found later,
 * explain as much. Pure.
 */
#pragma once
#include "cost/resource_problem.h"

/* Takes them out of tables; one capacity of each limit stays. The runs' predictions stay as they
 * were, and what is reproduced stays so. */
void resource_spare(struct resource_problem *problem);
