/**
 * What starting a kernel that streams over memory costs a gpu, where no curve says it of just that
 * transfer.
 *
 * Pure.
 */
#pragma once
#include "cost/gpurate.h"

/* 0 where nothing is known. Looked for once for each gpu, memory and metric of an answer. */
struct gpurate_start gpurate_start_of(const struct gpurate *at, enum metric metric);
