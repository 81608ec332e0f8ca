/**
 * What is known of some cores using one memory: streaming rate and latency, from the values of a
 * snapshot by the nearest initiator that has them: core, llc, numa, package. Measured values go
 * before all others.
 *
 * Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "cost/evidence.h"
#include "node/graph.h"
#include "node/reasons.h"
#include "node/snapshot.h"

#define MEMRATE_HOLDERS 5

/* Cores that touch memory. */
struct accessor {
    unsigned cores;  /* how many of them work */
    unsigned in_all; /* how many there are */
    /* the places that have them all, smallest first: core, llc, numa, package, machine */
    place_id holder[MEMRATE_HOLDERS];
    unsigned holder_count;
    place_id *group; /* owned: the places above cores, ascending */
    size_t group_count;
    uint16_t *inside; /* behind group, by place id: how many of the cores it has */
    uint16_t *of;     /* behind inside: how many cores it has in all */
};

/* The cores that have a cpu in cpus, all at work. in_all is 0 when there are none. NO_MEMORY. */
enum berth_code memrate_cores(const struct graph *graph, const struct cpuset *cpus,
                              struct accessor *ret, struct berth_err *err);
void memrate_done(struct accessor *accessor);

/* With the 95 % interval of the median; NAN where unknown. */
struct memrate {
    double value, low, high;
    uint32_t n; /* the fewest repetitions behind a value that it is from; 0 unknown */
};

/* What is not known, so that a time is no more than a lower bound: what these cores get of that
 * memory; how long a random access takes, which counts as a stream; what it costs when managed
 * memory moves; what several gpus do to it; what starting a kernel costs, where it moves so few
 * bytes that this matters. */
enum memrate_floor {
    MEMRATE_FLOOR_CORES = 1,
    MEMRATE_FLOOR_RANDOM = 2,
    MEMRATE_FLOOR_MOVES = 4,
    MEMRATE_FLOOR_SEVERAL = 8,
    MEMRATE_FLOOR_START = 16
};

/* Collects what an answer about one memory rests on. */
struct memrate_basis {
    struct evidence *evidence;
    size_t start; /* where this memory's evidence begins */
    struct reasons *warnings;
    bool by_links; /* what links are said to carry stood for a measurement */
    /* what is known of another transfer stood for one, or a number of accesses under way that
     * nobody measured */
    bool by_other;
    /* what starting kernels counts with by what starting others of the same gpu costs */
    double other_start_ns;
    /* what all cores of a place are said to get stood for some of them, who can get no more */
    bool at_least;
    /* The rate is nominal or an upper bound, so the time is a lower bound. Options are ranked by
     * that time. */
    bool is_ceiling;
    /* what one access by cores takes is not known, and the bytes alone take less than
     * MEMUSE_SHORT_NS */
    bool lacks_access;
    /* they are said to carry more than is known of such memory, and that stood for it */
    bool by_least;
    /* bits of enum memrate_floor: something is not known, and what is no slower counts */
    unsigned floor;
};

/* Adds a value to what the answer rests on, with a warning where it was not measured. NO_MEMORY. */
enum berth_code memrate_cite(struct memrate_basis *basis, const struct value *value,
                             struct berth_err *err);

/* Bytes per second when the accessor's cores stream together; how is "read" or "write". Between
 * measured numbers of cores it is interpolated; cores of several initiators count as limited by
 * each one's rate and by the highest known of the memory, with a warning. value is NAN when nothing
 * is known. NO_MEMORY. */
enum berth_code memrate_stream(const struct snapshot *snap, const struct accessor *who,
                               place_id memory, const char *how, struct memrate_basis *basis,
                               struct memrate *ret, struct berth_err *err);

/* Where nothing is known of some cores: they get no more than the most that cores of the memory's
 * own package are known to, nor than a published bound; it is in basis->floor then. value is NAN
 * where nothing is known of those. NO_MEMORY. */
enum berth_code memrate_bound(const struct snapshot *snap, const struct accessor *who,
                              place_id memory, const char *how, struct memrate_basis *basis,
                              struct memrate *ret, struct berth_err *err);

/* Nanoseconds of one dependent load by one of the accessor's cores; the mean over several
 * initiators. As above. */
enum berth_code memrate_latency(const struct snapshot *snap, const struct accessor *who,
                                place_id memory, struct memrate_basis *basis, struct memrate *ret,
                                struct berth_err *err);

/* The same in a buffer of that many bytes, of which caches hold some: by what was measured over the
 * least buffer that is not smaller; bytes NAN: over the largest there is. */
enum berth_code memrate_latency_within(const struct snapshot *snap, const struct accessor *who,
                                       place_id memory, double bytes, struct memrate_basis *basis,
                                       struct memrate *ret, struct berth_err *err);
