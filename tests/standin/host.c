/*
 * What a program sees of its host when the stand-in is loaded before everything else (LD_PRELOAD):
 * the virtual clock instead of the machine's, the virtual node's NUMA nodes and where memory was
 * bound. All other clocks, files and calls are the machine's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host_files.h"
#include "world.h"

#define PUBLIC __attribute__((visibility("default")))

/* From numaif.h, which need not be there. */
enum { POLICY_DEFAULT = 0, POLICY_NODE = 1, POLICY_ADDRESS = 2 };
PUBLIC long mbind(void *memory, unsigned long bytes, int policy, const unsigned long *nodes,
                  unsigned long bits, unsigned flags);
PUBLIC long move_pages(int pid, unsigned long count, void **pages, const int *nodes, int *status,
                       int flags);
PUBLIC long get_mempolicy(int *policy, unsigned long *nodes, unsigned long bits, void *memory,
                          unsigned long flags);
PUBLIC long set_mempolicy(int policy, const unsigned long *nodes, unsigned long bits);

static atomic_bool is_ready;

/* Loaders and sanitizers look at the clock before there is anything. */
__attribute__((constructor)) static void begin(void)
{
    if (getenv("BERTH_STANDIN") == NULL)
        return;
    world_leave(world_enter());
    atomic_store(&is_ready, true);
}

/* Sanitizers' allocators look at the clock and give memory back in the midst of calls. */
static bool works(void) { return atomic_load(&is_ready) && !world_is_inside(); }

/* ---- the clock ---- */

static bool is_virtual(clockid_t clock)
{
    return works() && (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW ||
                       clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME);
}

/* Where the machine's clock was at the first look: the virtual one goes on from there. */
static int64_t origin_ns(void)
{
    static _Atomic int64_t origin;
    int64_t found = atomic_load(&origin);
    if (found != 0)
        return found;
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    int64_t mine = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return atomic_compare_exchange_strong(&origin, &found, mine) ? mine : found;
}

PUBLIC int clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (!is_virtual(clock))
        return (int)syscall(SYS_clock_gettime, clock, ret);
    struct world *world = world_enter();
    world_pass(world, world->model->call_ns[MODEL_CALL_CLOCK]);
    int64_t now = origin_ns() + (int64_t)world->now;
    world_leave(world);
    *ret = (struct timespec){.tv_sec = now / 1000000000, .tv_nsec = now % 1000000000};
    return 0;
}

/* The first thread's sleeps are virtual. Others, which wait for something beside it, sleep really.
 */
static bool sleeps(int64_t ns)
{
    if (!works() || gettid() != getpid())
        return false;
    struct world *world = world_enter();
    world_pass(world, (double)ns);
    world_leave(world);
    return true;
}

PUBLIC int nanosleep(const struct timespec *time, struct timespec *left)
{
    return sleeps((int64_t)time->tv_sec * 1000000000 + time->tv_nsec)
               ? 0
               : (int)syscall(SYS_nanosleep, time, left);
}

PUBLIC int usleep(useconds_t us)
{
    struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    return nanosleep(&time, NULL);
}

PUBLIC int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                           struct timespec *left)
{
    struct timespec now = {0};
    if (!is_virtual(clock) || gettid() != getpid())
        return syscall(SYS_clock_nanosleep, clock, flags, time, left) == 0 ? 0 : errno;
    if (flags == TIMER_ABSTIME)
        clock_gettime(clock, &now);
    int64_t ns = (int64_t)(time->tv_sec - now.tv_sec) * 1000000000 + time->tv_nsec - now.tv_nsec;
    sleeps(ns > 0 ? ns : 0);
    return 0;
}

/* ---- memory ---- */

static int first_node(const unsigned long *nodes, unsigned long bits)
{
    for (unsigned long i = 0; nodes != NULL && i + 1 < bits; i++)
        if ((nodes[i / (8 * sizeof *nodes)] >> (i % (8 * sizeof *nodes)) & 1) != 0)
            return (int)i;
    return -1;
}

PUBLIC long mbind(void *memory, unsigned long bytes, int policy, const unsigned long *nodes,
                  unsigned long bits, unsigned flags)
{
    (void)flags;
    struct world *world = world_enter();
    int place = model_numa_place(world->model, first_node(nodes, bits));
    bool ok = true;
    if (policy == POLICY_DEFAULT)
        memory_unbind(world->memory, (uint64_t)(uintptr_t)memory, bytes);
    else
        ok = place >= 0 && memory_bind(world->memory, (uint64_t)(uintptr_t)memory, bytes, place);
    world_leave(world);
    errno = ok ? errno : EINVAL;
    return ok ? 0 : -1;
}

static int node_of(const void *page)
{
    struct world *world = world_enter();
    int node = world->model
                   ->numa[memory_bound(world->memory, (uint64_t)(uintptr_t)page) -
                          world->model->device_count]
                   .number;
    world_leave(world);
    return node;
}

PUBLIC long move_pages(int pid, unsigned long count, void **pages, const int *nodes, int *status,
                       int flags)
{
    (void)flags;
    if (pid != 0 || nodes != NULL) {
        errno = EPERM;
        return -1;
    }
    for (unsigned long i = 0; i < count; i++)
        status[i] = node_of(pages[i]);
    return 0;
}

PUBLIC long get_mempolicy(int *policy, unsigned long *nodes, unsigned long bits, void *memory,
                          unsigned long flags)
{
    /* The kernel counts one bit less than it is told, and writes whole words. */
    if (nodes != NULL && bits > 0)
        memset(nodes, 0, (bits - 1 + 63) / 64 * sizeof *nodes);
    if (policy != NULL)
        *policy = (flags & POLICY_ADDRESS) != 0 && (flags & POLICY_NODE) != 0 ? node_of(memory)
                                                                              : POLICY_DEFAULT;
    return 0;
}

/* Whoever asks for this is about to touch something. */
PUBLIC long set_mempolicy(int policy, const unsigned long *nodes, unsigned long bits)
{
    struct world *world = world_enter();
    int place = model_numa_place(world->model, first_node(nodes, bits));
    if (policy != POLICY_DEFAULT && place >= 0)
        memory_prefer(world->memory, place);
    world_leave(world);
    return 0;
}

PUBLIC int munmap(void *memory, size_t bytes)
{
    if (works()) {
        struct world *world = world_enter();
        memory_unbind(world->memory, (uint64_t)(uintptr_t)memory, bytes);
        world_leave(world);
    }
    return (int)syscall(SYS_munmap, memory, bytes);
}

/* ---- files ---- */

static int open_it(int folder, const char *path, int flags, mode_t mode)
{
    char text[8192];
    if (!works() || !host_file(path, text, sizeof text))
        return (int)syscall(SYS_openat, folder, path, flags | O_LARGEFILE, mode);
    if (text[0] == '\0') {
        errno = ENOENT;
        return -1;
    }
    int fd = memfd_create("stand-in", (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
    if (fd >= 0 && (write(fd, text, strlen(text)) < 0 || lseek(fd, 0, SEEK_SET) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

#define MODE_OF(flags)                                                                             \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                         \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode = va_arg(args, mode_t);                                                               \
        va_end(args);                                                                              \
    }

PUBLIC int open(const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_it(AT_FDCWD, path, flags, mode);
}

PUBLIC int openat(int folder, const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_it(folder, path, flags, mode);
}

PUBLIC int open64(const char *path, int flags, ...) __attribute__((alias("open")));
PUBLIC int openat64(int folder, const char *path, int flags, ...) __attribute__((alias("openat")));
