/* Output of the results of GPU cells: records on standard output, or rows of tables for a person.
 * Every cell is reported once, as a value, samples, a set or a skip. A cell with a value and
 * samples reports both. All functions are false when the reader is gone or memory runs out. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/emit.h"
#include "common/metric.h"
#include "common/record.h"
#include "common/stats.h"
#include "common/table.h"
#include "gpu/driver/node.h"
#include "gpu/timing/curve.h"

struct gpu_report {
    struct probe_out *out; /* NULL: keep rows */
    struct probe_row *rows;
    size_t row_count;
    /* an axis and its value for all measurements in this process's environment; NULL: none */
    const char *variant[2];
    size_t done, total;  /* cells */
    size_t paths, wrong; /* paths whose bytes were compared; number with wrong bytes */
    bool late;           /* cells were left out for lack of time */
};

/* Name of a place in records: a device's PCI address, "numaN" of the operating system, "machine0"
 * for GPU_PLACE_NONE. Places are numbered as in gpu/driver/node.h. */
void gpu_report_place(const struct gpu_node *node, int place, char *ret_name, size_t size);

/* Announces a cell before it starts, so that a watchdog can name a hung one. Prints a progress
 * record with the key "cell", in the form of gpu_run_cell. */
bool gpu_report_begin(struct gpu_report *report, const char *cell);

/* The series that a report belongs to. from and to are places, as in gpu/driver/node.h. */
struct gpu_report_series {
    enum probe_metric metric;
    int from, to;
    const struct probe_axes *axes;
};

/* Reports a value in the metric's unit. */
bool gpu_report_value(struct gpu_report *report, const struct gpu_node *node,
                      const struct gpu_report_series *series, const struct probe_summary *value);

/* Times of one operation, queued back to back, by size in ascending order. */
bool gpu_report_samples(struct gpu_report *report, const struct gpu_node *node,
                        const struct gpu_report_series *series, const struct probe_sample *samples,
                        size_t count, const struct gpu_starts *starts);
struct gpu_report_flow {
    int from, to;
    struct probe_summary bytes_per_s;
};
bool gpu_report_set(struct gpu_report *report, const struct gpu_node *node,
                    enum probe_metric metric, const struct probe_axes *axes,
                    const struct gpu_report_flow *flows, size_t count);
bool gpu_report_skip(struct gpu_report *report, const struct gpu_node *node,
                     const struct gpu_report_series *series, const char *why);
/* Reports why a set was not measured. */
bool gpu_report_skip_set(struct gpu_report *report, const struct gpu_node *node,
                         const struct gpu_report_series *series, const int (*ends)[2], size_t count,
                         const char *why);

/* Reports a fault of the machine: code is wrong-bytes or gpu-lost. */
bool gpu_report_finding(struct gpu_report *report, const struct gpu_node *node, const char *code,
                        int from, int to, const char *why);

/* The tables, when out is NULL. */
bool gpu_report_print(struct gpu_report *report, FILE *file);
void gpu_report_done(struct gpu_report *report);
