/**
 * Repetitions of a batch that several ranks run together: batches long enough for the clock, until
 * the interval is narrow (common/stats.h).
 */
#pragma once
#include <mpi.h>
#include <stdint.h>

#include "common/stats.h"

/* Runs the operation count times; returns the time of one in ns, by this rank's clock. */
typedef double (*mpi_batch)(void *arg, int count);

/* Rank 0 of the group decides and gets *ret; the time of a batch is that of its slowest rank.
 * Collective in the group. */
void mpi_repeat(mpi_batch batch, void *arg, MPI_Comm group, int64_t budget_ns,
                struct probe_summary *ret);
