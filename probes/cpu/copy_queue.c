#include "cpu/copy_queue.h"

#include <stdlib.h>

#include "common/free_memory.h"
#include "cpu/copy.h"
#include "cpu/queue.h"
#include "cpu/wait_limit.h"
#include "cpu/workers.h"

#define HUGE_BYTES ((size_t)2 << 20)
/* after their wait limit, for both sides to get their CPUs once more and leave */
#define GRACE_NS INT64_C(2000000000)
/* limit of small pages on all nodes: giving them back when the run is stopped takes some 20 ms */
#define SMALL_BYTES ((int64_t)128 << 20)

struct node {
    bool requested, ready;
    struct cpu_memory memory;
    struct probe_why why; /* reason when the memory is not ready */
};

struct cpu_copy_queue {
    const struct cpu_topology *topology;
    struct cpu_workers *workers;
    struct cpu_copy *copy;
    struct cpu_queue *queue;
    struct cpu_pair_run pair_run;
    struct node *nodes;        /* one for each NUMA node */
    unsigned in_row;           /* latest consecutive pair runs that could not be measured */
    bool stuck;                /* a thread that did not come back uses all of this */
    struct probe_why given_up; /* reason, if not empty, that nothing is tried any more */
};

/* Room of a copy's source. A node's memory holds the ring, then a source and a target of copies up
 * to this size. */
