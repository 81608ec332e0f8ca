/* Measures collective_latency and collective_bandwidth of the operations of NCCL or RCCL. */
#include "gpu/cells/cells.h"

#include <math.h>

#include "common/clock.h"
#include "gpu/driver/collective.h"
#include "gpu/driver/node.h"
#include "gpu/timing/repeat.h"

#define LATENCY_BYTES 8
#define LEAST_BYTES   4096
#define MOST_BYTES    (UINT64_C(128) << 20)
#define SIZE_STEP     8
#define SIZES_MAX     8
#define TRIAL_NS      2e6 /* approximate time of operations back to back */
#define COUNT_MAX     24  /* limit: a held stream takes only this many launches */

enum memory { OWN, PEER, HOST, MEMORY_COUNT };
static const char *const memory_names[MEMORY_COUNT] = {"own", "peer", "host"};

/* Members with their buffers in one kind of memory. */
struct session {
    struct gpu_run *run;
    struct gpu_collective_group *group;
    int members;
    int devices[GPU_DEVICES_MAX];
    gpu_stream streams[GPU_DEVICES_MAX];
    /* the first member's: its stream was released; the others': their operation is done */
    gpu_event events[GPU_DEVICES_MAX];
    int event_count;
    gpu_address sources[GPU_DEVICES_MAX], targets[GPU_DEVICES_MAX];
    uint64_t room;  /* bytes of each buffer */
    bool is_broken; /* a call failed, and why: the library's remaining state is not trusted */
    struct gpu_err err;
};

static int first_usable(const struct gpu_node *node, int selection, int *ret_devices)
{
    int found = 0;
    for (int i = 0; i < node->device_count && found < selection; i++)
        if (node->device[i].usable)
            ret_devices[found++] = i;
    return found;
}

static bool place_own(struct session *session, int i, int device, struct probe_why *why)
{
    struct gpu_memory source, target;
    if (!gpu_buffers_device(session->run->buffers, device, 0, &source, why) ||
        !gpu_buffers_device(session->run->buffers, device, 1, &target, why))
        return false;
    session->sources[i] = source.address;
    session->targets[i] = target.address;
    size_t bytes = source.bytes < target.bytes ? source.bytes : target.bytes;
    session->room = bytes < session->room ? bytes : session->room;
    return true;
}

/* A NUMA node's two buffers are divided among all members, independent of each one's nearest
 * node. */
static bool place_host(struct session *session, int i, struct probe_why *why)
{
    struct gpu_memory memory[2];
    int device = session->devices[i], numa = gpu_node_near(session->run->node, device);
    for (int which = 0; which < 2; which++)
        if (!gpu_buffers_host(session->run->buffers, numa, GPU_MEMORY_PINNED, which, device,
                              &memory[which], why))
            return false;
    size_t bytes = memory[0].bytes < memory[1].bytes ? memory[0].bytes : memory[1].bytes;
    uint64_t share = bytes / (size_t)session->members / LEAST_BYTES * LEAST_BYTES;
    session->sources[i] = memory[0].address + (uint64_t)i * share;
    session->targets[i] = memory[1].address + (uint64_t)i * share;
    session->room = share < session->room ? share : session->room;
    return true;
}

static bool place(struct session *session, enum memory memory, struct probe_why *why)
{
    const struct gpu_node *node = session->run->node;
    session->room = MOST_BYTES;
    for (int i = 0; i < session->members; i++) {
        int device = session->devices[i], next = session->devices[(i + 1) % session->members];
        if (memory == PEER && !node->device[device].access[next])
            return probe_why_set(why, "%s does not reach the memory of %s",
                                 node->device[device].name, node->device[next].name);
        if (memory == HOST ? !place_host(session, i, why)
                           : !place_own(session, i, memory == PEER ? next : device, why))
            return false;
    }
    return true;
}

struct work {
    struct session *session;
    enum gpu_collective_operation operation;
    uint64_t bytes;
    unsigned count;       /* back to back now */
    unsigned most;        /* in the longer of two queues */
    struct probe_why why; /* the library's message, when it failed */
};

static bool enqueue_all(struct work *work)
{
    struct session *session = work->session;
    for (unsigned i = 0; i < work->count; i++)
        if (!gpu_collective_enqueue(session->group, work->operation, session->sources,
                                    session->targets, work->bytes, session->streams, &work->why))
            return false;
    return true;
}

/* Enqueues in the first member's stream, which is held. The others begin when it is released, and
 * it ends when they all have. */
