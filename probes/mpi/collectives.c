#include "mpi/collectives.h"

#include <mpi.h>

#include "common/clock.h"
#include "mpi/exchange.h"
#include "mpi/repeat.h"

#define SIZES         4
#define LATENCY_BYTES 8
#define UNIT          ((int64_t)sizeof(float))

static const int64_t sizes[SIZES] = {4096, 65536, 1048576, 8388608};

enum operation { ALLREDUCE, ALLGATHER, ALLTOALL, BROADCAST, REDUCE, REDUCESCATTER, OPERATIONS };

static const struct {
    const char *name;
    bool is_divided; /* a buffer has a block for each member */
} operations[OPERATIONS] = {
    {"allreduce", false}, {"allgather", true}, {"alltoall", true},
    {"broadcast", false}, {"reduce", false},   {"reducescatter", true},
};

/* Number of members of the next larger group; 0 none. */
static int next_members(const struct mpi_ranks *ranks, int members)
{
    int most = ranks->local_count;
    return members == most ? 0 : members == 0 ? 2 : 2 * members < most ? 2 * members : most;
}

size_t mpi_collectives_count(const struct mpi_ranks *ranks, const bool *metrics)
{
    size_t groups = 0;
    for (int members = next_members(ranks, 0); members > 0; members = next_members(ranks, members))
        groups++;
    return OPERATIONS * groups *
           ((size_t)metrics[PROBE_MPI_COLLECTIVE_LATENCY] +
            (size_t)metrics[PROBE_MPI_COLLECTIVE_BANDWIDTH]);
}

struct work {
    enum operation operation;
    MPI_Comm comm;
    int members;
    float *out, *in;
    int count; /* of floats in a block, of all where it is not divided */
};

/* The root changes each time: with one root the ranks would follow it at their own pace. */
static void act(const struct work *work, int root)
{
    int n = work->count;
    float *out = work->out, *in = work->in;
    switch (work->operation) {
    case ALLREDUCE:
        MPI_Allreduce(out, in, n, MPI_FLOAT, MPI_SUM, work->comm);
        break;
    case ALLGATHER:
        MPI_Allgather(out, n, MPI_FLOAT, in, n, MPI_FLOAT, work->comm);
        break;
    case ALLTOALL:
        MPI_Alltoall(out, n, MPI_FLOAT, in, n, MPI_FLOAT, work->comm);
        break;
    case BROADCAST:
        MPI_Bcast(in, n, MPI_FLOAT, root, work->comm);
        break;
    case REDUCE:
        MPI_Reduce(out, in, n, MPI_FLOAT, MPI_SUM, root, work->comm);
        break;
    case REDUCESCATTER:
        MPI_Reduce_scatter_block(out, in, n, MPI_FLOAT, MPI_SUM, work->comm);
        break;
    case OPERATIONS:
        break;
    }
}

static double run(void *arg, int count)
{
    const struct work *work = arg;
    int64_t begin_ns = probe_clock_ns();
    for (int i = 0; i < count; i++)
        act(work, i % work->members);
    return (double)(probe_clock_ns() - begin_ns) / count;
}

/* Times one size, whose bytes are those of the larger buffer, rounded up to whole blocks. */
static void time_size(const struct mpi_buffers *buffers, struct work *work, int64_t budget_ns,
                      struct probe_sample *sample)
{
    int64_t blocks = operations[work->operation].is_divided ? work->members : 1,
            count = (sample->bytes + blocks * UNIT - 1) / (blocks * UNIT);
    work->count = (int)count;
    work->out = (float *)(void *)buffers->out;
    work->in = (float *)(void *)buffers->in;
    mpi_repeat(run, work, work->comm, budget_ns, &sample->ns);
    if (sample->bytes != LATENCY_BYTES)
        sample->bytes = count * blocks * UNIT;
}

/* A group: its members, and the lowest and highest core. */
struct group {
    MPI_Comm comm; /* of a member */
    int members;
    bool is_member;
    const char *from, *to;
};

static void measure(enum probe_metric metric, enum operation operation, const struct group *group,
                    const struct mpi_buffers *buffers, struct mpi_report *report)
{
    struct probe_sample samples[SIZES] = {{.bytes = LATENCY_BYTES}};
    bool is_latency = metric == PROBE_MPI_COLLECTIVE_LATENCY;
    struct mpi_result cell = {.metric = metric,
                              .from = group->from,
                              .to = group->to,
                              .samples = samples,
                              .sample_count = is_latency ? 1 : SIZES};
    if (operation != ALLREDUCE)
        probe_axes_add(&cell.axes, "operation", "%s", operations[operation].name);
    if (group->members != 2)
        probe_axes_add(&cell.axes, "members", "%d", group->members);
    int64_t share_ns = mpi_ranks_share(mpi_report_share(report));
    if (share_ns == 0) {
        mpi_report_skip(report, &cell, mpi_report_late);
        return;
    }
    for (size_t i = 0; i < cell.sample_count && group->is_member; i++) {
        struct work work = {.operation = operation, .comm = group->comm, .members = group->members};
        samples[i].bytes = is_latency ? LATENCY_BYTES : sizes[i];
        time_size(buffers, &work, share_ns / (int64_t)cell.sample_count, &samples[i]);
    }
    mpi_report_result(report, &cell);
}

static struct group make_group(const struct mpi_ranks *ranks, int members)
{
    struct group group = {.members = members};
    int lowest = ranks->local[0], highest = lowest;
    for (int i = 0; i < members; i++) {
        int rank = ranks->local[i];
        group.is_member |= rank == ranks->rank;
        if (ranks->of[rank].number < ranks->of[lowest].number)
            lowest = rank;
        if (ranks->of[rank].number > ranks->of[highest].number)
            highest = rank;
    }
    group.from = ranks->of[lowest].core;
    group.to = ranks->of[highest].core;
    if (group.is_member)
        group.comm = mpi_ranks_group(ranks->local, members);
    return group;
}

bool mpi_collectives_run(const struct mpi_ranks *ranks, const bool *metrics,
                         struct mpi_report *report, struct probe_why *why)
{
    static const enum probe_metric both[] = {PROBE_MPI_COLLECTIVE_LATENCY,
                                             PROBE_MPI_COLLECTIVE_BANDWIDTH};
    struct mpi_buffers buffers = {.out = NULL};
    if (!metrics[both[0]] && !metrics[both[1]])
        return true;
    if (ranks->of[ranks->rank].machine == 0 &&
        !mpi_exchange_buffers(sizes[SIZES - 1] + ranks->local_count * UNIT, &buffers)) {
        mpi_exchange_buffers_done(&buffers);
        return probe_why_set(why, "out of memory");
    }
    for (int members = next_members(ranks, 0); members > 0;
         members = next_members(ranks, members)) {
        struct group group = make_group(ranks, members);
        for (size_t m = 0; m < 2; m++)
            for (int operation = 0; operation < OPERATIONS && metrics[both[m]]; operation++)
                measure(both[m], (enum operation)operation, &group, &buffers, report);
        if (group.is_member)
            MPI_Comm_free(&group.comm);
    }
    mpi_exchange_buffers_done(&buffers);
    return true;
}
