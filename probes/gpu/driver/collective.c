#include "gpu/driver/collective.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/driver/dl.h"

/* Constants from the libraries' enumerations, the same in both and unchanged since version 2.0. */
enum { FLOAT32 = 7, SUM = 0, ROOT = 0, FLOAT_BYTES = 4 };

#define CALLS(X)                                                                                   \
    X(ncclGetErrorString, const char *, (int code))                                                \
    X(ncclCommInitAll, int, (void **comms, int count, const int *devices))                         \
    X(ncclCommDestroy, int, (void *comm))                                                          \
    X(ncclCommAbort, int, (void *comm))                                                            \
    X(ncclGroupStart, int, (void))                                                                 \
    X(ncclGroupEnd, int, (void))                                                                   \
    X(ncclAllReduce, int,                                                                          \
      (const void *from, void *to, size_t count, int type, int sum, void *comm,                    \
       gpu_stream stream))                                                                         \
    X(ncclAllGather, int,                                                                          \
      (const void *from, void *to, size_t count, int type, void *comm, gpu_stream stream))         \
    X(ncclReduceScatter, int,                                                                      \
      (const void *from, void *to, size_t count, int type, int sum, void *comm,                    \
       gpu_stream stream))                                                                         \
    X(ncclBroadcast, int,                                                                          \
      (const void *from, void *to, size_t count, int type, int root, void *comm,                   \
       gpu_stream stream))                                                                         \
    X(ncclReduce, int,                                                                             \
      (const void *from, void *to, size_t count, int type, int sum, int root, void *comm,          \
       gpu_stream stream))

struct gpu_collective {
    const char *library;
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define MEMBER(name, result, arguments) result(*name) arguments;
    CALLS(MEMBER)
};

struct gpu_collective_group {
    const struct gpu_collective *collective;
    int members;
    bool is_broken; /* a call failed: the members' operations may never end */
    void *comms[];
};

const char *gpu_collective_name(enum gpu_collective_operation operation)
{
    static const char *const names[GPU_COLLECTIVE_OPERATION_COUNT] = {
        "allreduce", "allgather", "reducescatter", "broadcast", "reduce"};
    return operation < GPU_COLLECTIVE_OPERATION_COUNT ? names[operation] : "none";
}

/* A level that the libraries do not know prints nothing, and the environment overrides their files.
 * All members are on this node, so they meet on the loopback interface. A service manager may
 * forbid every other address. */
