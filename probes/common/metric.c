#include "common/metric.h"

#include <string.h>

static const struct {
    const char *name, *unit, *axes;
} metrics[PROBE_METRIC_COUNT] = {
#define X(id, name, unit, better, axes, about) {name, unit, axes},
#include "metrics.def"
#undef X
};

const char *probe_metric_name(enum probe_metric metric) { return metrics[metric].name; }

const char *probe_metric_unit(enum probe_metric metric) { return metrics[metric].unit; }

bool probe_metric_has_axis(enum probe_metric metric, const char *axis)
{
    size_t length = strlen(axis);
    for (const char *at = metrics[metric].axes; at != NULL && *at != '\0';
         at = strchr(at, ','), at += at != NULL)
        if (strncmp(at, axis, length) == 0 && at[length] == '=')
            return true;
    return false;
}
