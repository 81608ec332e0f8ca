/* Measures a transfer for a cell, and reports it: its rate, its curve over sizes with both
 * overheads, or the latency of a few bytes. */
#pragma once
#include "gpu/cells/run.h"
#include "gpu/timing/path.h"

/* Transfers whose rate is measured. */
struct gpu_transfer {
    const struct gpu_path *path;
    const struct gpu_path *back; /* at the same time, from cell->to to cell->from; NULL: none */
    unsigned factor;             /* counted bytes for each moved byte, such as 2 for a copy */
    uint64_t least;              /* see struct gpu_legs */
};

/* Measures and reports the rate of one path, or the sum of two at the same time. ret_rate, which
 * may be NULL, gets the reported rate. */
bool gpu_transfer_rate(struct gpu_run *run, const struct gpu_cell *cell,
                       const struct probe_axes *axes, const struct gpu_transfer *transfer,
                       int64_t budget_ns, struct probe_summary *ret_rate);

/* Measures and reports times of one operation by size: the sizes are those of gpu_curve_of. */
bool gpu_transfer_curve(struct gpu_run *run, const struct gpu_cell *cell,
                        const struct probe_axes *axes, const struct gpu_path *path, uint64_t most,
                        bool few, int64_t budget_ns);

/* Reports copy_latency on the device and by the caller's clock; axes are without the clock. */
bool gpu_transfer_latency(struct gpu_run *run, const struct gpu_cell *cell,
                          const struct probe_axes *axes, const struct gpu_path *path,
                          int64_t budget_ns);

/* Reports the rate of copies in which the host takes part (pageable memory), by the caller's
 * clock. */
bool gpu_transfer_called_rate(struct gpu_run *run, const struct gpu_cell *cell,
                              const struct probe_axes *axes, const struct gpu_path *path,
                              int64_t budget_ns);
