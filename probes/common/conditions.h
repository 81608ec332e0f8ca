/**
 * What a measurement depends on besides the places: kernel, CPU, clocks, page sizes. Never who or
 * where: no host name. What cannot be read is null, and a last text says why, key by key.
 */
#pragma once
#include <stddef.h>

#include "common/emit.h"

#define PROBE_CONDITIONS_UNKNOWN 32

struct probe_conditions {
    const char *root;        /* where /sys and /proc are */
    struct probe_line *line; /* an object is open in it */
    struct {
        const char *key;
        char why[96];
    } not_known[PROBE_CONDITIONS_UNKNOWN];
    size_t not_known_count;
};

/* Both are borrowed until the end. */
void probe_conditions_begin(struct probe_conditions *conditions, const char *root,
                            struct probe_line *line);

/* Those of the machine. */
void probe_conditions_print(struct probe_conditions *conditions);

/* How busy the machine's CPUs were in the last minute: in words, because numbers would make each
 * run's conditions a text of their own. */
void probe_conditions_load(struct probe_conditions *conditions);

/* One that is not known: null, and why. The key is borrowed until the end. */
void probe_conditions_unknown(struct probe_conditions *conditions, const char *key,
                              const char *why);

/* Why a file of the kernel could not be read, by errno. */
const char *probe_conditions_no_file(int error);

/* What was not known, under this key: "governor, boost: the kernel does not show it; ...". Nothing
 * when all was. */
void probe_conditions_end(struct probe_conditions *conditions, const char *key);
