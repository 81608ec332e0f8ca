/* Repeats a measurement until its accuracy is sufficient. */
#pragma once
#include <stdint.h>

#include "common/stats.h"
#include "common/why.h"
#include "gpu/driver/api.h"

/* One measurement: a rate or a time. False sets err. */
typedef bool (*gpu_measurement)(void *arg, double *ret_value, struct gpu_err *err);

/* Discards the first: it makes pages and the runtime's other one-time work. Then repeats by the
 * stopping rule of common/stats.h, or until budget_ns of the clock is spent. Gives the median and
 * its interval. False: one failed. */
bool gpu_repeat(gpu_measurement once, void *arg, int64_t budget_ns,
                struct probe_summary *ret_summary, struct gpu_err *err);
