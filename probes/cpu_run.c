#include "cpu_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cpu_access.h"
#include "cpu_buffers.h"
#include "cpu_conditions.h"
#include "cpu_pingpong.h"
#include "probe_clock.h"

/* When each phase ends, as a share of the budget. The buffers are filled before: fully by the soft end, as far as needed by the
 * hard. */
static const double phase_end[CPU_PHASE_COUNT] = {0.5, 0.65, 0.82, 0.97};
#define FILL_SOFT_END 0.2
#define FILL_HARD_END 0.4

#define CELL_LEAST_NS INT64_C(2000000)

struct run {
    const struct cpu_topology *topology;
    const struct cpu_cells *cells;
    const struct cpu_run_options *options;
    struct cpu_report *report;
    struct cpu_workers *workers;
    struct cpu_pingpong *pingpong;
    struct cpu_buffers buffers;
    struct probe_random random;
    struct cpu_access access;
    int *pus;                     /* room for all cores, twice */
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

static bool make_buffers(struct run *run, struct probe_why *why)
{
    run->access = (struct cpu_access){.topology = run->topology,
                                      .buffers = &run->buffers,
                                      .workers = run->workers,
                                      .random = &run->random,
                                      .pus = run->pus,
                                      .noise_pus = run->pus + run->topology->core_count};
    struct cpu_buffers_time time = {run->options->started_ns, time_at(run, FILL_SOFT_END), time_at(run, FILL_HARD_END)};
    return cpu_buffers_new(run->options->root, run->topology, run->cells, &time, run->workers, &run->buffers, &run->overrun, why);
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
    probe_line_integer(&line, "seed", (int64_t)run->options->wanted.seed);
    probe_line_open(&line, "conditions");
    cpu_conditions_print(run->options->root, &line);
    cpu_buffers_print(&run->buffers, &line);
    probe_line_text(&line, "profile", run->options->wanted.profile == CPU_FULL ? "full" : "quick");
    probe_line_integer(&line, "cores", run->topology->core_count);
    probe_line_close(&line);
    return probe_line_write(&line, run->report->out);
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
    return cpu_access_measure(&run->access, cell, budget_ns, ret_summary, &run->overrun, why);
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
        {PROBE_MEMORY_NOISE, "noise is made by the full profile only"},
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
    run.pus = malloc(2 * (size_t)topology->core_count * sizeof *run.pus);
    report->total = cells->count;
    if (run.workers == NULL || run.pingpong == NULL || run.pus == NULL) {
        probe_why_set(why, "out of memory");
    } else if (make_buffers(&run, why)) {
        if (!print_run(&run) || !skip_empty_metrics(&run))
            status = CPU_RUN_GONE;
        else
            status = measure_all(&run, why);
    }
    if (run.overrun)
        return CPU_RUN_FAILED; /* the stuck thread still uses all of this */
    cpu_workers_free(run.workers);
    cpu_pingpong_free(run.pingpong);
    cpu_buffers_done(&run.buffers);
    free(run.pus);
    return status;
}
