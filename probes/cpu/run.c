#include "cpu/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "common/conditions.h"
#include "cpu/access.h"
#include "cpu/buffers.h"
#include "cpu/copy_queue.h"
#include "cpu/pairs.h"
#include "cpu/stream.h"

/* Each phase's share of the budget. The buffers are filled before the phases. Filling aims at full
 * buffers until FILL_SOFT_END. From then on it fills only as far as cells need, until the phases
 * need the rest of the budget. */
static const double phase_share[CPU_PHASE_COUNT] = {0.07, 0.13, 0.16, 0.10, 0.11};
#define LAST_END      0.97
#define FILL_SOFT_END 0.2
/* soft end of filling the memory for copies and queues, a few MiB in the quick profile */
#define PAIR_SOFT_END 0.25
/* hard end of filling that memory, counted from the hard end of the other buffers */
#define PAIR_HARD 0.05

#define CELL_LEAST_NS INT64_C(2000000)

struct run {
    const struct cpu_topology *topology;
    const struct cpu_cells *cells;
    const struct cpu_run_options *options;
    struct cpu_report *report;
    struct cpu_workers *workers;
    struct cpu_copy_queue *copy_queue;
    struct cpu_buffers buffers;
    struct probe_random random;
    struct cpu_access access;
    int *pus;                     /* room for twice the number of cores */
    size_t left[CPU_PHASE_COUNT]; /* cells of each phase that are not done */
    struct cpu_run_shares shares;
    bool overrun; /* a worker is stuck */
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

void cpu_run_shares(const struct cpu_cells *cells, struct cpu_run_shares *ret)
{
    bool has[CPU_PHASE_COUNT] = {false};
    double end = LAST_END;
    for (size_t i = 0; i < cells->count; i++)
        has[cells->item[i].phase] = true;
    for (int phase = CPU_PHASE_COUNT - 1; phase >= 0; phase--) {
        ret->phase_end[phase] = end;
        end -= has[phase] ? phase_share[phase] : 0;
    }
    ret->fill_end = end;
}

static bool make_buffers(struct run *run, struct probe_why *why)
{
    run->access = (struct cpu_access){.topology = run->topology,
                                      .buffers = &run->buffers,
                                      .workers = run->workers,
                                      .random = &run->random,
                                      .pus = run->pus,
                                      .noise_pus = run->pus + run->topology->core_count};
    struct cpu_buffers_time time = {run->options->started_ns, time_at(run, FILL_SOFT_END),
                                    time_at(run, run->shares.fill_end)};
    if (!cpu_buffers_new(run->options->root, run->topology, run->cells, &time, run->workers,
                         &run->buffers, &run->overrun, why))
        return false;
    run->copy_queue = cpu_copy_queue_new(
        run->options->root, run->topology, run->cells, time_at(run, PAIR_SOFT_END),
        time_at(run, run->shares.fill_end + PAIR_HARD), run->workers, &run->overrun, why);
    return run->copy_queue != NULL;
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
    probe_line_integer(&line, "seed", (int64_t)run->options->selection.seed);
    probe_line_open(&line, "conditions");
    struct probe_conditions conditions;
    probe_conditions_begin(&conditions, run->options->root, &line);
    probe_conditions_print(&conditions);
    probe_conditions_load(&conditions);
    probe_line_text(&line, "timer", "clock_gettime(CLOCK_MONOTONIC)");
    probe_line_text(&line, "vectors", cpu_stream_best()->name);
    cpu_buffers_print(&run->buffers, &line);
    cpu_copy_queue_print(run->copy_queue, &line);
    probe_line_text(&line, "profile",
                    run->options->selection.profile == CPU_FULL ? "full" : "quick");
    probe_line_integer(&line, "cores", run->topology->core_count);
    probe_conditions_end(&conditions, "not_known");
    probe_line_close(&line);
    return probe_line_write(&line, run->report->out);
}

static int64_t most_ns(const struct run *run)
{
    return run->options->selection.profile == CPU_FULL ? 100000000 : 30000000;
}

/* The time of one cell: an even share of the rest of its phase, within bounds. */
static int64_t cell_budget_ns(const struct run *run, const struct cpu_cell *cell, int64_t now_ns)
{
    int64_t most = most_ns(run);
    int64_t share = (time_at(run, run->shares.phase_end[cell->phase]) - now_ns) /
                    (int64_t)run->left[cell->phase];
    return share > most ? most : share < CELL_LEAST_NS ? CELL_LEAST_NS : share;
}

/* One memory cell, reported. Returns the number of cells done, 0 when the run ends with
 * *ret_status. */
static size_t measure_access(struct run *run, const struct cpu_cell *cell, int64_t budget_ns,
                             enum cpu_run_status *ret_status, struct probe_why *why)
{
    struct probe_summary summary;
    struct probe_why skip = {0};
    bool measured =
        cpu_access_measure(&run->access, cell, budget_ns, &summary, &run->overrun, &skip);
    *ret_status = CPU_RUN_FAILED;
    if (run->overrun) {
        probe_why_write(why, "%s %s %s: %.120s", probe_metric_name(cell->metric), cell->from,
                        cell->to, skip.text);
        return 0;
    }
    run->report->late |=
        !measured && probe_clock_ns() > time_at(run, run->shares.phase_end[cell->phase]);
    *ret_status = CPU_RUN_GONE;
    return measured ? cpu_report_value(run->report, cell, &summary)
                    : cpu_report_skip(run->report, cell, skip.text);
}

/* All ping-pong cells from the given one on, reported. Returns as measure_access. */
static size_t measure_pairs(struct run *run, const struct cpu_cell *cell,
                            enum cpu_run_status *ret_status, struct probe_why *why)
{
    size_t count = run->left[CPU_PHASE_PINGPONG];
    struct cpu_pairs_plan plan = {
        .topology = run->topology,
        .cells = cell,
        .count = count,
        .end_ns = time_at(run, run->shares.phase_end[CPU_PHASE_PINGPONG]),
        .most_ns = most_ns(run),
        .most_at_once = run->topology->core_count < 4 ? 1 : (unsigned)run->topology->core_count / 2,
        .seed = probe_random_next(&run->random),
    };
    bool gone;
    bool ok = cpu_pairs_measure(&plan, run->workers, run->report, &gone, why);
    *ret_status = gone ? CPU_RUN_GONE : CPU_RUN_FAILED;
    return ok ? count : 0;
}

static enum cpu_run_status measure_all(struct run *run, struct probe_why *why)
{
    for (size_t i = 0; i < run->cells->count; i++)
        run->left[run->cells->item[i].phase]++;
    for (size_t i = 0, done; i < run->cells->count; i += done) {
        const struct cpu_cell *cell = &run->cells->item[i];
        enum cpu_run_status status = CPU_RUN_GONE;
        int64_t now_ns = probe_clock_ns();
        if (cell->phase == CPU_PHASE_PINGPONG)
            done = measure_pairs(run, cell, &status, why);
        else if (now_ns >= time_at(run, run->shares.phase_end[cell->phase]))
            done = cpu_report_late(run->report, cell);
        else if (cell->phase == CPU_PHASE_HANDOFF)
            done = cpu_copy_queue_measure(run->copy_queue, cell, cell_budget_ns(run, cell, now_ns),
                                          probe_random_next(&run->random), run->report);
        else
            done = measure_access(run, cell, cell_budget_ns(run, cell, now_ns), &status, why);
        if (done == 0)
            return status;
        run->left[cell->phase] -= done;
    }
    return run->report->late ? CPU_RUN_BUDGET : CPU_RUN_COMPLETE;
}

/* Reports the reason of each metric without cells. */
static bool skip_empty_metrics(struct run *run)
{
    static const struct {
        enum probe_metric metric;
        const char *why;
    } metrics[] = {
        {PROBE_CPU_PINGPONG, "fewer than two cores may be used"},
        {PROBE_CPU_COPY, "fewer than two cores may be used"},
        {PROBE_CPU_QUEUE, "fewer than two cores may be used"},
        {PROBE_MEMORY_BANDWIDTH, "no memory can be reached"},
        {PROBE_MEMORY_LATENCY, "no memory can be reached"},
        {PROBE_MEMORY_NOISE, "none: the full profile makes noise"},
    };
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        /* quick leaves noise out: a person gets a line about it, a record does not. */
        bool found = !run->options->selection.metrics[metrics[i].metric] ||
                     (metrics[i].metric == PROBE_MEMORY_NOISE && run->report->out != NULL);
        for (size_t j = 0; j < run->cells->count && !found; j++) {
            const struct cpu_cell *cell = &run->cells->item[j];
            bool alone = cell->metric == PROBE_CPU_PINGPONG && cell->from_core == cell->to_core &&
                         run->topology->core_count < 2;
            found = cell->metric == metrics[i].metric && !alone;
        }
        if (found)
            continue;
        if (!cpu_report_skip_metric(run->report, metrics[i].metric,
                                    run->options->selection.place_count > 0 ||
                                            run->options->selection.without_count > 0
                                        ? "none between the selected places"
                                        : metrics[i].why))
            return false;
    }
    return true;
}