static int enqueue(void *arg, gpu_stream stream)
{
    struct work *work = arg;
    struct session *session = work->session;
    const struct gpu_node *node = session->run->node;
    const struct gpu_api *api = node->api;
    int code = api->event_record(api, session->events[0], stream);
    for (int i = 1; i < session->members && code == 0; i++)
        code = api->stream_after(api, session->streams[i], session->events[0]);
    if (code == 0 && !enqueue_all(work))
        return GPU_MISSING;
    for (int i = 1; i < session->members && code == 0; i++) {
        const struct gpu_device *device = &node->device[session->devices[i]];
        code = api->enter(api, device->api_device, device->context);
        if (code == 0)
            code = api->event_record(api, session->events[i], session->streams[i]);
    }
    const struct gpu_device *first = &node->device[session->devices[0]];
    if (code == 0)
        code = api->enter(api, first->api_device, first->context);
    for (int i = 1; i < session->members && code == 0; i++)
        code = api->stream_after(api, stream, session->events[i]);
    return code;
}

static bool wait_for_all(struct session *session)
{
    const struct gpu_node *node = session->run->node;
    for (int i = 0; i < session->members; i++) {
        int device = session->devices[i];
        if (!gpu_node_enter(node, device, &session->err) ||
            !gpu_node_check(node, device, node->api->stream_wait(node->api, session->streams[i]),
                            "collective", &session->err))
            return false;
    }
    return true;
}

/* Warms up. The first call of a kind and size makes the library's connections and loads its
 * kernels. This must not happen in a held stream. The second call gives the number to put back to
 * back. */
static bool warm(struct work *work)
{
    double ns = 0;
    work->count = 1;
    for (int i = 0; i < 2; i++) {
        int64_t begin_ns = probe_clock_ns();
        if (!enqueue_all(work)) {
            work->session->err.why = work->why;
            return false;
        }
        if (!wait_for_all(work->session))
            return false;
        ns = (double)(probe_clock_ns() - begin_ns);
    }
    double count = TRIAL_NS / ns;
    work->most = count < 2 ? 2 : count > COUNT_MAX ? COUNT_MAX : (unsigned)count;
    return true;
}

static bool time_queue(struct work *work, unsigned count, double *ret_ns, struct gpu_err *err)
{
    struct session *session = work->session;
    work->count = count;
    if (gpu_trial_time(session->run->trial, session->devices[0], enqueue, work, ret_ns, err))
        return true;
    if (work->why.text[0] != '\0')
        err->why = work->why;
    return false;
}

/* Takes the difference of two queues, which cancels the members' events and the first one's
 * start. */
static bool once(void *arg, double *ret_ns, struct gpu_err *err)
{
    struct work *work = arg;
    double one, all;
    if (!time_queue(work, 1, &one, err) || !time_queue(work, work->most, &all, err))
        return false;
    *ret_ns = (all - one) / (work->most - 1);
    return true;
}

/* Time of one operation, back to back. False: the session is broken. */
static bool repeat(struct session *session, enum gpu_collective_operation operation, uint64_t bytes,
                   int64_t budget_ns, struct probe_summary *ret_time)
{
    struct work work = {.session = session, .operation = operation, .bytes = bytes};
    session->is_broken =
        !warm(&work) || !gpu_repeat(once, &work, budget_ns, ret_time, &session->err);
    return !session->is_broken;
}

static struct probe_axes axes_of(int members, enum gpu_collective_operation operation,
                                 enum memory memory)
{
    struct probe_axes axes = {0};
    if (operation != GPU_COLLECTIVE_ALLREDUCE)
        probe_axes_add(&axes, "operation", "%s", gpu_collective_name(operation));
    if (members != 2)
        probe_axes_add(&axes, "members", "%d", members);
    if (memory != OWN)
        probe_axes_add(&axes, "memory", "%s", memory_names[memory]);
    return axes;
}

static struct probe_axes cell_axes(const struct gpu_cell *cell)
{
    return axes_of(cell->variant, GPU_COLLECTIVE_ALLREDUCE, OWN);
}

static bool report_broken(struct session *session, const struct gpu_cell *cell,
                          const struct probe_axes *axes)
{
    return gpu_run_failed(session->run, cell, axes, &session->err);
}

static bool measure_latency(struct session *session, const struct gpu_cell *cell,
                            enum gpu_collective_operation operation, struct probe_axes *axes,
                            int64_t budget_ns)
{
    struct probe_summary time;
    uint64_t bytes = gpu_collective_bytes(operation, LATENCY_BYTES, session->members);
    if (bytes != LATENCY_BYTES)
        probe_axes_add(axes, "bytes", "%d", (int)bytes);
    return repeat(session, operation, bytes, budget_ns, &time)
               ? gpu_run_value(session->run, cell, axes, &time)
               : report_broken(session, cell, axes);
}

/* Lists sizes from the least in steps to the largest that fits. */
static size_t list_sizes(const struct session *session, enum gpu_collective_operation operation,
                         struct probe_sample *ret_samples)
{
    size_t count = 0;
    uint64_t size = LEAST_BYTES, last = 0;
    while (count < SIZES_MAX && last != session->room) {
        last = size < session->room ? size : session->room;
        uint64_t bytes = gpu_collective_bytes(operation, last, session->members);
        if (bytes > session->room)
            bytes = gpu_collective_bytes(operation, last - LEAST_BYTES, session->members);
        ret_samples[count++].bytes = (int64_t)bytes;
        size *= SIZE_STEP;
    }
    return count;
}

