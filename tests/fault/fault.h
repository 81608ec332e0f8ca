/*
 * Making allocations fail: number 1, then number 2, ... until everything goes through. The test
 * programs replace malloc for themselves and for every library that they use, so they are built
 * without sanitizers.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* The at-th allocation from now (1 is the next one) fails, and with for_ever every later one. */
void fault_arm(long at, bool for_ever);

/* Nothing fails any more. True when something had. */
bool fault_disarm(void);

/* Allocates without fail, and counts the block. */
void *fault_spare(size_t size);

/* Blocks that are allocated and not freed now. */
long fault_live(void);

/* The place to try after at: the next one for the first 300, then every 13th, and each with
 * BERTH_LONG=1. */
long fault_next(long at);
