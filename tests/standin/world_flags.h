/* Kernels that pass a flag to and fro: two of them, which together take a known time, or one with a
 * thread of the host, which really happens. For world.c. */
#pragma once
#include "world.h"

void world_flags_begin(struct world *world, struct world_op *op);
bool world_flags_over(struct world *world, struct world_op *op);
void world_flags_end(struct world *world, struct world_op *op);

/* Whether some kernel waits for a partner, and the rounds that all those have done. */
bool world_flags_waiting(const struct world *world);
uint64_t world_flags_rounds(const struct world *world);

/* A thread that plays while this process's own does not call anything; it ends when no kernel waits
 * any more. */
void world_flags_play(struct world *world);
