/*
 * A stand-in for libnccl.so.2 and librccl.so.1, for tests. It takes the calls of
 * probes/gpu/driver/collective.c, refuses what the real ones would refuse, writes down what it was
 * called with, one line a call, into the file that BERTH_STANDIN_NCCL_LOG names, and lets each
 * member fetch its bytes from the next one's source by a copy in its stream, where a driver
 * (libcuda.so.1, libamdhip64.so) is loaded. BERTH_STANDIN_NCCL_FAIL names a call that fails.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC      __attribute__((visibility("default")))
#define MEMBERS_MAX 64

struct communicator {
    int rank, members, device;
};

struct pending {
    const struct communicator *comm;
    uint64_t from, to;
    size_t bytes;
    void *stream;
};

enum { OK = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, FLOAT32 = 7 };

static struct {
    int depth, count;
    struct pending pending[MEMBERS_MAX];
} group;

PUBLIC const int berth_standin = 1;

static int note(const char *call, const char *text)
{
    const char *path = getenv("BERTH_STANDIN_NCCL_LOG"), *fail = getenv("BERTH_STANDIN_NCCL_FAIL");
    FILE *file = path != NULL ? fopen(path, "a") : NULL;
    if (file != NULL) {
        fprintf(file, "%s%s\n", call, text);
        fclose(file);
    }
    return fail != NULL && strcmp(fail, call) == 0 ? SYSTEM_ERROR : OK;
}

PUBLIC const char *ncclGetErrorString(int code);
PUBLIC const char *ncclGetErrorString(int code)
{
    return code == SYSTEM_ERROR       ? "unhandled system error"
           : code == INVALID_ARGUMENT ? "invalid argument"
                                      : "invalid usage";
}

PUBLIC int ncclCommInitAll(void **comms, int count, const int *devices);
PUBLIC int ncclCommInitAll(void **comms, int count, const int *devices)
{
    char text[8 * MEMBERS_MAX] = "";
    if (count < 1 || count > MEMBERS_MAX)
        return INVALID_ARGUMENT;
    for (int i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " %d", devices[i]);
    int code = note("ncclCommInitAll", text);
    for (int i = 0; i < count && code == OK; i++) {
        struct communicator *comm = malloc(sizeof *comm);
        if (comm == NULL)
            abort();
        *comm = (struct communicator){.rank = i, .members = count, .device = devices[i]};
        comms[i] = comm;
    }
    return code;
}

PUBLIC int ncclCommDestroy(void *comm);
PUBLIC int ncclCommDestroy(void *comm)
{
    char text[16];
    snprintf(text, sizeof text, " %d", ((struct communicator *)comm)->rank);
    free(comm);
    return note("ncclCommDestroy", text);
}

PUBLIC int ncclCommAbort(void *comm);
PUBLIC int ncclCommAbort(void *comm)
{
    char text[16];
    snprintf(text, sizeof text, " %d", ((struct communicator *)comm)->rank);
    free(comm);
    return note("ncclCommAbort", text);
}

PUBLIC int ncclGroupStart(void);
PUBLIC int ncclGroupStart(void)
{
    group.depth++;
    return note("ncclGroupStart", "");
}

/* A function of a library that the program has loaded; NULL: of none. */
static void *loaded(const char *const *libraries, const char *name)
{
    void *found = NULL;
    for (; *libraries != NULL && found == NULL; libraries++) {
        void *library = dlopen(*libraries, RTLD_NOW | RTLD_NOLOAD);
        if (library != NULL) {
            found = dlsym(library, name);
            dlclose(library);
        }
    }
    return found;
}

/* The copies go to the driver that the program uses, whichever that is. */
static int copy(const struct pending *to, const struct pending *from)
{
    static const char *const cuda[] = {"libcuda.so.1", NULL};
    static const char *const hip[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                      NULL};
    enum { HIP_BY_ADDRESS = 4 };
    int (*by_cuda)(uint64_t, uint64_t, size_t, void *) = NULL;
    int (*by_hip)(uint64_t, uint64_t, size_t, int, void *) = NULL;
    *(void **)&by_cuda = loaded(cuda, "cuMemcpyAsync");
    *(void **)&by_hip = loaded(hip, "hipMemcpyAsync");
    int code = by_cuda != NULL  ? by_cuda(to->to, from->from, to->bytes, to->stream)
               : by_hip != NULL ? by_hip(to->to, from->from, to->bytes, HIP_BY_ADDRESS, to->stream)
                                : 0;
    return code == 0 ? OK : SYSTEM_ERROR;
}

/* All members of a communicator must have called, or the real one waits for ever. */
PUBLIC int ncclGroupEnd(void);
PUBLIC int ncclGroupEnd(void)
{
    int code = note("ncclGroupEnd", "");
    if (--group.depth != 0 || group.count == 0)
        return group.depth < 0 ? INVALID_USAGE : code;
    if (group.count != group.pending[0].comm->members)
        code = INVALID_USAGE;
    for (int i = 0; i < group.count && code == OK; i++)
        code = copy(&group.pending[i], &group.pending[(i + 1) % group.count]);
    group.count = 0;
    return code;
}

/* bytes is of the smaller of the two buffers. */
static int enqueue(const char *call, const void *from, void *to, size_t count, int type, void *comm,
                   void *stream)
{
    const struct communicator *of = comm;
    char text[160];
    snprintf(text, sizeof text, " %d of %d from %p to %p count %zu stream %p", of->rank,
             of->members, from, to, count, stream);
    int code = note(call, text);
    if (type != FLOAT32 || group.depth != 1 || group.count == MEMBERS_MAX ||
        (uintptr_t)from % 4 != 0)
        return INVALID_ARGUMENT;
    if (code == OK)
        group.pending[group.count++] =
            (struct pending){of, (uintptr_t)from, (uintptr_t)to, 4 * count, stream};
    return code;
}

PUBLIC int ncclAllReduce(const void *from, void *to, size_t count, int type, int sum, void *comm,
                         void *stream);
PUBLIC int ncclAllReduce(const void *from, void *to, size_t count, int type, int sum, void *comm,
                         void *stream)
{
    return sum != 0 ? INVALID_ARGUMENT
                    : enqueue("ncclAllReduce", from, to, count, type, comm, stream);
}

PUBLIC int ncclAllGather(const void *from, void *to, size_t count, int type, void *comm,
                         void *stream);
PUBLIC int ncclAllGather(const void *from, void *to, size_t count, int type, void *comm,
                         void *stream)
{
    return enqueue("ncclAllGather", from, to, count, type, comm, stream);
}

PUBLIC int ncclReduceScatter(const void *from, void *to, size_t count, int type, int sum,
                             void *comm, void *stream);
PUBLIC int ncclReduceScatter(const void *from, void *to, size_t count, int type, int sum,
                             void *comm, void *stream)
{
    return sum != 0 ? INVALID_ARGUMENT
                    : enqueue("ncclReduceScatter", from, to, count, type, comm, stream);
}

PUBLIC int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, void *comm,
                         void *stream);
PUBLIC int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, void *comm,
                         void *stream)
{
    return root != 0 ? INVALID_ARGUMENT
                     : enqueue("ncclBroadcast", from, to, count, type, comm, stream);
}

PUBLIC int ncclReduce(const void *from, void *to, size_t count, int type, int sum, int root,
                      void *comm, void *stream);
PUBLIC int ncclReduce(const void *from, void *to, size_t count, int type, int sum, int root,
                      void *comm, void *stream)
{
    return sum != 0 || root != 0 ? INVALID_ARGUMENT
                                 : enqueue("ncclReduce", from, to, count, type, comm, stream);
}
