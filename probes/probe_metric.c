#include "probe_metric.h"

static const struct {
    const char *name, *unit;
} metrics[PROBE_METRIC_COUNT] = {
#define X(id, name, unit, better, axes, about) {name, unit},
#include "metrics.def"
#undef X
};

const char *probe_metric_name(enum probe_metric metric) { return metrics[metric].name; }

const char *probe_metric_unit(enum probe_metric metric) { return metrics[metric].unit; }
