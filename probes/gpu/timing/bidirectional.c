#include "gpu/timing/bidirectional.h"

#include <string.h>

#include "gpu/timing/path.h"
#include "gpu/timing/rate.h"

#define LEG_NS  4e5
#define AS_FAST 1.01 /* multiple of the best */
#define READS   0.85 /* part of its blocks when alone: the rest lets the others begin */
/* threads of a block, one access each. An H200 writes to its host at full rate with 70 KB under
 * way, and reads with 6 MB */
#define WRITES 128

/* Blocks of the writing kernel for each multiprocessor; 0: both get half of their blocks when
 * alone. */
static const double tries[] = {0, 1, 0.5, 0.25, 0.18, 0.125, 0.09, 0.06};
#define TRIES (sizeof tries / sizeof *tries)

static bool is_with_host(const struct gpu_op *op)
{
    return op->mechanism == GPU_BY_KERNEL && (op->from_device < 0) != (op->to_device < 0);
}

static void share(const struct gpu_node *node, double blocks, struct gpu_flow *flows, size_t count)
{
    unsigned kernels[GPU_DEVICES_MAX] = {0};
    struct gpu_shape own[GPU_TRIAL_FLOWS_MAX];
    for (size_t i = 0; i < count; i++) {
        kernels[flows[i].op.device] += is_with_host(&flows[i].op);
        own[i] = flows[i].op.shape;
    }
    gpu_path_divide(node, flows, count);
    for (size_t i = 0; i < count && blocks > 0; i++) {
        struct gpu_op *op = &flows[i].op;
        double processors = node->device[op->device].attribute[GPU_ATTRIBUTE_MULTIPROCESSORS];
        if (kernels[op->device] < 2 || !is_with_host(op))
            continue;
        unsigned reads = (unsigned)(READS * processors), writes = (unsigned)(blocks * processors);
        op->shape = op->to_device < 0
                        ? (struct gpu_shape){WRITES, writes > 0 ? writes : 1, 1}
                        : (struct gpu_shape){own[i].block, reads > 0 ? reads : 1, own[i].unroll};
    }
}

size_t gpu_bidirectional_best(const double *sums, size_t count)
{
    double most = 0;
    size_t best = 0;
    for (size_t i = 0; i < count; i++)
        most = sums[i] > most ? sums[i] : most;
    while (sums[best] * AS_FAST < most)
        best++;
    return best;
}

bool gpu_bidirectional_measure(struct gpu_bidirectional *bidirectional, int device, int numa,
                               struct gpu_err *err)
{
    const struct gpu_node *node = gpu_trial_node(bidirectional->trial);
    struct gpu_path path = {
        .mechanism = GPU_BY_KERNEL, .operation = GPU_OPERATION_COPY, .shared = true};
    struct gpu_flow flows[2];
    double sums[TRIES];
    const struct gpu_legs legs = {.trial = bidirectional->trial, .leg_ns = LEG_NS};
    err->fault = GPU_FAULT_OTHER;
    if (bidirectional->device[device].is_known)
        return true;
    for (size_t i = 0; i < TRIES; i++) {
        struct probe_summary rates[2], sum;
        if (!gpu_path_flow(bidirectional->buffers, &path, numa, device, &flows[0], &err->why) ||
            !gpu_path_flow(bidirectional->buffers, &path, device, numa, &flows[1], &err->why))
            return false;
        share(node, tries[i], flows, 2);
        if (!gpu_rate_concurrent(&legs, flows, 2, rates, &sum, err))
            return false;
        sums[i] = sum.value;
    }
    size_t best = gpu_bidirectional_best(sums, TRIES);
    for (int i = 0; i < node->device_count; i++)
        if (strcmp(node->device[i].model, node->device[device].model) == 0) {
            bidirectional->device[i].is_known = true;
            bidirectional->device[i].writes = tries[best];
        }
    return true;
}

void gpu_bidirectional_divide(const struct gpu_bidirectional *bidirectional, struct gpu_flow *flows,
                              size_t count)
{
    /* Devices of several models each have their own. */
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && flows[end].op.device == flows[i].op.device)
            end++;
        share(gpu_trial_node(bidirectional->trial),
              bidirectional->device[flows[i].op.device].writes, &flows[i], end - i);
        i = end;
    }
}
