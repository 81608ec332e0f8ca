/* Measures host_gpu_copy_engine, host_gpu_kernel and copy_latency between the host and a device. */
#include "gpu/cells/cells.h"

#include <string.h>

#include "gpu/cells/transfer.h"

#define CURVE_BYTES (UINT64_C(64) << 20) /* largest size of a curve: 1.2 ms by PCIe 5 */
/* most pairs of NUMA nodes and devices for which quick measures every rate of each */
#define FEW_PAIRS  16
#define FEW_CURVES 2 /* devices: every curve, too */

/* Parts of a cell's variant: the kind of host memory, and one of these. */
enum { ONE, BOTH, READ, WRITE, COPY };
#define VARIANT(what, kind) ((what)*16 + (int)(kind))

static struct gpu_path path_of(const struct gpu_cell *cell)
{
    static const enum gpu_operation hows[] = {
        [READ] = GPU_OPERATION_READ, [WRITE] = GPU_OPERATION_WRITE, [COPY] = GPU_OPERATION_COPY};
    int what = cell->variant / 16;
    struct gpu_path path = {.kind = (enum gpu_memory_kind)(cell->variant % 16)};
    if (what >= READ) {
        path.mechanism = GPU_BY_KERNEL;
        path.operation = hows[what];
    }
    return path;
}

static struct probe_axes axes_of(const struct gpu_cell *cell)
{
    struct probe_axes axes = {0};
    int what = cell->variant / 16;
    enum gpu_memory_kind kind = (enum gpu_memory_kind)(cell->variant % 16);
    if (what == READ || what == WRITE)
        probe_axes_add(&axes, "operation", what == READ ? "read" : "write");
    if (kind != GPU_MEMORY_PINNED)
        probe_axes_add(&axes, "kind", "%s", gpu_memory_kind_name(kind));
    if (what == BOTH)
        probe_axes_add(&axes, "direction", "both");
    return axes;
}

static bool measure_rate(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct gpu_path path = path_of(cell);
    struct probe_axes axes = axes_of(cell);
    if (path.kind == GPU_MEMORY_PAGEABLE && path.mechanism == GPU_BY_ENGINE)
        return gpu_transfer_called_rate(run, cell, &axes, &path, budget_ns);
    const struct gpu_transfer transfer = {
        .path = &path, .back = cell->variant / 16 == BOTH ? &path : NULL, .factor = 1};
    return gpu_transfer_rate(run, cell, &axes, &transfer, budget_ns, NULL);
}

/* True when every pair is measured in full detail: in the full profile, and with few pairs. */
static bool wants_all(const struct gpu_run *run)
{
    return run->selection.profile == GPU_FULL ||
           run->node->device_count * run->node->numa_count <= FEW_PAIRS;
}

static bool wants_all_curves(const struct gpu_run *run)
{
    return run->selection.profile == GPU_FULL || run->node->device_count <= FEW_CURVES;
}

/* True for the first device of a model, which represents the others for kernels. */
static bool stands_for_others(const struct gpu_run *run, int device)
{
    for (int i = 0; i < device; i++)
        if (strcmp(run->node->device[i].model, run->node->device[device].model) == 0)
            return false;
    return true;
}

static bool measure_curve(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct gpu_path path = path_of(cell);
    struct probe_axes axes = axes_of(cell);
    int device = cell->from >= 0 ? cell->from : cell->to,
        numa = cell->from >= 0 ? cell->to : cell->from;
    bool is_near = GPU_PLACE_NUMA(gpu_node_near(run->node, device)) == numa;
    bool few = (path.mechanism == GPU_BY_KERNEL && !wants_all_curves(run) &&
                !stands_for_others(run, device)) ||
               (run->selection.profile != GPU_FULL && !is_near);
    return gpu_transfer_curve(run, cell, &axes, &path, CURVE_BYTES, few, budget_ns);
}

static bool measure_latency(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct gpu_path path = path_of(cell);
    struct probe_axes axes = axes_of(cell);
    return gpu_transfer_latency(run, cell, &axes, &path, budget_ns);
}

