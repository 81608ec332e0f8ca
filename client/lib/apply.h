/**
 * Which of a berth's variables belong to which part of it.
 */
#pragma once
#include <stdbool.h>

/* Whether the variable is set or unset with these parts (enum berth_part). */
bool lib_apply_wants(const char *name, unsigned parts);

#define LIB_APPLY_MARK_SIZE 64

/* Of a variable that chooses a nic: the one that berth sets beside it to the same value. Such a
 * variable is set only where it is not, or both have the same value: what a user or a site has set,
 * be it to nothing, stays as it is, and what berth has set for a task of which this one descends is
 * this task's own to set. NULL: it is none of these. */
const char *lib_apply_mark(const char *name, char mark[LIB_APPLY_MARK_SIZE]);

/* Whether it may be set: values as they are now, NULL none. */
bool lib_apply_is_free(const char *value, const char *marked);

/* Whether a variable may be called so: letters, digits and _, no digit first. */
bool lib_apply_is_name(const char *name);
