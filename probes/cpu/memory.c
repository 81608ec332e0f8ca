#include "cpu/memory.h"

#include <errno.h>
#include <numaif.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file.h"

/* alignment, and unit of filling; larger huge pages are several units */
#define HUGE_BYTES  ((size_t)2 << 20)
#define SAMPLES     512               /* pages whose place is checked */
#define TRIAL_BYTES ((size_t)4 << 20) /* bytes of the trial of giving back */
#define TRIALS      3

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

/* Nanoseconds in which the kernel takes back small pages of this size, -1 when it gives none. */
static int64_t give_back_ns(size_t bytes)
{
    char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        return -1;
    madvise(pages, bytes, MADV_NOHUGEPAGE);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < bytes; i += page)
        *(volatile char *)(pages + i) = 1;
    int64_t start = probe_clock_ns();
    munmap(pages, bytes);
    return probe_clock_ns() - start;
}

int64_t cpu_memory_small_limit(int64_t limit_ns)
{
    int64_t fastest = 0;
    for (int i = 0; i < TRIALS; i++) {
        int64_t ns = give_back_ns(TRIAL_BYTES);
        if (ns > 0 && (fastest == 0 || ns < fastest))
            fastest = ns;
    }
    return fastest > 0 ? limit_ns * (int64_t)TRIAL_BYTES / fastest : 0;
}

static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

/* Address space of bytes, aligned to huge pages. */
static char *map_aligned(size_t bytes, size_t *ret_mapped, char **ret_start)
{
    size_t mapped = bytes + HUGE_BYTES;
    char *start = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    *ret_mapped = mapped;
    *ret_start = start;
    return (char *)round_up((uintptr_t)start, HUGE_BYTES);
}

struct fill {
    char *base;
    size_t bytes, page;
    const struct cpu_memory_request *request;
    bool populate;
    atomic_size_t next;
    atomic_int failure;       /* errno */
    atomic_bool no_collapse;  /* the kernel cannot make huge pages of small ones */
    atomic_llong small_bytes; /* on small pages */
    atomic_size_t end;        /* offset of the first block that exceeded the limit of small pages */
};

static long faults_of_thread(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_minflt : 0;
}

/* Touches a block at its two ends. Two faults mean small pages, unless the kernel makes a huge page
 * now. It does so even when transparent_hugepage/enabled is never. */
static bool is_small(struct fill *fill, char *block, size_t length)
{
    *(volatile char *)block = 0;
    long before = faults_of_thread();
    *(volatile char *)(block + length - fill->page) = 0;
    if (faults_of_thread() == before && length > fill->page)
        return false;
    if (atomic_load(&fill->no_collapse))
        return true;
    if (madvise(block, length, MADV_COLLAPSE) == 0)
        return false;
    if (errno == EINVAL)
        atomic_store(&fill->no_collapse, true);
    return true;
}

static void end_at(struct fill *fill, size_t offset)
{
    size_t end = atomic_load(&fill->end);
    while (offset < end && !atomic_compare_exchange_weak(&fill->end, &end, offset))
        ;
}

/* False: filling ends before this block. */
static bool fill_block(struct fill *fill, size_t offset)
{
    char *block = fill->base + offset;
    size_t length = fill->bytes - offset < HUGE_BYTES ? fill->bytes - offset : HUGE_BYTES;
    if (fill->populate) {
        /* Unlike a touch, this fails calmly when the node runs out of reserved pages. */
        if (madvise(block, length, MADV_POPULATE_WRITE) == 0)
            return true;
        atomic_store(&fill->failure, errno);
        return false;
    }
    if (is_small(fill, block, length) &&
        atomic_fetch_add(&fill->small_bytes, (long long)length) + (long long)length >
            fill->request->small_limit) {
        atomic_fetch_sub(&fill->small_bytes, (long long)length);
        madvise(block, length, MADV_DONTNEED);
        end_at(fill, offset);
        return false;
    }
    for (size_t i = 0; i < length; i += fill->page)
        *(volatile char *)(block + i) = 0;
    return true;
}

