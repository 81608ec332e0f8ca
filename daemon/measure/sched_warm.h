/**
 * Derives the transfer estimates (cost/pairs.h) of the first snapshot on the thread pool, so that
 * neither the start nor the first request waits for them. Later snapshots have them before they are
 * published. Loop thread only.
 */
#pragma once
#include "measure/sched.h"

/* Out of memory, the first request derives them. */
void sched_warm(struct sched *sched);
