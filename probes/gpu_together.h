/**
 * How kernels are launched that copy from and to the host's memory at the same time on one device: with less under way than one of
 * them alone, whose reads would wait behind the other's writes. Found by measuring, once for each model in a run.
 */
#pragma once
#include "gpu_run.h"

/* Tries some shapes on the device, both ways with the memory of that NUMA node (a place), and keeps for all devices of its model the one that moves most, of those as
 * fast the one with most under way; at once where one is kept already. False: that failed, and nothing is kept. */
bool gpu_together_find(struct gpu_run *run, int device, int numa, enum gpu_fault *ret_fault, struct probe_why *why);

/* Gives what was kept to the kernels among the flows whose device runs several of them; the others stay as they are. */
void gpu_together_shape(const struct gpu_run *run, struct gpu_flow *flows, size_t count);
