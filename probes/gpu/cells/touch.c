/* Measures host_gpu_copy_engine and host_gpu_kernel with managed memory, shared_write, gpu_touch.
 */
#include "gpu/cells/cells.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpu/cells/transfer.h"
#include "gpu/driver/gpu_kernels.h"
#include "gpu/driver/node.h"
#include "gpu/timing/path.h"
#include "gpu/timing/repeat.h"

/* 8192 pages, which come one fault, or a few, at a time */
#define TOUCH_BYTES ((size_t)32 << 20)

/* Parts of such a cell's variant, besides the kind. */
enum { ENGINE, READ, WRITE, COPY, WHAT_COUNT };
#define VARIANT(what, kind) ((what)*16 + (int)(kind))

static struct gpu_path path_of(const struct gpu_cell *cell)
{
    static const enum gpu_operation hows[] = {
        [READ] = GPU_OPERATION_READ, [WRITE] = GPU_OPERATION_WRITE, [COPY] = GPU_OPERATION_COPY};
    int what = cell->variant / 16;
    return (struct gpu_path){.mechanism = what == ENGINE ? GPU_BY_ENGINE : GPU_BY_KERNEL,
                             .operation = what == ENGINE ? GPU_OPERATION_COPY : hows[what],
                             .kind = (enum gpu_memory_kind)(cell->variant % 16)};
}

static struct probe_axes path_axes(const struct gpu_cell *cell)
{
    struct probe_axes axes = {0};
    int what = cell->variant / 16;
    if (what == READ || what == WRITE)
        probe_axes_add(&axes, "operation", what == READ ? "read" : "write");
    probe_axes_add(&axes, "kind", "%s",
                   gpu_memory_kind_name((enum gpu_memory_kind)(cell->variant % 16)));
    return axes;
}

/* Copies are timed by the caller's clock: the host may take part in them, which it cannot while
 * their stream is held. */
static bool measure_in_place(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct gpu_path path = path_of(cell);
    struct probe_axes axes = path_axes(cell);
    return path.mechanism == GPU_BY_ENGINE
               ? gpu_transfer_called_rate(run, cell, &axes, &path, budget_ns)
               : gpu_transfer_rate(run, cell, &axes,
                                   &(struct gpu_transfer){.path = &path, .factor = 1}, budget_ns,
                                   NULL);
}

static void touch(char *memory, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < bytes; i += page)
        *(volatile char *)(memory + i) = 1;
}

/* Memory that host and device touch in turns, and the device's operation on it. */
struct turns {
    struct gpu_run *run;
    struct gpu_flow flow;
    char *host;
    bool is_managed;
};

/* Moves managed memory back at once, or page by page where that fails. Then the host touches all
 * pages, so that they are its own again. */
static bool take_back(struct turns *at, struct gpu_err *err)
{
    const struct gpu_node *node = at->run->node;
    const struct gpu_api *api = node->api;
    int device = at->flow.op.device;
    gpu_stream stream = node->device[device].stream[0];
    if (at->is_managed) {
        if (!gpu_node_enter(node, device, err))
            return false;
        (void)api->managed_prefetch(api, (gpu_address)(uintptr_t)at->host, at->flow.op.bytes, -1,
                                    stream);
        if (!gpu_node_check(node, device, api->stream_wait(api, stream), "prefetch", err))
            return false;
    }
    touch(at->host, at->flow.op.bytes);
    return true;
}

static bool touch_once(void *arg, double *ret_value, struct gpu_err *err)
{
    struct turns *at = arg;
    if (!take_back(at, err) || !gpu_trial_run(at->run->trial, &at->flow, 1, err))
        return false;
    *ret_value = (double)at->flow.op.bytes / at->flow.ns * 1e9;
    return true;
}

static bool measure_first_touch(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct gpu_path path = path_of(cell);
    struct probe_axes axes = path_axes(cell);
    struct turns at = {.run = run, .is_managed = path.kind == GPU_MEMORY_MIGRATE};
    struct probe_summary rate;
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    if (!gpu_path_flow(run->buffers, &path, cell->from, cell->to, &at.flow, &err.why))
        return gpu_run_failed(run, cell, &axes, &err);
    /* managed and malloc memory has one address for host and devices */
    at.host =
        (char *)(uintptr_t)(path.operation == GPU_OPERATION_READ ? at.flow.op.from : at.flow.op.to);
    at.flow.op.bytes = at.flow.span < TOUCH_BYTES ? at.flow.span : TOUCH_BYTES;
    at.flow.count = 1;
    return gpu_repeat(touch_once, &at, budget_ns, &rate, &err)
               ? gpu_run_value(run, cell, &axes, &rate)
               : gpu_run_failed(run, cell, &axes, &err);
}

