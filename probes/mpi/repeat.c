#include "mpi/repeat.h"

#include <stdbool.h>

#include "common/clock.h"

#define BATCH_NS  1e6 /* length of a batch, roughly */
#define COUNT_MAX 100000

/* Runs a batch in all ranks at once; returns the slowest rank's time, on rank 0. */
static double run(mpi_batch batch, void *arg, MPI_Comm group, int count)
{
    double slowest = 0;
    MPI_Barrier(group);
    double own = batch(arg, count);
    MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, group);
    return slowest;
}

/* Finds the count of a batch. The first round makes connections, the second one is timed. */
static int find_count(mpi_batch batch, void *arg, MPI_Comm group, int64_t budget_ns)
{
    double most_ns = (double)budget_ns / (2 * PROBE_STATS_MIN);
    run(batch, arg, group, 1);
    double count = (most_ns < BATCH_NS ? most_ns : BATCH_NS) / run(batch, arg, group, 2);
    return count < 1 ? 1 : count > COUNT_MAX ? COUNT_MAX : (int)count;
}

void mpi_repeat(mpi_batch batch, void *arg, MPI_Comm group, int64_t budget_ns,
                struct probe_summary *ret)
{
    double samples[PROBE_STATS_MAX];
    int64_t end_ns = probe_clock_ns() + budget_ns;
    int rank, count = find_count(batch, arg, group, budget_ns);
    unsigned n = 0;
    MPI_Comm_rank(group, &rank);
    for (MPI_Bcast(&count, 1, MPI_INT, 0, group); count > 0;
         MPI_Bcast(&count, 1, MPI_INT, 0, group)) {
        double ns = run(batch, arg, group, count);
        if (rank != 0)
            continue;
        samples[n++] = ns;
        int64_t late_ns = probe_clock_ns() - end_ns;
        if (probe_stats_enough(samples, n, late_ns > 0) ||
            late_ns > (PROBE_STATS_PATIENCE - 1) * budget_ns)
            count = 0;
    }
    if (rank == 0)
        *ret = probe_stats_quantile(samples, n, 0.5);
}
