/**
 * The order of Allocate's options: what lacks free memory last, before it what has no prediction,
 * by distance; the others by how much is known of their times, then by time, and by nearness where
 * nothing tells their times apart.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/alloc/alloc.h"

/* Whether that memory had less free than bytes when somebody looked. */
bool plan_alloc_had_less(const struct alloc_option *option, int64_t bytes);

/* The same, and it is so now: of a NUMA node's memory. */
bool plan_alloc_is_short(const struct alloc_option *option, int64_t bytes);

/* How little is known of an option's time, least first: 0 it is predicted, or nothing farther is
 * faster; 1 it is a gpu's own memory without any figure; 2 it is a lower bound because all cores of
 * a place are said to get so much, which is as far off for one memory as for another; 3 it is one
 * because a part is not counted at all; 4 nothing is known. So what is measured later moves an
 * option of 2 among those of 0, and the advice stays what it is. */
int plan_alloc_knowledge(const struct alloc_option *option);

/* Sorts the priced options of a buffer of so many bytes; warns where a nearer one goes first. A
 * gpu's own memory without any figure goes before other gpus' of which only links tell, in whatever
 * kind, where it alone uses the buffer. */
void plan_alloc_order(const struct snapshot *snap, int64_t bytes, struct alloc_answer *answer);
