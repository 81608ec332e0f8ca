/* Measures the same thing again and again until it is known well enough. */
#pragma once
#include <stdint.h>

#include "common/stats.h"
#include "common/why.h"
#include "gpu/driver/api.h"

/* One measurement: a rate or a time. False sets ret_fault and why. */
typedef bool (*gpu_measurement)(void *arg, double *ret_value, enum gpu_fault *ret_fault,
                                struct probe_why *why);

/* The first is thrown away: it makes pages and whatever else a runtime does once. Then by the
 * stopping rule of common/stats.h, or until budget_ns of the clock is spent: the median and its
 * interval. False: one failed. */
bool gpu_repeat(gpu_measurement once, void *arg, int64_t budget_ns,
                struct probe_summary *ret_summary, enum gpu_fault *ret_fault,
                struct probe_why *why);
