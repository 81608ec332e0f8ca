/**
 * The bytes of every path, once, outside all timing: between the host's memory and each device and
 * between any two devices, each way, by copy engine (driven by either end) and by kernel (pushed
 * and pulled). A pattern is written at the source, other bytes at the target, and the target is
 * looked at after the transfer. Bytes that are not as they were sent are a finding, wrong-bytes.
 */
#pragma once
#include "gpu/cells/run.h"

bool gpu_verify(const struct gpu_run *run, struct gpu_cells *cells);

/* How many of the words (8 bytes) differ from the pattern, and which is the first; ret_first is
 * untouched when none does. */
uint64_t gpu_verify_compare(const uint64_t *words, uint64_t count, uint64_t seed,
                            uint64_t *ret_first);
