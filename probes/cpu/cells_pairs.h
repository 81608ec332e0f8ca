/**
 * The cells of the group cpu: from core to core.
 *
 * quick: ping-pong by store between the threads of each core, between all cores of llcs that have
 * at most 16, between neighbours and a random sample in larger ones, and between the lowest cores
 * of any two llcs, each with a check; copies and queues between the two lowest cores of some llcs
 * and the lowest cores of some pairs of llcs. full: all ordered pairs, both ways of ping-pong, in
 * the rounds of a tournament, and copies and queues, some of them of more than the last-level
 * caches hold.
 */
#pragma once
#include "cpu/builder.h"

void cpu_cells_pairs_add(struct cpu_builder *builder);
