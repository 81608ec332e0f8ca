/* The metric table, schema/metrics.def, for the probes: names, units, axes. */
#pragma once
#include <stdbool.h>

enum probe_metric {
#define X(id, name, unit, better, axes, about) PROBE_##id,
#include "metrics.def"
#undef X
    PROBE_METRIC_COUNT
};

const char *probe_metric_name(enum probe_metric metric);
const char *probe_metric_unit(enum probe_metric metric);
bool probe_metric_has_axis(enum probe_metric metric, const char *axis);