static size_t source_room(int64_t bytes)
{
    return ((size_t)bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
}

static size_t room(int64_t bytes)
{
    return CPU_QUEUE_BYTES + source_room(bytes) + (size_t)bytes + CPU_COPY_ROOM;
}

static int64_t largest_copy(const struct cpu_cell *cell)
{
    int64_t bytes[CPU_COPY_SIZES_MAX];
    return bytes[cpu_copy_sizes(cell->bytes, bytes) - 1];
}

static void make_memory(struct cpu_copy_queue *copy_queue, const char *root, int numa,
                        size_t requested, size_t least, int count, int64_t soft_ns, int64_t hard_ns,
                        bool *ret_overrun)
{
    struct node *node = &copy_queue->nodes[numa];
    int64_t limit = probe_room_bytes(root, copy_queue->topology->numas[numa].number, count) /
                    (int64_t)HUGE_BYTES * (int64_t)HUGE_BYTES;
    struct cpu_memory_request request = {.numa = numa,
                                         .workers = copy_queue->workers,
                                         .requested = requested,
                                         .least = least,
                                         .soft_ns = soft_ns,
                                         .hard_ns = hard_ns,
                                         .small_limit = SMALL_BYTES / count};
    if ((int64_t)request.requested > limit)
        request.requested = limit < 0 ? 0 : (size_t)limit;
    if (request.requested < least)
        probe_why_write(&node->why, "too little free memory");
    else
        node->ready =
            cpu_memory_new(copy_queue->topology, &request, &node->memory, ret_overrun, &node->why);
}

static bool make_memories(struct cpu_copy_queue *copy_queue, const char *root,
                          const struct cpu_cells *cells, int64_t soft_ns, int64_t hard_ns,
                          bool *ret_overrun)
{
    int64_t largest = 0;
    int count = 0;
    for (size_t i = 0; i < cells->count; i++) {
        const struct cpu_cell *cell = &cells->item[i];
        if (cell->phase != CPU_PHASE_HANDOFF)
            continue;
        int64_t bytes = cell->metric == PROBE_CPU_COPY ? largest_copy(cell) : 0;
        largest = bytes > largest ? bytes : largest;
        const int ends[] = {cell->from_core, cell->to_core};
        for (int k = 0; k < 2; k++) {
            int numa = copy_queue->topology->cores[ends[k]].numa;
            if (numa >= 0 && !copy_queue->nodes[numa].requested) {
                copy_queue->nodes[numa].requested = true;
                count++;
            }
        }
    }
    size_t least = largest > 0 ? room(4096) : CPU_QUEUE_BYTES;
    for (int i = 0; i < copy_queue->topology->numa_count && !*ret_overrun; i++)
        if (copy_queue->nodes[i].requested)
            make_memory(copy_queue, root, i, largest > 0 ? room(largest) : CPU_QUEUE_BYTES, least,
                        count, soft_ns, hard_ns, ret_overrun);
    return !*ret_overrun;
}

struct cpu_copy_queue *cpu_copy_queue_new(const char *root, const struct cpu_topology *topology,
                                          const struct cpu_cells *cells, int64_t soft_ns,
                                          int64_t hard_ns, struct cpu_workers *workers,
                                          bool *ret_overrun, struct probe_why *why)
{
    *ret_overrun = false;
    struct cpu_copy_queue *copy_queue = calloc(1, sizeof *copy_queue);
    if (copy_queue != NULL) {
        *copy_queue = (struct cpu_copy_queue){.topology = topology,
                                              .workers = workers,
                                              .copy = cpu_copy_new(),
                                              .queue = cpu_queue_new()};
        copy_queue->nodes = calloc((size_t)topology->numa_count, sizeof *copy_queue->nodes);
    }
    if (copy_queue == NULL || copy_queue->copy == NULL || copy_queue->queue == NULL ||
        copy_queue->nodes == NULL) {
        cpu_copy_queue_free(copy_queue);
        probe_why_write(why, "out of memory");
        return NULL;
    }
    if (!make_memories(copy_queue, root, cells, soft_ns, hard_ns, ret_overrun)) {
        probe_why_write(why, "filling memory does not end"); /* NOLINT(clang-analyzer-unix.Malloc):
                                                                a stuck thread still uses it */
        return NULL;
    }
    return copy_queue;
}

void cpu_copy_queue_free(struct cpu_copy_queue *copy_queue)
{
    if (copy_queue == NULL || copy_queue->stuck)
        return;
    for (int i = 0; copy_queue->nodes != NULL && i < copy_queue->topology->numa_count; i++)
        cpu_memory_done(&copy_queue->nodes[i].memory);
    free(copy_queue->nodes);
    cpu_copy_free(copy_queue->copy);
    cpu_queue_free(copy_queue->queue);
    free(copy_queue);
}

void cpu_copy_queue_print(const struct cpu_copy_queue *copy_queue, struct probe_line *line)
{
    const struct cpu_memory *worst = NULL;
    for (int i = 0; i < copy_queue->topology->numa_count; i++) {
        const struct cpu_memory *memory = &copy_queue->nodes[i].memory;
        if (copy_queue->nodes[i].ready && (worst == NULL || memory->pages < worst->pages))
            worst = memory;
    }
    if (worst != NULL)
        probe_line_text(line, "pair_pages", cpu_pages_name(worst->pages));
}

/* The memory on a core's node. */
static const struct cpu_memory *memory_of(const struct cpu_copy_queue *copy_queue, int core,
                                          struct probe_why *why)
{
    int numa = copy_queue->topology->cores[core].numa;
    if (numa < 0) {
        probe_why_write(why, "the NUMA node of core%d is not known",
                        copy_queue->topology->cores[core].number);
        return NULL;
    }
    if (copy_queue->nodes[numa].ready)
        return &copy_queue->nodes[numa].memory;
    *why = copy_queue->nodes[numa].why;
    return NULL;
}

static bool run(struct cpu_copy_queue *copy_queue, const struct cpu_cell *cell,
                int64_t wait_limit_ns, struct probe_why *why)
{
    const struct cpu_core *cores = copy_queue->topology->cores;
    copy_queue->pair_run.pus[0] = cores[cell->from_core].pu;
    copy_queue->pair_run.pus[1] = cores[cell->to_core].pu;
    bool ok = cpu_pair_runs(copy_queue->workers, &copy_queue->pair_run, 1, wait_limit_ns + GRACE_NS,
                            &copy_queue->stuck, why);
    if (copy_queue->stuck)
        probe_why_write(&copy_queue->given_up, "not tried after %s %s: %.120s", cell->from,
                        cell->to, why->text);
    return ok;
}

/* Counts failed pair runs in a row. After several failures the CPUs of this machine do not run at
 * the same time. */
static bool note_played(struct cpu_copy_queue *copy_queue, bool ok, const struct probe_why *why)
{
    copy_queue->in_row = ok ? 0 : copy_queue->in_row + 1;
    if (copy_queue->in_row == CPU_WAIT_LIMIT_IN_ROW && !copy_queue->stuck)
        probe_why_write(&copy_queue->given_up,
                        "not tried after %u others in a row, the last: %.120s", copy_queue->in_row,
                        why->text);
    return ok;
}

struct copied {
    int64_t bytes[CPU_COPY_SIZES_MAX];
    struct probe_summary times[CPU_COPY_SIZES_MAX];
    unsigned sizes;
};

static bool measure_copy(struct cpu_copy_queue *copy_queue, const struct cpu_cell *cell,
                         int64_t budget_ns, uint64_t seed, struct copied *ret_copied,
                         struct probe_why *why)
{
    const struct cpu_memory *from = memory_of(copy_queue, cell->from_core, why);
    const struct cpu_memory *to = from == NULL ? NULL : memory_of(copy_queue, cell->to_core, why);
    if (to == NULL)
        return false;
    struct copied copied = {.sizes = cpu_copy_sizes(cell->bytes, copied.bytes)};
    size_t have = from->bytes < to->bytes ? from->bytes : to->bytes;
    while (copied.sizes > 0 && room(copied.bytes[copied.sizes - 1]) > have)
        copied.sizes--; /* the largest sizes without memory are left out */
    if (copied.sizes < CPU_COPY_SIZES_LEAST)
        return probe_why_set(why, "the memory of %s has room for %u sizes only",
                             probe_size((int64_t)have).text, copied.sizes);
    size_t target = CPU_QUEUE_BYTES + source_room(copied.bytes[copied.sizes - 1]);
    struct cpu_copy_plan plan = {.source = from->base + CPU_QUEUE_BYTES,
                                 .target = to->base + target,
                                 .bytes = copied.bytes,
                                 .sizes = copied.sizes,
                                 .budget_ns = budget_ns,
                                 .seed = seed};
    cpu_copy_begin(copy_queue->copy, &plan);
    copy_queue->pair_run =
        (struct cpu_pair_run){.run_side = cpu_copy_run_side, .state = copy_queue->copy};
    bool ok = run(copy_queue, cell, cpu_copy_wait_limit_ns(copy_queue->copy), why) &&
              cpu_copy_end(copy_queue->copy, copied.times, why);
    if (!note_played(copy_queue, ok, why))
        return false;
    *ret_copied = copied;
    return true;
}

static bool measure_queue(struct cpu_copy_queue *copy_queue, const struct cpu_cell *cell,
                          int64_t budget_ns, struct probe_summary ret_rates[2],
                          struct probe_why *why)
{
    const struct cpu_memory *ring = memory_of(copy_queue, cell->from_core, why);
    if (ring == NULL)
        return false;
    cpu_queue_begin(copy_queue->queue, ring->base, budget_ns);
    copy_queue->pair_run =
        (struct cpu_pair_run){.run_side = cpu_queue_run_side, .state = copy_queue->queue};
    bool ok = run(copy_queue, cell, cpu_queue_wait_limit_ns(copy_queue->queue), why) &&
              cpu_queue_end(copy_queue->queue, &ret_rates[0], &ret_rates[1], why);
    return note_played(copy_queue, ok, why);
}

size_t cpu_copy_queue_measure(struct cpu_copy_queue *copy_queue, const struct cpu_cell *cell,
                              int64_t budget_ns, uint64_t seed, struct cpu_report *report)
{
    struct probe_why why = copy_queue->given_up;
    bool tried = why.text[0] == '\0';
    if (cell->metric == PROBE_CPU_COPY) {
        struct copied copied;
        return tried && measure_copy(copy_queue, cell, budget_ns, seed, &copied, &why)
                   ? cpu_report_samples(report, cell, copied.bytes, copied.times, copied.sizes)
                   : cpu_report_skip(report, cell, why.text);
    }
    struct probe_summary rates[2];
    bool ok = tried && measure_queue(copy_queue, cell, budget_ns, rates, &why);
    for (int side = 0; side < 2; side++)
        if (!(ok ? cpu_report_value(report, cell + side, &rates[side])
                 : cpu_report_skip(report, cell + side, why.text)))
            return 0;
    return 2;
}
