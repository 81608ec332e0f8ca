/* What kernels do to real bytes when they end, for kernels.c. */
#pragma once
#include "gpu/driver/gpu_kernels.h"
#include "world.h"

void kernel_bytes_write(struct world *world, struct world_op *op);
void kernel_bytes_copy(struct world *world, struct world_op *op);
void kernel_bytes_fill(struct world *world, struct world_op *op);
void kernel_bytes_check(struct world *world, struct world_op *op);
void kernel_bytes_build(struct world *world, struct world_op *op);
void kernel_bytes_chase(struct world *world, struct world_op *op);
void kernel_bytes_pingpong(struct world *world, struct world_op *op);
void kernel_bytes_bs(struct world *world, struct world_op *op);
void kernel_bytes_mesh(struct world *world, struct world_op *op);
void kernel_bytes_sum(struct world *world, struct world_op *op);

/* A copy from op->from to op->to. */
void kernel_bytes_move(struct world *world, struct world_op *op);
