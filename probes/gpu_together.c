#include "gpu_together.h"

#include <string.h>

#include "gpu_path.h"
#include "gpu_rate.h"

#define LEG_NS  4e5
#define AS_FAST 1.01 /* times the best */

/* What an H200 reads and writes at once with these, from most to least under way: blocks for each multiprocessor (0: as many as it holds), threads, accesses. */
static const struct {
    unsigned waves, block, unroll;
} tries[] = {{1, 512, 12}, {1, 512, 4}, {0, 512, 1}, {1, 512, 1}, {1, 256, 1}, {1, 128, 1}};
#define TRIES (sizeof tries / sizeof *tries)

static void set_shapes(const struct gpu_node *node, struct gpu_flow *flows, size_t count, const struct gpu_shape *shape)
{
    for (size_t i = 0; i < count; i++)
        flows[i].op.shape = *shape;
    gpu_path_share(node, flows, count);
}

bool gpu_together_find(struct gpu_run *run, int device, int numa, enum gpu_fault *ret_fault, struct probe_why *why)
{
    const struct gpu_node *node = run->node;
    const struct gpu_device *of = &node->device[device];
    struct gpu_path path = {.mechanism = GPU_BY_KERNEL, .how = GPU_HOW_COPY, .shared = true};
    struct gpu_flow flows[2];
    struct gpu_shape shapes[TRIES];
    double sums[TRIES], most = 0;
    int processors = of->attribute[GPU_ATTRIBUTE_MULTIPROCESSORS];
    *ret_fault = GPU_FAULT_OTHER;
    if (run->together[device].block > 0)
        return true;
    if (!gpu_path_flow(run, &path, numa, device, &flows[0], why) || !gpu_path_flow(run, &path, device, numa, &flows[1], why))
        return false;
    for (size_t i = 0; i < TRIES; i++) {
        struct probe_summary rates[2], sum = {0};
        shapes[i] = (struct gpu_shape){tries[i].block, tries[i].waves * (processors > 0 ? (unsigned)processors : 1), tries[i].unroll};
        sums[i] = 0;
        if (!gpu_node_stream_fits(of, GPU_KERNEL_COPY, &shapes[i]))
            continue;
        set_shapes(node, flows, 2, &shapes[i]);
        if (!gpu_rate_together(run->trial, flows, 2, LEG_NS, 0, 0, rates, &sum, ret_fault, why))
            return false;
        sums[i] = sum.value;
        most = sums[i] > most ? sums[i] : most;
    }
    size_t best = 0;
    while (best < TRIES - 1 && sums[best] * AS_FAST < most)
        best++;
    for (int i = 0; i < node->device_count; i++)
        if (strcmp(node->device[i].model, of->model) == 0)
            run->together[i] = shapes[best];
    return true;
}

void gpu_together_shape(const struct gpu_run *run, struct gpu_flow *flows, size_t count)
{
    unsigned kernels[GPU_DEVICES_MAX] = {0};
    for (size_t i = 0; i < count; i++)
        kernels[flows[i].op.device] += flows[i].op.mechanism == GPU_BY_KERNEL;
    for (size_t i = 0; i < count; i++)
        if (flows[i].op.mechanism == GPU_BY_KERNEL && kernels[flows[i].op.device] > 1 && run->together[flows[i].op.device].block > 0)
            flows[i].op.shape = run->together[flows[i].op.device];
}
