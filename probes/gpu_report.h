/* Where the results of GPU cells go: records on standard output. Every cell is reported once, as a value, samples or a skip. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_trial.h"
#include "probe_emit.h"
#include "probe_metric.h"
#include "probe_stats.h"

/* Axes that are not at their default: pairs of key and value, "how", "read", "bytes", "4096", NULL. */
#define GPU_AXES_MAX 8
struct gpu_axes {
    char text[2 * GPU_AXES_MAX][24];
    size_t count; /* pairs */
};
void gpu_axes_add(struct gpu_axes *axes, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));

struct gpu_sample {
    uint64_t bytes;
    struct probe_summary time; /* ns of one operation, queued back to back */
};

struct gpu_report {
    struct probe_out *out;
    size_t done, total;
    int64_t progress_ns;
    bool late; /* cells were left out for want of time */
};

/* The name of a place as the record says it: a device's PCI address, "numaN" of the operating system, "machine" for GPU_CELL_NONE. */
void gpu_report_place(const struct gpu_node *node, int place, char *ret_name, size_t size);

/* False when the reader is gone. times of ns become what the metric is: a rate metric's value is bytes over time. */
bool gpu_report_value(struct gpu_report *report, const struct gpu_node *node, enum probe_metric metric, int from, int to, const struct gpu_axes *axes,
                      const struct probe_summary *value);
bool gpu_report_samples(struct gpu_report *report, const struct gpu_node *node, enum probe_metric metric, int from, int to, const struct gpu_axes *axes,
                        const struct gpu_sample *samples, size_t count, double t0_call_ns, double t0_queue_ns); /* NAN: not known */
struct gpu_report_flow {
    int from, to;
    struct probe_summary bytes_per_s;
};
bool gpu_report_set(struct gpu_report *report, const struct gpu_node *node, enum probe_metric metric, const struct gpu_axes *axes,
                    const struct gpu_report_flow *flows, size_t count);
bool gpu_report_skip(struct gpu_report *report, const struct gpu_node *node, enum probe_metric metric, int from, int to, const struct gpu_axes *axes,
                     const char *why);
/* Before a cell: what is being measured, so that a watchdog can name what hung. Each call is a progress record. */
bool gpu_report_begin(struct gpu_report *report, const struct gpu_node *node, enum probe_metric metric, int from, int to);
