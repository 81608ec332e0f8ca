#include "cpu_access.h"

#define SPAN_PER_LINE    ((int64_t)(CPU_CHASE_SPAN / CPU_CHASE_LINE))
#define REPETITION_BYTES ((int64_t)16 << 20) /* at least; streaming them takes about a tenth to half a millisecond */

static bool measure_bandwidth(const struct cpu_access *access, struct cpu_buffer *buffer, const struct cpu_cell *cell,
                              int64_t budget_ns, struct probe_summary *ret_summary, bool *ret_overrun, struct probe_why *why)
{
    int64_t cache = cpu_buffers_initiator_cache(access->topology, cell);
    unsigned count = cpu_cells_pus(access->topology, cell, access->pus);
    unsigned threads = cell->threads > 0 ? (unsigned)cell->threads : count;
    if ((int64_t)buffer->memory.bytes < CPU_BUFFERS_LEAST_TIMES * cache)
        return probe_why_set(why, "the buffer of %zu bytes is not twice the last-level caches of %lld", buffer->memory.bytes,
                             (long long)cache);
    buffer->chase_bytes = 0;
    return cpu_bandwidth_measure(&buffer->memory, access->workers, access->pus, threads, cell->direction, REPETITION_BYTES, cache,
                                 budget_ns, ret_summary, ret_overrun, why);
}

/* Builds the cycle that a cell needs unless it is the one that is there. */
static bool prepare_chase(const struct cpu_access *access, struct cpu_buffer *buffer, const struct cpu_cell *cell,
                          struct probe_why *why)
{
    int64_t lines_bytes = (int64_t)buffer->memory.bytes / SPAN_PER_LINE;
    int64_t wanted = cell->bytes > 0 ? cell->bytes : lines_bytes;
    int64_t cache = cpu_buffers_cache(access->topology, cell->llc);
    if (cell->bytes == 0 && lines_bytes < CPU_BUFFERS_LEAST_TIMES * cache)
        return probe_why_set(why, "the lines visited, %lld bytes, are not twice the last-level cache of %lld",
                             (long long)lines_bytes, (long long)cache);
    if (wanted > lines_bytes)
        return probe_why_set(why, "the buffer of %zu bytes is too small", buffer->memory.bytes);
    if (buffer->chase_bytes == wanted)
        return true;
    if (!cpu_chase_build(buffer->memory.base, (size_t)(wanted * SPAN_PER_LINE), access->random, &buffer->chase, why))
        return false;
    buffer->chase_bytes = wanted;
    return true;
}

static bool measure_latency(const struct cpu_access *access, struct cpu_buffer *buffer, const struct cpu_cell *cell,
                            int64_t budget_ns, struct probe_summary *ret_summary, bool *ret_overrun, struct probe_why *why)
{
    if (!prepare_chase(access, buffer, cell, why))
        return false;
    if (cpu_cells_pus(access->topology, cell, access->pus) == 0)
        return probe_why_set(why, "no core");
    return cpu_chase_measure(&buffer->chase, access->workers, access->pus[0], cell->bytes > 0, budget_ns, ret_summary, ret_overrun,
                             why);
}

bool cpu_access_measure(const struct cpu_access *access, const struct cpu_cell *cell, int64_t budget_ns,
                        struct probe_summary *ret_summary, bool *ret_overrun, struct probe_why *why)
{
    struct cpu_buffer *buffer = &access->buffers->item[cell->memory];
    *ret_overrun = false;
    if (!buffer->ready)
        return probe_why_set(why, "%s", buffer->why.text);
    if (cell->metric == PROBE_MEMORY_BANDWIDTH)
        return measure_bandwidth(access, buffer, cell, budget_ns, ret_summary, ret_overrun, why);
    return measure_latency(access, buffer, cell, budget_ns, ret_summary, ret_overrun, why);
}
