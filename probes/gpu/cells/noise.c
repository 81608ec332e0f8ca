/* Measures memory_bandwidth of a device beside reading cores, and memory_noise of these cores. */
#include "gpu/cells/cells.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/free_memory.h"
#include "cpu/noise.h"
#include "cpu/workers.h"
#include "gpu/driver/node.h"
#include "gpu/driver/pages.h"
#include "gpu/timing/path.h"

#define NOISE_BYTES ((size_t)1 << 30)  /* more than the caches of a node hold */
#define FLOW_BYTES  ((size_t)64 << 20) /* some milliseconds: each reader counts every 16 KiB */
#define FLOW_COUNT  2
#define AWAIT_NS    INT64_C(2000000000)
#define CORES_MAX   1024

static const char *how_of(const struct gpu_cell *cell)
{
    return cell->variant == GPU_OPERATION_READ ? "read" : "write";
}

static struct probe_axes axes_of(const struct gpu_cell *cell)
{
    struct probe_axes axes = {0};
    if (cell->variant != GPU_OPERATION_READ)
        probe_axes_add(&axes, "operation", "%s", how_of(cell));
    probe_axes_add(&axes, "noise", "numa");
    return axes;
}

/* The first worker drives the device; the others are the noise. */
struct noisy {
    int cores[CORES_MAX];
    int core_count;
    struct gpu_pages pages; /* memory that the noise reads */
    struct gpu_run *run;
    struct gpu_flow flow;
    struct cpu_noise noise;
    int64_t budget_ns;
    double rates[PROBE_STATS_MAX];
    unsigned n;
    bool ok;
    struct gpu_err err;
};

/* A repetition in which a reader made no progress is not used. */
static void measure_beside(struct noisy *noisy)
{
    int64_t begin_ns = probe_clock_ns();
    bool enough = false;
    noisy->ok = cpu_noise_await(&noisy->noise, AWAIT_NS) ||
                probe_why_set(&noisy->err.why, "the cores do not all read");
    while (noisy->ok && !enough) {
        cpu_noise_begin_window(&noisy->noise);
        noisy->ok = gpu_trial_run(noisy->run->trial, &noisy->flow, 1, &noisy->err);
        int64_t took_ns = probe_clock_ns() - begin_ns;
        if (noisy->ok && cpu_noise_end_window(&noisy->noise)) {
            noisy->rates[noisy->n++] =
                (double)noisy->flow.op.bytes * noisy->flow.count / noisy->flow.ns * 1e9;
            enough = probe_stats_enough(noisy->rates, noisy->n, took_ns > noisy->budget_ns);
        } else if (noisy->ok && took_ns > PROBE_STATS_PATIENCE * noisy->budget_ns) {
            noisy->ok =
                probe_why_set(&noisy->err.why, "the cores do not all read while the gpu does");
        }
    }
    cpu_noise_end(&noisy->noise);
}

static void work(void *arg, unsigned index)
{
    struct noisy *noisy = arg;
    if (index == 0)
        measure_beside(noisy);
    else
        cpu_noise_read(&noisy->noise, index - 1);
}

static bool report(struct gpu_run *run, const struct gpu_cell *cell, struct noisy *noisy)
{
    struct probe_axes axes = axes_of(cell), noise_axes = {0};
    struct probe_summary rate = probe_stats_quantile(noisy->rates, noisy->n, 0.5),
                         read = cpu_noise_rate(&noisy->noise);
    probe_axes_add(&noise_axes, "noise", "numa");
    probe_axes_add(&noise_axes, "beside", "%s", how_of(cell));
    return gpu_run_value(run, cell, &axes, &rate) &&
           (!run->selection.metrics[PROBE_MEMORY_NOISE] ||
            gpu_report_value(
                run->report, run->node,
                &(struct gpu_report_series){PROBE_MEMORY_NOISE, cell->from, cell->to, &noise_axes},
                &read));
}

