/**
 * Messages between two ranks on different cores: mpi_latency, mpi_bandwidth. At most
 * MPI_PAIRS_RANKS ranks take part: two of each L3 cache first.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "common/why.h"
#include "mpi/report.h"

#define MPI_PAIRS_RANKS 16

struct mpi_pairs {
    int rank[MPI_PAIRS_RANKS];
    int count;
    bool is_asked[PROBE_METRIC_COUNT];
};

/* Chooses the ranks. Returns the number of cells. */
size_t mpi_pairs_choose(const struct mpi_ranks *ranks, const bool *metrics, struct mpi_pairs *ret);

/* Measures every pair in each direction. Collective. */
bool mpi_pairs_run(const struct mpi_ranks *ranks, const struct mpi_pairs *pairs,
                   struct mpi_report *report, struct probe_why *why);
