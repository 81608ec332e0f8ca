#include "gpu/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "gpu/cells/cells.h"
#include "gpu/driver/image.h"
#include "gpu/driver/node.h"
#include "gpu/timing/launch_shapes.h"
#include "gpu/timing/rate.h"

/* bytes of each host buffer for each device; at least twice that */
#define HOST_BYTES   ((size_t)32 << 20)
#define DEVICE_BYTES ((size_t)1 << 30)
#define SHAPES_SIZE  4096
#define WARM_NS      50000000
/* longest time that CUDA takes to close a device: about 100 ms for an H200 */
#define CLOSE_NS INT64_C(150000000)
#define LAST_NS  INT64_C(20000000) /* longest time of the last cell beyond the budget */
/* largest share of the time for opening and closing devices */
#define ENDS_SHARE 0.22

#define LEG_FULL_NS  2.2e6
#define LEG_QUICK_NS 1.1e6 /* at most */
#define LEG_SHARE    0.36  /* share of the time for the legs of rates and sets */
#define LEGS         13    /* approximate number of legs of one cell */
/* the others' legs in one between peers, which moves bytes fastest */
#define PEER_LEGS 2

#define CELL_LEAST_NS INT64_C(2000000)
#define CELL_QUICK_NS INT64_C(30000000)
#define CELL_TUNE_NS  INT64_C(200000000)
#define CELL_FULL_NS  INT64_C(200000000)
/* even shares of the budget that a cell of the quick profile has at most */
#define CELL_EVEN 3

/* Groups of cells, in no order: phase and rank give it. */
static const gpu_list groups[] = {
    gpu_verify,           gpu_cells_tune,    gpu_cells_host,       gpu_cells_peer,
    gpu_cells_sets,       gpu_cells_touch,   gpu_cells_kinds,      gpu_cells_noise,
    gpu_cells_collective, gpu_cells_blocks,  gpu_cells_stream,     gpu_cells_chase,
    gpu_cells_pingpong,   gpu_cells_product, gpu_cells_allocation, gpu_cells_copy_streams,
};

/* Ends of the phases, as shares of the budget. */
static const double phase_ends[GPU_PHASE_COUNT] = {0.06, 0.18, 0.48, 0.68, 0.76, 0.97, 1};

const char *gpu_probe_status_name(enum gpu_probe_status status)
{
    static const char *const names[] = {"complete", "budget", "failed", "failed"};
    return names[status];
}

/* A cell's place in the order: phase, then rank. Ties are in random order, so that drift falls on
 * no cell in particular. */
struct place {
    struct gpu_cell cell;
    uint64_t tie;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->cell.phase != y->cell.phase)
        return (int)x->cell.phase - (int)y->cell.phase;
    if (x->cell.rank != y->cell.rank)
        return x->cell.rank - y->cell.rank;
    return (x->tie > y->tie) - (x->tie < y->tie);
}

static bool list_cells(struct gpu_run *run, struct gpu_cells *cells)
{
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof groups / sizeof *groups; i++)
        ok = groups[i](run, cells);
    struct place *places = ok ? malloc((cells->count + 1) * sizeof *places) : NULL;
    if (places == NULL)
        return false;
    for (size_t i = 0; i < cells->count; i++)
        places[i] = (struct place){cells->item[i], probe_random_next(&run->random)};
    qsort(places, cells->count, sizeof *places, compare_places);
    for (size_t i = 0; i < cells->count; i++)
        cells->item[i] = places[i].cell;
    free(places);
    return true;
}

/* Reports a finding for each device that no longer answers. When all still do, it reports the
 * cell's device. */
