/** State of a run of the GPU probe for its cells: devices, buffers, the caller's selection, and
 * functions to report. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/random.h"
#include "gpu/cells/cell.h"
#include "gpu/cells/report.h"
#include "gpu/driver/buffer.h"
#include "gpu/driver/node.h"
#include "gpu/timing/bidirectional.h"
#include "gpu/timing/caller_cpus.h"
#include "gpu/timing/rate.h"
#include "gpu/timing/trial.h"

/* The caller's selection; no places means all. */
struct gpu_selection {
    enum gpu_profile profile;
    uint64_t seed;
    bool metrics[PROBE_METRIC_COUNT];
    /* cells from or to one of these; a name of no place here matches nothing */
    const char *const *places;
    size_t place_count;
    /* cells that hung before, in the form of gpu_run_cell: never tried again in this run */
    const char *const *skipped;
    size_t skipped_count;
    /* two copies each, "FROM>TO+FROM>TO", measured together in addition to the drawn sets */
    const char *const *sets;
    size_t set_count;
};

struct gpu_run {
    struct gpu_node *node;
    struct gpu_trial *trial;
    struct gpu_buffers *buffers;
    struct gpu_report *report;
    struct gpu_selection selection;
    struct probe_random random;
    int64_t started_ns, budget_ns;
    /* legs of rates (gpu/timing/rate.h), of those between peers, and of stepped cells */
    double leg_ns, peer_leg_ns, stepped_leg_ns;
    struct gpu_caller_cpus caller_cpus[GPU_NUMAS_MAX];
    bool seated[GPU_NUMAS_MAX]; /* nodes whose CPUs were already searched */
    /* rates by copy engine, 0: not measured; used to find peer pairs */
    float peer_bytes_per_s[GPU_DEVICES_MAX][GPU_DEVICES_MAX];
    /* for kernels in both directions with the host */
    struct gpu_bidirectional bidirectional;
    /* a lost device: reason of the run's end */
    struct probe_why lost;
};

/* Groups of cells: each adds those of the selected profile, metrics and places. False when out of
 * memory. */
struct gpu_cells {
    struct gpu_cell *item;
    size_t count, capacity;
};
typedef bool (*gpu_list)(const struct gpu_run *run, struct gpu_cells *cells);

/* Adds it when gpu_run_selects it. False when out of memory. */
bool gpu_cells_add(const struct gpu_run *run, struct gpu_cells *cells, const struct gpu_cell *cell);
void gpu_cells_done(struct gpu_cells *cells);

/* True when the caller asked for the metric between these places. One of them is among the
 * selected ones, by its name or, a device, its UUID. */
bool gpu_run_selects(const struct gpu_run *run, enum probe_metric metric, int from, int to);

/* Resources for timing work that the device runs, from CPUs near it. */
struct gpu_timing gpu_run_timing(struct gpu_run *run, int device, int64_t budget_ns);

/* Name of a cell: "metric from to". A set adds its flows, "metric machine0 machine0
 * FROM>TO+FROM>TO:direction=read", or their number and a digest when they are too long. Contains no
 * comma, and is the same in another run. */
#define GPU_RUN_CELL_SIZE 200 /* the daemon's limit */
void gpu_run_cell(const struct gpu_run *run, const struct gpu_cell *cell, char *ret_text,
                  size_t size);

/* Reports the reason of a cell that could not be measured, except for a cell that is_more. axes
 * NULL: those of the cell. False ends the run: the device is lost (run->lost is set) or the reader
 * gone. */
bool gpu_run_failed(struct gpu_run *run, const struct gpu_cell *cell, const struct probe_axes *axes,
                    const struct gpu_err *err);

/* Reports a value of the cell's own metric between its own places. */
bool gpu_run_value(struct gpu_run *run, const struct gpu_cell *cell, const struct probe_axes *axes,
                   const struct probe_summary *value);