static bool list_paths(const struct gpu_run *run, struct gpu_cells *cells, int device, int numa)
{
    static const enum gpu_memory_kind kinds[] = {GPU_MEMORY_MANAGED, GPU_MEMORY_MIGRATE,
                                                 GPU_MEMORY_SYSTEM};
    bool ok = true;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (int what = ENGINE; what < WHAT_COUNT; what++)
            for (int back = 0; back < 2; back++) {
                bool in_place = kinds[i] == GPU_MEMORY_MANAGED;
                /* Reading is a path from the host's memory, writing one to it; migrating memory is
                 * touched in one direction only. */
                if (what == (back ? READ : WRITE) ||
                    (!in_place && (what == ENGINE || what == COPY)))
                    continue;
                struct gpu_cell cell = {
                    .metric = what == ENGINE ? PROBE_HOST_GPU_COPY_ENGINE : PROBE_HOST_GPU_KERNEL,
                    .phase = GPU_PHASE_DETAIL,
                    .from = back ? device : numa,
                    .to = back ? numa : device,
                    .measure = in_place ? measure_in_place : measure_first_touch,
                    .axes = path_axes,
                    .variant = VARIANT(what, kinds[i])};
                ok = ok && gpu_cells_add(run, cells, &cell);
            }
    return ok;
}

static struct probe_axes share_axes(const struct gpu_cell *cell)
{
    struct probe_axes axes = {0};
    if (cell->variant == GPU_MEMORY_SYSTEM)
        probe_axes_add(&axes, "kind", "system");
    return axes;
}

/* The host writes all, then the device does. */
static bool share_once(void *arg, double *ret_value, struct gpu_err *err)
{
    struct turns *at = arg;
    double kernel_ns;
    int64_t begin_ns = probe_clock_ns();
    memset(at->host, (int)(begin_ns & 0xff), at->flow.op.bytes);
    if (!gpu_trial_call(at->run->trial, &at->flow.op, &kernel_ns, err))
        return false;
    *ret_value = (double)(probe_clock_ns() - begin_ns);
    return true;
}

static bool measure_share(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    static const int64_t sizes[] = {64 << 10, 1 << 20, 16 << 20};
    struct probe_axes axes = share_axes(cell);
    struct gpu_path path = {.mechanism = GPU_BY_KERNEL,
                            .operation = GPU_OPERATION_WRITE,
                            .kind = (enum gpu_memory_kind)cell->variant};
    struct turns at = {.run = run};
    struct probe_sample samples[sizeof sizes / sizeof sizes[0]];
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    size_t count = 0;
    if (!gpu_path_flow(run->buffers, &path, cell->from, cell->to, &at.flow, &err.why))
        return gpu_run_failed(run, cell, &axes, &err);
    at.host = (char *)(uintptr_t)at.flow.op.to;
    for (; count < sizeof sizes / sizeof sizes[0] && (uint64_t)sizes[count] <= at.flow.span;
         count++) {
        samples[count].bytes = sizes[count];
        at.flow.op.bytes = (uint64_t)sizes[count];
        if (!gpu_repeat(share_once, &at, budget_ns / 3, &samples[count].ns, &err))
            return gpu_run_failed(run, cell, &axes, &err);
    }
    return gpu_report_samples(
        run->report, run->node,
        &(struct gpu_report_series){cell->metric, cell->from, cell->to, &axes}, samples, count,
        &(struct gpu_starts){0});
}

static bool list_shares(const struct gpu_run *run, struct gpu_cells *cells, int device, int numa)
{
    static const enum gpu_memory_kind kinds[] = {GPU_MEMORY_MIGRATE, GPU_MEMORY_SYSTEM};
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof kinds / sizeof kinds[0]; i++) {
        struct gpu_cell cell = {.metric = PROBE_SHARED_WRITE,
                                .phase = GPU_PHASE_DETAIL,
                                .from = device,
                                .to = numa,
                                .measure = measure_share,
                                .axes = share_axes,
                                .variant = (int)kinds[i]};
        ok = gpu_cells_add(run, cells, &cell);
    }
    return ok;
}

/* gpu_touch. A variant has the kind and the iterations; 0 iterations: one, a word of each page.
 *
 * Fusco et al., "Understanding Data Movement in Tightly Coupled Heterogeneous Systems", II-C: on a
 * GH200 managed memory is faster than that of malloc from 128 iterations on. */
#define REPEAT_BYTES  (UINT64_C(16) << 20)
#define STRIDE_BLOCK  256
#define WORD_PER_PAGE 0

static struct probe_axes repeat_axes(const struct gpu_cell *cell)
{
    struct probe_axes axes = {0};
    int iterations = cell->variant / 16;
    enum gpu_memory_kind kind = (enum gpu_memory_kind)(cell->variant % 16);
    if (kind != GPU_MEMORY_MIGRATE)
        probe_axes_add(&axes, "kind", "%s", gpu_memory_kind_name(kind));
    if (iterations > 1)
        probe_axes_add(&axes, "iterations", "%d", iterations);
    if (iterations == WORD_PER_PAGE)
        probe_axes_add(&axes, "stride", "page");
    return axes;
}

struct repeated {
    struct turns turns;
    int iterations;
    gpu_address address; /* the device's, of the turns' memory */
};

