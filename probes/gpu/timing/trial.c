#include "gpu/timing/trial.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/clock.h"
#include "gpu/driver/gpu_kernels.h"
#include "gpu/driver/node.h"

/* longest wait of a gate: the device is free again when this process is stopped in between */
#define HOLD_NS UINT64_C(1000000000)

struct lane {
    gpu_event start, stop;
};

/* The objects of a trial on one device. */
struct post {
    gpu_address word; /* address of the word for this device */
    gpu_address sink;
    struct lane lanes[GPU_STREAMS];
};

struct gpu_trial {
    struct gpu_node *node;
    _Atomic uint32_t *word; /* host memory that gates read */
    uint32_t turn;
    struct post posts[GPU_DEVICES_MAX];
};

const struct gpu_node *gpu_trial_node(const struct gpu_trial *trial) { return trial->node; }

static bool check(const struct gpu_trial *trial, int code, int device, const char *what,
                  struct gpu_err *err)
{
    return gpu_node_check(trial->node, device, code, what, err);
}

static bool enter(const struct gpu_trial *trial, int device, struct gpu_err *err)
{
    return gpu_node_enter(trial->node, device, err);
}

static bool prepare(struct gpu_trial *trial, int device, struct gpu_err *err)
{
    const struct gpu_api *api = trial->node->api;
    struct post *post = &trial->posts[device];
    void *word;
    if (!enter(trial, device, err))
        return false;
    if (trial->word == NULL) {
        if (!check(trial, api->host_alloc(api, sizeof *trial->word, GPU_HOST_PINNED, &word), device,
                   "allocate in host memory", err))
            return false;
        trial->word = word;
        atomic_init(trial->word, 0);
    }
    if (!check(trial, api->host_address(api, (void *)trial->word, &post->word), device,
               "address of the gate's word", err) ||
        !check(trial, api->alloc(api, 16, &post->sink), device, "allocate", err))
        return false;
    for (int i = 0; i < GPU_STREAMS; i++)
        if (!check(trial, api->event_new(api, &post->lanes[i].start), device, "event", err) ||
            !check(trial, api->event_new(api, &post->lanes[i].stop), device, "event", err))
            return false;
    return true;
}

/* Frees the trial's objects on the device, unless it cannot be entered. */
static void leave(struct gpu_trial *trial, int index)
{
    const struct gpu_api *api = trial->node->api;
    const struct gpu_device *device = &trial->node->device[index];
    struct post *post = &trial->posts[index];
    if (api->enter(api, device->api_device, device->context) != 0)
        return;
    if (post->sink != 0)
        api->free(api, post->sink);
    for (int i = 0; i < GPU_STREAMS; i++) {
        gpu_event events[] = {post->lanes[i].start, post->lanes[i].stop};
        for (size_t j = 0; j < sizeof events / sizeof *events; j++)
            if (events[j] != NULL)
                api->event_free(api, events[j]);
    }
}

bool gpu_trial_new(struct gpu_node *node, struct gpu_trial **ret_trial, struct gpu_err *err)
{
    struct gpu_trial *trial = calloc(1, sizeof *trial);
    int usable = 0;
    err->fault = GPU_FAULT_OTHER;
    probe_why_write(&err->why, "%s",
                    trial == NULL ? "out of memory" : "there is no device that can be used");
    if (trial == NULL)
        return false;
    trial->node = node;
    for (int i = 0; i < node->device_count; i++) {
        struct gpu_device *device = &node->device[i];
        if (!device->usable)
            continue;
        if (prepare(trial, i, err)) {
            usable++;
        } else if (err->fault == GPU_FAULT_LOST) { /* freeing memory of a lost device may block */
            free(trial);
            return false;
        } else {
            leave(trial, i);
            device->usable = false;
            device->why = err->why;
        }
    }
    if (usable > 0) {
        *ret_trial = trial;
        return true;
    }
    gpu_trial_free(trial);
    return false;
}

void gpu_trial_free(struct gpu_trial *trial)
{
    if (trial == NULL)
        return;
    for (int i = 0; i < trial->node->device_count; i++)
        if (trial->node->device[i].usable)
            leave(trial, i);
    if (trial->word != NULL)
        trial->node->api->host_free(trial->node->api, (void *)trial->word);
    free(trial);
}

static gpu_function stream_kernel(const struct gpu_device *device, const struct gpu_op *op)
{
    static const enum gpu_kernel firsts[] = {GPU_KERNEL_READ, GPU_KERNEL_WRITE, GPU_KERNEL_COPY};
    return gpu_node_stream_kernel(device, firsts[op->operation], op->shape.unroll);
}

static unsigned grid_of(const struct gpu_shape *shape, uint64_t bytes)
{
    uint64_t step = (uint64_t)shape->block * shape->unroll * 16, blocks = (bytes + step - 1) / step;
    return shape->grid > 0 ? shape->grid : blocks < 1 ? 1 : (unsigned)blocks;
}

