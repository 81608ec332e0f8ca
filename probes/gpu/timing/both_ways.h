/**
 * How kernels are launched that copy from and to the host's memory at the same time on one device:
 * what reads waits behind what the other writes, so that both move most when the one that writes
 * has little under way. Found by measuring, once for each model in a run.
 */
#pragma once
#include "gpu/driver/buffer.h"
#include "gpu/timing/trial.h"

/* What a run has found; zeros but for the first two at its start. */
struct gpu_together {
    struct gpu_trial *trial; /* borrowed, as buffers are */
    struct gpu_buffers *buffers;
    struct {
        bool is_known;
        double writes; /* blocks of what writes for each multiprocessor, 0: an even share */
    } device[GPU_DEVICES_MAX];
};

/* Tries how to share the device between the two, with the memory of that NUMA node (a place), and
 * keeps for all devices of its model what moves most together, of what is as fast the most even
 * one; at once where it is kept already. False: that failed, and nothing is kept. */
bool gpu_together_find(struct gpu_together *together, int device, int numa,
                       enum gpu_fault *ret_fault, struct probe_why *why);

/* The first of the sums that no other is more than 1 % above. */
size_t gpu_together_best(const double *sums, size_t count);

/* Launches the flows as was found, those whose device runs several kernels with the host; the
 * others, and where nothing was found, as gpu_path_share does. */
void gpu_together_share(const struct gpu_together *together, struct gpu_flow *flows, size_t count);
