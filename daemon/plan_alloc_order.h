/**
 * The order of Allocate's options: what lacks free memory last, before it what has no prediction, by distance; the others by time, and by nearness where nothing tells
 * their times apart.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan_alloc.h"

/* Whether that memory had less free than bytes when somebody looked. */
bool plan_alloc_had_less(const struct alloc_option *option, int64_t bytes);

/* The same, and it is so now: of a NUMA node's memory. */
bool plan_alloc_is_short(const struct alloc_option *option, int64_t bytes);

/* Sorts the priced options of a buffer of so many bytes; warns where a nearer one goes first. */
void plan_alloc_order(const struct snapshot *snap, int64_t bytes, struct alloc_answer *answer);
