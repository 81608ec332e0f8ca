#include "mpi/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "mpi/repeat.h"

#define WINDOW       64 /* messages under way, as many as osu_bw has */
#define WINDOW_BYTES (INT64_C(64) << 20)
#define ALIGNMENT    (2 << 20)

enum { TAG_MESSAGE = 1, TAG_DONE };

bool mpi_exchange_buffers(int64_t bytes, struct mpi_buffers *ret)
{
    size_t size = ((size_t)bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *ret =
        (struct mpi_buffers){aligned_alloc(ALIGNMENT, size), aligned_alloc(ALIGNMENT, size), bytes};
    if (ret->out == NULL || ret->in == NULL)
        return false;
    memset(ret->out, 1, size);
    memset(ret->in, 2, size);
    return true;
}

void mpi_exchange_buffers_done(struct mpi_buffers *buffers)
{
    free(buffers->out);
    free(buffers->in);
    *buffers = (struct mpi_buffers){0};
}

/* What a batch needs. */
struct work {
    struct mpi_end *end;
    const struct mpi_buffers *buffers;
    enum mpi_exchange_kind kind;
    int bytes, window;
};

static void pingpong(const struct work *work, int count)
{
    const struct mpi_end *end = work->end;
    for (int i = 0; i < count; i++) {
        if (end->begins)
            MPI_Send(work->buffers->out, work->bytes, MPI_BYTE, end->peer, TAG_MESSAGE, end->world);
        MPI_Recv(work->buffers->in, work->bytes, MPI_BYTE, end->peer, TAG_MESSAGE, end->world,
                 MPI_STATUS_IGNORE);
        if (!end->begins)
            MPI_Send(work->buffers->out, work->bytes, MPI_BYTE, end->peer, TAG_MESSAGE, end->world);
    }
}

static void stream(const struct work *work, int count)
{
    const struct mpi_end *end = work->end;
    bool sends = end->begins || work->kind == MPI_EXCHANGE_BOTH,
         receives = !end->begins || work->kind == MPI_EXCHANGE_BOTH;
    for (int done = 0; done < count;) {
        MPI_Request request[2 * WINDOW];
        MPI_Status status[2 * WINDOW]; /* gcc warns of MPI_STATUSES_IGNORE */
        int now = count - done < work->window ? count - done : work->window, used = 0;
        for (int i = 0; i < now && receives; i++)
            MPI_Irecv(work->buffers->in, work->bytes, MPI_BYTE, end->peer, TAG_MESSAGE, end->world,
                      &request[used++]);
        for (int i = 0; i < now && sends; i++)
            MPI_Isend(work->buffers->out, work->bytes, MPI_BYTE, end->peer, TAG_MESSAGE, end->world,
                      &request[used++]);
        MPI_Waitall(used, request, status);
        done += now;
    }
    if (end->begins)
        MPI_Recv(NULL, 0, MPI_BYTE, end->peer, TAG_DONE, end->world, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, end->peer, TAG_DONE, end->world);
}

static double run(void *arg, int count)
{
    const struct work *work = arg;
    int64_t begin_ns = probe_clock_ns();
    if (work->kind == MPI_EXCHANGE_PINGPONG)
        pingpong(work, count);
    else
        stream(work, count);
    work->end->messages += count;
    double ns = (double)(probe_clock_ns() - begin_ns) / count;
    return work->kind == MPI_EXCHANGE_STREAM ? ns : ns / 2;
}

void mpi_exchange_time(struct mpi_end *end, enum mpi_exchange_kind kind,
                       const struct mpi_buffers *buffers, int64_t bytes, int64_t budget_ns,
                       struct probe_summary *ret)
{
    int64_t window = WINDOW_BYTES / bytes;
    struct work work = {end, buffers, kind, (int)bytes,
                        window < 1        ? 1
                        : window > WINDOW ? WINDOW
                                          : (int)window};
    mpi_repeat(run, &work, end->group, budget_ns, ret);
}
