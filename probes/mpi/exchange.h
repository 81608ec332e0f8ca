/**
 * Messages between two ranks, or two groups of them, timed in batches by the rank that begins.
 */
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/record.h"

enum mpi_exchange_kind {
    MPI_EXCHANGE_PINGPONG, /* one message there and back; the time is half of both */
    MPI_EXCHANGE_STREAM,   /* messages to the other, many under way; the time of one */
    MPI_EXCHANGE_BOTH      /* the same from both ends at once; half the time of one each way */
};

/* bytes: the largest message. Pages are touched, so that they lie next to the rank's core. */
struct mpi_buffers {
    char *out, *in;
    int64_t bytes;
};

bool mpi_exchange_buffers(int64_t bytes, struct mpi_buffers *ret);
void mpi_exchange_buffers_done(struct mpi_buffers *buffers);

/* One end. Each sender has one peer. group: all ends, of which rank 0 decides about the
 * repetitions. The time is the longest of all ends. */
struct mpi_end {
    MPI_Comm world; /* of the peer's rank */
    MPI_Comm group;
    int peer;
    bool begins;
    int64_t messages; /* in each direction that is timed, so far */
};

/* Times one size within the budget; *ret is right on the group's rank 0. Collective in the group.
 */
void mpi_exchange_time(struct mpi_end *end, enum mpi_exchange_kind kind,
                       const struct mpi_buffers *buffers, int64_t bytes, int64_t budget_ns,
                       struct probe_summary *ret);
