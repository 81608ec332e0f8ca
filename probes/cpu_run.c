#include "cpu_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cpu_chase.h"
#include "cpu_conditions.h"
#include "cpu_memory.h"
#include "cpu_pingpong.h"
#include "probe_clock.h"

#define MIB              ((int64_t)1 << 20)
#define UNKNOWN_CACHE    (64 * MIB) /* taken for the last-level cache where the kernel does not show one */
#define TIMES            4          /* what is streamed, and the lines of a cycle, are this many times the caches */
#define SPAN_PER_LINE    ((int64_t)(CPU_CHASE_SPAN / CPU_CHASE_LINE))
#define LEAST_TIMES      2          /* with less than this, nothing is measured */
#define REPETITION_BYTES (16 * MIB) /* at least; streaming them takes about a tenth to half a millisecond */
#define BUFFER_MIN       (64 * MIB)
#define ALL_BUFFERS      (4096 * MIB) /* together, because ending the process gives them back first: 4 ms a GiB on huge pages */

/* When each phase ends, as a share of the budget. The buffers are filled before: fully by the soft end, as far as needed by the
 * hard. */
static const double phase_end[CPU_PHASE_COUNT] = {0.5, 0.65, 0.82, 0.97};
#define FILL_SOFT_END 0.2
#define FILL_HARD_END 0.4

#define CELL_LEAST_NS INT64_C(2000000)

struct buffer {
    bool ready;
    struct cpu_memory memory;
    struct cpu_chase chase;
    int64_t chase_bytes;  /* of the lines of the cycle that is built, 0 none */
    struct probe_why why; /* when it is not ready */
};

struct run {
    const struct cpu_topology *topology;
    const struct cpu_cells *cells;
    const struct cpu_run_options *options;
    struct cpu_report *report;
    struct cpu_workers *workers;
    struct cpu_pingpong *pingpong;
    struct buffer *buffers; /* one for each NUMA node */
    struct probe_random random;
    int *pus;                     /* room for all cores */
    size_t left[CPU_PHASE_COUNT]; /* cells of each phase that are not done */
    bool overrun;                 /* a worker is stuck */
};

const char *cpu_run_status_name(enum cpu_run_status status)
{
    static const char *const names[] = {"complete", "budget", "failed", "failed"};
    return names[status];
}

static int64_t time_at(const struct run *run, double share)
{
    return run->options->started_ns + (int64_t)(share * (double)run->options->budget_ns);
}

static int64_t cache_bytes(const struct cpu_topology *topology, int llc)
{
    int64_t bytes = llc < 0 ? -1 : topology->llcs[llc].bytes;
    return bytes > 0 ? bytes : UNKNOWN_CACHE;
}

/* The last-level caches of a cell's initiator, together. */
static int64_t initiator_cache_bytes(const struct cpu_topology *topology, const struct cpu_cell *cell)
{
    if (cell->llc >= 0)
        return cache_bytes(topology, cell->llc);
    int64_t sum = 0;
    for (int llc = 0; llc < topology->llc_count; llc++)
        if (topology->llcs[llc].numa == cell->numa && topology->llcs[llc].cores > 0)
            sum += cache_bytes(topology, llc);
    return sum > 0 ? sum : UNKNOWN_CACHE;
}

/* The bytes of buffer that a cell wants. */
static int64_t cell_bytes(const struct cpu_topology *topology, const struct cpu_cell *cell)
{
    if (cell->metric == PROBE_MEMORY_BANDWIDTH)
        return TIMES * initiator_cache_bytes(topology, cell);
    if (cell->bytes > 0)
        return cell->bytes * SPAN_PER_LINE;
    int64_t largest = 0;
    for (int llc = 0; llc < topology->llc_count; llc++)
        largest = cache_bytes(topology, llc) > largest ? cache_bytes(topology, llc) : largest;
    return TIMES * SPAN_PER_LINE * (largest > 0 ? largest : UNKNOWN_CACHE);
}

/* What the cells want of a memory's buffer: within the limit, but for the least that the most demanding can do with. 0: none
 * needs it. */
