#include "base/process_limits.h"

#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
    DESCRIPTORS = 64, /* the loop, the store, a probe and its guardian, and some connections */
    THREADS = 8,      /* libuv's pool of 4, and others */
    HEAP_MB = 16,
};

enum berth_code process_limits_descriptors(struct berth_err *err)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return BERTH_OK;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= DESCRIPTORS)
        return BERTH_OK;
    return err_set(err, BERTH_BAD_CONFIG,
                   "the limit on open files (RLIMIT_NOFILE, LimitNOFILE=) is %ju, berthd needs %d",
                   (uintmax_t)limit.rlim_cur, DESCRIPTORS);
}

enum berth_code process_limits_memory(struct berth_err *err)
{
    enum { DEFAULT_STACK_MB = 8 };
    struct rlimit stack;
    size_t stack_bytes = (size_t)DEFAULT_STACK_MB << 20, bytes;
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < stack_bytes)
        stack_bytes = stack.rlim_cur;
    bytes = THREADS * stack_bytes + ((size_t)HEAP_MB << 20);
    void *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return err_set(err, BERTH_NO_MEMORY,
                       "no address space: berthd needs %zu MiB more than the limit leaves "
                       "(RLIMIT_AS, LimitAS=)",
                       bytes >> 20);
    munmap(room, bytes);
    return BERTH_OK;
}
