/** What the kernels of a transfer wait for: the probe's streaming kernels under PC sampling. */
#pragma once
#include "common/emit.h"
#include "gpu/driver/node.h"

enum gpu_explain_end {
    GPU_EXPLAIN_DONE,
    GPU_EXPLAIN_NO_PLACE, /* why names the wrong place, and the valid ones */
    GPU_EXPLAIN_FAILED    /* end the process immediately */
};

/* Runs kernels of the device from on the memory of to, its own, another device's or the host's:
 * reading, writing, copying there. From host memory, only copying to the device to. Prints a record
 * "explain" for each: the rates without and with sampling, samples by stall reason, or why there
 * are none. shapes as in struct gpu_probe_options. out NULL: prints nothing. */
enum gpu_explain_end gpu_explain(struct gpu_node *node, const char *from, const char *to,
                                 const char *shapes, struct probe_out *out, struct probe_why *why);