/* Kinds of memory for copies and kernels, by family of driver. */
static bool has_kind(const struct gpu_run *run, enum gpu_memory_kind kind, bool by_kernel)
{
    bool is_hip = strcmp(run->node->api->name, "hip") == 0;
    switch (kind) {
    case GPU_MEMORY_PINNED:
        return true;
    case GPU_MEMORY_COHERENT:
    case GPU_MEMORY_NONCOHERENT:
        return is_hip;
    case GPU_MEMORY_PAGEABLE:
        return !by_kernel;
    default:
        return false;
    }
}

/* True when quick measures it. Pinned memory on the node next to the device: everything. Other
 * kinds there: copies in one direction. With at most 16 pairs, pinned memory on other nodes has
 * everything. With more, it has copies in one direction, and pageable memory, which the host's
 * cores copy, has one device of each model. */
static bool is_quick(const struct gpu_run *run, int device, int kind, int what, bool near)
{
    if (kind != GPU_MEMORY_PINNED)
        return near && (what == ONE || what == COPY) &&
               (kind != GPU_MEMORY_PAGEABLE || wants_all(run) || stands_for_others(run, device));
    return near || what == ONE || what == COPY || wants_all(run);
}

/* For kernels that only read or only write, one device's curve represents several. */
static bool wants_curve(const struct gpu_run *run, int device, int what)
{
    return what == ONE || what == COPY || wants_all_curves(run) || stands_for_others(run, device);
}

/* Adds the cells between one NUMA node (as a place) and one device. near: the node that the device
 * is attached to, which quick measures in more detail. */
static bool list_pair(const struct gpu_run *run, struct gpu_cells *cells, int numa, int device,
                      bool near)
{
    bool full = run->selection.profile == GPU_FULL, ok = true;
    for (int kind = 0; kind < GPU_MEMORY_KIND_COUNT; kind++)
        for (int what = ONE; what <= COPY; what++)
            for (int back = 0; back < 2; back++) {
                bool by_kernel = what >= READ, main = kind == GPU_MEMORY_PINNED;
                /* Reading is a path from the host's memory, writing one to it. */
                if (!has_kind(run, (enum gpu_memory_kind)kind, by_kernel) ||
                    what == (back ? READ : WRITE) ||
                    (kind == GPU_MEMORY_PAGEABLE && what == BOTH) ||
                    (!full && !is_quick(run, device, kind, what, near)))
                    continue;
                struct gpu_cell cell = {.metric = by_kernel ? PROBE_HOST_GPU_KERNEL
                                                            : PROBE_HOST_GPU_COPY_ENGINE,
                                        .phase = main ? GPU_PHASE_RATES : GPU_PHASE_DETAIL,
                                        .rank = kind == GPU_MEMORY_PAGEABLE ? 2
                                                : near                      ? 0
                                                                            : 1,
                                        .from = back ? device : numa,
                                        .to = back ? numa : device,
                                        .variant = VARIANT(what, kind),
                                        .axes = axes_of,
                                        .measure = measure_rate};
                ok = ok && gpu_cells_add(run, cells, &cell);
                /* The cost of starting a copy differs between near and far memory. */
                bool is_far = !full && !near;
                if (!main || what == BOTH || (is_far && !(what == ONE && wants_all(run))) ||
                    !wants_curve(run, device, what))
                    continue;
                cell.phase = GPU_PHASE_CURVES;
                cell.is_more = true;
                cell.measure = measure_curve;
                cell.rank = by_kernel || is_far ? 1 : 0;
                ok = ok && gpu_cells_add(run, cells, &cell);
                if (what != ONE || is_far)
                    continue;
                cell.metric = PROBE_COPY_LATENCY;
                cell.is_more = false;
                cell.phase = GPU_PHASE_LATENCY;
                cell.measure = measure_latency;
                cell.rank = 0;
                ok = ok && gpu_cells_add(run, cells, &cell);
            }
    return ok;
}

bool gpu_cells_host(const struct gpu_run *run, struct gpu_cells *cells)
{
    bool ok = true;
    for (int device = 0; device < run->node->device_count; device++)
        for (int index = 0; index < run->node->numa_count; index++)
            ok = ok && list_pair(run, cells, GPU_PLACE_NUMA(index), device,
                                 index == gpu_node_near(run->node, device));
    return ok;
}
