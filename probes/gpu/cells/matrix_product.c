/* Measures matrix_product, with operands in own and other memories. */
#include "gpu/cells/cells.h"

#include <math.h>

#include "gpu/driver/blas.h"
#include "gpu/driver/gpu_kernels.h"
#include "gpu/driver/node.h"
#include "gpu/timing/work.h"

#define SIDE     4096
#define OPERANDS 3
#define TOGETHER 2 /* in one buffer */

/* A cell's variant: a bit for each operand that lies in the other memory, and by whom; then the
 * elements' type, and the kind of the host's memory. */
enum { A_THERE = 1, B_THERE = 2, C_THERE = 4, ALL_THERE = 7, BY_BLAS = 8, TYPE = 16, KIND = 256 };

static enum gpu_blas_type type_of(const struct gpu_cell *cell)
{
    return (enum gpu_blas_type)(cell->variant % KIND / TYPE);
}
static enum gpu_memory_kind kind_of(const struct gpu_cell *cell)
{
    return (enum gpu_memory_kind)(cell->variant / KIND);
}

uint64_t gpu_cells_product_side(uint64_t bytes, size_t each)
{
    uint64_t side = SIDE;
    while (side >= GPU_PRODUCT_TILE && TOGETHER * side * side * each > bytes)
        side /= 2;
    return side < GPU_PRODUCT_TILE ? 0 : side;
}

int gpu_cells_product_enqueue(void *arg, gpu_stream stream)
{
    const struct gpu_cells_product_job *job = arg;
    const struct gpu_api *api = job->node->api;
    const struct gpu_product_args *args = &job->args;
    if (job->blas != NULL)
        return gpu_blas_product(job->blas, job->type, args->a, args->b, args->c, args->n, stream);
    uint64_t tiles = args->n / GPU_PRODUCT_TILE;
    return api->launch(api, job->node->device[job->device].kernel[GPU_KERNEL_PRODUCT],
                       (unsigned)(tiles * tiles), GPU_PRODUCT_BLOCK, stream, args, sizeof *args);
}

static bool can(const struct gpu_run *run, const struct gpu_cell *cell, struct probe_why *why)
{
    const struct gpu_node *node = run->node;
    const struct gpu_device *device = &node->device[cell->from];
    if (!device->usable)
        return probe_why_set(why, "%.190s", device->why.text);
    if (!(cell->variant & BY_BLAS) && device->kernel[GPU_KERNEL_PRODUCT] == NULL)
        return probe_why_set(why, "%.190s",
                             node->kernels_why.text[0] != '\0' ? node->kernels_why.text
                                                               : "no such kernel");
    if (cell->to >= 0 && cell->to != cell->from && !device->access[cell->to])
        return probe_why_set(why, "%s", probe_nevers[PROBE_NO_ACCESS]);
    return true;
}

static bool find_memory(struct gpu_run *run, const struct gpu_cell *cell, int place, int which,
                        struct gpu_memory *ret_memory, struct probe_why *why)
{
    if (place >= 0)
        return gpu_buffers_device(run->buffers, place, which, ret_memory, why);
    return gpu_buffers_host(run->buffers, GPU_PLACE_NUMA(0) - place, kind_of(cell), which,
                            cell->from, ret_memory, why);
}

/* Lays out a and b in the first buffer of a place, c in its second. The side fits the smallest of
 * them all, for any layout, so that the cells of one target can be compared. */
static bool lay(struct gpu_run *run, const struct gpu_cell *cell, struct gpu_product_args *ret_args,
                struct probe_why *why)
{
    struct gpu_memory own[2], there[2];
    size_t least = SIZE_MAX;
    if (!can(run, cell, why))
        return false;
    for (int which = 0; which < 2; which++) {
        if (!find_memory(run, cell, cell->from, which, &own[which], why) ||
            !find_memory(run, cell, cell->to, which, &there[which], why))
            return false;
        least = own[which].bytes < least ? own[which].bytes : least;
        least = there[which].bytes < least ? there[which].bytes : least;
    }
    size_t each = gpu_blas_type_bytes(type_of(cell));
    uint64_t n = gpu_cells_product_side(least, each);
    if (n == 0)
        return probe_why_set(why, "a buffer of %s is too small for two matrices",
                             probe_size((int64_t)least).text);
    *ret_args = (struct gpu_product_args){.a = (cell->variant & A_THERE ? there : own)[0].address,
                                          .b = (cell->variant & B_THERE ? there : own)[0].address +
                                               n * n * each,
                                          .c = (cell->variant & C_THERE ? there : own)[1].address,
                                          .n = n};
    return true;
}