int gpu_trial_enqueue(const struct gpu_trial *trial, const struct gpu_op *op, uint64_t offset,
                      gpu_stream stream)
{
    const struct gpu_api *api = trial->node->api;
    const struct gpu_device *devices = trial->node->device;
    if (op->mechanism == GPU_BY_ENGINE) {
        if (op->to_device < 0 || op->from_device < 0 || op->to_device == op->from_device)
            return api->copy(api, op->to + offset, op->from + offset, op->bytes, stream);
        const struct gpu_device *to = &devices[op->to_device], *from = &devices[op->from_device];
        const struct gpu_peer_end target = {op->to + offset, to->api_device, to->context},
                                  source = {op->from + offset, from->api_device, from->context};
        return api->copy_peer(api, &target, &source, op->bytes, stream);
    }
    gpu_function kernel = stream_kernel(&devices[op->device], op);
    if (kernel == NULL)
        return GPU_MISSING;
    struct gpu_stream_args args = {.to = op->operation == GPU_OPERATION_READ ? 0 : op->to + offset,
                                   .from =
                                       op->operation == GPU_OPERATION_WRITE ? 0 : op->from + offset,
                                   .bytes = op->bytes,
                                   .sink = trial->posts[op->device].sink,
                                   .value = UINT64_C(0x0102040810204080)};
    return api->launch(api, kernel, grid_of(&op->shape, op->bytes), op->shape.block, stream, &args,
                       sizeof args);
}

/* The common part of a flow and a task: one stream of one device with work in it. */
struct strand {
    int device, stream;
    gpu_enqueue enqueue;
    void *arg;
    double ns, began_ns;
};

/* Holds the stream until the word has that value, or for that time. */
static int gate(const struct gpu_trial *trial, int device, uint32_t value, uint64_t limit_ns,
                gpu_stream stream)
{
    gpu_function kernel = trial->node->device[device].kernel[GPU_KERNEL_GATE];
    struct gpu_gate_args args = {
        .flag = trial->posts[device].word, .value = value, .limit_ns = limit_ns};
    return kernel == NULL ? GPU_MISSING
                          : trial->node->api->launch(trial->node->api, kernel, 1, 1, stream, &args,
                                                     sizeof args);
}

/* No trial lets the next one's gate go. */
int gpu_trial_delay(const struct gpu_trial *trial, int device, uint64_t ns, gpu_stream stream)
{
    return gate(trial, device, trial->turn + 1, ns, stream);
}

static bool hold(struct gpu_trial *trial, const struct strand *strand, struct gpu_err *err)
{
    const struct gpu_device *device = &trial->node->device[strand->device];
    if (device->kernel[GPU_KERNEL_GATE] == NULL)
        return true;
    return check(trial,
                 gate(trial, strand->device, trial->turn, HOLD_NS, device->stream[strand->stream]),
                 strand->device, "launch", err);
}

static bool fill(struct gpu_trial *trial, const struct strand *strand, struct gpu_err *err)
{
    const struct gpu_api *api = trial->node->api;
    const struct lane *lane = &trial->posts[strand->device].lanes[strand->stream];
    gpu_stream stream = trial->node->device[strand->device].stream[strand->stream];
    return check(trial, api->event_record(api, lane->start, stream), strand->device, "event",
                 err) &&
           check(trial, strand->enqueue(strand->arg, stream), strand->device, "transfer", err) &&
           check(trial, api->event_record(api, lane->stop, stream), strand->device, "event", err);
}

static bool read_times(struct gpu_trial *trial, struct strand *strands, size_t count,
                       struct gpu_err *err)
{
    const struct gpu_api *api = trial->node->api;
    for (size_t i = 0; i < count; i++) {
        struct strand *strand = &strands[i];
        const struct lane *lanes = trial->posts[strand->device].lanes,
                          *lane = &lanes[strand->stream];
        strand->began_ns = 0;
        if (!enter(trial, strand->device, err) ||
            !check(trial, api->event_elapsed(api, lane->start, lane->stop, &strand->ns),
                   strand->device, "time", err) ||
            (strand->stream > 0 &&
             !check(trial, api->event_elapsed(api, lanes[0].start, lane->start, &strand->began_ns),
                    strand->device, "time", err)))
            return false;
    }
    return true;
}