enum cpu_run_status cpu_run(const struct cpu_topology *topology, const struct cpu_cells *cells,
                            const struct cpu_run_options *options, struct cpu_report *report,
                            struct probe_why *why)
{
    struct cpu_run_shares shares;
    cpu_run_shares(cells, &shares);
    struct run run = {.topology = topology,
                      .cells = cells,
                      .options = options,
                      .report = report,
                      .random = {options->selection.seed},
                      .shares = shares};
    enum cpu_run_status status = CPU_RUN_FAILED;
    run.workers = cpu_workers_new();
    run.pus = malloc(2 * (size_t)topology->core_count * sizeof *run.pus);
    for (size_t i = 0; i < cells->count; i++)
        report->total += cells->item[i].role != CPU_ROLE_SPARE;
    if (run.workers == NULL || run.pus == NULL) {
        probe_why_write(why, "out of memory");
    } else if (make_buffers(&run, why)) {
        if (!print_run(&run) || !skip_empty_metrics(&run))
            status = CPU_RUN_GONE;
        else
            status = measure_all(&run, why);
    }
    if (run.overrun)
        /* the stuck thread still uses the heap, which stays until the process ends */
        return CPU_RUN_FAILED;
    cpu_workers_free(run.workers);
    cpu_copy_queue_free(run.copy_queue);
    cpu_buffers_done(&run.buffers);
    free(run.pus);
    return status;
}
