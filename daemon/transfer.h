/**
 * Transfers: metrics whose values are the rates at which bytes go from one place to another, for sizes (an axis bytes, whose default, large, is the
 * rate that many bytes approach) and beside them what starting one costs, transfer_overhead.
 *
 * Axes of a transfer are canonical text; see values.h. Buffers of TRANSFER_AXES_MAX bytes always suffice.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metric.h"

#define TRANSFER_AXES_MAX 512

enum transfer_clock { TRANSFER_CALL, TRANSFER_QUEUE }; /* as the caller's clock sees it, launch and synchronisation included; already queued */

bool transfer_is(enum metric metric);

/* Takes the axis bytes out. Gives its number; 0 when it is at its default or no number. */
int64_t transfer_split(const char *axes, char *ret_rest, size_t size);

/* The axes under which transfer_overhead has what starting a transfer of this metric and these axes costs; bytes does not count. */
void transfer_overhead_axes(enum metric metric, const char *axes, enum transfer_clock clock, char *ret_axes, size_t size);
