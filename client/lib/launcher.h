/**
 * What other parts of the library need of the launchers' table.
 */
#pragma once
#include "lib/lib.h"

#define LIB_TASKS_MAX (1 << 20) /* of one node */

/* The variable that has another value in every task of the launcher's step; NULL when there is no
 * launcher. */
const char *lib_launcher_rank_name(const struct berth_launcher *launcher);
