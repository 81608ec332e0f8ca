/**
 * Parts of a berth, and the variables that belong to each.
 */
#pragma once
#include <stdbool.h>

/* True when the variable is set or unset with these parts (enum berth_part). */
bool lib_apply_includes(const char *name, unsigned parts);

#define LIB_APPLY_MARK_SIZE 64

/* Gives the mark of a variable that chooses a nic; NULL for any other variable. The mark is a
 * second variable that berth sets to the same value. berth sets the pair only when the variable is
 * not set or equals its mark. A value of the user or the site, even an empty one, therefore stays.
 * A value that berth set for an ancestor of this task may be replaced. */
const char *lib_apply_mark(const char *name, char mark[LIB_APPLY_MARK_SIZE]);

/* True when the variable may be set. Both arguments are the present values; NULL none. */
bool lib_apply_is_free(const char *value, const char *marked);

/* True for a valid variable name: letters, digits and _, no digit first. */
bool lib_apply_is_name(const char *name);
