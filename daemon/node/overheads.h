/**
 * Overheads: the start-up time of each transfer (transfer_overhead), by transfer, indexed once for
 * a set of values. The axes of such a value name the transfer's metric and repeat its axes; writing
 * them for every look-up takes longer than the answer.
 *
 * Constant once made; any thread.
 */
#pragma once
#include "node/transfer.h"
#include "node/values.h"

struct overheads;

/* Makes the index of a finished set, which must outlive it. NULL when out of memory. */
struct overheads *overheads_new(const struct values *values);
void overheads_free(struct overheads *overheads); /* NULL is fine */

/* Values by enum transfer_clock; NULL: unknown. */
struct overhead {
    const struct value *clock[TRANSFER_CLOCKS];
};

/* Returns the values that values_find has under transfer_overhead_axes of these. axes are the
 * transfer's, canonical and without bytes. */
struct overhead overheads_find(const struct overheads *overheads, enum metric metric, place_id from,
                               place_id to, const char *axes);
