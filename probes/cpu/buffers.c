#include "cpu/buffers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/free_memory.h"
#include "cpu/initiator.h"

#define MIB ((int64_t)1 << 20)
/* taken for the last-level cache where the kernel does not show one */
#define UNKNOWN_CACHE (64 * MIB)
#define SPAN_PER_LINE ((int64_t)(CPU_CHASE_SPAN / CPU_CHASE_LINE))
#define BUFFER_MIN    (64 * MIB)
/* together, because ending the process gives them back first: 4 ms a GiB on huge pages */
#define ALL_BUFFERS (4096 * MIB)
/* Time for all small pages by the trial, whose pages are still in the caches. At the end of a run
 * it is up to four times as long. */
#define GIVE_BACK_NS INT64_C(8000000)

int64_t cpu_buffers_cache(const struct cpu_topology *topology, int llc)
{
    int64_t bytes = llc < 0 ? -1 : topology->llcs[llc].bytes;
    return bytes > 0 ? bytes : UNKNOWN_CACHE;
}

int64_t cpu_buffers_initiator_cache(const struct cpu_topology *topology,
                                    const struct cpu_cell *cell)
{
    if (cell->llc >= 0)
        return cpu_buffers_cache(topology, cell->llc);
    /* Sums over cores, because an llc may reach over several nodes. */
    int64_t sum = 0;
    for (int llc = 0; llc < topology->llc_count; llc++) {
        bool inside = false;
        for (int i = 0; i < topology->core_count; i++)
            inside |= topology->cores[i].llc == llc && topology->cores[i].numa == cell->numa;
        sum += inside ? cpu_buffers_cache(topology, llc) : 0;
    }
    return sum > 0 ? sum : UNKNOWN_CACHE;
}

int64_t cpu_buffers_noise_bytes(const struct cpu_topology *topology, const struct cpu_cell *cell)
{
    int numa = cpu_initiator_noise_numa(topology, cell);
    if (cell->noise == CPU_NOISE_NONE || numa < 0)
        return 0;
    return CPU_BUFFERS_LEAST_TIMES *
           cpu_buffers_initiator_cache(topology, &(struct cpu_cell){.llc = -1, .numa = numa});
}

const char *cpu_buffers_remark(const struct cpu_buffer *buffer)
{
    return buffer->memory.small_bytes > 0 ? " (small pages: few, so that a stop is quick)" : "";
}

/* The bytes of buffer that a cell wants without its noise. */
static int64_t cell_bytes(const struct cpu_topology *topology, const struct cpu_cell *cell)
{
    if (cell->metric == PROBE_MEMORY_BANDWIDTH)
        return CPU_BUFFERS_TIMES * cpu_buffers_initiator_cache(topology, cell);
    if (cell->bytes > 0)
        return cell->bytes * SPAN_PER_LINE;
    int64_t largest = 0;
    for (int llc = 0; llc < topology->llc_count; llc++) {
        int64_t bytes = cpu_buffers_cache(topology, llc);
        largest = bytes > largest ? bytes : largest;
    }
    return CPU_BUFFERS_TIMES * SPAN_PER_LINE * (largest > 0 ? largest : UNKNOWN_CACHE);
}

/* Size of a memory's buffer for its cells: within the limit, but at least the minimum of the most
 * demanding cell. 0: none needs it. */
static int64_t requested_bytes(const struct cpu_topology *topology, const struct cpu_cells *cells,
                               int memory, int64_t *ret_least)
{
    int64_t requested = 0, needed = 0, limit = ALL_BUFFERS / topology->numa_count;
    for (size_t i = 0; i < cells->count; i++) {
        const struct cpu_cell *cell = &cells->item[i];
        if ((cell->metric != PROBE_MEMORY_BANDWIDTH && cell->metric != PROBE_MEMORY_LATENCY) ||
            cell->memory != memory)
            continue;
        int64_t noise = cpu_buffers_noise_bytes(topology, cell), bytes = cell_bytes(topology, cell);
        int64_t least =
            (cell->bytes > 0 ? bytes : bytes * CPU_BUFFERS_LEAST_TIMES / CPU_BUFFERS_TIMES) + noise;
        bytes += noise;
        requested = bytes > requested ? bytes : requested;
        needed = least > needed ? least : needed;
    }
    *ret_least = needed;
    if (requested == 0)
        return 0;
    limit = needed > limit ? needed : limit;
    return requested < BUFFER_MIN ? BUFFER_MIN : requested > limit ? limit : requested;
}

/* Rounds down to the three leading binary digits. Free memory differs from run to run; the size of
 * a buffer need not. */
static int64_t steady(int64_t bytes)
{
    int64_t step = 1;
    while (step <= bytes / 8)
        step *= 2;
    return bytes / step * step;
}

