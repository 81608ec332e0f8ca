/**
 * Checks the bytes of every path, once, outside all timing. Paths are between the host's memory and
 * each device and between any two devices, in each direction. Each is used by copy engine (driven
 * by either end) and by kernel (pushed and pulled). A pattern is written at the source, other bytes
 * at the target, and the target is compared after the transfer. Bytes that differ are a finding,
 * wrong-bytes.
 */
#pragma once
#include "gpu/cells/run.h"

bool gpu_verify(const struct gpu_run *run, struct gpu_cells *cells);

/* Number of words (8 bytes) that differ from the pattern, and index of the first; ret_first is
 * untouched when none does. */
uint64_t gpu_verify_compare(const uint64_t *words, uint64_t count, uint64_t seed,
                            uint64_t *ret_first);