static int64_t wanted_bytes(const struct run *run, int memory, int64_t *ret_least)
{
    int64_t wanted = 0, needed = 0, limit = ALL_BUFFERS / run->topology->numa_count;
    for (size_t i = 0; i < run->cells->count; i++) {
        const struct cpu_cell *cell = &run->cells->item[i];
        if (cell->metric == PROBE_CPU_PINGPONG || cell->memory != memory)
            continue;
        int64_t bytes = cell_bytes(run->topology, cell);
        int64_t least = cell->bytes > 0 ? 0 : bytes * LEAST_TIMES / TIMES;
        wanted = bytes > wanted ? bytes : wanted;
        needed = least > needed ? least : needed;
    }
    *ret_least = needed;
    if (wanted == 0)
        return 0;
    limit = needed > limit ? needed : limit;
    return wanted < BUFFER_MIN ? BUFFER_MIN : wanted > limit ? limit : wanted;
}

/* Makes the buffers that the cells need. A memory that gives none has a why, with which its cells are skipped. */
static void make_buffers(struct run *run)
{
    int count = 0, made = 0;
    int64_t least;
    for (int i = 0; i < run->topology->numa_count; i++)
        count += wanted_bytes(run, i, &least) > 0;
    for (int i = 0; i < run->topology->numa_count && !run->overrun; i++) {
        struct buffer *buffer = &run->buffers[i];
        int64_t wanted = wanted_bytes(run, i, &least);
        if (wanted == 0)
            continue;
        made++;
        int64_t limit = cpu_memory_limit(run->options->root, &run->topology->numas[i], count) / (2 * MIB) * (2 * MIB);
        struct cpu_memory_request request = {
            .wanted = (size_t)(wanted < limit ? wanted : limit),
            .least = (size_t)least,
            .soft_ns = time_at(run, FILL_SOFT_END * made / count),
            .hard_ns = time_at(run, FILL_HARD_END * made / count),
        };
        if (limit < 2 * MIB)
            probe_why_set(&buffer->why, "too little free memory");
        else
            buffer->ready =
                cpu_memory_new(run->topology, i, &request, run->workers, &buffer->memory, &run->overrun, &buffer->why);
    }
}

/* The buffers' state is a condition of the run: page kind, proof of placement, size. */
static void print_buffers(const struct run *run, struct probe_line *line)
{
    char text[1024] = "", *end = text;
    const char *pages = NULL, *placement = NULL;
    double huge_share = 1;
    for (int i = 0; i < run->topology->numa_count; i++) {
        const struct buffer *buffer = &run->buffers[i];
        if (!buffer->ready)
            continue;
        /* The least good of all buffers describes the run. */
        if (pages == NULL || buffer->memory.huge_share < huge_share)
            pages = cpu_pages_name(buffer->memory.pages);
        if (placement == NULL || buffer->memory.placement != CPU_PLACEMENT_PROVEN)
            placement = cpu_placement_name(buffer->memory.placement);
        huge_share = buffer->memory.huge_share < huge_share ? buffer->memory.huge_share : huge_share;
        if (sizeof text - (size_t)(end - text) > 40)
            end += sprintf(end, "%snuma%d=%zu", end == text ? "" : " ", run->topology->numas[i].number, buffer->memory.bytes);
    }
    if (pages == NULL)
        return;
    probe_line_text(line, "pages", pages);
    probe_line_number(line, "huge_page_share", huge_share);
    probe_line_text(line, "placement", placement);
    probe_line_text(line, "buffer_bytes", text);
}

static bool print_run(const struct run *run)
{
    if (run->report->out == NULL)
        return true;
    struct probe_line line;
    probe_line_begin(&line, "run");
    probe_line_integer(&line, "schema", 1);
    probe_line_text(&line, "probe", "cpu");
    probe_line_text(&line, "backend", "linux");
    probe_line_integer(&line, "started_at", (int64_t)time(NULL));
    probe_line_open(&line, "conditions");
    cpu_conditions_print(run->options->root, &line);
    print_buffers(run, &line);
    probe_line_text(&line, "profile", run->options->wanted.profile == CPU_FULL ? "full" : "quick");
    probe_line_integer(&line, "seed", (int64_t)run->options->wanted.seed);
    probe_line_integer(&line, "cores", run->topology->core_count);
    probe_line_close(&line);
    return probe_line_write(&line, run->report->out);
}

