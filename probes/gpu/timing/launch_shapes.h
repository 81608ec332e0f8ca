/**
 * How streaming kernels are launched: block, grid and unroll for reading, writing and copying in a
 * device's own memory, in a peer's, with pulling from there, and in the host's; found by measuring,
 * once for each model and driver.
 *
 * As text, a model's shapes are "MODEL/DRIVER: read 256x0u4 write 512x132u12 copy 256x0u4 peer-read
 * ... host-copy 256x132u4" (threads of a block, blocks or 0 for as many as the bytes need, accesses
 * of a thread before the next step), without what was not measured; several models are separated by
 * "; ". The text is a condition of the run and comes back by the option --shapes.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "gpu/driver/node.h"
#include "gpu/timing/trial.h"

/* Beside the ways of enum gpu_how, in a peer's memory: copying from there into its own. */
#define GPU_TUNE_PULL 3

enum gpu_tune_target { GPU_TUNE_OWN, GPU_TUNE_PEER, GPU_TUNE_HOST, GPU_TUNE_TARGET_COUNT };

/* Where tuning starts from, and what is used without it. */
void gpu_tune_default(struct gpu_node *node);

/* Whether each model in the text has all shapes of a target at least: what gpu_tune_print wrote. */
bool gpu_tune_is_text(const char *text);

/* Takes what the text has for the models here and this driver; a target of which all shapes are
 * there counts as tuned. Text that is none is skipped. */
void gpu_tune_take(struct gpu_node *node, int driver, const char *text);

/* What was tuned, each model once; cut to fit. */
void gpu_tune_print(const struct gpu_node *node, int driver, char *ret_text, size_t size);

/* How many ways of using that memory have a shape: those of enum gpu_how, and GPU_TUNE_PULL. */
int gpu_tune_ways(enum gpu_tune_target target);

/* The device's shape for that way, below gpu_tune_ways, in that memory. */
struct gpu_shape *gpu_tune_shape(struct gpu_device *device, enum gpu_tune_target target, int way);
