/** One whole run of the GPU probe on opened devices: buffers, then the groups of cells in order
 * within the budget. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "gpu/cells/run.h"
#include "gpu/facts/conditions.h"
#include "gpu/times.h"

struct gpu_probe_options {
    struct gpu_selection selection;
    /* budget from the driver's start: opening the devices, measuring, and closing them */
    int64_t budget_ns;
    int64_t started_ns; /* time of the clock at the process's start */
    struct gpu_conditions *conditions;
    /* launch shapes known from an earlier run (gpu/timing/launch_shapes.h); NULL */
    const char *shapes;
    bool tunes_anew; /* even shapes that hold */
};

/* Status of the run's end, as in the end record. */
enum gpu_probe_status {
    GPU_PROBE_COMPLETE,
    GPU_PROBE_BUDGET, /* cells were skipped for lack of time */
    GPU_PROBE_FAILED, /* a device was lost or memory ran out: end the process immediately */
    GPU_PROBE_GONE,   /* the reader of the record is gone */
};

const char *gpu_probe_status_name(enum gpu_probe_status status);

/* Prints the run record, measures, and reports each cell. times continues from opening the devices.
 * why is set when it failed. */
enum gpu_probe_status gpu_probe_run(struct gpu_node *node, const struct gpu_probe_options *options,
                                    struct gpu_report *report, struct gpu_times *times,
                                    struct probe_why *why);

/* Prints the end record, with the time since started_ns. */
bool gpu_probe_end(const struct gpu_report *report, const struct gpu_node *node,
                   const struct gpu_probe_options *options, enum gpu_probe_status status,
                   struct gpu_times *times);
