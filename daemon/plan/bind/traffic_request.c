#include "plan/bind/traffic_request.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/quantity.h"

#define DIMS_MAX 3

struct rank_of {
    int64_t rank;
    int32_t task;
};

struct work {
    const struct traffic_request *request;
    int64_t world;
    struct rank_of *here; /* ascending by rank */
    struct traffic_flow *flow;
    size_t count, room;
    bool failed; /* out of memory */
};

static int compare_ranks(const void *a, const void *b)
{
    int64_t x = ((const struct rank_of *)a)->rank, y = ((const struct rank_of *)b)->rank;
    return (x > y) - (x < y);
}

static int compare_flows(const void *a, const void *b)
{
    const struct traffic_flow *x = a, *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to > y->to) - (x->to < y->to);
}

static int64_t rank_of_task(const struct traffic_request *request, int64_t task)
{
    return request->ranks != NULL ? request->ranks[task] : task;
}

/* TRAFFIC_AWAY where it is not on this node. */
static int32_t task_of_rank(const struct work *work, int64_t rank)
{
    struct rank_of key = {.rank = rank};
    const struct rank_of *found =
        bsearch(&key, work->here, (size_t)work->request->tasks, sizeof key, compare_ranks);
    return found != NULL ? found->task : TRAFFIC_AWAY;
}

/* Adjacent equals become one; what is added later may equal what was added before, so the whole is
 * sorted. */
static void merge(struct work *work)
{
    size_t kept = 0;
    qsort(work->flow, work->count, sizeof *work->flow, compare_flows);
    for (size_t i = 0; i < work->count; i++) {
        if (kept > 0 && compare_flows(&work->flow[kept - 1], &work->flow[i]) == 0)
            work->flow[kept - 1].bytes += work->flow[i].bytes;
        else
            work->flow[kept++] = work->flow[i];
    }
    work->count = kept;
}

static void add(struct work *work, int32_t from, int32_t to, double bytes)
{
    if (from == to || !(bytes > 0) || work->failed)
        return;
    if (work->count == work->room) {
        size_t room = work->room > 0 ? 2 * work->room : 64;
        struct traffic_flow *flow = realloc(work->flow, room * sizeof *flow);
        if (flow == NULL) {
            work->failed = true;
            return;
        }
        work->flow = flow;
        work->room = room;
    }
    work->flow[work->count++] = (struct traffic_flow){from, to, bytes};
}

static enum berth_code check_bytes(const char *parameter, int64_t bytes, struct berth_err *err)
{
    char text[QUANTITY_SIZE];
    if (bytes < 0)
        return err_invalid(err, parameter, "%" PRId64 " bytes are no amount", bytes);
    if (bytes > TRAFFIC_BYTES_MAX)
        return err_invalid(err, parameter, "%s in one iteration; at most 1 EiB is weighed",
                           quantity_size((double)bytes, text));
    return BERTH_OK;
}

/* ---- patterns: what rank sends, and what others send to it ---- */

/* Both ways between a task here and the rank next to it, if the job has that; what comes from a
 * task of this node is that one's to add. */
static void exchange(struct work *work, int32_t task, int64_t other, double bytes)
{
    if (other < 0 || other >= work->world)
        return;
    int32_t to = task_of_rank(work, other);
    add(work, task, to, bytes);
    if (to == TRAFFIC_AWAY)
        add(work, to, task, bytes);
}

static void add_ring(struct work *work, int32_t task, int64_t rank, double bytes)
{
    if (work->world < 2)
        return;
    add(work, task, task_of_rank(work, (rank + 1) % work->world), bytes);
    if (task_of_rank(work, (rank + work->world - 1) % work->world) == TRAFFIC_AWAY)
        add(work, TRAFFIC_AWAY, task, bytes);
}

static void add_grid(struct work *work, int32_t task, int64_t rank, const int64_t *dims,
                     size_t count, double bytes)
{
    int64_t stride = 1;
    for (size_t d = count; d-- > 0; stride *= dims[d]) {
        if (dims[d] < 2)
            continue;
        int64_t at = rank / stride % dims[d];
        if (at > 0)
            exchange(work, task, rank - stride, bytes);
        if (at + 1 < dims[d])
            exchange(work, task, rank + stride, bytes);
    }
}

