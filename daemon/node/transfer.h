/**
 * Transfers: metrics whose values are the rates of bytes from one place to another, by size (axis
 * bytes), and their start-up times, transfer_overhead. The default of bytes, large, is the limit of
 * the rate for many bytes.
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

/* Start-up times of a transfer:
 * CALL: by the caller's clock, launch and synchronisation included.
 * QUEUE: already queued.
 * CHAIN: queued behind an event of another stream, like a piece that another hop has delivered.
 * BEHIND: the same, but the event happens only while it waits, like that of the first piece.
 * LAUNCH: time of the caller's thread for the launch of such a piece with its events.
 * END: time of the caller's thread to detect the end of one more stream that has ended. */
enum transfer_clock {
    TRANSFER_CALL,
    TRANSFER_QUEUE,
    TRANSFER_CHAIN,
    TRANSFER_BEHIND,
    TRANSFER_LAUNCH,
    TRANSFER_END,
    TRANSFER_CLOCKS
};

/* Return "call", "queue", ...: a value of the axis clock; and "t0_call_ns", ...: a key of the
 * record. */
const char *transfer_clock_name(enum transfer_clock clock);
const char *transfer_clock_key(enum transfer_clock clock);

bool transfer_is(enum metric metric);

/* Removes the axis bytes. Returns its number; 0 for its default or no number. */
int64_t transfer_split(const char *axes, char *ret_rest, size_t size);

/* Writes the axes of transfer_overhead for a transfer of this metric and these axes; bytes does not
 * count. */
void transfer_overhead_axes(enum metric metric, const char *axes, enum transfer_clock clock,
                            char *ret_axes, size_t size);

/* Kinds of transfers between GPUs and with the host: bits. Limits measured of one kind say nothing
 * of another. */
enum transfer_kind {
    TRANSFER_HOST_ENGINE = 1,
    TRANSFER_HOST_KERNEL = 2,
    TRANSFER_PEER_ENGINE = 4,
    TRANSFER_PEER_KERNEL = 8,
    TRANSFER_NETWORK = 16
};
#define TRANSFER_KINDS 5

/* Returns the number of a kind's bit, from 0 on. */
unsigned transfer_kind_index(unsigned kind);

/* Returns the kind that a metric measures, alone or in sets; 0 none. */
unsigned transfer_kind_of(enum metric metric);

/* Writes the metric of the same transfers one at a time. False when the metric is none of sets. */
bool transfer_alone_metric(enum metric concurrent, enum metric *ret);
