/**
 * One line for all tasks of a step on this node that would say the same.
 */
#pragma once

enum lib_once {
    LIB_ONCE_FIRST,  /* this task says the line, and the others will not */
    LIB_ONCE_SAID,   /* another one has */
    LIB_ONCE_UNKNOWN /* this task says it, and so may each other one: there is nowhere to meet */
};

/* Whether this task is to say the line: whether another one that the same process has started,
 * which name and value tell as for lib_ancestor_find, has said it within the last minute. step:
 * what the launcher calls the step, NULL nothing. The tasks meet in a page of memory below folder,
 * /dev/shm as a rule, that is this user's alone. */
enum lib_once lib_once(const char *folder, const char *name, const char *value, const char *step,
                       const char *line);
