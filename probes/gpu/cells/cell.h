/**
 * One thing that a run of the GPU probe measures. Groups of cells are listed by the files of this
 * folder, each with the function that measures it, so that the run needs to know nothing of what
 * they are.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/axes.h"
#include "common/metric.h"

enum gpu_profile { GPU_QUICK, GPU_FULL };

/* Phases share the time of a run, in this order. */
enum gpu_phase {
    GPU_PHASE_VERIFY, /* the bytes of every path, once */
    GPU_PHASE_TUNE,   /* launch shapes, when none are known for this model and driver */
    GPU_PHASE_RATES,  /* host and peer copies, HBM: what every answer needs */
    GPU_PHASE_SETS,   /* concurrent flows */
    GPU_PHASE_LATENCY,
    GPU_PHASE_CURVES, /* more sizes */
    GPU_PHASE_DETAIL, /* the rest of the full profile */
    GPU_PHASE_COUNT
};

struct gpu_run; /* gpu/cells/run.h: node, trial, buffers, report, wanted, budget */
struct gpu_cell;

/* Measures the cell and reports its values, or why there are none, by gpu/cells/report.h or
 * gpu/cells/run.h, with the axes that the cell's axes gives. False ends the run: the reader is gone
 * or the device lost. */
typedef bool (*gpu_measure)(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns);
/* So that a cell that is left out says so as well. */
typedef struct probe_axes (*gpu_axes)(const struct gpu_cell *cell);

/* Which flows a cell is a set of, so that one that is left out says it: gives their ends, at most
 * GPU_CELL_FLOWS_MAX, and how many. */
#define GPU_CELL_FLOWS_MAX 128
typedef size_t (*gpu_flows_of)(const struct gpu_run *run, const struct gpu_cell *cell,
                               int (*ret_ends)[2]);

struct gpu_cell {
    enum probe_metric metric;
    enum gpu_phase phase;
    int rank; /* within the phase, lower comes first */
    /* devices of the node, or GPU_PLACE_NUMA(index of a NUMA node), or GPU_PLACE_NONE */
    int from, to;
    gpu_measure measure;
    gpu_axes axes;      /* NULL: none */
    gpu_flows_of flows; /* NULL: it is no set */
    /* of what another cell has the value of, as a curve is: left out without a word */
    bool is_more;
    /* its end is looked for in steps, so that its legs are long whatever others have */
    bool is_stepped;
    /* another cell stands for it: left out for time, the run is complete all the same */
    bool is_spare;
    int variant; /* what measure makes of it: a mechanism, an operation, a kind */
    int64_t bytes;
    const void *more; /* borrowed by the cell from its list; NULL */
};
