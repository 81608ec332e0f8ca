/**
 * Which of a berth's variables belong to which part of it.
 */
#pragma once
#include <stdbool.h>

/* Whether the variable is set or unset with these parts (enum berth_part). */
bool lib_apply_wants(const char *name, unsigned parts);

/* Whether a variable may be called so: letters, digits and _, no digit first. */
bool lib_apply_is_name(const char *name);
