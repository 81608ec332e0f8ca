/* Measures gpu_gpu_copy_engine, gpu_gpu_kernel and copy_latency between devices, and
 * memory_bandwidth in a device's own memory. */
#include "gpu/cells/cells.h"

#include <math.h>
#include <string.h>

#include "gpu/cells/transfer.h"

#define CURVE_BYTES (UINT64_C(256) << 20) /* largest size of a curve: 0.7 ms by NVLink 4 */
/* most pairs with which quick measures every rate of every pair */
#define ALL_PAIRS  12
#define ALL_CURVES 2    /* most pairs with which it measures every curve, too */
#define ALIKE      0.05 /* largest difference of equal rates */
/* times the last cache: least bytes of a leg in own memory */
#define CACHES 4

/* The cell's variant. */
enum {
    ENGINE_WRITE,
    ENGINE_READ,
    ENGINE_BOTH,
    ENGINE_READ_BOTH,
    KERNEL_READ,
    KERNEL_WRITE,
    KERNEL_COPY,
    KERNEL_PULL,
    KERNEL_READ_BOTH,
    KERNEL_WRITE_BOTH,
    KERNEL_COPY_BOTH,
    KERNEL_PULL_BOTH
};

static const struct {
    struct gpu_path path;
    const char *operation; /* axis operation when not copy */
    const char *direction; /* axis direction when not the default */
    bool both;
} paths[] = {
    [ENGINE_WRITE] = {{.mechanism = GPU_BY_ENGINE}, NULL, NULL, false},
    [ENGINE_READ] = {{.mechanism = GPU_BY_ENGINE, .pulled = true}, NULL, "read", false},
    [ENGINE_BOTH] = {{.mechanism = GPU_BY_ENGINE}, NULL, "both", true},
    [ENGINE_READ_BOTH] = {{.mechanism = GPU_BY_ENGINE, .pulled = true}, NULL, "both-read", true},
    [KERNEL_READ] = {{.mechanism = GPU_BY_KERNEL, .operation = GPU_OPERATION_READ},
                     "read",
                     NULL,
                     false},
    [KERNEL_WRITE] = {{.mechanism = GPU_BY_KERNEL, .operation = GPU_OPERATION_WRITE},
                      "write",
                      NULL,
                      false},
    [KERNEL_COPY] = {{.mechanism = GPU_BY_KERNEL, .operation = GPU_OPERATION_COPY},
                     NULL,
                     NULL,
                     false},
    [KERNEL_PULL] = {{.mechanism = GPU_BY_KERNEL, .operation = GPU_OPERATION_COPY, .pulled = true},
                     "pull",
                     NULL,
                     false},
    [KERNEL_READ_BOTH] = {{.mechanism = GPU_BY_KERNEL, .operation = GPU_OPERATION_READ},
                          "read",
                          "both",
                          true},
    [KERNEL_WRITE_BOTH] = {{.mechanism = GPU_BY_KERNEL, .operation = GPU_OPERATION_WRITE},
                           "write",
                           "both",
                           true},
    [KERNEL_COPY_BOTH] = {{.mechanism = GPU_BY_KERNEL, .operation = GPU_OPERATION_COPY},
                          NULL,
                          "both",
                          true},
    [KERNEL_PULL_BOTH] = {{.mechanism = GPU_BY_KERNEL,
                           .operation = GPU_OPERATION_COPY,
                           .pulled = true},
                          "pull",
                          "both",
                          true},
};
#define PATH_COUNT ((int)(sizeof paths / sizeof *paths))

static struct probe_axes axes_of(const struct gpu_cell *cell)
{
    int path = cell->variant;
    struct probe_axes axes = {0};
    if (paths[path].operation != NULL)
        probe_axes_add(&axes, "operation", "%s", paths[path].operation);
    if (paths[path].direction != NULL)
        probe_axes_add(&axes, "direction", "%s", paths[path].direction);
    return axes;
}

static bool measure_rate(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct probe_axes axes = axes_of(cell);
    const struct gpu_path *path = &paths[cell->variant].path;
    struct probe_summary rate = {0};
    const struct gpu_transfer transfer = {
        .path = path, .back = paths[cell->variant].both ? path : NULL, .factor = 1};
    bool ok = gpu_transfer_rate(run, cell, &axes, &transfer, budget_ns, &rate);
    if (cell->variant == ENGINE_WRITE)
        run->peer_bytes_per_s[cell->from][cell->to] = (float)rate.value;
    return ok;
}

static bool measure_latency(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct probe_axes axes = {0};
    return gpu_transfer_latency(run, cell, &axes, &paths[cell->variant].path, budget_ns);
}

/* Axes of a cell in own memory, where operation=read is the default. */
static struct probe_axes own_axes_of(const struct gpu_cell *cell)
{
    struct probe_axes axes = {0};
    if (cell->variant != KERNEL_READ)
        probe_axes_add(&axes, "operation", cell->variant == KERNEL_COPY ? "copy" : "write");
    return axes;
}

/* Measures a device's own memory; a copy counts the bytes read and the bytes written. */
static bool measure_own(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct probe_axes axes = own_axes_of(cell);
    int cache = run->node->device[cell->from].attribute[GPU_ATTRIBUTE_L2_BYTES];
    const struct gpu_transfer transfer = {.path = &paths[cell->variant].path,
                                          .factor = cell->variant == KERNEL_COPY ? 2 : 1,
                                          .least = cache > 0 ? CACHES * (uint64_t)cache : 0};
    return gpu_transfer_rate(run, cell, &axes, &transfer, budget_ns, NULL);
}

