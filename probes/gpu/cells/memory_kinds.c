/* Measures kind_copy: copy calls between any two kinds of memory. */
#include "gpu/cells/cells.h"

#include "common/clock.h"
#include "gpu/driver/node.h"
#include "gpu/timing/repeat.h"

#define COPY_BYTES ((size_t)64 << 20)

enum kind { PINNED, PAGEABLE, MANAGED, DEVICE, KIND_COUNT };
static const char *const kind_names[KIND_COUNT] = {"pinned", "pageable", "managed", "device"};
enum call { ASYNC, SYNC, CALL_COUNT };
#define COPY_VARIANT(source, target, call) (((source)*KIND_COUNT + (target)) * CALL_COUNT + (call))

struct copying {
    struct gpu_run *run;
    int device;
    enum call call;
    gpu_address from, to;
    size_t bytes;
};

static struct probe_axes copy_axes(const struct gpu_cell *cell)
{
    struct probe_axes axes = {0};
    int source = cell->variant / CALL_COUNT / KIND_COUNT,
        target = cell->variant / CALL_COUNT % KIND_COUNT;
    if (source != PINNED)
        probe_axes_add(&axes, "source", "%s", kind_names[source]);
    if (target != DEVICE)
        probe_axes_add(&axes, "target", "%s", kind_names[target]);
    if (cell->variant % CALL_COUNT != ASYNC)
        probe_axes_add(&axes, "call", "sync");
    return axes;
}

static bool memory_of(struct gpu_run *run, enum kind kind, int which, int device,
                      struct gpu_memory *ret_memory, struct probe_why *why)
{
    static const enum gpu_memory_kind kinds[] = {[PINNED] = GPU_MEMORY_PINNED,
                                                 [PAGEABLE] = GPU_MEMORY_PAGEABLE,
                                                 [MANAGED] = GPU_MEMORY_MANAGED};
    return kind == DEVICE ? gpu_buffers_device(run->buffers, device, which, ret_memory, why)
                          : gpu_buffers_host(run->buffers, gpu_node_near(run->node, device),
                                             kinds[kind], which, device, ret_memory, why);
}

/* Time from the call until the copy is done. The blocking call is in the default stream and may
 * return before: between two places on a device it does. */
static bool copy_once(void *arg, double *ret_value, struct gpu_err *err)
{
    const struct copying *at = arg;
    const struct gpu_node *node = at->run->node;
    const struct gpu_api *api = node->api;
    gpu_stream stream = at->call == SYNC ? NULL : node->device[at->device].stream[0];
    if (!gpu_node_enter(node, at->device, err))
        return false;
    int64_t begin_ns = probe_clock_ns();
    int code = at->call == SYNC ? api->copy_now(api, at->to, at->from, at->bytes)
                                : api->copy(api, at->to, at->from, at->bytes, stream);
    if (code == 0)
        code = api->stream_wait(api, stream);
    int64_t end_ns = probe_clock_ns();
    if (!gpu_node_check(node, at->device, code, "copy", err))
        return false;
    *ret_value = (double)at->bytes / (double)(end_ns - begin_ns) * 1e9;
    return true;
}

static bool measure_copy(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct probe_axes axes = copy_axes(cell);
    struct gpu_memory source, target;
    struct probe_summary rate;
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    enum kind from = (enum kind)(cell->variant / CALL_COUNT / KIND_COUNT),
              to = (enum kind)(cell->variant / CALL_COUNT % KIND_COUNT);
    if (!memory_of(run, from, 0, cell->from, &source, &err.why) ||
        !memory_of(run, to, 1, cell->from, &target, &err.why))
        return gpu_run_failed(run, cell, &axes, &err);
    size_t room = source.bytes < target.bytes ? source.bytes : target.bytes;
    struct copying at = {.run = run,
                         .device = cell->from,
                         .call = (enum call)(cell->variant % CALL_COUNT),
                         .from = source.address,
                         .to = target.address,
                         .bytes = room < COPY_BYTES ? room : COPY_BYTES};
    return gpu_repeat(copy_once, &at, budget_ns, &rate, &err)
               ? gpu_run_value(run, cell, &axes, &rate)
               : gpu_run_failed(run, cell, &axes, &err);
}

static bool list_copies(const struct gpu_run *run, struct gpu_cells *cells, int device, int numa)
{
    bool ok = true;
    for (int source = 0; source < KIND_COUNT; source++)
        for (int target = 0; target < KIND_COUNT; target++)
            for (int call = 0; ok && call < CALL_COUNT; call++) {
                struct gpu_cell cell = {.metric = PROBE_KIND_COPY,
                                        .phase = GPU_PHASE_DETAIL,
                                        .from = device,
                                        .to = numa,
                                        .measure = measure_copy,
                                        .axes = copy_axes,
                                        .variant = COPY_VARIANT(source, target, call)};
                ok = gpu_cells_add(run, cells, &cell);
            }
    return ok;
}

bool gpu_cells_kinds(const struct gpu_run *run, struct gpu_cells *cells)
{
    bool ok = true;
    for (int device = 0; run->selection.profile == GPU_FULL && ok && run->node->numa_count > 0 &&
                         device < run->node->device_count;
         device++)
        ok = list_copies(run, cells, device, GPU_PLACE_NUMA(gpu_node_near(run->node, device)));
    return ok;
}
