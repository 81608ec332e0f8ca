#include "gpu/driver/pages.h"

#include <errno.h>
#include <numaif.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_BYTES  ((size_t)2 << 20) /* the alignment */
#define BLOCK_BYTES ((size_t)8 << 20) /* bytes that one thread touches at a time */
#define THREADS_MAX 8                 /* more wait for the kernel's locks */
#define SAMPLES     512               /* pages whose place is checked */
#define NODES_MAX   4096

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

struct touch {
    const struct gpu_pages *pages;
    atomic_size_t next;
    atomic_int failure; /* errno */
};

static void *touch_blocks(void *arg)
{
    struct touch *touch = arg;
    const struct gpu_pages *pages = touch->pages;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), offset;
    while ((offset = atomic_fetch_add(&touch->next, BLOCK_BYTES)) < pages->bytes) {
        size_t length = pages->bytes - offset < BLOCK_BYTES ? pages->bytes - offset : BLOCK_BYTES;
        /* Unlike a touch, this fails calmly when the node has no memory. */
        if (madvise(pages->base + offset, length, MADV_POPULATE_WRITE) == 0)
            continue;
        if (errno != EINVAL) {
            atomic_store(&touch->failure, errno);
            return NULL;
        }
        for (size_t i = 0; i < length; i += page)
            *(volatile char *)(pages->base + offset + i) = 0;
    }
    return NULL;
}

static bool touch_all(const struct gpu_pages *pages, struct probe_why *why)
{
    struct touch touch = {.pages = pages};
    pthread_t threads[THREADS_MAX];
    cpu_set_t allowed;
    int cpus = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1,
        started = 0;
    while (started < THREADS_MAX && started < cpus - 1 &&
           pthread_create(&threads[started], NULL, touch_blocks, &touch) == 0)
        started++;
    touch_blocks(&touch);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    int failure = atomic_load(&touch.failure);
    return failure == 0 || probe_why_set(why, "cannot fill %s of memory: %s",
                                         probe_size((int64_t)pages->bytes).text, strerror(failure));
}

/* mbind takes a bit mask and the number of its bits plus one. */
static long bind_to(const struct gpu_pages *pages, int numa)
{
    enum { WORD = 8 * sizeof(unsigned long) };
    unsigned long mask[NODES_MAX / WORD] = {0};
    mask[(unsigned)numa / WORD] = 1ul << ((unsigned)numa % WORD);
    return mbind(pages->base, pages->bytes, MPOL_BIND, mask, (unsigned long)numa + 2, 0);
}

static bool prove(const struct gpu_pages *pages, int numa, struct probe_why *why)
{
    void *list[SAMPLES];
    int status[SAMPLES];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), all = pages->bytes / page,
           count = all < SAMPLES ? all : SAMPLES, wrong = 0;
    for (size_t i = 0; i < count; i++) {
        list[i] = pages->base + all * i / count * page;
        status[i] = -EAGAIN;
    }
    if (move_pages(0, count, list, NULL, status, 0) != 0)
        return errno == ENOSYS || errno == EPERM ||
               probe_why_set(why, "move_pages: %s", strerror(errno));
    for (size_t i = 0; i < count; i++)
        wrong += status[i] != numa;
    return wrong == 0 ||
           probe_why_set(why, "%zu of %zu sampled pages are not on node %d", wrong, count, numa);
}

bool gpu_pages_new(int numa, bool only, size_t bytes, struct gpu_pages *ret_pages,
                   struct probe_why *why)
{
    if (numa < 0 || numa >= NODES_MAX)
        return probe_why_set(why, "no such node: %d", numa);
    struct gpu_pages pages = {.bytes = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES};
    pages.mapped = pages.bytes + HUGE_BYTES;
    pages.start = mmap(NULL, pages.mapped, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages.start == MAP_FAILED)
        return probe_why_set(why, "cannot map %s: %s", probe_size((int64_t)pages.mapped).text,
                             strerror(errno));
    pages.base = (char *)(((uintptr_t)pages.start + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES);
    madvise(pages.base, pages.bytes, MADV_HUGEPAGE);
    bool ok = true, bound = bind_to(&pages, numa) == 0;
    if (!bound && !(only && (errno == ENOSYS || errno == EPERM)))
        ok = probe_why_set(why, "mbind to node %d: %s", numa, strerror(errno));
    ok = ok && touch_all(&pages, why) && (!bound || prove(&pages, numa, why));
    if (ok)
        *ret_pages = pages;
    else
        gpu_pages_done(&pages);
    return ok;
}

void gpu_pages_done(struct gpu_pages *pages)
{
    if (pages->start != NULL)
        munmap(pages->start, pages->mapped);
    *pages = (struct gpu_pages){0};
}
