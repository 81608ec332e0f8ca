#include "node/metric.h"

#include <assert.h>
#include <string.h>

enum { LOWER, HIGHER };

static const struct metric_info infos[METRIC_COUNT] = {
#define X(id, name, unit, better, axes, about)                                                     \
    [METRIC_##id] = {name, unit, axes, about, (better) == HIGHER},
#include "metrics.def"
#undef X
};

const struct metric_info *metric_info(enum metric metric)
{
    assert((unsigned)metric < METRIC_COUNT);
    return &infos[metric];
}

bool metric_parse(const char *name, enum metric *ret_metric)
{
    for (int m = 0; m < METRIC_COUNT; m++)
        if (strcmp(infos[m].name, name) == 0) {
            *ret_metric = (enum metric)m;
            return true;
        }
    return false;
}

bool metric_is_between(enum metric metric)
{
    switch (metric) {
    case METRIC_CPU_PINGPONG:
    case METRIC_CPU_COPY:
    case METRIC_CPU_QUEUE:
    case METRIC_HOST_GPU_COPY_ENGINE:
    case METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT:
    case METRIC_HOST_GPU_KERNEL:
    case METRIC_HOST_GPU_KERNEL_CONCURRENT:
    case METRIC_GPU_GPU_COPY_ENGINE:
    case METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT:
    case METRIC_GPU_GPU_KERNEL:
    case METRIC_GPU_GPU_KERNEL_CONCURRENT:
    case METRIC_GPU_PINGPONG:
    case METRIC_MPI_LATENCY:
    case METRIC_MPI_BANDWIDTH:
        return true;
    default:
        return false;
    }
}

const char *metric_axis_default(enum metric metric, const char *axis, char *buffer, size_t size)
{
    size_t length = strlen(axis);
    for (const char *c = metric_info(metric)->axes; *c != '\0';) {
        size_t end = strcspn(c, ",");
        if (end > length && c[length] == '=' && memcmp(c, axis, length) == 0) {
            size_t used = end - length - 1;
            if (used >= size)
                used = size - 1;
            memcpy(buffer, c + length + 1, used);
            buffer[used] = '\0';
            return buffer;
        }
        c += end + (c[end] == ',');
    }
    return NULL;
}