static bool report_lost(struct gpu_run *run, const struct gpu_cell *cell)
{
    const struct gpu_api *api = run->node->api;
    int lost = 0;
    bool ok = true;
    for (int i = 0; i < run->node->device_count; i++) {
        size_t space, total;
        if (!run->node->device[i].usable ||
            (gpu_node_enter(run->node, i, NULL) &&
             gpu_node_check(run->node, i, api->space(api, &space, &total), "", NULL)))
            continue;
        lost++;
        ok = ok && gpu_report_finding(run->report, run->node, "gpu-lost", i, i, run->lost.text);
    }
    int place = cell->from >= 0 ? cell->from : cell->to >= 0 ? cell->to : -1;
    if (lost == 0 && place >= 0)
        ok = gpu_report_finding(run->report, run->node, "gpu-lost", place, place, run->lost.text);
    return ok;
}

/* Keeps the flows that run alone. False: a device is lost. */
static bool drop_failing(struct gpu_run *run, struct gpu_flow *flows, size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        struct gpu_err err;
        if (gpu_trial_run(run->trial, &flows[i], 1, &err)) {
            flows[kept++] = flows[i];
        } else if (err.fault == GPU_FAULT_LOST) {
            const struct gpu_cell cell = {.from = flows[i].op.device, .to = flows[i].op.device};
            run->lost = err.why;
            (void)report_lost(run, &cell); /* the reader is gone: the run ends all the same */
            return false;
        }
    }
    *count = kept;
    return true;
}

/* Copies in each device's own memory, so that clocks are up and pages are mapped before the first
 * measurement. A failed device is left alone: its cells give the reason. False: a device is lost,
 * which has been reported. */
static bool warm_up(struct gpu_run *run)
{
    struct gpu_flow flows[GPU_DEVICES_MAX];
    size_t count = 0;
    int64_t end_ns = probe_clock_ns() + WARM_NS;
    for (int i = 0; i < run->node->device_count; i++) {
        struct gpu_memory memory[2];
        struct probe_why left_out;
        if (!gpu_buffers_device(run->buffers, i, 0, &memory[0], &left_out) ||
            !gpu_buffers_device(run->buffers, i, 1, &memory[1], &left_out))
            continue;
        uint64_t bytes = memory[0].bytes < memory[1].bytes ? memory[0].bytes : memory[1].bytes;
        struct gpu_op op = {i,
                            GPU_BY_ENGINE,
                            GPU_OPERATION_COPY,
                            memory[1].address,
                            memory[0].address,
                            i,
                            i,
                            bytes,
                            {0}};
        flows[count] = (struct gpu_flow){.op = op, .count = 4, .span = bytes};
        count++;
    }
    while (count > 0 && probe_clock_ns() < end_ns) {
        struct gpu_err err;
        if (!gpu_trial_run(run->trial, flows, count, &err) && !drop_failing(run, flows, &count))
            return false;
    }
    return true;
}

/* Number of shares of the legs' time that a cell takes. */
static size_t leg_parts(const struct gpu_cell *cell)
{
    if (cell->phase != GPU_PHASE_RATES)
        return cell->phase == GPU_PHASE_SETS;
    return cell->from >= 0 && cell->to >= 0 && cell->from != cell->to ? PEER_LEGS : 1;
}

static double within_legs(double leg_ns)
{
    return fmax(fmin(leg_ns, LEG_QUICK_NS), GPU_RATE_LEG_NS);
}

/* Sets the legs as long as the time for rates and sets allows for all of them. */
static void find_legs(struct gpu_run *run, const struct gpu_cells *cells)
{
    size_t parts = 1;
    for (size_t i = 0; i < cells->count; i++)
        parts += leg_parts(&cells->item[i]);
    double fit = LEG_SHARE * (double)run->budget_ns / (double)(LEGS * parts);
    run->leg_ns = run->selection.profile == GPU_FULL ? LEG_FULL_NS : within_legs(fit);
    run->peer_leg_ns =
        run->selection.profile == GPU_FULL ? LEG_FULL_NS : within_legs(PEER_LEGS * fit);
    run->stepped_leg_ns = LEG_FULL_NS;
}

/* Time left for cells. Opening the devices and closing them count as the run's time, too, but at
 * most a part of it. */
