/* Measures memory_bandwidth of a device in its own memory over numbers of blocks. */
#include "gpu/cells/cells.h"

#include "gpu/timing/path.h"
#include "gpu/timing/rate.h"

#define CACHES 4 /* times the last-level cache that a leg moves at least */
/* with this many threads and accesses under way one block reaches a multiprocessor's full rate */
#define BLOCK  512
#define UNROLL 8

static struct probe_axes axes_of(const struct gpu_cell *cell)
{
    static const char *const names[] = {[GPU_OPERATION_READ] = "read",
                                        [GPU_OPERATION_WRITE] = "write",
                                        [GPU_OPERATION_COPY] = "copy"};
    struct probe_axes axes = {0};
    if (cell->variant != GPU_OPERATION_READ)
        probe_axes_add(&axes, "operation", "%s", names[cell->variant]);
    probe_axes_add(&axes, "threads", "%lld", (long long)cell->bytes);
    return axes;
}

static bool measure(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    static const enum gpu_kernel firsts[] = {GPU_KERNEL_READ, GPU_KERNEL_WRITE, GPU_KERNEL_COPY};
    struct gpu_path path = {.mechanism = GPU_BY_KERNEL,
                            .operation = (enum gpu_operation)cell->variant};
    struct gpu_flow flow;
    struct probe_summary rate;
    struct probe_axes axes = axes_of(cell);
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    int cache = run->node->device[cell->from].attribute[GPU_ATTRIBUTE_L2_BYTES];
    if (!gpu_path_flow(run->buffers, &path, cell->from, cell->to, &flow, &err.why))
        return gpu_run_failed(run, cell, &axes, &err);
    const struct gpu_shape busy = {.block = BLOCK, .grid = (unsigned)cell->bytes, .unroll = UNROLL};
    if (gpu_node_stream_fits(&run->node->device[cell->from], firsts[path.operation], &busy))
        flow.op.shape = busy;
    flow.op.shape.grid = (unsigned)cell->bytes;
    const struct gpu_legs legs = {.trial = run->trial,
                                  .leg_ns = run->leg_ns,
                                  .least = cache > 0 ? CACHES * (uint64_t)cache : 0,
                                  .budget_ns = budget_ns};
    if (!gpu_rate_concurrent(&legs, &flow, 1, &rate, NULL, &err))
        return gpu_run_failed(run, cell, &axes, &err);
    double factor = path.operation == GPU_OPERATION_COPY ? 2 : 1;
    rate = (struct probe_summary){.value = factor * rate.value,
                                  .low = factor * rate.low,
                                  .high = factor * rate.high,
                                  .n = rate.n};
    return gpu_run_value(run, cell, &axes, &rate);
}

bool gpu_cells_blocks(const struct gpu_run *run, struct gpu_cells *cells)
{
    bool ok = true;
    if (run->selection.profile != GPU_FULL)
        return true;
    for (int device = 0; device < run->node->device_count; device++)
        for (int how = GPU_OPERATION_READ; how <= GPU_OPERATION_COPY; how++) {
            int all = run->node->device[device].attribute[GPU_ATTRIBUTE_MULTIPROCESSORS];
            struct gpu_cell cell = {.metric = PROBE_MEMORY_BANDWIDTH,
                                    .phase = GPU_PHASE_DETAIL,
                                    .from = device,
                                    .to = device,
                                    .measure = measure,
                                    .axes = axes_of,
                                    .variant = how};
            for (int blocks = 1; ok && blocks < all; blocks *= 2) {
                cell.bytes = blocks;
                ok = gpu_cells_add(run, cells, &cell);
            }
            for (int times = 1; ok && all > 0 && times <= 2; times++) {
                cell.bytes = (int64_t)times * all;
                ok = gpu_cells_add(run, cells, &cell);
            }
        }
    return ok;
}