static bool measure_bandwidth(struct run *run, const struct cpu_cell *cell, int64_t budget_ns, struct probe_summary *ret_summary,
                              struct probe_why *why)
{
    struct buffer *buffer = &run->buffers[cell->memory];
    int64_t cache = initiator_cache_bytes(run->topology, cell);
    unsigned count = cpu_cells_pus(run->topology, cell, run->pus);
    unsigned threads = cell->threads > 0 ? (unsigned)cell->threads : count;
    if ((int64_t)buffer->memory.bytes < LEAST_TIMES * cache)
        return probe_why_set(why, "the buffer of %zu bytes is not twice the last-level caches of %lld", buffer->memory.bytes,
                             (long long)cache);
    buffer->chase_bytes = 0;
    return cpu_bandwidth_measure(&buffer->memory, run->workers, run->pus, threads, cell->direction, REPETITION_BYTES, cache,
                                 budget_ns, ret_summary, &run->overrun, why);
}

/* Builds the cycle that a cell needs unless it is the one that is there. */
static bool prepare_chase(struct run *run, const struct cpu_cell *cell, struct probe_why *why)
{
    struct buffer *buffer = &run->buffers[cell->memory];
    int64_t lines_bytes = (int64_t)buffer->memory.bytes / SPAN_PER_LINE;
    int64_t wanted = cell->bytes > 0 ? cell->bytes : lines_bytes;
    if (cell->bytes == 0 && lines_bytes < LEAST_TIMES * cache_bytes(run->topology, cell->llc))
        return probe_why_set(why, "the lines visited, %lld bytes, are not twice the last-level cache of %lld",
                             (long long)lines_bytes, (long long)cache_bytes(run->topology, cell->llc));
    if (wanted > lines_bytes)
        return probe_why_set(why, "the buffer of %zu bytes is too small", buffer->memory.bytes);
    if (buffer->chase_bytes == wanted)
        return true;
    if (!cpu_chase_build(buffer->memory.base, (size_t)(wanted * SPAN_PER_LINE), &run->random, &buffer->chase, why))
        return false;
    buffer->chase_bytes = wanted;
    return true;
}

static bool measure_latency(struct run *run, const struct cpu_cell *cell, int64_t budget_ns, struct probe_summary *ret_summary,
                            struct probe_why *why)
{
    if (!prepare_chase(run, cell, why))
        return false;
    unsigned count = cpu_cells_pus(run->topology, cell, run->pus);
    if (count == 0)
        return probe_why_set(why, "no core");
    return cpu_chase_measure(&run->buffers[cell->memory].chase, run->workers, run->pus[0], cell->bytes > 0, budget_ns,
                             ret_summary, &run->overrun, why);
}

/* The time that one cell gets: an even share of what its phase has left, within bounds. */
static int64_t cell_budget_ns(const struct run *run, const struct cpu_cell *cell, int64_t now_ns)
{
    bool full = run->options->wanted.profile == CPU_FULL;
    int64_t most = full ? 100000000 : 30000000;
    int64_t share = (time_at(run, phase_end[cell->phase]) - now_ns) / (int64_t)run->left[cell->phase];
    return share > most ? most : share < CELL_LEAST_NS ? CELL_LEAST_NS : share;
}