bool gpu_cells_peer_equivalent(const struct gpu_node *node, int from, int to, int other_from,
                               int other_to)
{
    const struct gpu_device *device = node->device;
    return strcmp(device[from].model, device[other_from].model) == 0 &&
           strcmp(device[to].model, device[other_to].model) == 0 &&
           device[from].access[to] == device[other_from].access[other_to] &&
           (device[from].attribute[GPU_ATTRIBUTE_HOST_NUMA] ==
            device[to].attribute[GPU_ATTRIBUTE_HOST_NUMA]) ==
               (device[other_from].attribute[GPU_ATTRIBUTE_HOST_NUMA] ==
                device[other_to].attribute[GPU_ATTRIBUTE_HOST_NUMA]);
}

/* True for the first of peer pairs, which represents them. Their rates must agree as well, as far
 * as they are measured. */
static bool stands_for_others(const struct gpu_run *run, int from, int to)
{
    double own = (double)run->peer_bytes_per_s[from][to];
    for (int a = 0; a <= from; a++)
        for (int b = 0; b < run->node->device_count; b++) {
            if (a == from && b == to)
                return true;
            double other = (double)run->peer_bytes_per_s[a][b];
            if (a != b && gpu_cells_peer_equivalent(run->node, from, to, a, b) &&
                fabs(own - other) <= ALIKE * own)
                return false;
        }
    return true;
}

static bool has_pairs_to(const struct gpu_run *run, int pairs)
{
    return run->selection.profile == GPU_FULL ||
           run->node->device_count * (run->node->device_count - 1) <= pairs;
}

/* True when every pair has all rates: in the full profile, and with few pairs. */
static bool wants_all_rates(const struct gpu_run *run) { return has_pairs_to(run, ALL_PAIRS); }
static bool wants_all_curves(const struct gpu_run *run) { return has_pairs_to(run, ALL_CURVES); }

/* True when the rate is selected. Quick measures both directions at once only from one end,
 * because either end gives the same. It omits that rate for kernels that only read or only write,
 * which is near the sum of the single directions. With many pairs, only one of peer pairs has the
 * rate of a pulling kernel. */
static bool wants_rate(const struct gpu_run *run, int from, int to, int path)
{
    if (run->selection.profile == GPU_FULL || wants_all_curves(run))
        return true;
    if (paths[path].both)
        return from < to && (path == ENGINE_BOTH || path == KERNEL_COPY_BOTH ||
                             (path == KERNEL_PULL_BOTH && wants_all_rates(run)));
    return path != KERNEL_PULL || wants_all_rates(run) || stands_for_others(run, from, to);
}

static bool wants_curve(const struct gpu_run *run, int from, int to, int path)
{
    if (paths[path].both || (path == KERNEL_PULL && run->selection.profile != GPU_FULL))
        return false;
    return path == ENGINE_WRITE || path == KERNEL_COPY || wants_all_curves(run) ||
           stands_for_others(run, from, to);
}

static bool measure_curve(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct probe_axes axes = axes_of(cell);
    return gpu_transfer_curve(
        run, cell, &axes, &paths[cell->variant].path, CURVE_BYTES,
        !wants_all_curves(run) && !stands_for_others(run, cell->from, cell->to), budget_ns);
}

static bool list_pair(const struct gpu_run *run, struct gpu_cells *cells, int from, int to)
{
    bool ok = true;
    for (int path = 0; path < PATH_COUNT; path++) {
        if (!wants_rate(run, from, to, path))
            continue;
        bool by_kernel = paths[path].path.mechanism == GPU_BY_KERNEL;
        struct gpu_cell cell = {
            .metric = by_kernel ? PROBE_GPU_GPU_KERNEL : PROBE_GPU_GPU_COPY_ENGINE,
            .phase = GPU_PHASE_RATES,
            .rank = paths[path].both ? 1 : 0,
            .from = from,
            .to = to,
            .variant = path,
            .axes = axes_of,
            /* An H200 polls for the end of its engine's reads from a peer every 9 us. */
            .is_stepped = !by_kernel && paths[path].path.pulled && wants_all_rates(run),
            .measure = measure_rate};
        ok = ok && gpu_cells_add(run, cells, &cell);
        if (!wants_curve(run, from, to, path))
            continue;
        cell.phase = GPU_PHASE_CURVES;
        cell.rank = stands_for_others(run, from, to) ? 0 : 1;
        cell.is_more = true;
        cell.measure = measure_curve;
        ok = ok && gpu_cells_add(run, cells, &cell);
    }
    struct gpu_cell cell = {.metric = PROBE_COPY_LATENCY,
                            .phase = GPU_PHASE_LATENCY,
                            .from = from,
                            .to = to,
                            .variant = ENGINE_WRITE,
                            .measure = measure_latency};
    return ok && gpu_cells_add(run, cells, &cell);
}

static bool list_own(const struct gpu_run *run, struct gpu_cells *cells, int device)
{
    bool ok = true;
    for (int path = KERNEL_READ; path <= KERNEL_COPY; path++) {
        struct gpu_cell cell = {.metric = PROBE_MEMORY_BANDWIDTH,
                                .phase = GPU_PHASE_RATES,
                                .from = device,
                                .to = device,
                                .variant = path,
                                .axes = own_axes_of,
                                .measure = measure_own};
        ok = ok && gpu_cells_add(run, cells, &cell);
    }
    return ok;
}

bool gpu_cells_peer(const struct gpu_run *run, struct gpu_cells *cells)
{
    bool ok = true;
    for (int from = 0; from < run->node->device_count; from++)
        for (int to = 0; to < run->node->device_count; to++)
            ok = ok && (from == to ? list_own(run, cells, from) : list_pair(run, cells, from, to));
    return ok;
}
