/**
 * Where results go: as records on standard output, or kept for tables when a person asked for those.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu_cells.h"
#include "probe_emit.h"
#include "probe_stats.h"

struct cpu_result {
    const struct cpu_cell *cell; /* borrowed */
    struct probe_summary summary;
    char *why; /* NULL: measured */
};

struct cpu_report {
    struct probe_out *out; /* NULL: keep */
    struct cpu_result *kept;
    size_t kept_count;
    size_t done, total;
    int64_t progress_ns; /* when it was last printed */
};

/* The axes of a cell that are not at their default, as keys and values: text[2i], text[2i+1]. */
struct cpu_axes {
    char text[8][24];
    size_t count; /* pairs */
};

struct cpu_axes cpu_report_axes(const struct cpu_cell *cell);

/* One more cell is done, measured or skipped. False when the reader is gone or memory runs out. */
bool cpu_report_value(struct cpu_report *report, const struct cpu_cell *cell, const struct probe_summary *summary);
bool cpu_report_skip(struct cpu_report *report, const struct cpu_cell *cell, const char *why);
/* A metric that has no cell at all: from and to are the whole machine. */
bool cpu_report_skip_metric(struct cpu_report *report, enum probe_metric metric, const char *why);

bool cpu_report_end(struct cpu_report *report, const char *status, int64_t elapsed_ns);
void cpu_report_done(struct cpu_report *report);
