/**
 * Time of a run by kind: it is cut into spans, each of one kind, so that together they are the
 * whole. One thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/emit.h"
#include "gpu/cells/cell.h"

enum gpu_time {
    GPU_TIME_LOAD,       /* finding and loading the driver's library, listing devices */
    GPU_TIME_DRIVER,     /* start of the driver */
    GPU_TIME_OPEN,       /* contexts, kernels and peer access of all devices */
    GPU_TIME_CONDITIONS, /* reading the run's conditions from the system and the driver */
    GPU_TIME_BUFFERS,    /* memory and the objects of repetitions */
    GPU_TIME_LIST,       /* making the list of cells */
    GPU_TIME_WARM,       /* copying until clocks are up */
    GPU_TIME_PHASE,      /* and the phases of gpu/cells/cell.h, in their order */
    GPU_TIME_COUNT = GPU_TIME_PHASE + GPU_PHASE_COUNT
};

struct gpu_times {
    int64_t last_ns; /* begin of the next span, by the clock */
    int64_t ns[GPU_TIME_COUNT];
    size_t cells[GPU_PHASE_COUNT]; /* tried in each */
    int64_t metric_ns[PROBE_METRIC_COUNT];
};

struct gpu_times gpu_times_from(int64_t now_ns);

/* Ends a span of this kind, from the last one until now. Gives the length. */
int64_t gpu_times_add(struct gpu_times *times, enum gpu_time kind, int64_t now_ns);

/* Ends a span of loading, starting the driver (driver_ns of it), and opening the devices
 * (open_ns). */
void gpu_times_opened(struct gpu_times *times, int64_t driver_ns, int64_t open_ns, int64_t now_ns);

/* Ends a span of a cell of this metric in this phase. */
void gpu_times_cell(struct gpu_times *times, enum gpu_phase phase, enum probe_metric metric,
                    int64_t now_ns);

/* Prints the members "driver_ns", "rates_ns", "rates_cells", ..., for the kinds that occurred, and
 * "metric_ns", an object by name. */
void gpu_times_print(const struct gpu_times *times, struct probe_line *line);

/* Prints one line for a person: "5.10 s: driver 0.25, open 0.48, ...", without kinds below 5 ms. */
bool gpu_times_summary(const struct gpu_times *times, int64_t elapsed_ns, FILE *file);