static struct probe_axes axes_of(const struct gpu_cell *cell, uint64_t n)
{
    static const char *const names[OPERANDS] = {"a", "b", "c"};
    struct probe_axes axes = {0};
    if (n != SIDE)
        probe_axes_add(&axes, "n", "%llu", (unsigned long long)n);
    for (int i = 0; i < OPERANDS; i++)
        if (cell->variant >> i & 1)
            probe_axes_add(&axes, names[i], "to");
    if (cell->variant & BY_BLAS)
        probe_axes_add(&axes, "by", "blas");
    if (type_of(cell) != GPU_FP32)
        probe_axes_add(&axes, "type", "%s", gpu_blas_type_name(type_of(cell)));
    if (kind_of(cell) != GPU_MEMORY_PINNED)
        probe_axes_add(&axes, "kind", "%s", gpu_memory_kind_name(kind_of(cell)));
    return axes;
}

bool gpu_cells_product_warm_up(struct gpu_cells_product_job *job, struct gpu_err *err)
{
    const struct gpu_api *api = job->node->api;
    gpu_stream stream = job->node->device[job->device].stream[0];
    if (!gpu_node_enter(job->node, job->device, err))
        return false;
    int code = gpu_cells_product_enqueue(job, stream);
    return gpu_node_check(job->node, job->device, code != 0 ? code : api->stream_wait(api, stream),
                          "product", err);
}

static struct probe_axes cell_axes(const struct gpu_cell *cell) { return axes_of(cell, SIDE); }

static bool measure(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct gpu_cells_product_job job = {
        .node = run->node, .device = cell->from, .type = type_of(cell)};
    struct gpu_work work = {
        .device = cell->from, .enqueue = gpu_cells_product_enqueue, .arg = &job};
    struct probe_summary ns;
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    bool ok = lay(run, cell, &job.args, &err.why);
    struct probe_axes axes = axes_of(cell, ok ? job.args.n : SIDE);
    ok = ok &&
         (!(cell->variant & BY_BLAS) ||
          (gpu_blas_new(run->node, cell->from, &job.blas, &err.why) &&
           gpu_blas_has(job.blas, job.type, &err.why) && gpu_cells_product_warm_up(&job, &err)));
    size_t one = 1;
    const struct gpu_timing timing = gpu_run_timing(run, cell->from, budget_ns);
    ok = ok && gpu_work_times(&timing, &work, &one, INFINITY, &ns, &err);
    gpu_blas_free(job.blas);
    return ok ? gpu_run_value(run, cell, &axes, &ns) : gpu_run_failed(run, cell, &axes, &err);
}

static bool add(const struct gpu_run *run, struct gpu_cells *cells, int device, int to, int variant)
{
    const struct gpu_cell cell = {.metric = PROBE_MATRIX_PRODUCT,
                                  .phase = GPU_PHASE_DETAIL,
                                  .rank = 1,
                                  .from = device,
                                  .to = to,
                                  .measure = measure,
                                  .axes = cell_axes,
                                  .variant = variant};
    return gpu_cells_add(run, cells, &cell);
}

static bool list_target(const struct gpu_run *run, struct gpu_cells *cells, int device, int to,
                        int by)
{
    static const int there[] = {A_THERE, B_THERE, C_THERE, ALL_THERE};
    bool ok = true;
    for (size_t i = 0; ok && i < (to == device ? 1 : sizeof there / sizeof *there); i++)
        ok = add(run, cells, device, to, by | (to == device ? 0 : there[i]));
    return ok;
}

/* Of the library: the other types, and memory that is managed. */
static bool list_types(const struct gpu_run *run, struct gpu_cells *cells, int device)
{
    static const enum gpu_memory_kind managed[] = {GPU_MEMORY_MANAGED, GPU_MEMORY_MIGRATE};
    bool ok = true;
    for (int type = GPU_FP32; type < GPU_BLAS_TYPES; type++) {
        int by = BY_BLAS | type * TYPE, numa = GPU_PLACE_NUMA(gpu_node_near(run->node, device));
        if (type != GPU_FP32)
            ok = ok && list_target(run, cells, device, device, by) &&
                 (run->node->numa_count == 0 || list_target(run, cells, device, numa, by));
        for (size_t i = 0; run->node->numa_count > 0 && i < sizeof managed / sizeof *managed; i++)
            ok = ok && add(run, cells, device, numa, by | ALL_THERE | (int)managed[i] * KIND);
    }
    return ok;
}

bool gpu_cells_product(const struct gpu_run *run, struct gpu_cells *cells)
{
    bool ok = true;
    if (run->selection.profile != GPU_FULL)
        return true;
    for (int device = 0; device < run->node->device_count; device++) {
        for (int by = 0; by <= BY_BLAS; by += BY_BLAS) {
            for (int to = 0; ok && to < run->node->device_count; to++)
                ok = list_target(run, cells, device, to, by);
            for (int index = 0; ok && index < run->node->numa_count; index++)
                ok = list_target(run, cells, device, GPU_PLACE_NUMA(index), by);
        }
        ok = ok && list_types(run, cells, device);
    }
    return ok;
}
