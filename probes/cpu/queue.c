#include "cpu/queue.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "cpu/wait_limit.h"

#define PAYLOAD_BYTES (512 - sizeof(uint64_t))
#define CHUNKS        (CPU_QUEUE_BYTES / sizeof(struct chunk))
#define WARM_PASSES   2
/* time in which the least number of passes ends on any core that runs all the time */
#define LEAST_NS 100000000

struct chunk {
    _Atomic uint64_t ready; /* number of the pass that filled the chunk */
    char payload[PAYLOAD_BYTES];
};

_Static_assert(sizeof(struct chunk) == 512, "the ring is full of chunks of 512 bytes");

struct cpu_queue {
    struct chunk *ring;
    int64_t budget_ns, wait_limit_ns;
    struct cpu_wait_limit wait_limit;
    /* passes that the writer may begin; UINT64_MAX: none any more */
    _Alignas(256) _Atomic uint64_t begun;
    _Alignas(256) _Atomic int64_t writer_ns; /* the writer's time of the pass, 0 not known yet */
    /* time of the pass's begin by the writer; visible to a thread that has seen its first flag */
    int64_t started_ns;
    double writer_rate[PROBE_STATS_MAX], reader_rate[PROBE_STATS_MAX];
    unsigned n;
    bool wrong;
};

struct cpu_queue *cpu_queue_new(void)
{
    struct cpu_queue *queue = aligned_alloc(256, sizeof *queue);
    if (queue != NULL)
        memset(queue, 0, sizeof *queue);
    return queue;
}

void cpu_queue_free(struct cpu_queue *queue) { free(queue); }

void cpu_queue_begin(struct cpu_queue *queue, char *ring, int64_t budget_ns)
{
    queue->ring = (struct chunk *)(void *)ring;
    queue->budget_ns = budget_ns;
    queue->wait_limit_ns = PROBE_STATS_PATIENCE * budget_ns + LEAST_NS;
    queue->n = 0;
    queue->wrong = false;
    atomic_store(&queue->begun, 0);
    atomic_store(&queue->writer_ns, 0);
    cpu_wait_limit_begin(&queue->wait_limit, queue->wait_limit_ns);
}

int64_t cpu_queue_wait_limit_ns(const struct cpu_queue *queue) { return queue->wait_limit_ns; }

/* Clears flags of an earlier pair run, or of the memory's earlier user. */
static void clear(struct cpu_queue *queue)
{
    for (size_t i = 0; i < CHUNKS; i++)
        atomic_store_explicit(&queue->ring[i].ready, 0, memory_order_relaxed);
}

static void write_side(struct cpu_queue *queue)
{
    char payload[PAYLOAD_BYTES] = {0};
    for (uint64_t pass = 1;; pass++) {
        uint64_t begun;
        for (unsigned spins = 1;
             (begun = atomic_load_explicit(&queue->begun, memory_order_acquire)) < pass; spins++)
            if (cpu_wait_limit_ends(&queue->wait_limit, spins))
                return;
        if (begun == UINT64_MAX)
            return;
        memcpy(payload, &pass, sizeof pass);
        int64_t start = queue->started_ns = probe_clock_ns();
        for (size_t i = 0; i < CHUNKS; i++) {
            struct chunk *chunk = &queue->ring[i];
            memcpy(chunk->payload, payload, sizeof payload);
            atomic_store_explicit(&chunk->ready, pass, memory_order_release);
        }
        int64_t took = probe_clock_ns() - start;
        atomic_store_explicit(&queue->writer_ns, took > 0 ? took : 1, memory_order_release);
    }
}

/* Reads one pass. Returns the time from the pass's beginning until its last chunk was read. A time
 * from the reader's own start would be too short when the reader comes late. False when a chunk
 * does not come. */
static bool read_pass(struct cpu_queue *queue, uint64_t pass, int64_t *ret_ns)
{
    char payload[PAYLOAD_BYTES];
    for (size_t i = 0; i < CHUNKS; i++) {
        struct chunk *chunk = &queue->ring[i];
        for (unsigned spins = 1; atomic_load_explicit(&chunk->ready, memory_order_acquire) != pass;
             spins++)
            if (cpu_wait_limit_ends(&queue->wait_limit, spins))
                return false;
        memcpy(payload, chunk->payload, sizeof payload);
        /* The copy is made although most of it is never read. */
        __asm__ volatile("" : : "r"(payload) : "memory");
    }
    *ret_ns = probe_clock_ns() - queue->started_ns;
    queue->wrong |= memcmp(payload, &pass, sizeof pass) != 0;
    return true;
}

static double rate(int64_t ns) { return (double)CPU_QUEUE_BYTES / (double)(ns > 0 ? ns : 1) * 1e9; }

static bool both_enough(const struct cpu_queue *queue, bool late)
{
    double writer[PROBE_STATS_MAX], reader[PROBE_STATS_MAX];
    memcpy(writer, queue->writer_rate, sizeof writer);
    memcpy(reader, queue->reader_rate, sizeof reader);
    return probe_stats_enough(writer, queue->n, late) && probe_stats_enough(reader, queue->n, late);
}

static void read_side(struct cpu_queue *queue)
{
    int64_t begin = probe_clock_ns(), spent_ns = 0;
    for (uint64_t pass = 1; !both_enough(queue, spent_ns > queue->budget_ns); pass++) {
        atomic_store_explicit(&queue->begun, pass, memory_order_release);
        int64_t reader_ns, writer_ns;
        if (cpu_wait_limit_is_reached(&queue->wait_limit) || !read_pass(queue, pass, &reader_ns))
            return; /* the writing side returns at its next wait */
        for (unsigned spins = 1;
             (writer_ns = atomic_load_explicit(&queue->writer_ns, memory_order_acquire)) == 0;
             spins++)
            if (cpu_wait_limit_ends(&queue->wait_limit, spins))
                return;
        atomic_store_explicit(&queue->writer_ns, 0, memory_order_relaxed);
        spent_ns = probe_clock_ns() - begin;
        if (pass <= WARM_PASSES)
            continue;
        queue->writer_rate[queue->n] = rate(writer_ns);
        queue->reader_rate[queue->n++] = rate(reader_ns);
    }
    atomic_store_explicit(&queue->begun, UINT64_MAX, memory_order_release);
}

void cpu_queue_run_side(void *table, unsigned side)
{
    struct cpu_queue *queue = table;
    if (side == 0)
        clear(queue);
    if (!cpu_wait_limit_meet(&queue->wait_limit))
        return;
    if (side == 0)
        write_side(queue);
    else
        read_side(queue);
}

bool cpu_queue_end(struct cpu_queue *queue, struct probe_summary *ret_writer,
                   struct probe_summary *ret_reader, struct probe_why *why)
{
    if (queue->wrong)
        return probe_why_set(why, "what was read from the queue is not what was written");
    if (queue->n < PROBE_STATS_MIN)
        return probe_why_set(
            why, "only %u passes within %.0f ms: the two CPUs do not run at the same time",
            queue->n, (double)queue->wait_limit_ns / 1e6);
    *ret_writer = probe_stats_quantile(queue->writer_rate, queue->n, 0.5);
    *ret_reader = probe_stats_quantile(queue->reader_rate, queue->n, 0.5);
    return true;
}
