#include "gpu/explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "gpu/cells/run.h"
#include "gpu/driver/buffer.h"
#include "gpu/driver/sampling.h"
#include "gpu/timing/launch_shapes.h"
#include "gpu/timing/path.h"

#define HOST_BYTES   ((size_t)256 << 20)
#define DEVICE_BYTES ((size_t)1 << 30)
#define OP_BYTES     (UINT64_C(256) << 20) /* of one kernel, at most */
#define RANGE_NS     200e6                 /* of sampling */
#define OPS_MAX      4096

struct explain {
    struct gpu_node *node;
    struct gpu_trial *trial;
    struct gpu_buffers *buffers;
    struct gpu_sampling *sampling;
    struct probe_why no_sampling;
    int from, to; /* places */
    struct probe_out *out;
};

/* Finds a place by its name: a device, or a NUMA node of the host. */
static bool find_place(const struct gpu_node *node, const char *name, int *ret_place,
                       struct probe_why *why)
{
    char own[24], all[160] = "";
    for (int i = 0; i < node->device_count + node->numa_count; i++) {
        bool is_device = i < node->device_count;
        int place = is_device ? i : GPU_PLACE_NUMA(i - node->device_count);
        gpu_report_place(node, place, own, sizeof own);
        if (strcmp(own, name) == 0 ||
            (is_device && gpu_node_is(node->device[i].name, node->device[i].uuid, name))) {
            *ret_place = place;
            return true;
        }
        snprintf(all + strlen(all), sizeof all - strlen(all), " %s", own);
    }
    return probe_why_set(why, "no place: %.72s; there are%s", name, all);
}

/* Runs the operation so many times; returns the time of one, NAN with err on failure. */
static double run_ops(const struct explain *explain, const struct gpu_flow *flow, unsigned count,
                      struct gpu_err *err)
{
    const struct gpu_node *node = explain->node;
    int device = flow->op.device, code = 0;
    gpu_stream stream = node->device[device].stream[0];
    uint64_t places = flow->span / flow->op.bytes;
    int64_t start_ns = probe_clock_ns();
    if (!gpu_node_enter(node, device, err))
        return NAN;
    for (unsigned i = 0; i < count && code == 0; i++)
        code = gpu_trial_enqueue(explain->trial, &flow->op, i % places * flow->op.bytes, stream);
    if (code == 0)
        code = node->api->stream_wait(node->api, stream);
    if (!gpu_node_check(node, device, code, "launch", err))
        return NAN;
    return (double)(probe_clock_ns() - start_ns) / count;
}

static void print_stalls(const struct gpu_stalls *stalls, struct probe_line *line)
{
    probe_line_integer(line, "samples", (int64_t)stalls->samples);
    probe_line_integer(line, "dropped", (int64_t)stalls->dropped);
    probe_line_open(line, "stalls");
    for (size_t i = 0; i < stalls->count; i++)
        probe_line_integer(line, stalls->reason[i].name, (int64_t)stalls->reason[i].samples);
    probe_line_close(line);
}

/* Runs the operation without and under sampling. False: a device is lost. */
static bool explain_op(struct explain *explain, struct gpu_flow *flow, struct probe_line *line,
                       struct probe_why *why, struct gpu_err *err)
{
    struct gpu_stalls stalls;
    flow->op.bytes = flow->span < OP_BYTES ? flow->span : OP_BYTES;
    double ns = run_ops(explain, flow, 1, err);
    if (isfinite(ns))
        ns = run_ops(explain, flow, 4, err);
    double fit = RANGE_NS / ns;
    unsigned count = fit > OPS_MAX ? OPS_MAX : fit > 1 ? (unsigned)fit : 1;
    if (isfinite(ns))
        ns = run_ops(explain, flow, count, err);
    if (!isfinite(ns))
        return false;
    probe_line_number(line, "bytes_per_s", 1e9 * (double)flow->op.bytes / ns);
    if (explain->sampling == NULL) {
        *why = explain->no_sampling;
        return true;
    }
    if (!gpu_sampling_begin(explain->sampling, why))
        return true;
    ns = run_ops(explain, flow, count, err);
    bool ok = gpu_sampling_end(explain->sampling, &stalls, why);
    if (!isfinite(ns))
        return false;
    probe_line_number(line, "sampled_bytes_per_s", 1e9 * (double)flow->op.bytes / ns);
    if (ok)
        print_stalls(&stalls, line);
    return true;
}

/* False: a device is lost, or the reader gone; why says which. */
static bool explain_operation(struct explain *explain, enum gpu_operation operation,
                              struct probe_why *ret_why)
{
    static const char *const names[] = {"read", "write", "copy"};
    const struct gpu_path path = {.mechanism = GPU_BY_KERNEL, .operation = operation};
    char from[24], to[24];
    struct gpu_flow flow;
    struct probe_line line;
    struct probe_why why = {0};
    struct gpu_err err = {.fault = GPU_FAULT_NONE};
    gpu_report_place(explain->node, explain->from, from, sizeof from);
    gpu_report_place(explain->node, explain->to, to, sizeof to);
    probe_line_begin(&line, "explain");
    probe_line_text(&line, "from", from);
    probe_line_text(&line, "to", to);
    probe_line_text(&line, "operation", names[operation]);
    bool ok = !gpu_path_flow(explain->buffers, &path, explain->from, explain->to, &flow, &why) ||
              explain_op(explain, &flow, &line, &why, &err);
    if (!ok && err.fault != GPU_FAULT_LOST) {
        why = err.why;
        ok = true;
    }
    if (why.text[0] != '\0')
        probe_line_text(&line, "why", why.text);
    if (!ok)
        *ret_why = err.why;
    else if (explain->out != NULL && !probe_line_write(&line, explain->out))
        ok = probe_why_set(ret_why, "the reader of the record is gone");
    return ok;
}

enum gpu_explain_end gpu_explain(struct gpu_node *node, const char *from, const char *to,
                                 const char *shapes, struct probe_out *out, struct probe_why *why)
{
    struct explain explain = {.node = node, .out = out};
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    int driver = 0;
    if (!find_place(node, from, &explain.from, why) || !find_place(node, to, &explain.to, why))
        return GPU_EXPLAIN_NO_PLACE;
    if (explain.from < 0 && explain.to < 0) {
        probe_why_write(why, "one of the two places is a GPU");
        return GPU_EXPLAIN_NO_PLACE;
    }
    (void)node->api->version(node->api, &driver); /* stays 0 */
    gpu_tune_default(node);
    if (shapes != NULL)
        gpu_tune_parse(node, driver, shapes, false);
    bool ok = gpu_trial_new(node, &explain.trial, &err) &&
              gpu_buffers_new(node, HOST_BYTES, DEVICE_BYTES, &explain.buffers, &err.why);
    if (!ok) {
        *why = err.why;
        return GPU_EXPLAIN_FAILED;
    }
    int device = explain.from >= 0 ? explain.from : explain.to;
    if (!gpu_sampling_new(node, device, &explain.sampling, &explain.no_sampling))
        explain.sampling = NULL;
    if (explain.from < 0)
        ok = explain_operation(&explain, GPU_OPERATION_COPY, why);
    else
        for (int operation = GPU_OPERATION_READ; ok && operation <= GPU_OPERATION_COPY; operation++)
            ok = explain_operation(&explain, (enum gpu_operation)operation, why);
    if (!ok)
        return GPU_EXPLAIN_FAILED;
    gpu_sampling_free(explain.sampling);
    gpu_buffers_free(explain.buffers);
    gpu_trial_free(explain.trial);
    return GPU_EXPLAIN_DONE;
}