static void add_alltoall(struct work *work, int32_t task, double bytes)
{
    double away = (double)(work->world - work->request->tasks) * bytes;
    for (int64_t other = 0; other < work->request->tasks; other++)
        add(work, task, (int32_t)other, bytes);
    add(work, task, TRAFFIC_AWAY, away);
    add(work, TRAFFIC_AWAY, task, away);
}

static void add_pattern(struct work *work)
{
    const struct traffic_request *request = work->request;
    double bytes = (double)request->bytes, n = (double)work->world;
    size_t sides = request->pattern == TRAFFIC_GRID3D ? 3 : 2;
    int64_t dims[DIMS_MAX];
    plan_traffic_dims(work->world, sides, dims);
    for (int64_t t = 0; t < request->tasks; t++) {
        int64_t rank = rank_of_task(request, t);
        switch (request->pattern) {
        case TRAFFIC_NONE:
            break;
        case TRAFFIC_PAIRS:
            exchange(work, (int32_t)t, rank ^ 1, bytes);
            break;
        case TRAFFIC_RING:
            add_ring(work, (int32_t)t, rank, bytes);
            break;
        case TRAFFIC_ALLREDUCE:
            add_ring(work, (int32_t)t, rank, bytes * 2 * (n - 1) / n);
            break;
        case TRAFFIC_GRID2D:
        case TRAFFIC_GRID3D:
            add_grid(work, (int32_t)t, rank, dims, sides, bytes);
            break;
        case TRAFFIC_ALLTOALL:
            add_alltoall(work, (int32_t)t, bytes);
            break;
        }
    }
}

void plan_traffic_dims(int64_t ranks, size_t count, int64_t *ret_dims)
{
    int64_t best[DIMS_MAX] = {ranks, 1, 1};
    int64_t last = count < 3 ? 1 : ranks;
    for (int64_t c = 1; c <= last && c * c * c <= ranks; c++) {
        if (ranks % c != 0)
            continue;
        int64_t rest = ranks / c, b = 1;
        for (int64_t d = 1; d * d <= rest; d++)
            if (rest % d == 0)
                b = d;
        int64_t difference = rest / b - c, least = best[0] - best[2];
        /* Of two sides the second is the least one; c is 1 then and says nothing. */
        if (b >= c &&
            (count < 3 || difference < least || (difference == least && rest / b < best[0]))) {
            best[0] = rest / b;
            best[1] = b;
            best[2] = c;
        }
    }
    for (size_t i = 0; i < count; i++)
        ret_dims[i] = best[i];
}

/* ---- what is asked ---- */

/* The ranks of the job. */
static enum berth_code find_world(const struct traffic_request *request, int64_t *ret,
                                  struct berth_err *err)
{
    int64_t world = request->world > 0 ? request->world : request->tasks;
    if (request->tasks < 1 || request->tasks > INT32_MAX)
        return err_invalid(err, "tasks", "%" PRId64 " is not from 1 to %d", request->tasks,
                           INT32_MAX);
    if (request->world < 0 || request->world > TRAFFIC_WORLD_MAX)
        return err_invalid(err, "world", "%" PRId64 " ranks; a job has 1 to %" PRId64,
                           request->world, (int64_t)TRAFFIC_WORLD_MAX);
    if (world < request->tasks)
        return err_invalid(err, "world", "%" PRId64 " ranks cannot have %" PRId64 " tasks here",
                           world, request->tasks);
    for (int64_t t = 0; t < request->tasks; t++) {
        int64_t rank = rank_of_task(request, t);
        if (rank < 0 || rank >= TRAFFIC_WORLD_MAX)
            return err_invalid(err, "ranks", "%" PRId64 " is no rank of a job", rank);
        if (rank < world)
            continue;
        if (request->world > 0)
            return err_invalid(
                err, "ranks", "%" PRId64 " is no rank of the job, which has %" PRId64, rank, world);
        if (request->pattern != TRAFFIC_NONE)
            return err_invalid(err, "world",
                               "it is missing: a pattern runs over all ranks of the job, and there "
                               "is a rank %" PRId64 " among %" PRId64 " tasks",
                               rank, world);
        world = TRAFFIC_WORLD_MAX; /* exact flows alone: only those that are named count */
        break;
    }
    *ret = world;
    return BERTH_OK;
}