static int64_t time_left_ns(const struct gpu_node *node, int64_t budget_ns)
{
    int64_t ends = node->open_ns + (node->api->takes_cuda ? CLOSE_NS * node->device_count : 0) +
                   LAST_NS,
            most = (int64_t)(ENDS_SHARE * (double)budget_ns);
    return budget_ns - (ends < most ? ends : most);
}

static bool print_run(const struct gpu_run *run, const struct gpu_probe_options *options,
                      int driver)
{
    if (run->report->out == NULL)
        return true;
    const struct gpu_node *node = run->node;
    char shapes[SHAPES_SIZE];
    int usable = 0;
    for (int i = 0; i < node->device_count; i++)
        usable += node->device[i].usable;
    gpu_tune_print(node, driver, shapes, sizeof shapes);
    struct probe_line line;
    probe_line_begin(&line, "run");
    probe_line_integer(&line, "schema", 1);
    probe_line_text(&line, "probe", "gpu");
    probe_line_text(&line, "backend", node->api->is_standin ? "standin" : node->api->name);
    probe_line_integer(&line, "started_at", (int64_t)time(NULL));
    probe_line_integer(&line, "seed", (int64_t)options->selection.seed);
    probe_line_open(&line, "conditions");
    gpu_conditions_print(options->conditions, node, &line);
    probe_line_text(&line, "library", node->api->library);
    probe_line_integer(&line, "driver", driver);
    probe_line_integer(&line, "devices", node->device_count);
    probe_line_integer(&line, "usable_devices", usable);
    if (node->closed.text[0] != '\0')
        probe_line_text(&line, "closed", node->closed.text);
    if (shapes[0] != '\0')
        probe_line_text(&line, "shapes", shapes);
    probe_line_text(&line, "kernels",
                    node->kernels_why.text[0] != '\0' ? node->kernels_why.text
                                                      : gpu_image_included());
    if (node->compiler != NULL)
        probe_line_text(&line, "kernels_compiled_by", node->compiler);
    probe_line_text(&line, "profile", options->selection.profile == GPU_FULL ? "full" : "quick");
    probe_line_close(&line);
    return probe_line_write(&line, run->report->out);
}

static int64_t time_at(const struct gpu_run *run, double share)
{
    return run->started_ns + (int64_t)(share * (double)run->budget_ns);
}

/* The time of one cell: an even share of the rest of its phase, within bounds. */
static int64_t cell_budget_ns(const struct gpu_run *run, const struct gpu_cell *cell, size_t left,
                              int64_t now_ns)
{
    int64_t most = run->selection.profile == GPU_FULL ? CELL_FULL_NS : CELL_QUICK_NS;
    int64_t even = run->budget_ns / (int64_t)(run->report->total + 1);
    /* else the last cells would not be reached */
    if (run->selection.profile == GPU_QUICK && most > CELL_EVEN * even)
        most = CELL_EVEN * even;
    if (cell->phase == GPU_PHASE_TUNE)
        most = CELL_TUNE_NS;
    int64_t share = (time_at(run, phase_ends[cell->phase]) - now_ns) / (int64_t)left;
    return share > most ? most : share < CELL_LEAST_NS ? CELL_LEAST_NS : share;
}

static bool hung_before(const struct gpu_run *run, const struct gpu_cell *cell)
{
    char text[GPU_RUN_CELL_SIZE];
    gpu_run_cell(run, cell, text, sizeof text);
    for (size_t i = 0; i < run->selection.skipped_count; i++)
        if (strcmp(text, run->selection.skipped[i]) == 0)
            return true;
    return false;
}

/* Reason that the cell is not measured, NULL: it is. */
static const char *left_out(const struct gpu_run *run, const struct gpu_cell *cell, int64_t now_ns)
{
    if (hung_before(run, cell))
        return "it hung before";
    return now_ns >= time_at(run, phase_ends[cell->phase]) ? "time budget" : NULL;
}

