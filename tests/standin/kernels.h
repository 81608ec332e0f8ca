/**
 * The probe's kernels (probes/gpu/driver/gpu_kernels.h), known by their names: what each costs on
 * the virtual node, and what it does to bytes. Of large buffers only the first bytes_max of the
 * description are really read and written, always the same ones.
 */
#pragma once
#include "codes.h"
#include "world.h"

struct kernel;

/* NULL: no such kernel. */
const struct kernel *kernel_find(const char *name);

/* That a block may have: what the kernels are compiled for. */
unsigned kernel_threads(const struct kernel *kernel);

/* args is the kernel's structure. */
enum code kernel_launch(struct world *world, struct world_stream *stream,
                        const struct kernel *kernel, unsigned grid, unsigned block,
                        const void *args);