static enum berth_code check_pattern(const struct traffic_request *request, struct berth_err *err)
{
    if (request->pattern == TRAFFIC_NONE && request->bytes > 0)
        return err_invalid(err, "bytes",
                           "they are what each flow of a pattern carries, and no pattern is given");
    if (request->pattern == TRAFFIC_NONE)
        return BERTH_OK;
    if (request->bytes == -1)
        return err_invalid(err, "bytes",
                           "it is missing: how much does each flow of the pattern carry?");
    if (request->pattern == TRAFFIC_ALLTOALL &&
        request->tasks * (request->tasks - 1) > TRAFFIC_FLOWS_MAX)
        return err_invalid(err, "pattern",
                           "alltoall of %" PRId64 " tasks is %" PRId64
                           " flows on this node; at most %d are weighed",
                           request->tasks, request->tasks * (request->tasks - 1),
                           TRAFFIC_FLOWS_MAX);
    return check_bytes("bytes", request->bytes, err);
}

static enum berth_code add_exact(struct work *work, struct berth_err *err)
{
    const struct traffic_request *request = work->request;
    if (request->exact_count > TRAFFIC_FLOWS_MAX)
        return err_invalid(err, "flows", "%zu are given; at most %d are weighed",
                           request->exact_count, TRAFFIC_FLOWS_MAX);
    for (size_t i = 0; i < request->exact_count; i++) {
        const struct traffic_exact *exact = &request->exact[i];
        char named[32];
        snprintf(named, sizeof named, "flows[%zu]", i);
        if (exact->from < 0 || exact->from >= work->world || exact->to < 0 ||
            exact->to >= work->world)
            return err_invalid(err, named,
                               "a flow from rank %" PRId64 " to rank %" PRId64
                               "; there are ranks 0 to %" PRId64,
                               exact->from, exact->to, work->world - 1);
        if (exact->from == exact->to)
            return err_invalid(err, named,
                               "a flow from rank %" PRId64
                               " to itself: a rank sends nothing to itself",
                               exact->from);
        enum berth_code code = check_bytes(named, exact->bytes, err);
        if (code != BERTH_OK)
            return code;
        add(work, task_of_rank(work, exact->from), task_of_rank(work, exact->to),
            (double)exact->bytes);
    }
    return BERTH_OK;
}

static enum berth_code fill(struct work *work, struct berth_err *err)
{
    const struct traffic_request *request = work->request;
    enum berth_code code = find_world(request, &work->world, err);
    if (code == BERTH_OK)
        code = check_pattern(request, err);
    if (code == BERTH_OK)
        code = check_bytes("host_bytes", request->host_bytes, err);
    if (code != BERTH_OK)
        return code;
    work->here = calloc((size_t)request->tasks, sizeof *work->here);
    if (work->here == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for ranks");
    for (int64_t t = 0; t < request->tasks; t++)
        work->here[t] = (struct rank_of){rank_of_task(request, t), (int32_t)t};
    qsort(work->here, (size_t)request->tasks, sizeof *work->here, compare_ranks);
    for (int64_t t = 1; t < request->tasks; t++)
        if (work->here[t].rank == work->here[t - 1].rank)
            return err_invalid(err, "ranks", "rank %" PRId64 " is given twice", work->here[t].rank);
    code = add_exact(work, err);
    if (code != BERTH_OK)
        return code;
    if (request->pattern != TRAFFIC_NONE)
        add_pattern(work);
    for (int64_t t = 0; t < request->tasks; t++) {
        add(work, (int32_t)t, TRAFFIC_HOST, (double)request->host_bytes);
        add(work, TRAFFIC_HOST, (int32_t)t, (double)request->host_bytes);
    }
    if (work->failed)
        return err_set(err, BERTH_NO_MEMORY, "no memory for flows");
    if (work->count > 0)
        merge(work);
    return BERTH_OK;
}

static double reduced(const struct work *work)
{
    const struct traffic_request *request = work->request;
    bool is_all = request->pattern == TRAFFIC_ALLREDUCE && request->exact_count == 0 &&
                  request->host_bytes == 0 && work->world == request->tasks;
    return is_all ? (double)request->bytes : 0;
}

enum berth_code plan_traffic(const struct traffic_request *request, struct traffic *ret,
                             struct berth_err *err)
{
    struct work work = {.request = request};
    enum berth_code code = fill(&work, err);
    free(work.here);
    if (code == BERTH_OK)
        *ret = (struct traffic){.flow = work.flow, .count = work.count, .reduced = reduced(&work)};
    else
        free(work.flow);
    return code;
}

void plan_traffic_done(struct traffic *traffic)
{
    free(traffic->flow);
    *traffic = (struct traffic){0};
}
