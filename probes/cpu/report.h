/**
 * Output of results: records on standard output, or values kept for a person's tables.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/emit.h"
#include "common/record.h"
#include "common/stats.h"
#include "cpu/cells.h"

struct cpu_result {
    const struct cpu_cell *cell; /* borrowed */
    int64_t bytes;               /* bytes of this sample; 0: the cell is one value */
    struct probe_summary summary;
    char *why; /* NULL: measured */
};

/* The method used for pairs of cores, for the end record. */
struct cpu_report_method {
    /* pairs side by side at the end, 0: nothing was measured by this method */
    unsigned at_once;
    size_t verified;    /* pairs measured side by side and again alone */
    size_t differing;   /* pairs that differ alone, or were measured alone only */
    double worst_ratio; /* side by side over alone, farthest from 1 */
    int64_t elapsed_ns; /* total time, verification included */
};

struct cpu_report_pairs {
    struct cpu_report_method ways[2]; /* store, cas */
    /* pairs of llcs in which a second pair of cores checked the first; number of llc pairs whose
     * two pairs of cores differed */
    size_t llc_pairs, llc_differing;
    double llc_worst_ratio; /* the check over the first */
};

struct cpu_report {
    struct probe_out *out; /* NULL: keep */
    struct cpu_result *kept;
    size_t kept_count;
    size_t done, total;
    int64_t progress_ns; /* time of the last progress record */
    bool late;           /* cells were left out for lack of time */
    struct cpu_report_pairs pairs;
};

/* Axes that are not at their default, of a cell or of its sample of these bytes (0: of the
 * cell). */
struct probe_axes cpu_report_axes(const struct cpu_cell *cell, int64_t sample_bytes);

/* Reports a finished cell, measured or skipped. False when the reader is gone or memory runs
 * out. */
bool cpu_report_value(struct cpu_report *report, const struct cpu_cell *cell,
                      const struct probe_summary *summary);
/* Reports times for sizes, in nanoseconds. */
bool cpu_report_samples(struct cpu_report *report, const struct cpu_cell *cell,
                        const int64_t *bytes, const struct probe_summary *times, unsigned count);
bool cpu_report_skip(struct cpu_report *report, const struct cpu_cell *cell, const char *why);
/* Skips the cell with the why "time budget". */
bool cpu_report_late(struct cpu_report *report, const struct cpu_cell *cell);
/* Reports a metric without any cell: from and to are the whole machine. */
bool cpu_report_skip_metric(struct cpu_report *report, enum probe_metric metric, const char *why);

bool cpu_report_end(struct cpu_report *report, const char *status, int64_t elapsed_ns);
void cpu_report_done(struct cpu_report *report);

/* cpu/table.c: prints kept results for a person, one matrix for each metric and set of axes, with
 * the 95 % interval. False when out of memory. */
bool cpu_table_print(const struct cpu_report *report, FILE *file);
