/**
 * Slurm's notations for lists. Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define SLURM_LIST_NAME 256 /* bytes of a name, with its NUL */
#define SLURM_GPUS_MOST 256 /* of a node */

/* Passes each name of a list such as "/dev/nvidia[0-3,7],/dev/nvidia9" to add, in the list's order.
 * Leading zeros stay: node[01-10]. False when the list is malformed, a name is too long, a range is
 * wider than 65536, or add returns false. */
bool slurm_list_names(const char *list, bool (*add)(void *arg, const char *name), void *arg);

/* Sets *ret_has to true when the list has the name. False when slurm_list_names fails. */
bool slurm_list_has(const char *list, const char *name, bool *ret_has);

/* Numbers of a list such as "0-3,7", in its order. Returns their count; -1 when the list is
 * malformed or has more than most. */
int slurm_list_numbers(const char *list, int most, int *ret_numbers);