static bool measure_bandwidth(struct session *session, const struct gpu_cell *cell,
                              enum gpu_collective_operation operation,
                              const struct probe_axes *axes, int64_t budget_ns)
{
    struct probe_sample samples[SIZES_MAX];
    size_t count = list_sizes(session, operation, samples);
    for (size_t i = 0; i < count; i++)
        if (!repeat(session, operation, (uint64_t)samples[i].bytes, budget_ns / (int64_t)count,
                    &samples[i].ns))
            return report_broken(session, cell, axes);
    return gpu_report_samples(session->run->report, session->run->node,
                              &(struct gpu_report_series){cell->metric, cell->from, cell->to, axes},
                              samples, count, &(struct gpu_starts){0});
}

/* All operations with the buffers in one memory. False ends the run. */
static bool measure_memory(struct session *session, const struct gpu_cell *cell, enum memory memory,
                           int64_t budget_ns)
{
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    bool placed = !session->is_broken && place(session, memory, &err.why), go_on = true;
    for (int i = 0; go_on && i < GPU_COLLECTIVE_OPERATION_COUNT; i++) {
        enum gpu_collective_operation operation = (enum gpu_collective_operation)i;
        struct probe_axes axes = axes_of(cell->variant, operation, memory);
        int64_t share_ns = budget_ns / GPU_COLLECTIVE_OPERATION_COUNT;
        if (session->is_broken)
            go_on = report_broken(session, cell, &axes);
        else if (!placed)
            go_on = gpu_run_failed(session->run, cell, &axes, &err);
        else if (cell->metric == PROBE_COLLECTIVE_LATENCY)
            go_on = measure_latency(session, cell, operation, &axes, share_ns);
        else
            go_on = measure_bandwidth(session, cell, operation, &axes, share_ns);
    }
    return go_on;
}

static bool make_events(struct session *session)
{
    const struct gpu_node *node = session->run->node;
    for (int i = 0; i < session->members; i++) {
        int device = session->devices[i];
        session->streams[i] = node->device[device].stream[0];
        if (!gpu_node_enter(node, device, &session->err) ||
            !gpu_node_check(node, device, node->api->event_new(node->api, &session->events[i]),
                            "event", &session->err))
            return false;
        session->event_count++;
    }
    return true;
}

static bool begin(struct session *session, const struct gpu_collective *collective)
{
    int api_devices[GPU_DEVICES_MAX];
    for (int i = 0; i < session->members; i++)
        api_devices[i] = session->run->node->device[session->devices[i]].api_device;
    return make_events(session) && gpu_collective_join(collective, api_devices, session->members,
                                                       &session->group, &session->err.why);
}

static void end(struct session *session)
{
    const struct gpu_node *node = session->run->node;
    gpu_collective_leave(session->group);
    for (int i = 0; i < session->event_count; i++)
        if (gpu_node_enter(node, session->devices[i], NULL))
            node->api->event_free(node->api, session->events[i]);
}

static bool measure(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct session session = {.run = run, .err = {.fault = GPU_FAULT_OTHER}};
    struct gpu_collective *collective = NULL;
    session.members = first_usable(run->node, cell->variant, session.devices);
    session.is_broken = !gpu_collective_new(run->node->api, &collective, &session.err.why) ||
                        !begin(&session, collective);
    bool go_on = true;
    for (int memory = 0; go_on && memory < MEMORY_COUNT; memory++)
        go_on = measure_memory(&session, cell, (enum memory)memory, budget_ns / MEMORY_COUNT);
    end(&session);
    gpu_collective_free(collective);
    return go_on;
}

bool gpu_cells_collective(const struct gpu_run *run, struct gpu_cells *cells)
{
    static const enum probe_metric metrics[] = {PROBE_COLLECTIVE_LATENCY,
                                                PROBE_COLLECTIVE_BANDWIDTH};
    int devices[GPU_DEVICES_MAX];
    int usable = first_usable(run->node, GPU_DEVICES_MAX, devices);
    bool ok = true;
    for (int members = 2; run->selection.profile == GPU_FULL && ok && members <= usable; members++)
        for (int i = 0; ok && i < 2; i++) {
            struct gpu_cell cell = {.metric = metrics[i],
                                    .phase = GPU_PHASE_DETAIL,
                                    .rank = members,
                                    .from = devices[0],
                                    .to = devices[members - 1],
                                    .measure = measure,
                                    .axes = cell_axes,
                                    .variant = members};
            ok = gpu_cells_add(run, cells, &cell);
        }
    return ok;
}
