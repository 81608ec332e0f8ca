/**
 * Stall reasons of a device's kernels, by sampling their program counters: CUPTI of CUDA 11.3 or
 * later, looked up at run time with declarations of our own (source: NVIDIA's CUPTI documentation,
 * PC Sampling API). AMD's rocprofiler-sdk is not read.
 *
 * One thread at a time, one device at a time.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/why.h"
#include "gpu/driver/node.h"

#define GPU_STALLS_MAX 128
#define GPU_STALL_NAME 128 /* CUPTI's limit, NUL included */

/* Samples of a range: each is a warp at one moment, with the one reason for which it waits, or that
 * it issues an instruction. */
struct gpu_stalls {
    struct {
        char name[GPU_STALL_NAME]; /* "long_scoreboard": CUPTI's without the common beginning */
        uint64_t samples;
    } reason[GPU_STALLS_MAX];
    size_t count;
    uint64_t samples; /* sum */
    uint64_t dropped; /* lost by the hardware */
};

struct gpu_sampling;

/* Prepares sampling of the device's kernels and loads them anew, as CUPTI knows kernels loaded
 * afterwards. False sets why: no library, no right, or a device that cannot. */
bool gpu_sampling_new(struct gpu_node *node, int device, struct gpu_sampling **ret_sampling,
                      struct probe_why *why);
void gpu_sampling_free(struct gpu_sampling *sampling); /* NULL is fine */

/* Name under which the library was opened, "libcupti.so.13". */
const char *gpu_sampling_library(const struct gpu_sampling *sampling);

/* Samples all kernels of the device from begin to end. Wait for their streams before end. */
bool gpu_sampling_begin(struct gpu_sampling *sampling, struct probe_why *why);
bool gpu_sampling_end(struct gpu_sampling *sampling, struct gpu_stalls *ret, struct probe_why *why);
