/**
 * Cores that access memory: the time of streams and of random accesses, from values of the nearest
 * places that have the cores (core, L3, NUMA node, package).
 *
 * The rate of n cores is the first of these that is known:
 * 1. that of a place that has all of them, interpolated between measured numbers of cores; of
 *    places of which each has some of them, at most the highest rate known of that memory
 * 2. the same by published or stated values, which are upper ends for fewer cores, and for memory
 *    that a gpu has as well
 * 3. of a NUMA node's cores between packages that have one memory with their gpus (MI300A), the
 * rate of those gpus' links
 * 4. at most the rate of cores in the memory's own package, or a published bound
 *
 * Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "cost/memkind.h"
#include "cost/memtime.h"
#include "node/graph.h"
#include "node/snapshot.h"

#define MEMCORES_LINE_BYTES 64 /* of one random access */

struct memcores {
    unsigned cores;   /* that work */
    unsigned in_all;  /* that there are */
    uint16_t *inside; /* owned: by place id, how many of the cores it has */
    uint16_t *of;     /* behind inside: how many cores it has in all */
};

/* The cores that have a cpu in cpus, all at work. in_all is 0 when there are none. NO_MEMORY. */
enum berth_code memcores_init(const struct graph *graph, const struct cpuset *cpus,
                              struct memcores *ret, struct berth_err *err);
void memcores_done(struct memcores *cores);

/* Cores and the memory of a NUMA node. */
struct memcores_access {
    const struct snapshot *snap;
    const struct memkind_node *node;
    const struct memcores *who;
    place_id memory;
    double span; /* bytes of the buffer */
    struct memtime_basis *basis;
};

/* The time of reading and then writing that many bytes, but not less than one access takes. NAN
 * when nothing is known. */
struct memtime memcores_stream(const struct memcores_access *access, double read_bytes,
                               double write_bytes);

/* The time of that many random accesses, each core one after the other: an upper bound, because how
 * many are in flight was not measured. As a stream where no latency is known. */
struct memtime memcores_random(const struct memcores_access *access, double read_bytes,
                               double write_bytes);

/* A rate in bytes per second, or a latency in nanoseconds, with the 95 % interval of the median. */
struct memcores_value {
    double value; /* NAN unknown */
    double low, high;
    uint32_t n; /* the fewest repetitions of the values that it is from; 0 unknown */
    enum source source;
    memtime_doubts doubts;
};

struct memcores_value memcores_rate(const struct memcores_access *access, bool is_write);

/* Of one dependent load by one of the cores, the mean over several places: over the smallest buffer
 * measured that has span bytes (INFINITY: larger than caches). */
struct memcores_value memcores_latency(const struct memcores_access *access, double span);
