/**
 * Ping-pong cells: pairs that share no core side by side, in batches, and proof that this does not
 * change what they measure.
 *
 * store and cas are measured one after the other, because cas disturbs others sooner. After some
 * batches a random sample of their cells is measured again alone. A cell differs when the intervals
 * do not meet and the values are more than a tenth apart. Where a quarter of a sample differs,
 * these batches are measured again, and if a quarter differs again, with a quarter of the pairs at
 * once, down to one; where less does, they stand, and of the sample what was measured alone. The
 * more batches have stood, the more are taken before the next sample.
 *
 * Where a quarter of a batch does not even end, because the CPUs do not run at the same time (on a
 * virtual machine that has more of them than the real one, say), it is done again with a quarter of
 * the pairs at once. A pair that does not end alone is skipped, and after CPU_PATIENCE_IN_ROW of
 * those all that are left, as are they when a thread does not come back at all.
 *
 * Of two llcs one pair of cores stands for all in the quick profile. Another, drawn at random,
 * checks it; where they differ by more than a fifth, the spare cells of these llcs are measured
 * too.
 */
#pragma once
#include "common/random.h"
#include "cpu/report.h"
#include "cpu/workers.h"

/* On 64 cores under one cache (Xeon, family 6, model 207) a pair measured alone and alone again
 * lies further apart than a tenth, with intervals that do not meet, in 1 % of all cases; store with
 * 32 pairs at once in 5 %, cas in 72 %. */
#define CPU_PAIRS_LIMIT 0.10

/* The pairs between the two caches of a Zen 2 processor lie within 7 % of their median
 * (dpzmick.com, AMD Zen Memory Latency/Bandwidth Considerations, recorded data). */
#define CPU_PAIRS_LLC_LIMIT 0.20

struct cpu_pairs_plan {
    const struct cpu_topology *topology;
    const struct cpu_cell *cells; /* of ping-pong, in the order in which they are wanted */
    size_t count;
    int64_t end_ns;        /* of the clock: what is not reached by then is skipped */
    int64_t most_ns;       /* that a cell may take */
    unsigned most_at_once; /* pairs; 1: each alone */
    uint64_t seed;
};

/* Whether two measurements of the same differ: their intervals do not meet, and one value is more
 * than limit above the other. */
bool cpu_pairs_differ(const struct probe_summary *a, const struct probe_summary *b, double limit);

/* Whether what was played side by side stands: of a sample fewer than a quarter differ when
 * measured alone, and of all that was played fewer than a quarter could not be measured. */
bool cpu_pairs_stand(size_t sampled, size_t differing, size_t played, size_t unmeasured);

/* Measures and reports all cells but the spare ones that are not needed; report->total grows by
 * those that are, and report->pairs says how it went. Whatever cannot be measured is skipped. False
 * with why when the reader is gone (*ret_gone) or memory runs out. */
bool cpu_pairs_measure(const struct cpu_pairs_plan *plan, struct cpu_workers *workers,
                       struct cpu_report *report, bool *ret_gone, struct probe_why *why);
