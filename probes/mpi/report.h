/**
 * The probe's output: records, or tables for a person. Only rank 0 prints; for the others each
 * function does nothing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/emit.h"
#include "common/record.h"
#include "common/table.h"
#include "mpi/ranks.h"

struct mpi_report {
    struct probe_out *out; /* NULL: tables, or another rank */
    bool is_table, is_late;
    int64_t begun_ns, budget_ns;
    size_t done, total; /* cells */
    struct probe_row *rows;
    size_t row_count;
};

/* Prints the run record, whose conditions have the library, the ranks and the network. */
void mpi_report_begin(struct mpi_report *report, const struct mpi_ranks *ranks);

/* Time for the next cell: an equal part of the rest; 0 when none is left. */
int64_t mpi_report_share(const struct mpi_report *report);

/* One cell with its sizes. */
struct mpi_result {
    enum probe_metric metric;
    const char *from, *to;
    struct probe_axes axes;
    const struct probe_sample *samples;
    size_t sample_count;
};

/* Prints the sizes that have an interval; the cell is skipped without one. Ends all ranks when the
 * reader is gone. */
void mpi_report_result(struct mpi_report *report, const struct mpi_result *result);

extern const char mpi_report_late[]; /* why: its time was over, which the end record tells */
void mpi_report_skip(struct mpi_report *report, const struct mpi_result *cell, const char *why);

/* Prints the end record, or the tables. */
bool mpi_report_end(struct mpi_report *report);
