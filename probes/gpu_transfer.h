/* Measures a transfer for a cell, and reports it: its rate, its curve over sizes with both overheads, or the latency of a few
 * bytes. */
#pragma once
#include "gpu_path.h"
#include "gpu_run.h"

#define GPU_TRANSFER_LATENCY_BYTES 16

/* Of one path, or of two at the same time whose sum counts: back is then the one from cell->to to cell->from. NULL: one. factor:
 * bytes that count for each that is moved (2 where reading and writing count). least: see gpu_rate_together. ret_rate, which may
 * be NULL, gets what was reported. */
bool gpu_transfer_rate(struct gpu_run *run, const struct gpu_cell *cell, const struct probe_axes *axes,
                       const struct gpu_path *path, const struct gpu_path *back, unsigned factor, uint64_t least,
                       int64_t budget_ns, struct probe_summary *ret_rate);

/* Times of one operation at sizes from 4 KiB up to most bytes, a factor of four apart, or, few, at 64 KiB and 4 MiB. */
bool gpu_transfer_curve(struct gpu_run *run, const struct gpu_cell *cell, const struct probe_axes *axes,
                        const struct gpu_path *path, uint64_t most, bool few, int64_t budget_ns);

/* copy_latency on the device and by the caller's clock; axes are without the clock. */
bool gpu_transfer_latency(struct gpu_run *run, const struct gpu_cell *cell, const struct probe_axes *axes,
                          const struct gpu_path *path, int64_t budget_ns);

/* The rate of copies that the host takes part in, as the caller's clock sees them: pageable memory. */
bool gpu_transfer_called_rate(struct gpu_run *run, const struct gpu_cell *cell, const struct probe_axes *axes,
                              const struct gpu_path *path, int64_t budget_ns);

/* The sizes of a curve, ascending; returns how many. Room for GPU_RATE_SIZES_MAX. */
size_t gpu_transfer_sizes(uint64_t most, bool few, struct probe_sample *ret_samples);
