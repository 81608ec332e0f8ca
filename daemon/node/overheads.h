/**
 * Overheads: what starting each transfer costs (transfer_overhead) by the transfer that it is of,
 * looked up once for a set of values: the axes under which such a value is kept name the transfer's
 * metric and repeat its axes, and to write them anew for every question takes longer than the
 * answer.
 *
 * Constant once made; any thread.
 */
#pragma once
#include "node/transfer.h"
#include "node/values.h"

struct overheads;

/* Of a finished set, which must outlive it. NULL when out of memory. */
struct overheads *overheads_new(const struct values *values);
void overheads_free(struct overheads *overheads); /* NULL is fine */

/* By enum transfer_clock; NULL: not known. */
struct overhead {
    const struct value *clock[TRANSFER_CLOCKS];
};

/* What values_find has under transfer_overhead_axes of these. axes are the transfer's, canonical
 * and without bytes. */
struct overhead overheads_find(const struct overheads *overheads, enum metric metric, place_id from,
                               place_id to, const char *axes);
