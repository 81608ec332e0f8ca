/* Measures allocation: time until ordinary or pinned host memory can be used. */
#include "gpu/cells/cells.h"

#include <errno.h>
#include <numaif.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/free_memory.h"
#include "gpu/driver/node.h"
#include "gpu/timing/repeat.h"

#define BYTES     ((size_t)64 << 20)
#define LEAST     ((size_t)4 << 20)
#define MASK_BITS 4096
#define WORD_BITS (8 * sizeof(unsigned long))

enum { ORDINARY, PINNED, KIND_COUNT };

struct allocation {
    struct gpu_run *run;
    int device, kind;
    size_t bytes;
    int numa;  /* the kernel's number */
    bool only; /* no other node has memory: it needs no binding, which containers forbid */
};

static void touch(char *memory, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < bytes; i += page)
        *(volatile char *)(memory + i) = 1;
}

/* Sets the node of this thread's fresh pages; -1: the node of the touching CPU. */
static bool prefer(int numa, struct probe_why *why)
{
    unsigned long mask[MASK_BITS / WORD_BITS] = {0};
    if (numa >= 0)
        mask[(size_t)numa / WORD_BITS] = 1ul << ((size_t)numa % WORD_BITS);
    return (numa < 0 ? set_mempolicy(MPOL_DEFAULT, NULL, 0)
                     : set_mempolicy(MPOL_BIND, mask, (unsigned long)numa + 2)) == 0 ||
           probe_why_set(why, "set_mempolicy: %s", strerror(errno));
}

static bool ordinary(size_t bytes, int64_t *ret_ns, struct probe_why *why)
{
    int64_t begin_ns = probe_clock_ns();
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return probe_why_set(why, "mmap: %s", strerror(errno));
    touch(memory, bytes);
    *ret_ns = probe_clock_ns() - begin_ns;
    munmap(memory, bytes);
    return true;
}

static bool pinned(const struct allocation *at, int64_t *ret_ns, struct gpu_err *err)
{
    const struct gpu_node *node = at->run->node;
    void *memory;
    int64_t begin_ns = probe_clock_ns();
    if (!gpu_node_check(node, at->device,
                        node->api->host_alloc(node->api, at->bytes, GPU_HOST_PINNED, &memory),
                        "allocate pinned memory", err))
        return false;
    touch(memory, at->bytes);
    *ret_ns = probe_clock_ns() - begin_ns;
    return gpu_node_check(node, at->device, node->api->host_free(node->api, memory),
                          "free pinned memory", err);
}

static bool allocate_once(void *arg, double *ret_value, struct gpu_err *err)
{
    const struct allocation *at = arg;
    int64_t ns = 0;
    if (!gpu_node_enter(at->run->node, at->device, err) ||
        (!at->only && !prefer(at->numa, &err->why)))
        return false;
    bool ok = at->kind == PINNED ? pinned(at, &ns, err) : ordinary(at->bytes, &ns, &err->why);
    if (!at->only && !prefer(-1, &err->why))
        return false;
    *ret_value = (double)at->bytes / (double)ns * 1e9;
    return ok;
}

static struct probe_axes kind_axes(const struct gpu_cell *cell)
{
    struct probe_axes axes = {0};
    if (cell->variant == PINNED)
        probe_axes_add(&axes, "kind", "pinned");
    return axes;
}

static bool measure(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct probe_axes axes = kind_axes(cell);
    struct probe_summary rate;
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    const struct gpu_node *node = run->node;
    int numa = node->numa[GPU_PLACE_NUMA(0) - cell->to];
    int64_t room = probe_room_bytes("", numa, node->numa_count) / 2;
    struct allocation at = {.run = run,
                            .device = cell->from,
                            .kind = cell->variant,
                            .bytes = room < (int64_t)BYTES ? (size_t)(room > 0 ? room : 0) : BYTES,
                            .numa = numa,
                            .only = node->numa_count <= 1};
    if (at.bytes < LEAST) {
        probe_why_write(&err.why, "numa%d: too little memory is free", numa);
        return gpu_run_failed(run, cell, &axes, &err);
    }
    return gpu_repeat(allocate_once, &at, budget_ns, &rate, &err)
               ? gpu_run_value(run, cell, &axes, &rate)
               : gpu_run_failed(run, cell, &axes, &err);
}

bool gpu_cells_allocation(const struct gpu_run *run, struct gpu_cells *cells)
{
    bool ok = true;
    for (int device = 0; run->selection.profile == GPU_FULL && ok && run->node->numa_count > 0 &&
                         device < run->node->device_count;
         device++)
        for (int kind = ORDINARY; ok && kind < KIND_COUNT; kind++) {
            struct gpu_cell cell = {.metric = PROBE_ALLOCATION,
                                    .phase = GPU_PHASE_DETAIL,
                                    .from = device,
                                    .to = GPU_PLACE_NUMA(gpu_node_near(run->node, device)),
                                    .measure = measure,
                                    .axes = kind_axes,
                                    .variant = kind};
            ok = gpu_cells_add(run, cells, &cell);
        }
    return ok;
}
