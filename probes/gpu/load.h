/* Sustained load on all GPUs at once: each copies within its own memory and multiplies matrices, in
 * turn, until the time is over. */
#pragma once
#include "gpu/probe.h"

/* Prints the load records for duration_ns. A GPU that cannot be used is left out with its reason. A
 * lost one is a finding and ends the load. why is set for GPU_PROBE_FAILED. */
enum gpu_probe_status gpu_load_run(struct gpu_node *node, const struct gpu_probe_options *options,
                                   int64_t duration_ns, struct gpu_report *report,
                                   struct probe_why *why);
