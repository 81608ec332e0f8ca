#include "mpi/pairs.h"

#include "mpi/exchange.h"

#define SIZES 5

static const int64_t latency_bytes[SIZES] = {8, 512, 4096, 32768, 262144};
static const int64_t stream_bytes[SIZES] = {1024, 8192, 65536, 524288, 4194304};

/* Cells of one pair, in each direction; both ways at once stand once a pair. */
static const struct {
    enum probe_metric metric;
    enum mpi_exchange_kind kind;
    const int64_t *bytes;
} kinds[] = {{PROBE_MPI_LATENCY, MPI_EXCHANGE_PINGPONG, latency_bytes},
             {PROBE_MPI_BANDWIDTH, MPI_EXCHANGE_STREAM, stream_bytes},
             {PROBE_MPI_BANDWIDTH, MPI_EXCHANGE_BOTH, stream_bytes}};
#define KINDS (sizeof kinds / sizeof *kinds)

/* Number of chosen ranks that share the rank's L3. */
static int count_llc(const struct mpi_ranks *ranks, const struct mpi_pairs *pairs, int rank)
{
    int count = 0;
    for (int i = 0; i < pairs->count; i++)
        count += ranks->of[pairs->rank[i]].llc == ranks->of[rank].llc;
    return count;
}

static bool is_chosen(const struct mpi_pairs *pairs, int rank)
{
    bool is = false;
    for (int i = 0; i < pairs->count; i++)
        is |= pairs->rank[i] == rank;
    return is;
}

size_t mpi_pairs_choose(const struct mpi_ranks *ranks, const bool *metrics, struct mpi_pairs *ret)
{
    *ret = (struct mpi_pairs){.count = 0};
    for (int most = 2; most <= MPI_PAIRS_RANKS; most += MPI_PAIRS_RANKS - 2)
        for (int i = 0; i < ranks->local_count && ret->count < MPI_PAIRS_RANKS; i++) {
            int rank = ranks->local[i];
            if (mpi_ranks_is_first(ranks, rank) && !is_chosen(ret, rank) &&
                count_llc(ranks, ret, rank) < most)
                ret->rank[ret->count++] = rank;
        }
    size_t cells = 0;
    for (size_t k = 0; k < KINDS; k++) {
        ret->is_asked[kinds[k].metric] = metrics[kinds[k].metric];
        if (metrics[kinds[k].metric])
            cells += (size_t)(ret->count * (ret->count - 1)) /
                     (kinds[k].kind == MPI_EXCHANGE_BOTH ? 2 : 1);
    }
    return cells;
}

/* One cell, between the ranks from and to. */
static void measure(const struct mpi_ranks *ranks, size_t kind, const int ends[2],
                    const struct mpi_buffers *buffers, struct mpi_report *report)
{
    struct probe_sample samples[SIZES] = {{.bytes = 0}};
    struct mpi_result cell = {.metric = kinds[kind].metric,
                              .from = ranks->of[ends[0]].core,
                              .to = ranks->of[ends[1]].core,
                              .samples = samples,
                              .sample_count = SIZES};
    int64_t share_ns = mpi_ranks_share(mpi_report_share(report));
    if (kinds[kind].kind == MPI_EXCHANGE_BOTH)
        probe_axes_add(&cell.axes, "direction", "both");
    if (share_ns == 0) {
        mpi_report_skip(report, &cell, mpi_report_late);
        return;
    }
    if (ranks->rank == ends[0] || ranks->rank == ends[1]) {
        bool begins = ranks->rank == ends[0];
        struct mpi_end end = {MPI_COMM_WORLD, mpi_ranks_group(ends, 2), ends[begins], begins, 0};
        for (int i = 0; i < SIZES; i++) {
            samples[i].bytes = kinds[kind].bytes[i];
            mpi_exchange_time(&end, kinds[kind].kind, buffers, samples[i].bytes, share_ns / SIZES,
                              &samples[i].ns);
        }
        MPI_Comm_free(&end.group);
    }
    mpi_ranks_bring(ends[0], samples, sizeof samples);
    mpi_report_result(report, &cell);
}

bool mpi_pairs_run(const struct mpi_ranks *ranks, const struct mpi_pairs *pairs,
                   struct mpi_report *report, struct probe_why *why)
{
    struct mpi_buffers buffers = {.out = NULL};
    if (is_chosen(pairs, ranks->rank) && !mpi_exchange_buffers(stream_bytes[SIZES - 1], &buffers)) {
        mpi_exchange_buffers_done(&buffers);
        return probe_why_set(why, "out of memory");
    }
    for (size_t k = 0; k < KINDS; k++)
        for (int a = 0; a < pairs->count && pairs->is_asked[kinds[k].metric]; a++)
            for (int b = kinds[k].kind == MPI_EXCHANGE_BOTH ? a + 1 : 0; b < pairs->count; b++)
                if (a != b)
                    measure(ranks, k, (const int[2]){pairs->rank[a], pairs->rank[b]}, &buffers,
                            report);
    mpi_exchange_buffers_done(&buffers);
    return true;
}
