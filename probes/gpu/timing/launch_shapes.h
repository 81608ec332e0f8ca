/**
 * Launch shapes of streaming kernels: block, grid and unroll for reading, writing and copying.
 * Targets are a device's own memory, a peer's, with pulling from there, and the host's. Found by
 * measuring, once for each model, driver and limit of its clock and power.
 *
 * Text form, a section for each model and target: "MODEL/DRIVER@TIME,700W,1980MHz,580.95.05,
 * 0000:c1:00.0>numa0: host-read 512x132u4 2.41e+10 2.4e+10 2.42e+10 2.39e+10 host-write ...;
 * MODEL/DRIVER@...", without the line ends. TIME is the time of tuning in seconds since the epoch.
 * The power cap, highest clock and version of the kernel's driver follow where they are known, then
 * the device and memory that were timed. A shape's numbers are threads of a block, blocks (0: as
 * many as the bytes need), and accesses of a thread per iteration. Its rates in bytes/s may follow:
 * the median, lowest and highest of its repetitions, and the median of the fastest other shape. The
 * text is a condition of the run and comes back by the option --shapes.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "gpu/driver/node.h"
#include "gpu/timing/trial.h"

/* A use besides those of enum gpu_operation, in a peer's memory: copying from there into its own.
 */
#define GPU_TUNE_PULL 3

enum gpu_tune_target { GPU_TUNE_OWN, GPU_TUNE_PEER, GPU_TUNE_HOST, GPU_TUNE_TARGET_COUNT };

/* Sets the start of tuning, which is also the shape without tuning. */
void gpu_tune_default(struct gpu_node *node);

/* True when each model in the text has all shapes of at least one target, as in the output of
 * gpu_tune_print. */
bool gpu_tune_is_text(const char *text);

/* Takes the text's shapes for the models here. A target with all its shapes is known, and tuned
 * unless it was tuned with another driver or under other limits, or anew is true. A section without
 * a time is of any limits. Invalid text is skipped. */
void gpu_tune_parse(struct gpu_node *node, int driver, const char *text, bool anew);

/* Prints the tuned shapes, each model once; sections that do not fit are left out. */
void gpu_tune_print(const struct gpu_node *node, int driver, char *ret_text, size_t size);

/* Number of uses of that memory that have a shape: those of enum gpu_operation, and GPU_TUNE_PULL.
 */
int gpu_tune_operations(enum gpu_tune_target target);

/* Names the device and the memory that a target is timed with, as tuned_ends does. */
void gpu_tune_ends(const struct gpu_node *node, int device, int memory,
                   char ret_ends[GPU_TUNE_ENDS_SIZE]);

/* The device's shape for that use (below gpu_tune_operations) of that memory. */
struct gpu_shape *gpu_tune_shape(struct gpu_device *device, enum gpu_tune_target target, int way);