static void fill_blocks(void *arg, unsigned index)
{
    struct fill *fill = arg;
    (void)index;
    for (;;) {
        int64_t now = probe_clock_ns();
        if (now >= fill->request->hard_ns ||
            (now >= fill->request->soft_ns && atomic_load(&fill->next) >= fill->request->least))
            return;
        size_t offset = atomic_fetch_add(&fill->next, HUGE_BYTES);
        if (offset >= atomic_load(&fill->end) || !fill_block(fill, offset))
            return;
    }
}

/* Chooses threads on the node's own cores, or on all when it has none. */
static unsigned filling_cpus(const struct cpu_topology *topology, int numa, int *ret_pus)
{
    unsigned count = 0;
    bool own = topology->numas[numa].cores > 0;
    for (int i = 0; i < topology->core_count; i++)
        if (!own || topology->cores[i].numa == numa)
            ret_pus[count++] = topology->cores[i].pu;
    return count;
}

static bool fill_pages(const struct cpu_topology *topology,
                       const struct cpu_memory_request *request, bool populate,
                       struct cpu_memory *memory, bool *ret_overrun, struct probe_why *why)
{
    int *pus = malloc((size_t)topology->core_count * sizeof *pus);
    if (pus == NULL)
        return probe_why_set(why, "out of memory");
    unsigned count = filling_cpus(topology, request->numa, pus);
    struct fill fill = {.base = memory->base,
                        .bytes = memory->bytes,
                        .request = request,
                        .populate = populate,
                        .end = memory->bytes};
    fill.page = (size_t)sysconf(_SC_PAGESIZE);
    const struct cpu_work work = {pus, count, fill_blocks, &fill, 60000000000};
    bool ok = cpu_workers_run(request->workers, &work, ret_overrun, why);
    free(pus);
    if (!ok)
        return false;
    int failure = atomic_load(&fill.failure);
    if (failure != 0)
        return probe_why_set(why, "cannot fill %s of memory: %s",
                             probe_size((int64_t)memory->bytes).text, strerror(failure));
    size_t filled = atomic_load(&fill.next), end = atomic_load(&fill.end);
    if (end < filled) {
        /* Others may have filled blocks behind it. */
        madvise(memory->base + end, memory->bytes - end, MADV_DONTNEED);
        filled = end;
    }
    memory->bytes = filled < memory->bytes ? filled : memory->bytes;
    memory->small_bytes = (size_t)atomic_load(&fill.small_bytes);
    if (end == 0 && memory->bytes == 0)
        return probe_why_set(why, "only small pages, and the kernel would take too long to get "
                                  "those back when the run is stopped");
    if (memory->bytes == 0)
        return probe_why_set(why, "time budget");
    memory->small_bytes = memory->small_bytes < memory->bytes ? memory->small_bytes : memory->bytes;
    memory->huge_share = 1 - (double)memory->small_bytes / (double)memory->bytes;
    return true;
}

/* mbind takes a bit mask and the number of its bits plus one. */
static long bind_to(const struct cpu_memory *memory, int node)
{
    enum { WORD = 8 * sizeof(unsigned long) };
    unsigned long mask[CPU_LIST_MAX / WORD] = {0};
    mask[(unsigned)node / WORD] = 1ul << ((unsigned)node % WORD);
    return mbind(memory->base, memory->bytes, MPOL_BIND, mask, (unsigned long)node + 2, 0);
}

static bool bind_pages(const struct cpu_topology *topology, int numa, struct cpu_memory *memory,
                       struct probe_why *why)
{
    const struct cpu_numa *node = &topology->numas[numa];
    memory->placement = CPU_PLACEMENT_PROVEN;
    if (topology->has_numa && bind_to(memory, node->number) == 0)
        return true;
    if (topology->has_numa && errno != ENOSYS && errno != EPERM)
        return probe_why_set(why, "mbind to node %d: %s", node->number, strerror(errno));
    int with_memory = 0;
    for (int i = 0; i < topology->numa_count; i++)
        with_memory += topology->numas[i].memory_bytes > 0;
    memory->placement = CPU_PLACEMENT_ONLY;
    return with_memory <= 1 ||
           probe_why_set(why, "mbind is not permitted, and %d nodes have memory", with_memory);
}

