#include "serve/bind_request.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/quantity.h"
#include "node/allowed.h"
#include "serve/request.h"

static const char *const patterns[] = {"none",   "pairs",    "ring",      "grid2d",
                                       "grid3d", "alltoall", "allreduce", NULL};
static const char *const mechanisms[] = {
    [COPY_BEST] = "best", [COPY_BY_ENGINE] = "copy_engine", [COPY_BY_KERNEL] = "kernel", NULL};
static const char *const orders[] = {"free", "rank", NULL};
static const char *const visibles[] = {"own", "all", NULL};
enum { ORDER_RANK = 1, VISIBLE_ALL = 1 };

/* Reads the tasks' ranks in the job. */
static enum berth_code read_ranks(const json_t *params, struct bind_asked *asked,
                                  struct berth_err *err)
{
    const json_t *array = NULL;
    enum berth_code code = request_array(params, "ranks", TRAFFIC_RANKS_MAX, &array, err);
    if (code != BERTH_OK || array == NULL)
        return code;
    size_t count = json_array_size(array);
    if (count != (size_t)asked->request.tasks)
        return err_invalid(err, "ranks", "%zu rank%s for %" PRId64 " task%s", count,
                           count == 1 ? "" : "s", asked->request.tasks,
                           asked->request.tasks == 1 ? "" : "s");
    asked->ranks = calloc(count, sizeof *asked->ranks);
    if (asked->ranks == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for ranks");
    for (size_t i = 0; i < count; i++) {
        const json_t *rank = json_array_get(array, i);
        if (!json_is_integer(rank))
            return err_invalid(err, "ranks", "rank %zu is no number", i);
        asked->ranks[i] = json_integer_value(rank);
    }
    return BERTH_OK;
}

static enum berth_code read_bytes(const json_t *params, const char *name, int64_t fallback,
                                  int64_t *ret, struct berth_err *err)
{
    int64_t bytes = fallback;
    enum berth_code code = request_int(params, name, INT64_MIN, INT64_MAX, fallback, &bytes, err);
    if (code == BERTH_OK && bytes < 0 && json_is_integer(json_object_get(params, name)))
        code = err_invalid(err, name, "%" PRId64 " bytes are no amount", bytes);
    if (code == BERTH_OK)
        *ret = bytes;
    return code;
}

static enum berth_code read_flow(const json_t *json, struct traffic_exact *ret,
                                 struct berth_err *err)
{
    struct traffic_exact flow = {-1, -1, -1};
    if (!json_is_object(json))
        return err_invalid(err, "flows", "a flow is an object");
    enum berth_code code = request_int(json, "from", INT64_MIN, INT64_MAX, -1, &flow.from, err);
    if (code == BERTH_OK)
        code = request_int(json, "to", INT64_MIN, INT64_MAX, -1, &flow.to, err);
    if (code == BERTH_OK)
        code = request_int(json, "bytes", INT64_MIN, INT64_MAX, -1, &flow.bytes, err);
    if (code == BERTH_OK)
        *ret = flow;
    return code;
}

static enum berth_code read_flows(const json_t *params, struct traffic_request *request,
                                  struct traffic_exact **ret, struct berth_err *err)
{
    const json_t *array = NULL;
    enum berth_code code = request_array(params, "flows", TRAFFIC_FLOWS_MAX, &array, err);
    if (code != BERTH_OK || json_array_size(array) == 0)
        return code;
    struct traffic_exact *flow = calloc(json_array_size(array), sizeof *flow);
    if (flow == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for flows");
    *ret = flow;
    for (size_t i = 0; code == BERTH_OK && i < json_array_size(array); i++)
        if ((code = read_flow(json_array_get(array, i), &flow[i], err)) != BERTH_OK)
            err_in_item(err, "flows", i);
    request->exact = flow;
    request->exact_count = json_array_size(array);
    return code;
}

/* Returns the capacity of the largest memory of that kind, or of all together. -1 when there is
 * none or one is unknown. */
static int64_t memory_of(const struct graph *graph, enum place_kind kind, bool together)
{
    int64_t most = -1;
    for (place_id p = graph_next(graph, kind, 0); p != PLACE_NONE;
         p = graph_next(graph, kind, p + 1)) {
        int64_t capacity = graph_place(graph, p)->capacity_bytes;
        if (capacity < 0)
            return -1;
        most = together ? (most > 0 ? most : 0) + capacity : capacity > most ? capacity : most;
    }
    return most;
}

/* Fails when bytes exceed room; -1 unknown. */
static enum berth_code check_room(int64_t bytes, int64_t room, const char *what,
                                  struct berth_err *err)
{
    char asked[QUANTITY_SIZE], has[QUANTITY_SIZE];
    if (room < 0 || bytes <= room)
        return BERTH_OK;
    quantity_sizes((double)bytes, (double)room, asked, has);
    return err_not_enough(err, "bytes of memory", bytes, room,
                          "%s in one iteration do not fit in %s: %s", asked, what, has);
}

/* Checks sizes against memory. A task's messages must fit in its GPUs' memory. Bytes to the host
 * may go in parts, so they must fit in the host's memory. */
static enum berth_code check_sizes(const struct graph *graph, const struct traffic_request *traffic,
                                   int64_t gpus_per_task, struct berth_err *err)
{
    int64_t host = memory_of(graph, PLACE_NUMA, true), each = gpus_per_task < 1 ? 1 : gpus_per_task,
            gpu = memory_of(graph, PLACE_GPU, false);
    bool has_gpus = gpus_per_task != 0 && gpu > 0;
    int64_t room = !has_gpus ? host : gpu > INT64_MAX / each ? INT64_MAX : gpu * each;
    const char *where = !has_gpus  ? "the memory of this node"
                        : each > 1 ? "the memory of a task's gpus"
                                   : "the memory of one gpu";
    if (graph_count(graph, PLACE_GPU) > 0 && gpus_per_task != 0 && gpu < 0)
        room = -1;
    enum berth_code code =
        traffic->pattern != TRAFFIC_NONE ? check_room(traffic->bytes, room, where, err) : BERTH_OK;
    for (size_t i = 0; i < traffic->exact_count && code == BERTH_OK; i++)
        code = check_room(traffic->exact[i].bytes, room, where, err);
    return code == BERTH_OK
               ? check_room(traffic->host_bytes, host, "the host memory of this node", err)
               : code;
}

static enum berth_code read_traffic(const struct graph *graph, const json_t *params,
                                    struct bind_asked *asked, struct berth_err *err)
{
    struct traffic_request request = {.tasks = asked->request.tasks};
    struct traffic_exact *exact = NULL;
    int pattern = TRAFFIC_NONE, mechanism = 0;
    enum berth_code code =
        request_int(params, "world", TRAFFIC_WORLD_MIN, TRAFFIC_WORLD_MAX, 0, &request.world, err);
    if (code == BERTH_OK)
        code = read_ranks(params, asked, err);
    if (code == BERTH_OK)
        code = request_word(params, "pattern", patterns, TRAFFIC_NONE, &pattern, err);
    if (code == BERTH_OK)
        code = request_word(params, "mechanism", mechanisms, 0, &mechanism, err);
    if (code == BERTH_OK)
        code = read_bytes(params, "bytes", -1, &request.bytes, err);
    if (code == BERTH_OK)
        code = read_bytes(params, "host_bytes", 0, &request.host_bytes, err);
    if (code == BERTH_OK)
        code = read_flows(params, &request, &exact, err);
    if (pattern != TRAFFIC_NONE && request.bytes < 0) {
        asked->bytes_assumed = request.host_bytes > 0 ? request.host_bytes : BIND_BYTES_ASSUMED;
        request.bytes = asked->bytes_assumed;
    }
    request.ranks = asked->ranks;
    request.pattern = asked->pattern = (enum traffic_pattern)pattern;
    asked->request.by = (enum copy_by)mechanism;
    asked->request.traffic = &asked->traffic;
    if (code == BERTH_OK)
        code = plan_traffic(&request, &asked->traffic, err);
    if (code == BERTH_OK)
        code = check_sizes(graph, &request, asked->request.gpus_per_task, err);
    free(exact);
    return code;
}

enum berth_code query_bind_traffic(const struct graph *graph, struct bind_asked *asked,
                                   struct berth_err *err)
{
    enum berth_code code = read_traffic(graph, asked->params, asked, err);
    json_decref(asked->params);
    asked->params = NULL;
    return code;
}

enum berth_code query_bind_request(const struct graph *graph, json_t *params,
                                   struct bind_asked *ret, struct berth_err *err)
{
    ret->params = json_incref(params);
    struct bind_request *request = &ret->request;
    int order = 0, visible = 0;
    enum berth_code code =
        request_int(params, "tasks", BIND_TASKS_MIN, BIND_TASKS_MAX, 0, &request->tasks, err);
    if (code == BERTH_OK && request->tasks == 0)
        code = err_invalid(err, "tasks", "it is missing");
    if (code == BERTH_OK)
        code = request_int(params, "gpus_per_task", BIND_GPUS_MIN, BIND_GPUS_MAX, -1,
                           &request->gpus_per_task, err);
    if (code == BERTH_OK)
        code = request_int(params, "cores_per_task", BIND_TASKS_MIN, BIND_TASKS_MAX, 0,
                           &request->cores_per_task, err);
    if (code == BERTH_OK)
        code = request_int(params, "threads_per_core", BIND_THREADS_MIN, BIND_THREADS_MAX, 0,
                           &request->threads_per_core, err);
    if (code == BERTH_OK)
        code = request_int(params, "tasks_per_gpu", BIND_TASKS_MIN, BIND_TASKS_MAX, 0,
                           &request->tasks_per_gpu, err);
    if (code == BERTH_OK)
        code = request_word(params, "order", orders, 0, &order, err);
    if (code == BERTH_OK)
        code = request_word(params, "visible", visibles, 0, &visible, err);
    if (code == BERTH_OK)
        code = request_text(params, "key", BIND_KEY_MAX, &ret->key, err);
    if (code == BERTH_OK)
        code = request_allowed(graph, params, &ret->allowed, err);
    request->in_rank_order = order == ORDER_RANK;
    request->allowed = &ret->allowed;
    ret->shows_all = visible == VISIBLE_ALL;
    return code;
}

void query_bind_request_done(struct bind_asked *asked)
{
    json_decref(asked->params);
    allowed_done(&asked->allowed);
    plan_traffic_done(&asked->traffic);
    free(asked->ranks);
    *asked = (struct bind_asked){0};
}
