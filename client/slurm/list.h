/**
 * Slurm's ways to write lists. Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define SLURM_LIST_NAME 256 /* bytes of a name, with its NUL */

/* Hands each name of a list such as "/dev/nvidia[0-3,7],/dev/nvidia9" to add, in the list's order;
 * leading zeros stay: node[01-10]. False when the list is malformed, a name is too long, a range is
 * wider than 65536, or add says so. */
bool slurm_list_names(const char *list, bool (*add)(void *arg, const char *name), void *arg);

/* Whether a name is among them. False where slurm_list_names is. */
bool slurm_list_has(const char *list, const char *name, bool *ret_has);

/* The numbers of a list such as "0-3,7" in its order; how many, -1 when it is malformed or has more
 * than most. */
int slurm_list_numbers(const char *list, int most, int *ret_numbers);
