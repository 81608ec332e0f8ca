/**
 * The ranks of the run: the core of each, the machine and the network namespace that it is in, and
 * how all wait for a few of them.
 */
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/why.h"

struct mpi_rank {
    char core[24]; /* place, as core3 */
    int number;    /* of the core */
    int llc;       /* index among those of its machine, -1 unknown */
    int machine;   /* lowest rank of the same machine, by the kernel's boot id */
    int network;   /* lowest rank of the same network namespace and machine */
    char host[64];
};

struct mpi_ranks {
    int rank, size;
    struct mpi_rank *of; /* by rank */
    int *local;          /* ranks on the machine of rank 0, ascending */
    int local_count;
};

/* Pins each rank: ranks with the same allowed CPUs are distributed over the cores of these in
 * turn. Collective. */
bool mpi_ranks_new(struct mpi_ranks *ret_ranks, struct probe_why *why);
void mpi_ranks_done(struct mpi_ranks *ranks);

/* True when the rank is the first one on its core. */
bool mpi_ranks_is_first(const struct mpi_ranks *ranks, int rank);

/* Waits for all ranks, asleep for the most part: a rank that polls would slow those that measure.
 * Collective. */
void mpi_ranks_wait(void);

/* Distributes rank 0's time for the next cell; 0: none is left. Collective. */
int64_t mpi_ranks_share(int64_t share_ns);

/* Brings a result from the rank that has it to rank 0, which waits asleep; nothing to do for
 * others. */
void mpi_ranks_bring(int rank, void *result, int bytes);

/* Makes a communicator of these ranks, in this order. Collective among them; the caller frees
 * it. */
MPI_Comm mpi_ranks_group(const int *ranks, int count);