static enum gpu_probe_status measure_all(struct gpu_run *run, const struct gpu_cells *cells,
                                         struct gpu_times *times)
{
    size_t left[GPU_PHASE_COUNT] = {0};
    for (size_t i = 0; i < cells->count; i++)
        left[cells->item[i].phase]++;
    for (size_t i = 0; i < cells->count; i++) {
        const struct gpu_cell *cell = &cells->item[i];
        int64_t now_ns = probe_clock_ns();
        const char *out = left_out(run, cell, now_ns);
        bool ok;
        if (out != NULL) {
            struct gpu_err err = {.fault = GPU_FAULT_OTHER};
            probe_why_write(&err.why, "%s", out);
            run->report->late |= !hung_before(run, cell) && !cell->is_spare;
            ok = gpu_run_failed(run, cell, NULL, &err);
        } else {
            char text[GPU_RUN_CELL_SIZE];
            gpu_run_cell(run, cell, text, sizeof text);
            ok = gpu_report_begin(run->report, text) &&
                 cell->measure(run, cell, cell_budget_ns(run, cell, left[cell->phase], now_ns));
        }
        if (out == NULL)
            gpu_times_cell(times, cell->phase, cell->metric, probe_clock_ns());
        else
            gpu_times_add(times, (enum gpu_time)(GPU_TIME_PHASE + (int)cell->phase),
                          probe_clock_ns());
        if (!ok)
            return run->lost.text[0] != '\0' && report_lost(run, cell) ? GPU_PROBE_FAILED
                                                                       : GPU_PROBE_GONE;
        left[cell->phase]--;
        run->report->done++;
    }
    return run->report->late ? GPU_PROBE_BUDGET : GPU_PROBE_COMPLETE;
}

/* Reports the reason for each requested metric that has no cell. */
static bool skip_empty(struct gpu_run *run, const struct gpu_cells *cells)
{
    static const struct {
        enum probe_metric metric;
        const char *why;
        bool full; /* the quick profile does not measure the metric */
    } metrics[] = {
        {PROBE_HOST_GPU_COPY_ENGINE, "no host memory can be reached", false},
        {PROBE_HOST_GPU_KERNEL, "no host memory can be reached", false},
        {PROBE_GPU_GPU_COPY_ENGINE, "fewer than two GPUs", false},
        {PROBE_GPU_GPU_KERNEL, "fewer than two GPUs", false},
        {PROBE_GPU_GPU_COPY_ENGINE_CONCURRENT, "fewer than two GPUs", false},
        {PROBE_COLLECTIVE_LATENCY, "fewer than two GPUs", true},
        {PROBE_COLLECTIVE_BANDWIDTH, "fewer than two GPUs", true},
    };
    struct probe_axes axes = {0};
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        bool found = !run->selection.metrics[metrics[i].metric] ||
                     (metrics[i].full && run->selection.profile != GPU_FULL);
        for (size_t j = 0; j < cells->count && !found; j++)
            found = cells->item[j].metric == metrics[i].metric;
        const char *why =
            run->selection.place_count > 0 ? "none between the selected places" : metrics[i].why;
        if (!found &&
            !gpu_report_skip(run->report, run->node,
                             &(struct gpu_report_series){metrics[i].metric, GPU_PLACE_NONE,
                                                         GPU_PLACE_NONE, &axes},
                             why))
            return false;
    }
    return true;
}

static enum gpu_probe_status run_cells(struct gpu_run *run, const struct gpu_probe_options *options,
                                       int driver, struct gpu_times *times, struct probe_why *why)
{
    struct gpu_cells cells = {0};
    enum gpu_probe_status status = GPU_PROBE_FAILED;
    gpu_conditions_limits(options->conditions, run->node);
    if (options->shapes != NULL)
        gpu_tune_parse(run->node, driver, options->shapes, options->tunes_anew);
    bool listed = list_cells(run, &cells);
    gpu_times_add(times, GPU_TIME_LIST, probe_clock_ns());
    bool printed = print_run(run, options, driver);
    gpu_times_add(times, GPU_TIME_CONDITIONS, probe_clock_ns());
    if (!printed) {
        status = GPU_PROBE_GONE;
    } else if (!listed) {
        probe_why_write(why, "out of memory");
    } else if (!warm_up(run)) {
        *why = run->lost;
    } else {
        gpu_times_add(times, GPU_TIME_WARM, probe_clock_ns());
        find_legs(run, &cells);
        run->report->total = cells.count;
        status = skip_empty(run, &cells) ? measure_all(run, &cells, times) : GPU_PROBE_GONE;
        if (status == GPU_PROBE_FAILED)
            *why = run->lost;
    }
    gpu_cells_done(&cells);
    return status;
}

