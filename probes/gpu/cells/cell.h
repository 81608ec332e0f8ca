/**
 * A cell: one measurement of a run of the GPU probe. The files of this folder list groups of cells,
 * each with the function that measures it. So the run does not depend on the kinds of cells.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/metric.h"
#include "common/record.h"

enum gpu_profile { GPU_QUICK, GPU_FULL };

/* Phases share the time of a run, in this order. */
enum gpu_phase {
    GPU_PHASE_VERIFY, /* the bytes of every path, once */
    GPU_PHASE_TUNE,   /* launch shapes, or whether the known ones still have their rates */
    GPU_PHASE_RATES,  /* host and peer copies, HBM: needed by every answer */
    GPU_PHASE_SETS,   /* concurrent flows */
    GPU_PHASE_LATENCY,
    GPU_PHASE_CURVES, /* more sizes */
    GPU_PHASE_DETAIL, /* the rest of the full profile */
    GPU_PHASE_COUNT
};

struct gpu_run; /* gpu/cells/run.h: node, trial, buffers, report, selection, budget */
struct gpu_cell;

/* Measures the cell and reports its values, or why there are none, by gpu/cells/report.h or
 * gpu/cells/run.h. Values have the axes that the cell's axes gives. False ends the run: the reader
 * is gone or the device lost. */
typedef bool (*gpu_measure)(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns);
/* Axes of the cell, also for one that is left out. */
typedef struct probe_axes (*gpu_axes)(const struct gpu_cell *cell);

/* Flows of a set, also for one that is left out: gives their ends, at most GPU_CELL_FLOWS_MAX, and
 * returns their number. */
#define GPU_CELL_FLOWS_MAX 128
typedef size_t (*gpu_flows_of)(const struct gpu_run *run, const struct gpu_cell *cell,
                               int (*ret_ends)[2]);

struct gpu_cell {
    enum probe_metric metric;
    enum gpu_phase phase;
    int rank; /* order within the phase, lower first */
    /* devices of the node, or GPU_PLACE_NUMA(index of a NUMA node), or GPU_PLACE_NONE */
    int from, to;
    gpu_measure measure;
    gpu_axes axes;      /* NULL: none */
    gpu_flows_of flows; /* NULL: it is no set */
    /* adds to the value of another cell, as a curve does: left out without a record */
    bool is_more;
    /* its end is searched in steps, so its legs are long at any rate of the others */
    bool is_stepped;
    /* another cell represents it: without it the run is still complete */
    bool is_spare;
    int variant; /* private to measure: a mechanism, an operation, a kind */
    int64_t bytes;
    const void *more; /* borrowed by the cell from its list; NULL */
};