/* Holds all streams, fills them, releases them, and waits for all. */
static bool run(struct gpu_trial *trial, struct strand *strands, size_t count, struct gpu_err *err)
{
    int next[GPU_DEVICES_MAX] = {0};
    const struct gpu_node *node = trial->node;
    err->fault = GPU_FAULT_OTHER;
    for (size_t i = 0; i < count; i++) {
        strands[i].stream = next[strands[i].device]++;
        if (strands[i].stream >= GPU_STREAMS || !node->device[strands[i].device].usable)
            return probe_why_set(&err->why, "%s: %s", node->device[strands[i].device].name,
                                 strands[i].stream >= GPU_STREAMS ? "too many flows at once"
                                                                  : "cannot be used");
    }
    trial->turn++;
    int64_t held_ns = probe_clock_ns();
    bool ok = true;
    size_t held = 0;
    for (; ok && held < count; held++)
        ok = enter(trial, strands[held].device, err) && hold(trial, &strands[held], err);
    for (size_t i = 0; ok && i < count; i++)
        ok = enter(trial, strands[i].device, err) && fill(trial, &strands[i], err);
    bool late = probe_clock_ns() - held_ns >= (int64_t)HOLD_NS;
    atomic_store_explicit(trial->word, trial->turn, memory_order_release);
    /* Waits for the enqueued work after a failure, too: the caller may free its memory next. */
    for (size_t i = 0; i < held; i++) {
        struct gpu_err wait_err;
        int code = node->api->enter(node->api, node->device[strands[i].device].api_device,
                                    node->device[strands[i].device].context);
        if (code == 0)
            code = node->api->stream_wait(
                node->api, node->device[strands[i].device].stream[strands[i].stream]);
        if (!check(trial, code, strands[i].device, "transfer", &wait_err)) {
            if (ok)
                *err = wait_err;
            else if (wait_err.fault == GPU_FAULT_LOST)
                err->fault = GPU_FAULT_LOST;
            ok = false;
        }
    }
    if (ok && late)
        return probe_why_set(&err->why, "enqueuing took longer than streams are held");
    return ok && read_times(trial, strands, count, err);
}

struct flow_arg {
    const struct gpu_trial *trial;
    const struct gpu_flow *flow;
};

static int enqueue_flow(void *arg, gpu_stream stream)
{
    const struct flow_arg *at = arg;
    const struct gpu_flow *flow = at->flow;
    uint64_t offset = 0;
    for (unsigned i = 0; i < flow->count; i++) {
        int code = gpu_trial_enqueue(at->trial, &flow->op, offset, stream);
        if (code != 0)
            return code;
        offset += flow->advance;
        if (offset + flow->op.bytes > flow->span)
            offset = 0;
    }
    return 0;
}

bool gpu_trial_run(struct gpu_trial *trial, struct gpu_flow *flows, size_t count,
                   struct gpu_err *err)
{
    struct strand strands[GPU_TRIAL_FLOWS_MAX];
    struct flow_arg args[GPU_TRIAL_FLOWS_MAX];
    err->fault = GPU_FAULT_OTHER;
    if (count > GPU_TRIAL_FLOWS_MAX)
        return probe_why_set(&err->why, "too many flows at once");
    for (size_t i = 0; i < count; i++) {
        args[i] = (struct flow_arg){trial, &flows[i]};
        strands[i] =
            (struct strand){.device = flows[i].op.device, .enqueue = enqueue_flow, .arg = &args[i]};
    }
    if (!run(trial, strands, count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        flows[i].ns = strands[i].ns;
        flows[i].began_ns = strands[i].began_ns;
    }
    return true;
}

bool gpu_trial_tasks(struct gpu_trial *trial, struct gpu_task *tasks, size_t count,
                     struct gpu_err *err)
{
    struct strand strands[GPU_TRIAL_FLOWS_MAX];
    err->fault = GPU_FAULT_OTHER;
    if (count > GPU_TRIAL_FLOWS_MAX)
        return probe_why_set(&err->why, "too many tasks at once");
    for (size_t i = 0; i < count; i++)
        strands[i] = (struct strand){
            .device = tasks[i].device, .enqueue = tasks[i].enqueue, .arg = tasks[i].arg};
    if (!run(trial, strands, count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        tasks[i].ns = strands[i].ns;
    return true;
}

bool gpu_trial_time(struct gpu_trial *trial, int device, gpu_enqueue enqueue, void *arg,
                    double *ret_ns, struct gpu_err *err)
{
    struct gpu_task task = {.device = device, .enqueue = enqueue, .arg = arg};
    if (!gpu_trial_tasks(trial, &task, 1, err))
        return false;
    *ret_ns = task.ns;
    return true;
}

bool gpu_trial_call(struct gpu_trial *trial, const struct gpu_op *op, double *ret_ns,
                    struct gpu_err *err)
{
    gpu_stream stream = trial->node->device[op->device].stream[0];
    err->fault = GPU_FAULT_OTHER;
    if (!trial->node->device[op->device].usable)
        return probe_why_set(&err->why, "%s: cannot be used", trial->node->device[op->device].name);
    if (!enter(trial, op->device, err))
        return false;
    int64_t start_ns = probe_clock_ns();
    int code = gpu_trial_enqueue(trial, op, 0, stream);
    if (code == 0)
        code = trial->node->api->stream_wait(trial->node->api, stream);
    int64_t end_ns = probe_clock_ns();
    if (!check(trial, code, op->device, "transfer", err))
        return false;
    *ret_ns = (double)(end_ns - start_ns);
    return true;
}
