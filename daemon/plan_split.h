/**
 * Bytes that go several ways at once, in shares such that all end together: ways that share nothing that structure knows of (plan_way_meets), because what two get
 * that do share something is not known unless it was measured.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan_way.h"

#define SPLIT_WAYS_MAX   3
#define SPLIT_LEAST      65536 /* fewer bytes are not worth a way of their own */
#define SPLIT_WORTH      0.98  /* of the time without one more way */

/* Of count ways; one takes all. ret_share (adding up to 1) and ret_chunk (0: in one piece) may be NULL. */
struct prediction plan_split_time(const struct way *way, size_t count, double bytes, double *ret_share, double *ret_chunk);

/* The same to within some percent, without an interval, several times cheaper. */
double plan_split_time_ns(const struct way *way, size_t count, double bytes);

/* Adds ways to way[0], one after the other, the fastest of those that share nothing with the ones before, as long as that is worth it; only by copy engines when kernels
 * are false. Returns how many there are then. */
size_t plan_split_find(const struct way_ends *ends, bool kernels, struct way *way);
