/**
 * The conditions of a measurement besides its places: kernel, CPU, clocks, page sizes. No host name
 * and no user. An unreadable value is null; a last text gives the reason for each key.
 */
#pragma once
#include <stddef.h>

#include "common/emit.h"

#define PROBE_CONDITIONS_UNKNOWN 32

struct probe_conditions {
    const char *root;        /* folder of /sys and /proc */
    struct probe_line *line; /* an object is open in it */
    struct {
        const char *key;
        char why[96];
    } not_known[PROBE_CONDITIONS_UNKNOWN];
    size_t not_known_count;
};

/* Begins the conditions. Both arguments are borrowed until the end. */
void probe_conditions_begin(struct probe_conditions *conditions, const char *root,
                            struct probe_line *line);

/* Prints the machine's conditions. */
void probe_conditions_print(struct probe_conditions *conditions);

/* Prints the load of the machine's CPUs in the last minute. In words: numbers would give each run a
 * conditions text of its own. */
void probe_conditions_load(struct probe_conditions *conditions);

/* Prints an unknown condition: null, with the reason for the end. The key is borrowed until the
 * end. */
void probe_conditions_unknown(struct probe_conditions *conditions, const char *key,
                              const char *why);

/* Reason that a file of the kernel could not be read, by errno. */
const char *probe_conditions_no_file(int error);

/* Prints the unknown keys and their reasons under this key: "governor, boost: the kernel does not
 * show it; ...". Prints nothing when all are known. */
void probe_conditions_end(struct probe_conditions *conditions, const char *key);
