/**
 * Transfers: metrics whose values are the rates at which bytes go from one place to another, for
 * sizes (an axis bytes, whose default, large, is the rate that many bytes approach) and beside them
 * what starting one costs, transfer_overhead.
 *
 * Axes of a transfer are canonical text; see node/values.h. Buffers of TRANSFER_AXES_MAX bytes
 * always suffice.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/metric.h"

#define TRANSFER_AXES_MAX 512

/* What starting one costs: as the caller's clock sees it, launch and synchronisation included;
 * already queued; queued behind an event of another stream, as a piece is that another hop has
 * brought; the same where that event happens only while it waits, as the first piece's does; what
 * launching such a piece with its events keeps the caller's thread busy for; and what seeing the
 * end of one more stream does, when it has ended. */
enum transfer_clock {
    TRANSFER_CALL,
    TRANSFER_QUEUE,
    TRANSFER_CHAIN,
    TRANSFER_BEHIND,
    TRANSFER_LAUNCH,
    TRANSFER_END,
    TRANSFER_CLOCKS
};

/* "call", "queue", ...: of the axis clock; and the record's "t0_call_ns", ... */
const char *transfer_clock_name(enum transfer_clock clock);
const char *transfer_clock_key(enum transfer_clock clock);

bool transfer_is(enum metric metric);

/* Takes the axis bytes out. Gives its number; 0 when it is at its default or no number. */
int64_t transfer_split(const char *axes, char *ret_rest, size_t size);

/* The axes under which transfer_overhead has what starting a transfer of this metric and these axes
 * costs; bytes does not count. */
void transfer_overhead_axes(enum metric metric, const char *axes, enum transfer_clock clock,
                            char *ret_axes, size_t size);