static bool prepare(struct noisy *noisy, const struct gpu_cell *cell, struct probe_why *why)
{
    const struct gpu_node *node = noisy->run->node;
    int place = cell->to, numa = node->numa[GPU_PLACE_NUMA(0) - place];
    struct gpu_path path = {.mechanism = GPU_BY_KERNEL,
                            .operation = (enum gpu_operation)cell->variant,
                            .kind = GPU_MEMORY_PINNED};
    bool reads = path.operation == GPU_OPERATION_READ;
    /* Reading is a path from that memory, writing one to it. */
    if (!gpu_path_flow(noisy->run->buffers, &path, reads ? place : cell->from,
                       reads ? cell->from : place, &noisy->flow, why))
        return false;
    noisy->flow.op.bytes = noisy->flow.span < FLOW_BYTES ? noisy->flow.span : FLOW_BYTES;
    noisy->flow.count = FLOW_COUNT;
    noisy->core_count = gpu_numa_cores("", numa, noisy->cores, CORES_MAX);
    if (noisy->core_count < 2)
        return probe_why_set(why, "numa%d: noise needs a core besides the one that drives the gpu",
                             numa);
    int64_t room = probe_room_bytes("", numa, node->numa_count);
    size_t bytes = room > 0 && (size_t)room < NOISE_BYTES ? (size_t)room : NOISE_BYTES;
    return gpu_pages_new(numa, node->numa_count <= 1, bytes, &noisy->pages, why);
}

/* False with ret_overrun: the threads are stuck and use all of it until the process ends. */
static bool run_noisy(struct noisy *noisy, bool *ret_overrun, struct probe_why *why)
{
    unsigned count = (unsigned)noisy->core_count;
    struct cpu_workers *workers = cpu_workers_new();
    *ret_overrun = false;
    if (workers == NULL)
        return probe_why_set(why, "out of memory");
    bool ok = cpu_noise_init(&noisy->noise, noisy->cores + 1, count - 1, noisy->pages.base,
                             noisy->pages.bytes, why);
    if (ok) {
        const struct cpu_work all = {noisy->cores, count, work, noisy,
                                     2 * AWAIT_NS + 2 * PROBE_STATS_PATIENCE * noisy->budget_ns};
        ok = cpu_workers_run(workers, &all, ret_overrun, why);
        if (ok && !noisy->ok)
            ok = probe_why_set(why, "%.199s", noisy->err.why.text);
    }
    cpu_workers_free(workers);
    return ok;
}

static bool measure(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct probe_axes axes = axes_of(cell);
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    struct noisy *noisy = calloc(1, sizeof *noisy);
    if (noisy == NULL) {
        probe_why_write(&err.why, "out of memory");
        return gpu_run_failed(run, cell, &axes, &err);
    }
    *noisy = (struct noisy){.run = run, .budget_ns = budget_ns, .err = {.fault = GPU_FAULT_OTHER}};
    bool overrun = false, go_on;
    if (prepare(noisy, cell, &err.why) && run_noisy(noisy, &overrun, &err.why)) {
        go_on = report(run, cell, noisy);
    } else { /* a stuck thread waits for an event that can no longer come */
        err.fault = overrun ? GPU_FAULT_LOST : noisy->err.fault;
        go_on = gpu_run_failed(run, cell, &axes, &err);
    }
    if (overrun)
        return go_on; /* NOLINT(clang-analyzer-unix.Malloc): stuck threads still use it */
    cpu_noise_done(&noisy->noise);
    gpu_pages_done(&noisy->pages);
    free(noisy);
    return go_on;
}

bool gpu_cells_noise(const struct gpu_run *run, struct gpu_cells *cells)
{
    static const enum gpu_operation hows[] = {GPU_OPERATION_READ, GPU_OPERATION_WRITE};
    bool ok = true;
    for (int device = 0; run->selection.profile == GPU_FULL && device < run->node->device_count;
         device++)
        for (size_t i = 0; ok && i < sizeof hows / sizeof hows[0]; i++) {
            struct gpu_cell cell = {.metric = PROBE_MEMORY_BANDWIDTH,
                                    .phase = GPU_PHASE_DETAIL,
                                    .from = device,
                                    .to = GPU_PLACE_NUMA(gpu_node_near(run->node, device)),
                                    .measure = measure,
                                    .axes = axes_of,
                                    .variant = hows[i]};
            ok = gpu_cells_add(run, cells, &cell);
        }
    return ok;
}
