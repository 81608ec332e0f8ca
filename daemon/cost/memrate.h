/**
 * The rate and the latency of accesses to memory: the value that tells it, or that stands for it.
 *
 * The least doubtful source decides (enum source); among equals the first of the list that
 * memrate_cores.c or memrate_gpu.c has. What it rests on is added to the evidence. Pure; any
 * thread.
 */
#pragma once
#include "cost/estimate.h"
#include "cost/evidence.h"
#include "cost/memkind.h"
#include "cost/memuser.h"
#include "node/snapshot.h"

enum memrate_what { MEMRATE_READ, MEMRATE_WRITE, MEMRATE_LATENCY };

struct memrate_access {
    const struct snapshot *snap;
    const struct memuser *user;
    struct memkind_place place; /* cores use place.numa */
    bool xnack;                 /* page faults of AMD's GPUs are switched on */
    double span;                /* bytes of the buffer */
    struct evidence *evidence;
    size_t start; /* of what is cited in it */
};

/* A rate in bytes per second, or a latency in nanoseconds, with the 95 % interval of the median. */
struct memrate {
    double value;     /* NAN unknown */
    double low, high; /* NAN unknown */
    uint32_t n;       /* the fewest repetitions of the values that it is from; 0 unknown */
    enum source source;
    enum reason_code why;     /* the doubt about it; 0 none */
    const struct value *item; /* that decides; NULL: links, or several places */
};

#define MEMRATE_UNKNOWN                                                                            \
    ((struct memrate){.value = NAN, .low = NAN, .high = NAN, .source = SOURCE_LOWER_BOUND})

static inline struct memrate memrate_of(const struct value *value)
{
    return (struct memrate){value->value,           value->low, value->high, value->n,
                            estimate_source(value), 0,          value};
}

/* Returns it with a doubt, and a source that is at least so doubtful. */
static inline struct memrate memrate_doubted(struct memrate rate, enum source source,
                                             enum reason_code why)
{
    rate.why = source >= rate.source || rate.why == 0 ? why : rate.why;
    rate.source = estimate_worse(rate.source, source);
    return rate;
}

/* Returns that of a GPU, or of all cores together; a latency is that of one load. NAN when nothing
 * is known. */
struct memrate memrate_of_cores(const struct memrate_access *access, enum memrate_what what);
struct memrate memrate_of_gpu(const struct memrate_access *access, enum memrate_what what);
static inline struct memrate memrate_find(const struct memrate_access *access,
                                          enum memrate_what what)
{
    return access->user->gpu != PLACE_NONE ? memrate_of_gpu(access, what)
                                           : memrate_of_cores(access, what);
}

/* Returns the rate of links between two memories for accesses at one of them to the other; NAN when
 * unknown. */
struct memrate memrate_of_links(const struct memrate_access *access, enum memrate_what what,
                                place_id here, place_id there);

/* Returns the measured rate at which a GPU touches for the first time ordinary memory of the host,
 * or managed memory that moves to it. NAN when unknown. */
struct memrate memrate_first_touch(const struct memrate_access *access, enum memrate_what what);