static int enqueue_strided(const struct repeated *at, gpu_stream stream)
{
    const struct gpu_node *node = at->turns.run->node;
    const struct gpu_stride_args args = {.address = at->address,
                                         .bytes = at->turns.flow.op.bytes,
                                         .stride = (gpu_u64)sysconf(_SC_PAGESIZE),
                                         .value = 1};
    gpu_function kernel = node->device[at->turns.flow.op.device].kernel[GPU_KERNEL_STRIDE];
    uint64_t words = args.bytes / args.stride;
    return node->api->launch(node->api, kernel,
                             (unsigned)((words + STRIDE_BLOCK - 1) / STRIDE_BLOCK), STRIDE_BLOCK,
                             stream, &args, sizeof args);
}

/* The host writes all, then the device does, by the caller's clock from the first launch on. */
static bool repeat_once(void *arg, double *ret_value, struct gpu_err *err)
{
    struct repeated *at = arg;
    const struct gpu_node *node = at->turns.run->node;
    const struct gpu_op *op = &at->turns.flow.op;
    gpu_stream stream = node->device[op->device].stream[0];
    if (!take_back(&at->turns, err) || !gpu_node_enter(node, op->device, err))
        return false;
    memset(at->turns.host, (int)(probe_clock_ns() & 0xff), op->bytes);
    int64_t begin_ns = probe_clock_ns();
    int code = at->iterations == WORD_PER_PAGE ? enqueue_strided(at, stream) : 0;
    for (int i = 0; code == 0 && i < at->iterations; i++)
        code = gpu_trial_enqueue(at->turns.run->trial, op, 0, stream);
    if (code == 0)
        code = node->api->stream_wait(node->api, stream);
    *ret_value = (double)(probe_clock_ns() - begin_ns);
    return gpu_node_check(node, op->device, code, "write", err);
}

static bool measure_repeated(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct probe_axes axes = repeat_axes(cell);
    struct gpu_path path = {.mechanism = GPU_BY_KERNEL,
                            .operation = GPU_OPERATION_WRITE,
                            .kind = (enum gpu_memory_kind)(cell->variant % 16)};
    struct repeated at = {.turns = {.run = run, .is_managed = path.kind == GPU_MEMORY_MIGRATE},
                          .iterations = cell->variant / 16};
    struct probe_summary ns;
    struct gpu_memory memory;
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    if (!gpu_path_flow(run->buffers, &path, cell->from, cell->to, &at.turns.flow, &err.why) ||
        !gpu_buffers_host(run->buffers, GPU_PLACE_NUMA(0) - cell->to, path.kind, 0, cell->from,
                          &memory, &err.why))
        return gpu_run_failed(run, cell, &axes, &err);
    at.turns.host = memory.host;
    at.address = at.turns.flow.op.to = memory.address;
    at.turns.flow.op.bytes = REPEAT_BYTES;
    if (memory.bytes < REPEAT_BYTES ||
        (at.iterations == WORD_PER_PAGE &&
         run->node->device[cell->from].kernel[GPU_KERNEL_STRIDE] == NULL)) {
        probe_why_write(&err.why, memory.bytes < REPEAT_BYTES ? "the buffers are too small"
                                                              : "no such kernel");
        return gpu_run_failed(run, cell, &axes, &err);
    }
    return gpu_repeat(repeat_once, &at, budget_ns, &ns, &err)
               ? gpu_run_value(run, cell, &axes, &ns)
               : gpu_run_failed(run, cell, &axes, &err);
}

static bool list_repeated(const struct gpu_run *run, struct gpu_cells *cells, int device, int numa)
{
    static const enum gpu_memory_kind kinds[] = {GPU_MEMORY_MIGRATE, GPU_MEMORY_SYSTEM,
                                                 GPU_MEMORY_PINNED};
    static const int iterations[] = {1, 8, 32, 128, 512, WORD_PER_PAGE};
    bool ok = true;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (size_t k = 0; ok && k < sizeof iterations / sizeof *iterations; k++) {
            struct gpu_cell cell = {.metric = PROBE_GPU_TOUCH,
                                    .phase = GPU_PHASE_DETAIL,
                                    .from = device,
                                    .to = numa,
                                    .measure = measure_repeated,
                                    .axes = repeat_axes,
                                    .variant = iterations[k] * 16 + (int)kinds[i]};
            ok = gpu_cells_add(run, cells, &cell);
        }
    return ok;
}

bool gpu_cells_touch(const struct gpu_run *run, struct gpu_cells *cells)
{
    bool ok = true;
    for (int device = 0; run->selection.profile == GPU_FULL && ok && run->node->numa_count > 0 &&
                         device < run->node->device_count;
         device++) {
        int numa = GPU_PLACE_NUMA(gpu_node_near(run->node, device));
        ok = list_paths(run, cells, device, numa) && list_shares(run, cells, device, numa) &&
             list_repeated(run, cells, device, numa);
    }
    return ok;
}
