/**
 * One line for all tasks of a step on this node that would say the same.
 */
#pragma once
#include <stdbool.h>

/* Whether this task is to say the line: none that the same process has started, which name and value tell as for lib_ancestor_find, has said it within the last minute. step: what the
 * launcher calls the step, NULL nothing. True where it cannot be known. The tasks meet in a page of memory below folder, /dev/shm as a rule, that is this user's alone. */
bool exec_once(const char *folder, const char *name, const char *value, const char *step, const char *line);
