/**
 * One copy of a line that all tasks of a step on this node would print.
 */
#pragma once

enum lib_once {
    LIB_ONCE_FIRST,   /* this task prints the line; the others will not */
    LIB_ONCE_PRINTED, /* another task has printed it */
    LIB_ONCE_UNKNOWN  /* this task prints it and others may too: no common ancestor or page found */
};

/* Decides which task prints the line: the first one within a minute. The tasks are those that one
 * process has started; name and value identify them as for lib_ancestor_find. step: the launcher's
 * name of the step, NULL none. The tasks share a page of memory below folder, normally /dev/shm,
 * that belongs to this user alone. */
enum lib_once lib_once(const char *folder, const char *name, const char *value, const char *step,
                       const char *line);
