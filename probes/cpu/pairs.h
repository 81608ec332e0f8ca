/**
 * Ping-pong cells: pairs that share no core run side by side, in batches, with proof that this does
 * not change the values.
 *
 * store and cas are measured one after the other, because cas disturbs others sooner. After some
 * batches a random sample of their cells is measured again alone. A cell differs when the intervals
 * do not meet and the values are more than a tenth apart. When a quarter of a sample differs, these
 * batches are measured again. When a quarter differs again, they are measured with a quarter of the
 * pairs at once, down to one. Otherwise the batches stand, and the sample keeps the values measured
 * alone. The more batches have stood, the more are taken before the next sample.
 *
 * A quarter of a batch may not even end, because the CPUs do not run at the same time. A virtual
 * machine with more CPUs than the real one is an example. Then the batch is done again with a
 * quarter of the pairs at once. A pair that does not end alone is skipped. All remaining pairs are
 * skipped after CPU_WAIT_LIMIT_IN_ROW of those, or when a thread does not return at all.
 *
 * In the quick profile, one pair of cores represents two llcs. Another pair, drawn at random,
 * checks it. When they differ by more than a fifth, the spare cells of these llcs are measured too.
 */
#pragma once
#include "common/random.h"
#include "cpu/report.h"
#include "cpu/workers.h"

/* Share of cells where a repeated measurement alone differs by more than a tenth, with intervals
 * that do not meet: 1 %. Measured on 64 cores under one cache (Xeon, family 6, model 207). With 32
 * pairs at once the share is 5 % for store and 72 % for cas. */
#define CPU_PAIRS_LIMIT 0.10

/* The pairs between the two caches of a Zen 2 processor lie within 7 % of their median. Source:
 * dpzmick.com, AMD Zen Memory Latency/Bandwidth Considerations, recorded data. */
#define CPU_PAIRS_LLC_LIMIT 0.20

struct cpu_pairs_plan {
    const struct cpu_topology *topology;
    const struct cpu_cell *cells; /* ping-pong cells, most wanted first */
    size_t count;
    int64_t end_ns;        /* time of the clock; later cells are skipped */
    int64_t most_ns;       /* time limit of a cell */
    unsigned most_at_once; /* pairs side by side; 1: each alone */
    uint64_t seed;
};

/* True when two measurements of the same differ: their intervals do not meet, and one value is more
 * than limit above the other. */
bool cpu_pairs_differ(const struct probe_summary *a, const struct probe_summary *b, double limit);

/* True when pairs that were played side by side stand. Fewer than a quarter of the sample differ
 * when measured alone, and fewer than a quarter of all played pairs could not be measured. */
bool cpu_pairs_stand(size_t sampled, size_t differing, size_t played, size_t unmeasured);

/* Measures and reports all cells, except unneeded spare ones. report->total grows by the needed
 * spare cells, and report->pairs describes the run. Cells that cannot be measured are skipped.
 * False with why when the reader is gone (*ret_gone) or memory runs out. */
bool cpu_pairs_measure(const struct cpu_pairs_plan *plan, struct cpu_workers *workers,
                       struct cpu_report *report, bool *ret_gone, struct probe_why *why);