static int64_t part(int64_t from_ns, int64_t to_ns, int made, int count)
{
    return from_ns + (to_ns - from_ns) * made / count;
}

/* Rounds, except when rounding would lose a cell. */
static int64_t steady_above(int64_t bytes, int64_t least)
{
    return steady(bytes) >= least || bytes < least ? steady(bytes) : bytes;
}

static void make_one(int64_t limit, const struct cpu_topology *topology,
                     struct cpu_memory_request *request, struct cpu_buffer *ret_buffer,
                     bool *ret_overrun)
{
    int64_t least = (int64_t)request->least;
    limit = steady_above(limit, least) / (2 * MIB) * (2 * MIB);
    if (limit < (int64_t)request->requested)
        request->requested = (size_t)limit;
    if (limit < 2 * MIB)
        probe_why_write(&ret_buffer->why, "too little free memory");
    else
        ret_buffer->ready =
            cpu_memory_new(topology, request, &ret_buffer->memory, ret_overrun, &ret_buffer->why);
    if (ret_buffer->ready)
        ret_buffer->memory.bytes = (size_t)steady_above((int64_t)ret_buffer->memory.bytes, least);
}

bool cpu_buffers_new(const char *root, const struct cpu_topology *topology,
                     const struct cpu_cells *cells, const struct cpu_buffers_time *time,
                     struct cpu_workers *workers, struct cpu_buffers *ret_buffers,
                     bool *ret_overrun, struct probe_why *why)
{
    int count = 0, made = 0;
    int64_t least, small_left = cpu_memory_small_limit(GIVE_BACK_NS);
    *ret_overrun = false;
    struct cpu_buffer *item = calloc((size_t)topology->numa_count, sizeof *item);
    if (item == NULL)
        return probe_why_set(why, "out of memory");
    for (int i = 0; i < topology->numa_count; i++)
        count += requested_bytes(topology, cells, i, &least) > 0;
    for (int i = 0; i < topology->numa_count && made < count && !*ret_overrun; i++) {
        int64_t requested = requested_bytes(topology, cells, i, &least);
        if (requested == 0)
            continue;
        struct cpu_memory_request request = {
            .numa = i,
            .workers = workers,
            .requested = (size_t)requested,
            .least = (size_t)least,
            .small_limit = small_left / (count - made),
        };
        made++;
        request.soft_ns = part(time->started_ns, time->soft_ns, made, count);
        request.hard_ns = part(time->started_ns, time->hard_ns, made, count);
        make_one(probe_room_bytes(root, topology->numas[i].number, count), topology, &request,
                 &item[i], ret_overrun);
        small_left -= (int64_t)item[i].memory.small_bytes;
    }
    if (*ret_overrun) /* a stuck thread still uses the buffers */
        return probe_why_set(why, "filling memory does not end");
    *ret_buffers = (struct cpu_buffers){topology, item};
    return true;
}

void cpu_buffers_done(struct cpu_buffers *buffers)
{
    for (int i = 0; buffers->item != NULL && i < buffers->topology->numa_count; i++)
        cpu_memory_done(&buffers->item[i].memory);
    free(buffers->item);
    *buffers = (struct cpu_buffers){0};
}

/* Rounds the size for the conditions text. Free memory, and with it the size, changes a little from
 * run to run. */
static size_t power_of_two(size_t bytes)
{
    size_t power = 1;
    while (power <= bytes / 2)
        power *= 2;
    return power;
}

void cpu_buffers_print(const struct cpu_buffers *buffers, struct probe_line *line)
{
    char text[1024] = "", *end = text;
    const char *pages = NULL, *placement = NULL;
    double huge_share = 1;
    for (int i = 0; i < buffers->topology->numa_count; i++) {
        const struct cpu_buffer *buffer = &buffers->item[i];
        if (!buffer->ready)
            continue;
        if (pages == NULL || buffer->memory.huge_share < huge_share)
            pages = cpu_pages_name(buffer->memory.pages);
        if (placement == NULL || buffer->memory.placement != CPU_PLACEMENT_PROVEN)
            placement = cpu_placement_name(buffer->memory.placement);
        huge_share =
            buffer->memory.huge_share < huge_share ? buffer->memory.huge_share : huge_share;
        if (sizeof text - (size_t)(end - text) > 40)
            end += sprintf(end, "%snuma%d=%zu", end == text ? "" : " ",
                           buffers->topology->numas[i].number, power_of_two(buffer->memory.bytes));
    }
    if (pages == NULL)
        return;
    probe_line_text(line, "pages", pages);
    probe_line_number(line, "huge_page_share", floor(10 * huge_share) / 10);
    probe_line_text(line, "placement", placement);
    probe_line_text(line, "buffer_bytes", text);
}
