/**
 * The cells of the group cpu: from core to core.
 *
 * quick, ping-pong by store: between the threads of each core, and between all cores of llcs that
 * have at most 16. Larger llcs measure neighbours and a random sample. Between any two llcs it
 * takes the lowest cores, with a check. quick, copies and queues: between the two lowest cores of
 * some llcs, and the lowest cores of some pairs of llcs. full: all ordered pairs, both methods of
 * ping-pong, in the rounds of a tournament. It adds copies and queues, some of them larger than the
 * last-level caches.
 */
#pragma once
#include "cpu/builder.h"

void cpu_cells_pairs_add(struct cpu_builder *builder);
