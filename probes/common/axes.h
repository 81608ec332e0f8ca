/* The axes of a measurement that are not at their default: pairs of key and value, in the record's
 * form. */
#pragma once
#include <stddef.h>

#include "common/emit.h"

#define PROBE_AXES_MAX 8

struct probe_axes {
    char text[2 * PROBE_AXES_MAX][24]; /* key, value, key, value, ... */
    size_t count;                      /* pairs */
};

/* Adds an axis. There is room for PROBE_AXES_MAX; more are a mistake of the program. */
void probe_axes_add(struct probe_axes *axes, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints the object "axes" of a record. */
void probe_axes_print(const struct probe_axes *axes, struct probe_line *line);
