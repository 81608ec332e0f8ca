/**
 * Folder client/lib/task: this process as a task of a parallel step: its launcher, the part that
 *   the launcher bound to it, its berth, and the application of a berth. Part of libberth.
 *
 * Main types: struct berth_launcher, struct berth_step, struct berth_taken (lib/berth.h).
 * Uses: lib
 * Public headers: ancestor.h apply.h hwloc_file.h local_ranks.h merged_berth.h slurm_gpus.h
 *   slurm_list.h slurm_visible.h step_printer.h take_plan.h task.h
 * Shown by: tests/unit/lib/task, tests/system/exec.sh
 *
 * Declarations that the parts share. None is exported.
 */
#pragma once
#include <stdbool.h>

#include "lib/berth.h"

/* lib/task/launcher.c */
#define LIB_TASKS_MAX (1 << 20) /* tasks of one node */

/* Name of a variable that differs in every task here of the step; NULL without a launcher. */
const char *lib_launcher_rank_name(const struct berth_launcher *launcher);

/* True for launchers of PyTorch's workers: each node's ranks are consecutive, and a worker takes
 * the gpu with its number on the node. */
bool lib_launcher_is_pytorchs(const struct berth_launcher *launcher);
