/* The metric table, schema/metrics.def, as C. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum metric {
#define X(id, name, unit, better, axes, about) METRIC_##id,
#include "metrics.def"
#undef X
    METRIC_COUNT
};

struct metric_info {
    const char *name, *unit, *axes, *about;
    bool higher_is_better;
};

const struct metric_info *metric_info(enum metric metric);

/* False when there is no metric of that name. */
bool metric_parse(const char *name, enum metric *ret_metric);

/* True for metrics between two places that differ; cpu_pingpong also goes between the two threads
 * of one core. */
bool metric_is_between(enum metric metric);

/* Writes the default value of an axis to buffer, "store" for operation of cpu_pingpong, and returns
 * it. NULL when the metric has no such axis. */
const char *metric_axis_default(enum metric metric, const char *axis, char *buffer, size_t size);
