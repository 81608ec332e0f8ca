/**
 * Parts of the launchers' table that the rest of the library uses.
 */
#pragma once
#include "lib/lib.h"

#define LIB_TASKS_MAX (1 << 20) /* tasks of one node */

/* Name of the variable that differs in every task of the launcher's step; NULL without a launcher.
 */
const char *lib_launcher_rank_name(const struct berth_launcher *launcher);
