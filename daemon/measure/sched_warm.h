/**
 * What answers rest on (cost/pairs.h), made of the first snapshot on the thread pool: a start does
 * not wait for it, and who asks first does not either, unless that is at once. Later snapshots have
 * it when they are published. Loop thread only.
 */
#pragma once
#include "measure/sched.h"

/* Without memory whoever asks first makes it. */
void sched_warm(struct sched *sched);
