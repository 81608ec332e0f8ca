/**
 * What is known of a gpu's kernels using memory that was allocated in some way, from the values of
 * a snapshot: streams by the curve of just that transfer where there is one, else by its rate, else
 * by what is nearest to it, with a warning (reading for writing, too); of its own memory at last by
 * what a gpu of the same model gets of its own, and by what firmware states; of other memory by
 * what the links between carry (basis->by_links), but of host memory no faster than it is known to
 * get that of the nearest NUMA node, or of any where that is not known (basis->by_least). Measured
 * values go before all others.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/memkind.h"
#include "cost/memrate.h"
#include "cost/memtime.h"

#define GPURATE_SAID 16

/* A warning that was given, and the number of its line, or a later one. */
struct gpurate_said {
    place_id gpu;
    bool is_read;
    const char *stands_for;
    size_t line;
};

#define GPURATE_STARTS 16

/* What starting a kernel costs, and how far apart the figures are that it is from. */
struct gpurate_start {
    double ns, off_ns;
};

/* Of which gpu on which memory. */
struct gpurate_started {
    place_id gpu, memory;
    enum metric metric;
    struct gpurate_start start;
};

#define GPURATE_LEAST 16

/* What such a transfer takes with host memory of which something is known. */
struct gpurate_least {
    place_id gpu;
    enum memkind kind;
    bool is_read;
    double bytes, time_ns;
    const struct value *value;
};

/* What is found, or said, once for an answer. Zero-initialise. */
struct gpurate_memo {
    struct gpurate_least least[GPURATE_LEAST];
    size_t least_count;
    struct gpurate_started started[GPURATE_STARTS];
    size_t started_count;
    struct gpurate_said said[GPURATE_SAID];
    size_t said_count;
};

/* Warnings from that number of lines on were taken back. */
void gpurate_forget(struct gpurate_memo *memo, size_t warnings);

/* A gpu and what it touches. */
struct gpurate {
    const struct snapshot *snap;
    const struct memkind_node *node;
    const struct memkind_place *place;
    place_id gpu;
    bool xnack;  /* page faults of AMD's gpus are switched on */
    double span; /* bytes of the buffer */
    struct gpurate_memo *memo;
};

/* The time of reading (how is "read") or writing ("write") that many bytes, once around the buffer
 * and again. Memory that is touched for the first time by the gpu costs what was measured of just
 * that, once around; of managed memory, where that was not, nothing, and it is in basis->floor. NAN
 * when nothing is known. NO_MEMORY. */
enum berth_code gpurate_stream(const struct gpurate *at, const char *how, double bytes,
                               struct memrate_basis *basis, struct memtime *ret,
                               struct berth_err *err);

/* Whether it is that gpu's own memory, whoever else has it, and stays there. */
bool gpurate_is_own(const struct gpurate *at);

/* The time of so many loads at random, of line_bytes each. How many a gpu has under way at once was
 * not measured: as many as would have to be for the rate at which it streams its own memory; a
 * warning says so, and there is no interval. Where its latency is not known, what a stream of as
 * many bytes takes, and it is in basis->floor. */
enum berth_code gpurate_random(const struct gpurate *at, double loads, double line_bytes,
                               struct memrate_basis *basis, struct memtime *ret,
                               struct berth_err *err);

/* What managed memory that is with the gpu costs when cores touch that many bytes of it: the pages
 * move to them. Without the cores' own time. NAN when it was not measured. */
enum berth_code gpurate_return(const struct gpurate *at, double bytes, struct memrate_basis *basis,
                               struct memtime *ret, struct berth_err *err);
