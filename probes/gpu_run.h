/** One run of the GPU probe: devices, buffers, then cell after cell within the budget. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_buffer.h"
#include "gpu_cell.h"
#include "gpu_node.h"
#include "gpu_report.h"
#include "gpu_trial.h"
#include "probe_random.h"

/* What the caller asked for; no places means all. */
struct gpu_wanted {
    enum gpu_profile profile;
    uint64_t seed;
    bool metrics[PROBE_METRIC_COUNT];
    const char *const *places; /* cells from or to one of these; a name that is none here matches nothing */
    size_t place_count;
    const char *const *skipped; /* cells that hung before: "metric from to", never tried again in this run */
    size_t skipped_count;
};

struct gpu_run {
    struct gpu_node *node;
    struct gpu_trial *trial;
    struct gpu_buffers *buffers;
    struct gpu_report *report;
    struct gpu_wanted wanted;
    struct probe_random random;
    int64_t started_ns, budget_ns;
    struct probe_why lost; /* a device was lost: why the run ends */
};

/* Groups of cells: each adds what the wanted profile, metrics and places ask for. False when out of memory. */
struct gpu_cells {
    struct gpu_cell *item;
    size_t count, capacity;
};
bool gpu_cells_add(struct gpu_cells *cells, const struct gpu_cell *cell);
typedef bool (*gpu_list)(const struct gpu_run *run, struct gpu_cells *cells);
