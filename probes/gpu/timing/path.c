#include "gpu/timing/path.h"

#include "gpu/timing/launch_shapes.h"

#define GRAIN (UINT64_C(2) << 20) /* parts of buffers begin at huge pages */
/* most threads of a block, where the driver does not report the limit by registers */
#define THREADS 1024

static const enum gpu_kernel firsts[] = {GPU_KERNEL_READ, GPU_KERNEL_WRITE, GPU_KERNEL_COPY};

static gpu_function kernel_of(const struct gpu_device *device, const struct gpu_path *path,
                              int from, int to, struct gpu_shape *ret_shape)
{
    const struct gpu_shape own[] = {device->read, device->write, device->copy};
    const struct gpu_shape *peer = &device->peer[path->pulled ? GPU_TUNE_PULL : path->operation];
    *ret_shape = from < 0 || to < 0 ? device->host[path->operation]
                 : from != to       ? *peer
                                    : own[path->operation];
    return gpu_node_stream_kernel(device, firsts[path->operation], ret_shape->unroll);
}

/* The part of a buffer that belongs to one of the devices. */
static bool take_part(struct gpu_memory *memory, int index, int count, struct probe_why *why)
{
    size_t part = memory->bytes / (size_t)count / GRAIN * GRAIN;
    if (part == 0)
        return probe_why_set(why, "a buffer of %s is too small for %d devices at once",
                             probe_size((int64_t)memory->bytes).text, count);
    memory->address += part * (size_t)index;
    memory->bytes = part;
    return true;
}

/* Finds the memory at one end. other is the device at the other end, which separates the parts of a
 * shared target. */
static bool end_of(struct gpu_buffers *buffers, const struct gpu_path *path, int place, int which,
                   int device, int other, struct gpu_memory *ret_memory, struct probe_why *why)
{
    bool ok = place >= 0 ? gpu_buffers_device(buffers, place, which, ret_memory, why)
                         : gpu_buffers_host(buffers, GPU_PLACE_NUMA(0) - place, path->kind, which,
                                            device, ret_memory, why);
    return ok && (!path->shared || take_part(ret_memory, place >= 0 ? other : device,
                                             gpu_buffers_node(buffers)->device_count, why));
}

/* Source and target of the data, and the device that moves them. */
struct way {
    int device, from, to;
    bool reads, writes;
};

static struct way way_of(const struct gpu_path *path, int from, int to)
{
    struct way way = {from >= 0 ? from : to, from, to, true, true};
    if (path->mechanism == GPU_BY_ENGINE) {
        if (path->pulled && to >= 0)
            way.device = to;
        return way;
    }
    way.reads = path->operation != GPU_OPERATION_WRITE;
    way.writes = path->operation != GPU_OPERATION_READ;
    /* The data of a kernel that reads or pulls come from the memory that it accesses. */
    if ((path->operation == GPU_OPERATION_READ || path->pulled) && from >= 0) {
        way.from = to;
        way.to = from;
    }
    return way;
}

bool gpu_path_flow(struct gpu_buffers *buffers, const struct gpu_path *path, int from, int to,
                   struct gpu_flow *ret_flow, struct probe_why *why)
{
    const struct gpu_node *node = gpu_buffers_node(buffers);
    struct way way = way_of(path, from, to);
    if (!node->device[way.device].usable)
        return probe_why_set(why, "%.190s", node->device[way.device].why.text);
    struct gpu_flow flow = {
        .op = {.device = way.device, .mechanism = path->mechanism, .operation = path->operation},
        .span = UINT64_MAX};
    flow.op.to_device = way.to >= 0 ? way.to : -1;
    flow.op.from_device = way.from >= 0 ? way.from : -1;
    if (path->mechanism == GPU_BY_KERNEL) {
        if (from >= 0 && to >= 0 && from != to && !node->device[from].access[to])
            return probe_why_set(why, "%s", probe_nevers[PROBE_NO_ACCESS]);
        if (kernel_of(&node->device[way.device], path, from, to, &flow.op.shape) == NULL)
            return probe_why_set(why, "%.190s",
                                 node->kernels_why.text[0] != '\0' ? node->kernels_why.text
                                                                   : "no such kernel");
    }
    struct gpu_memory source = {0}, target = {0};
    if (way.reads && !end_of(buffers, path, way.from, 0, way.device,
                             way.to >= 0 ? way.to : way.device, &source, why))
        return false;
    if (way.writes && !end_of(buffers, path, way.to, 1, way.device,
                              way.from >= 0 ? way.from : way.device, &target, why))
        return false;
    flow.op.from = source.address;
    flow.op.to = target.address;
    if (way.reads)
        flow.span = source.bytes;
    if (way.writes && target.bytes < flow.span)
        flow.span = target.bytes;
    *ret_flow = flow;
    return true;
}

/* A multiprocessor holds at least as many threads of a kernel as one block of it may have. */
static unsigned held_blocks(const struct gpu_device *device, const struct gpu_op *op)
{
    int threads = gpu_node_stream_threads(device, firsts[op->operation], op->shape.unroll);
    int processors = device->attribute[GPU_ATTRIBUTE_MULTIPROCESSORS];
    unsigned each = (unsigned)(threads > 0 ? threads : THREADS) / op->shape.block;
    return (processors > 0 ? (unsigned)processors : 1) * (each > 0 ? each : 1);
}

void gpu_path_divide(const struct gpu_node *node, struct gpu_flow *flows, size_t count)
{
    unsigned kernels[GPU_DEVICES_MAX] = {0};
    for (size_t i = 0; i < count; i++)
        kernels[flows[i].op.device] += flows[i].op.mechanism == GPU_BY_KERNEL;
    for (size_t i = 0; i < count; i++) {
        struct gpu_op *op = &flows[i].op;
        unsigned sharers = kernels[op->device];
        if (op->mechanism != GPU_BY_KERNEL || sharers < 2)
            continue;
        unsigned held = held_blocks(&node->device[op->device], op);
        unsigned part =
            (op->shape.grid > 0 && op->shape.grid < held ? op->shape.grid : held) / sharers;
        op->shape.grid = part > 0 ? part : 1;
    }
}
