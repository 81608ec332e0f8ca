/* The common parts of the records of all probes: docs/RECORD.md has the whole. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/axes.h"
#include "common/emit.h"
#include "common/metric.h"
#include "common/stats.h"

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
