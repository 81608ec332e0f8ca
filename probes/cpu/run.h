/* One run of the probe: buffers on every memory, then the cells in order within the budget. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "cpu/cells.h"
#include "cpu/report.h"

struct cpu_run_options {
    const char *root;
    struct cpu_selection selection;
    int64_t budget_ns;  /* budget of the whole run, from started_ns on */
    int64_t started_ns; /* time of the clock */
};

/* Status of the run's end, as in the end record. */
enum cpu_run_status {
    CPU_RUN_COMPLETE,
    CPU_RUN_BUDGET, /* cells were skipped for lack of time */
    CPU_RUN_FAILED, /* a thread is stuck or memory ran out: end the process immediately */
    CPU_RUN_GONE,   /* the reader of the record is gone */
};

/* Ends of the filling and of each phase, as shares of the budget. Phases without cells leave their
 * share to the filling. So one metric alone is not left out while most of the budget lies idle. */
struct cpu_run_shares {
    double fill_end, phase_end[CPU_PHASE_COUNT];
};

void cpu_run_shares(const struct cpu_cells *cells, struct cpu_run_shares *ret);

const char *cpu_run_status_name(enum cpu_run_status status);

/* Prints the run record, measures, and reports each cell once. why is set when it failed. */
enum cpu_run_status cpu_run(const struct cpu_topology *topology, const struct cpu_cells *cells,
                            const struct cpu_run_options *options, struct cpu_report *report,
                            struct probe_why *why);