void gpu_collective_environment(void)
{
    setenv("NCCL_NVLS_ENABLE", "0", 1);
    setenv("NCCL_DEBUG", "NONE", 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
}

bool gpu_collective_new(const struct gpu_api *api, struct gpu_collective **ret_collective,
                        struct probe_why *why)
{
    static const struct gpu_dl_call table[] = {
#define ROW(name, result, arguments) {#name, offsetof(struct gpu_collective, name), true},
        CALLS(ROW)};
    static const char *const nccl[] = {"libnccl.so.2", NULL}, *const rccl[] = {"librccl.so.1",
                                                                               NULL};
    const char *multicast = getenv("NCCL_NVLS_ENABLE");
    if (multicast == NULL || strcmp(multicast, "0") != 0)
        return probe_why_set(why, "NVLink multicast is not off: NCCL_NVLS_ENABLE is not 0");
    struct gpu_collective *collective = calloc(1, sizeof *collective);
    if (collective == NULL)
        return probe_why_set(why, "out of memory");
    struct gpu_dl_found found;
    bool ok = gpu_dl_open(strcmp(api->name, "hip") == 0 ? rccl : nccl, table,
                          sizeof table / sizeof table[0], collective, &found, why);
    if (ok && gpu_dl_has(&found, "berth_standin") != api->is_standin)
        ok = probe_why_set(why, "%s and %s: one is a stand-in for tests, the other is not",
                           found.library, api->library);
    if (!ok) {
        free(collective);
        return false;
    }
    collective->library = found.library;
    *ret_collective = collective;
    return true;
}

void gpu_collective_free(struct gpu_collective *collective) { free(collective); }

static bool check(const struct gpu_collective *collective, int code, const char *what,
                  struct probe_why *why)
{
    if (code == 0)
        return true;
    const char *text = collective->ncclGetErrorString(code);
    return probe_why_set(why, "%s: %s: %s", collective->library, what,
                         text != NULL ? text : "an error without words");
}

bool gpu_collective_join(const struct gpu_collective *collective, const int *api_devices,
                         int members, struct gpu_collective_group **ret_group,
                         struct probe_why *why)
{
    struct gpu_collective_group *group =
        calloc(1, sizeof *group + (size_t)members * sizeof group->comms[0]);
    if (group == NULL)
        return probe_why_set(why, "out of memory");
    group->collective = collective;
    group->members = members;
    if (!check(collective, collective->ncclCommInitAll(group->comms, members, api_devices), "join",
               why)) {
        free(group);
        return false;
    }
    *ret_group = group;
    return true;
}

void gpu_collective_leave(struct gpu_collective_group *group)
{
    for (int i = 0; group != NULL && i < group->members; i++)
        group->is_broken ? group->collective->ncclCommAbort(group->comms[i])
                         : group->collective->ncclCommDestroy(group->comms[i]);
    free(group);
}

static bool is_divided(enum gpu_collective_operation operation)
{
    return operation == GPU_COLLECTIVE_ALLGATHER || operation == GPU_COLLECTIVE_REDUCESCATTER;
}

uint64_t gpu_collective_bytes(enum gpu_collective_operation operation, uint64_t bytes, int members)
{
    uint64_t unit = FLOAT_BYTES * (is_divided(operation) ? (uint64_t)members : 1);
    return (bytes + unit - 1) / unit * unit;
}

static int enqueue_member(const struct gpu_collective_group *group, int i,
                          enum gpu_collective_operation operation, gpu_address source,
                          gpu_address target, uint64_t bytes, gpu_stream stream)
{
    const struct gpu_collective *collective = group->collective;
    const void *from = (const void *)(uintptr_t)source;
    void *to = (void *)(uintptr_t)target, *comm = group->comms[i];
    size_t count = bytes / FLOAT_BYTES / (is_divided(operation) ? (size_t)group->members : 1);
    switch (operation) {
    case GPU_COLLECTIVE_ALLREDUCE:
        return collective->ncclAllReduce(from, to, count, FLOAT32, SUM, comm, stream);
    case GPU_COLLECTIVE_ALLGATHER:
        return collective->ncclAllGather(from, to, count, FLOAT32, comm, stream);
    case GPU_COLLECTIVE_REDUCESCATTER:
        return collective->ncclReduceScatter(from, to, count, FLOAT32, SUM, comm, stream);
    case GPU_COLLECTIVE_BROADCAST:
        return collective->ncclBroadcast(from, to, count, FLOAT32, ROOT, comm, stream);
    case GPU_COLLECTIVE_REDUCE:
        return collective->ncclReduce(from, to, count, FLOAT32, SUM, ROOT, comm, stream);
    case GPU_COLLECTIVE_OPERATION_COUNT:
        break;
    }
    return -1;
}

/* A group that was begun is always ended: the library counts them. */
bool gpu_collective_enqueue(struct gpu_collective_group *group,
                            enum gpu_collective_operation operation, const gpu_address *sources,
                            const gpu_address *targets, uint64_t bytes, const gpu_stream *streams,
                            struct probe_why *why)
{
    const struct gpu_collective *collective = group->collective;
    int code = collective->ncclGroupStart();
    bool begun = code == 0;
    for (int i = 0; i < group->members && code == 0; i++)
        code = enqueue_member(group, i, operation, sources[i], targets[i], bytes, streams[i]);
    int end = begun ? collective->ncclGroupEnd() : 0;
    group->is_broken |= code != 0 || end != 0;
    return check(collective, code != 0 ? code : end, gpu_collective_name(operation), why);
}
