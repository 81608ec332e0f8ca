/**
 * The time of accesses to memory: how long, how far off one more repetition may be, the source of
 * the numbers, and the doubts about them.
 *
 * Parts that follow each other add up: deviations of single repetitions as squares, the most
 * doubtful source, all doubts. Pure; any thread.
 */
#pragma once
#include "cost/estimate.h"
#include "cost/evidence.h"
#include "cost/transfer.h"
#include "node/reasons.h"

/* A set of doubts about a time: the codes of reasons from SIMILAR_ACCESS to TOUCHED_BY_ONE_THREAD.
 */
typedef unsigned memtime_doubts;
#define MEMTIME_DOUBT(code) (1u << ((code)-REASON_SIMILAR_ACCESS))

/* Shorter times that lack the start of a kernel, or one access, say nothing. */
#define MEMTIME_SHORT_NS 1000

struct memtime {
    double time_ns; /* NAN: nothing known predicts it */
    /* the squares of how much less and more one more repetition may take; NAN unknown */
    double below, above;
    enum source source;
    memtime_doubts doubts;
};

/* Nothing is known. */
struct memtime memtime_unknown(void);

/* By a figure without an interval. */
struct memtime memtime_bare(double time_ns, enum source source);

/* A time whose interval follows from one cell's median of n repetitions (0: not known), which lies
 * between low_ns and high_ns: once, or the mean of rounds repetitions. peers: the deviation of such
 * cells (spread_cell_among). */
struct memtime memtime_of(double time_ns, double low_ns, double high_ns, uint32_t n, double peers,
                          double rounds);

/* By the relative half width of the interval of one more repetition. */
struct memtime memtime_within(double time_ns, double spread);

struct memtime memtime_sum(struct memtime a, struct memtime b);

/* The same with one more doubt, and a source that is at least so doubtful. */
struct memtime memtime_doubted(struct memtime time, enum reason_code doubt, enum source source);

/* Of one more repetition. By numbers that are nominal, or a lower bound, it takes at least so long:
 * low_ns is time_ns, high_ns NAN. */
struct estimate memtime_estimate(const struct memtime *time);

/* Adds a warning for each doubt about a memory of that name. */
void memtime_warn(memtime_doubts doubts, const char *memory, struct reasons *warnings);

/* Collects the values that a time rests on, from start on. */
struct memtime_basis {
    struct evidence *evidence;
    size_t start;
    bool no_memory; /* one could not be added */
};

void memtime_cite(struct memtime_basis *basis, const struct value *value);
void memtime_cite_transfer(struct memtime_basis *basis, const struct transfer *transfer);
