/**
 * The process that started the tasks of a step, as visible in /proc.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/cpus.h"

struct lib_ancestor {
    pid_t pid;
    uint64_t start_ticks; /* field 22 of /proc/PID/stat */
    /* environment: texts that end with NUL, with an empty one at the end; NULL when not readable */
    char *variables;
    bool has_cpus; /* true when the affinity is known */
    struct lib_cpus cpus;
};

/* Finds the nearest ancestor whose environment lacks this variable with this value; the parent when
 * name is NULL. False when no ancestor is readable. The caller ends the result with
 * lib_ancestor_done. */
bool lib_ancestor_find(const char *name, const char *value, struct lib_ancestor *ret_ancestor);
void lib_ancestor_done(struct lib_ancestor *ancestor);

/* Value of a variable of the ancestor; NULL when it has none or its environment is not readable. */
const char *lib_ancestor_variable(const struct lib_ancestor *ancestor, const char *name);

/* Parent of any process, and name of its program. False when the process is not readable. */
bool lib_ancestor_parent(pid_t pid, pid_t *ret_parent);
bool lib_ancestor_name(pid_t pid, char *ret_name, size_t size);
