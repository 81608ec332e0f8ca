/**
 * How streaming kernels are launched: block, grid and unroll for reading, writing and copying in a device's own memory; found by
 * measuring, once for each model and driver.
 *
 * As text, a model's shapes are "MODEL/DRIVER: read 512x264u8 write 512x132u12 copy 512x132u12" (threads of a block, blocks,
 * accesses of a thread before the next step); several models are separated by "; ". The text stands in the run's conditions and
 * comes back by the option --shapes.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "gpu_run.h"

/* Where tuning starts from, and what is used without it. */
void gpu_tune_default(struct gpu_node *node);

/* Takes the shapes of the models that the text has for this driver, and which devices have shapes now; text that is none is
 * skipped. */
void gpu_tune_take(struct gpu_node *node, int driver, const char *text, bool *ret_known);

/* The shapes of all models here, each once; cut to fit. */
void gpu_tune_print(const struct gpu_node *node, int driver, char *ret_text, size_t size);
