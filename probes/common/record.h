/* The common parts of the records of all probes: docs/RECORD.md has the whole. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/emit.h"
#include "common/metric.h"
#include "common/stats.h"

/* The axes of a measurement that are not at their default. */
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

/* Times of one operation of this size. */
struct probe_sample {
    int64_t bytes;
    struct probe_summary ns;
};

/* Begins a record of a measurement, done or not, between two places, up to its axes. */
void probe_record_begin(struct probe_line *line, const char *record, enum probe_metric metric,
                        const char *from, const char *to, const struct probe_axes *axes);

/* Prints "value", and "low", "high" and "n" where they are known. */
void probe_record_value(struct probe_line *line, const struct probe_summary *summary);

/* Prints one element of the list "samples". */
void probe_record_sample(struct probe_line *line, const struct probe_sample *sample);

void probe_record_progress(struct probe_line *line, size_t done, size_t total);

/* Converts a sample's time to a metric of bytes per second. */
struct probe_summary probe_record_rate(const struct probe_sample *sample);