static bool measure(struct run *run, const struct cpu_cell *cell, struct probe_summary *ret_summary, struct probe_why *why)
{
    int64_t now_ns = probe_clock_ns();
    if (now_ns >= time_at(run, phase_end[cell->phase]))
        return probe_why_set(why, "time budget");
    int64_t budget_ns = cell_budget_ns(run, cell, now_ns);
    if (cell->metric == PROBE_CPU_PINGPONG) {
        const struct cpu_core *cores = run->topology->cores;
        return cpu_pingpong_measure(run->pingpong, run->workers, cores[cell->from_core].pu, cores[cell->to_core].pu, cell->cas,
                                    budget_ns, ret_summary, &run->overrun, why);
    }
    const struct buffer *buffer = &run->buffers[cell->memory];
    if (!buffer->ready)
        return probe_why_set(why, "%s", buffer->why.text);
    if (cell->metric == PROBE_MEMORY_BANDWIDTH)
        return measure_bandwidth(run, cell, budget_ns, ret_summary, why);
    return measure_latency(run, cell, budget_ns, ret_summary, why);
}

static enum cpu_run_status measure_all(struct run *run, struct probe_why *why)
{
    bool late = false;
    for (size_t i = 0; i < run->cells->count; i++)
        run->left[run->cells->item[i].phase]++;
    for (size_t i = 0; i < run->cells->count; i++) {
        const struct cpu_cell *cell = &run->cells->item[i];
        struct probe_summary summary;
        struct probe_why skip;
        bool measured = measure(run, cell, &summary, &skip);
        run->left[cell->phase]--;
        if (run->overrun) {
            probe_why_set(why, "%s %s %s: %.120s", probe_metric_name(cell->metric), cell->from, cell->to, skip.text);
            return CPU_RUN_FAILED;
        }
        late |= !measured && probe_clock_ns() > time_at(run, phase_end[cell->phase]);
        if (!(measured ? cpu_report_value(run->report, cell, &summary) : cpu_report_skip(run->report, cell, skip.text)))
            return CPU_RUN_GONE;
    }
    return late ? CPU_RUN_BUDGET : CPU_RUN_COMPLETE;
}

/* A metric without cells says why. */
static bool skip_empty_metrics(struct run *run)
{
    static const struct {
        enum probe_metric metric;
        const char *why;
    } metrics[] = {
        {PROBE_CPU_PINGPONG, "fewer than two cores may be used"},
        {PROBE_MEMORY_BANDWIDTH, "no memory can be reached"},
        {PROBE_MEMORY_LATENCY, "no memory can be reached"},
    };
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        bool found = !run->options->wanted.metrics[metrics[i].metric];
        for (size_t j = 0; j < run->cells->count && !found; j++)
            found = run->cells->item[j].metric == metrics[i].metric;
        if (found)
            continue;
        if (!cpu_report_skip_metric(run->report, metrics[i].metric,
                                    run->options->wanted.place_count > 0 ? "none between the wanted places" : metrics[i].why))
            return false;
    }
    return true;
}

enum cpu_run_status cpu_run(const struct cpu_topology *topology, const struct cpu_cells *cells,
                            const struct cpu_run_options *options, struct cpu_report *report, struct probe_why *why)
{
    struct run run = {
        .topology = topology, .cells = cells, .options = options, .report = report, .random = {options->wanted.seed}};
    enum cpu_run_status status = CPU_RUN_FAILED;
    run.workers = cpu_workers_new();
    run.pingpong = cpu_pingpong_new(why);
    run.buffers = calloc((size_t)topology->numa_count, sizeof *run.buffers);
    run.pus = malloc((size_t)topology->core_count * sizeof *run.pus);
    report->total = cells->count;
    if (run.workers == NULL || run.pingpong == NULL || run.buffers == NULL || run.pus == NULL) {
        probe_why_set(why, "out of memory");
    } else {
        make_buffers(&run);
        if (run.overrun)
            probe_why_set(why, "filling memory does not end");
        else if (!print_run(&run) || !skip_empty_metrics(&run))
            status = CPU_RUN_GONE;
        else
            status = measure_all(&run, why);
    }
    if (run.overrun)
        return CPU_RUN_FAILED; /* the stuck thread still uses all of this */
    cpu_workers_free(run.workers);
    cpu_pingpong_free(run.pingpong);
    for (int i = 0; run.buffers != NULL && i < topology->numa_count; i++)
        cpu_memory_done(&run.buffers[i].memory);
    free(run.buffers);
    free(run.pus);
    return status;
}
