/**
 * The process that started the tasks of a step, as far as it shows itself in /proc.
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
    /* its environment: texts that end with NUL, an empty one at the end; NULL when it does not
     * show it */
    char *variables;
    bool has_cpus; /* its affinity is known */
    struct lib_cpus cpus;
};

/* The nearest ancestor whose environment does not have this variable with this value; the parent
 * when name is NULL. False when none shows itself. The caller ends it with lib_ancestor_done. */
bool lib_ancestor_find(const char *name, const char *value, struct lib_ancestor *ret_ancestor);
void lib_ancestor_done(struct lib_ancestor *ancestor);

/* The value of a variable of its, NULL when it has none or does not show them. */
const char *lib_ancestor_variable(const struct lib_ancestor *ancestor, const char *name);

/* Of any process: its parent, and the name of its program. False when it does not show itself. */
bool lib_ancestor_parent(pid_t pid, pid_t *ret_parent);
bool lib_ancestor_name(pid_t pid, char *ret_name, size_t size);
