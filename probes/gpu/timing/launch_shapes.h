/**
 * Launch shapes of streaming kernels: block, grid and unroll for reading, writing and copying.
 * Targets are a device's own memory, a peer's, with pulling from there, and the host's. Found by
 * measuring, once for each model and driver.
 *
 * Text form of a model's shapes: "MODEL/DRIVER: read 256x0u4 write 512x132u12 copy 256x0u4
 * peer-read ... host-copy 256x132u4". The numbers are threads of a block, blocks (0: as many as the
 * bytes need), and accesses of a thread per iteration. Shapes that were not measured are left out;
 * "; " separates models. The text is a condition of the run and comes back by the option --shapes.
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

/* Takes the text's shapes for the models here and this driver. A target with all its shapes counts
 * as tuned. Invalid text is skipped. */
void gpu_tune_parse(struct gpu_node *node, int driver, const char *text);

/* Prints the tuned shapes, each model once; cut to fit. */
void gpu_tune_print(const struct gpu_node *node, int driver, char *ret_text, size_t size);

/* Number of uses of that memory that have a shape: those of enum gpu_operation, and GPU_TUNE_PULL.
 */
int gpu_tune_operations(enum gpu_tune_target target);

/* The device's shape for that use (below gpu_tune_operations) of that memory. */
struct gpu_shape *gpu_tune_shape(struct gpu_device *device, enum gpu_tune_target target, int way);
