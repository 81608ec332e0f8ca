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
#define EACH     sizeof(float)

/* A cell's variant: a bit for each operand that lies in the other memory, and by whom. */
enum { A_THERE = 1, B_THERE = 2, C_THERE = 4, ALL_THERE = 7, BY_BLAS = 8 };

uint64_t gpu_cells_product_side(uint64_t bytes)
{
    uint64_t side = SIDE;
    while (side >= GPU_PRODUCT_TILE && TOGETHER * side * side * EACH > bytes)
        side /= 2;
    return side < GPU_PRODUCT_TILE ? 0 : side;
}

int gpu_cells_product_enqueue(void *arg, gpu_stream stream)
{
    const struct gpu_cells_product_job *job = arg;
    const struct gpu_api *api = job->node->api;
    const struct gpu_product_args *args = &job->args;
    if (job->blas != NULL)
        return gpu_blas_product(job->blas, args->a, args->b, args->c, args->n, stream);
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
    return gpu_buffers_host(run->buffers, GPU_PLACE_NUMA(0) - place, GPU_MEMORY_PINNED, which,
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
    uint64_t n = gpu_cells_product_side(least);
    if (n == 0)
        return probe_why_set(why, "a buffer of %s is too small for two matrices",
                             probe_size((int64_t)least).text);
    *ret_args = (struct gpu_product_args){.a = (cell->variant & A_THERE ? there : own)[0].address,
                                          .b = (cell->variant & B_THERE ? there : own)[0].address +
                                               n * n * EACH,
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
    struct gpu_cells_product_job job = {.node = run->node, .device = cell->from};
    struct gpu_work work = {
        .device = cell->from, .enqueue = gpu_cells_product_enqueue, .arg = &job};
    struct probe_summary ns;
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    bool ok = lay(run, cell, &job.args, &err.why);
    struct probe_axes axes = axes_of(cell, ok ? job.args.n : SIDE);
    ok = ok &&
         (!(cell->variant & BY_BLAS) || (gpu_blas_new(run->node, cell->from, &job.blas, &err.why) &&
                                         gpu_cells_product_warm_up(&job, &err)));
    size_t one = 1;
    const struct gpu_timing timing = gpu_run_timing(run, cell->from, budget_ns);
    ok = ok && gpu_work_times(&timing, &work, &one, INFINITY, &ns, &err);
    gpu_blas_free(job.blas);
    return ok ? gpu_run_value(run, cell, &axes, &ns) : gpu_run_failed(run, cell, &axes, &err);
}

static bool list_target(const struct gpu_run *run, struct gpu_cells *cells, int device, int to)
{
    static const int there[] = {A_THERE, B_THERE, C_THERE, ALL_THERE};
    struct gpu_cell cell = {.metric = PROBE_MATRIX_PRODUCT,
                            .phase = GPU_PHASE_DETAIL,
                            .rank = 1,
                            .from = device,
                            .to = to,
                            .measure = measure,
                            .axes = cell_axes};
    bool ok = true;
    for (int by = 0; by <= BY_BLAS; by += BY_BLAS)
        for (size_t i = 0; ok && i < (to == device ? 1 : sizeof there / sizeof *there); i++) {
            cell.variant = by | (to == device ? 0 : there[i]);
            ok = gpu_cells_add(run, cells, &cell);
        }
    return ok;
}

bool gpu_cells_product(const struct gpu_run *run, struct gpu_cells *cells)
{
    bool ok = true;
    if (run->selection.profile != GPU_FULL)
        return true;
    for (int device = 0; device < run->node->device_count; device++) {
        for (int to = 0; ok && to < run->node->device_count; to++)
            ok = list_target(run, cells, device, to);
        for (int index = 0; ok && index < run->node->numa_count; index++)
            ok = list_target(run, cells, device, GPU_PLACE_NUMA(index));
    }
    return ok;
}