enum gpu_probe_status gpu_probe_run(struct gpu_node *node, const struct gpu_probe_options *options,
                                    struct gpu_report *report, struct gpu_times *times,
                                    struct probe_why *why)
{
    struct gpu_run *run = calloc(1, sizeof *run);
    int driver = 0;
    enum gpu_probe_status status = GPU_PROBE_FAILED;
    if (run == NULL) {
        probe_why_write(why, "out of memory");
        return status;
    }
    run->node = node;
    run->report = report;
    run->selection = options->selection;
    run->random = (struct probe_random){options->selection.seed};
    run->started_ns = probe_clock_ns();
    run->budget_ns = time_left_ns(node, options->budget_ns);
    (void)node->api->version(node->api, &driver); /* stays 0 */
    gpu_tune_default(node);
    size_t host_bytes = HOST_BYTES * (node->device_count < 2   ? 2
                                      : node->device_count > 8 ? 8
                                                               : (size_t)node->device_count);
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    bool is_ready = gpu_trial_new(node, &run->trial, &err) &&
                    gpu_buffers_new(node, host_bytes, DEVICE_BYTES, &run->buffers, &err.why);
    if (!is_ready)
        *why = err.why;
    if (is_ready) {
        gpu_times_add(times, GPU_TIME_BUFFERS, probe_clock_ns());
        run->bidirectional =
            (struct gpu_bidirectional){.trial = run->trial, .buffers = run->buffers};
        status = run_cells(run, options, driver, times, why);
    } else if (!print_run(run, options, driver)) {
        status = GPU_PROBE_GONE;
    } else if (err.fault == GPU_FAULT_LOST) {
        const struct gpu_cell none = {.from = GPU_PLACE_NONE, .to = GPU_PLACE_NONE};
        run->lost = *why;
        status = report_lost(run, &none) ? GPU_PROBE_FAILED : GPU_PROBE_GONE;
    }
    if (status != GPU_PROBE_FAILED || run->lost.text[0] == '\0') {
        gpu_buffers_free(run->buffers);
        gpu_trial_free(run->trial);
    }
    free(run);
    return status;
}

bool gpu_probe_end(const struct gpu_report *report, const struct gpu_node *node,
                   const struct gpu_probe_options *options, enum gpu_probe_status status,
                   struct gpu_times *times)
{
    if (report->out == NULL)
        return true;
    struct probe_line line;
    char shapes[SHAPES_SIZE];
    int driver = 0;
    (void)node->api->version(node->api, &driver); /* stays 0 */
    gpu_tune_print(node, driver, shapes, sizeof shapes);
    probe_line_begin(&line, "end");
    probe_line_text(&line, "status", gpu_probe_status_name(status));
    probe_line_open(&line, "conditions");
    if (shapes[0] != '\0')
        probe_line_text(&line, "shapes", shapes);
    if (status != GPU_PROBE_FAILED) /* a call on a lost device may hang */
        gpu_conditions_print_end(options->conditions, node, &line);
    probe_line_close(&line);
    gpu_times_add(times, GPU_TIME_CONDITIONS, probe_clock_ns());
    probe_line_integer(&line, "elapsed_ns", probe_clock_ns() - options->started_ns);
    probe_line_open(&line, "statistics");
    gpu_times_print(times, &line);
    probe_line_integer(&line, "paths_verified", (int64_t)report->paths);
    probe_line_integer(&line, "paths_wrong", (int64_t)report->wrong);
    probe_line_close(&line);
    return probe_line_write(&line, report->out);
}
