/**
 * How long a user takes for so many bytes in a memory of some kind: streams and random accesses,
 * the first touch and pinning, and the way back of managed memory.
 *
 * An estimate of one more repetition. Its code is the doubt about the most doubtful part. Pure; any
 * thread.
 */
#pragma once
#include "cost/memrate.h"

#define MEMTIME_LINE_BYTES 64 /* of one random access */

/* Shorter times that lack the start of a kernel, or one access, say nothing. */
#define MEMTIME_SHORT_NS 1000

/* Returns the time of reading and then writing that many bytes, but not less than one access takes.
 * A GPU reads and writes each once around the buffer and again, and starts a kernel each time;
 * memory that it touches first costs the measured first touch, once around. NAN when nothing is
 * known. */
struct estimate memtime_stream(const struct memrate_access *access, double read_bytes,
                               double write_bytes);

/* Returns the time of random accesses to that many bytes. Of cores each does one after the other:
 * an upper bound, because how many are in flight was not measured. Of a GPU as many are in flight
 * as the stream of its own memory needs (Little's law): no interval. As a stream where no latency
 * is known. */
struct estimate memtime_random(const struct memrate_access *access, double read_bytes,
                               double write_bytes);

/* Returns the time until memory is there: the host's is pinned, or touched by one thread, once. 0
 * of a GPU's own. Pinning touches pages, too, but may be measured faster: where cores alone use the
 * buffer (by_cores) it counts as touching, which they share. */
struct estimate memtime_setup(const struct memrate_access *access, bool by_cores);

/* Returns the time until that many bytes of managed memory that moved to the GPU are back with the
 * cores that touch them. */
struct estimate memtime_return(const struct memrate_access *access, double bytes);