/* Checks the places of pages spread over the buffer with move_pages. */
static bool prove_pages(int node, struct cpu_memory *memory, struct probe_why *why)
{
    if (memory->placement != CPU_PLACEMENT_PROVEN)
        return true;
    void *pages[SAMPLES];
    int status[SAMPLES];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), all = memory->bytes / page;
    size_t count = all < SAMPLES ? all : SAMPLES;
    for (size_t i = 0; i < count; i++) {
        pages[i] = memory->base + all * i / count * page;
        status[i] = -EAGAIN;
    }
    if (move_pages(0, count, pages, NULL, status, 0) != 0) {
        if (errno != ENOSYS && errno != EPERM)
            return probe_why_set(why, "move_pages: %s", strerror(errno));
        memory->placement = CPU_PLACEMENT_BOUND;
        return true;
    }
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += status[i] != node;
    return wrong == 0 ||
           probe_why_set(why, "%zu of %zu sampled pages are not on node %d", wrong, count, node);
}

/* Reserved huge pages, if the node has enough of them free: a touch would end the process where
 * they run out. */
static bool try_hugetlb(const struct cpu_topology *topology,
                        const struct cpu_memory_request *request, struct cpu_memory *memory,
                        bool *ret_overrun)
{
    const struct cpu_numa *node = &topology->numas[request->numa];
    size_t bytes = round_up(request->requested, HUGE_BYTES);
    int64_t free_pages = probe_file_number(
        "", "/sys/devices/system/node/node%d/hugepages/hugepages-2048kB/free_hugepages",
        node->number);
    if (free_pages < (int64_t)(bytes / HUGE_BYTES))
        return false;
    struct cpu_memory huge = {.bytes = bytes, .mapped = bytes, .pages = CPU_PAGES_HUGETLB};
    huge.base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT), -1, 0);
    if (huge.base == MAP_FAILED)
        return false;
    huge.start = huge.base;
    if (bind_pages(topology, request->numa, &huge, NULL) &&
        fill_pages(topology, request, true, &huge, ret_overrun, NULL)) {
        *memory = huge;
        return true;
    }
    if (!*ret_overrun)
        cpu_memory_done(&huge);
    return false;
}

bool cpu_memory_new(const struct cpu_topology *topology, const struct cpu_memory_request *request,
                    struct cpu_memory *ret_memory, bool *ret_overrun, struct probe_why *why)
{
    const struct cpu_numa *node = &topology->numas[request->numa];
    *ret_overrun = false;
    if (!node->allowed)
        return probe_why_set(why, "memory of node %d is not in this process's set of allowed nodes",
                             node->number);
    struct cpu_memory memory = {.bytes = round_up(request->requested, HUGE_BYTES)};
    if (!try_hugetlb(topology, request, &memory, ret_overrun)) {
        if (*ret_overrun)
            return probe_why_set(why, "filling huge pages does not end");
        memory.base = map_aligned(memory.bytes, &memory.mapped, &memory.start);
        if (memory.base == NULL)
            return probe_why_set(why, "cannot map %s: %s", probe_size((int64_t)memory.bytes).text,
                                 strerror(errno));
        madvise(memory.base, memory.bytes, MADV_HUGEPAGE);
        if (!bind_pages(topology, request->numa, &memory, why) ||
            !fill_pages(topology, request, false, &memory, ret_overrun, why))
            goto fail;
        memory.pages = memory.huge_share > 0 ? CPU_PAGES_TRANSPARENT : CPU_PAGES_SMALL;
    }
    if (!prove_pages(node->number, &memory, why))
        goto fail;
    *ret_memory = memory;
    return true;
fail:
    if (!*ret_overrun)
        cpu_memory_done(&memory);
    return false;
}

void cpu_memory_done(struct cpu_memory *memory)
{
    if (memory->start != NULL)
        munmap(memory->start, memory->mapped);
    *memory = (struct cpu_memory){0};
}

const char *cpu_pages_name(enum cpu_pages pages)
{
    static const char *const names[] = {"small", "transparent huge", "reserved huge"};
    return names[pages];
}

const char *cpu_placement_name(enum cpu_placement placement)
{
    static const char *const names[] = {"proven by move_pages",
                                        "bound, unproven: move_pages not permitted",
                                        "unproven: mbind not permitted"};
    return names[placement];
}
