/**
 * Launch of the two kernels that copy from and to the host's memory at the same time on one device.
 * Reads wait behind the other kernel's writes. So both move most when the writing kernel has few
 * accesses under way. Found by measuring, once for each model in a run.
 */
#pragma once
#include "gpu/driver/buffer.h"
#include "gpu/timing/trial.h"

/* Results of a run; all but the first two are zero at its start. */
struct gpu_bidirectional {
    struct gpu_trial *trial; /* borrowed, as buffers are */
    struct gpu_buffers *buffers;
    struct {
        bool is_known;
        double writes; /* blocks of the writing kernel for each multiprocessor, 0: an even share */
    } device[GPU_DEVICES_MAX];
};

/* Finds the best division of the device between the two, with the memory of that NUMA node (a
 * place). Keeps the one that moves most together, for all devices of its model. Among equally fast
 * ones it keeps the most even. Returns at once when one is kept already. False: a trial failed, and
 * nothing is kept. */
bool gpu_bidirectional_measure(struct gpu_bidirectional *bidirectional, int device, int numa,
                               struct gpu_err *err);

/* Index of the first sum that no other exceeds by more than 1 %. */
size_t gpu_bidirectional_best(const double *sums, size_t count);

/* Launches flows by the found shapes on devices that run several kernels with the host. Treats the
 * others, and flows without a result, as gpu_path_divide does. */
void gpu_bidirectional_divide(const struct gpu_bidirectional *bidirectional, struct gpu_flow *flows,
                              size_t count);
