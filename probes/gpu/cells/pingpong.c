/* Measures gpu_pingpong: round trips of a flag between two devices, or a device and a thread. */
#include "gpu/cells/cells.h"

#include "common/clock.h"
#include "gpu/cells/pingpong_host.h"
#include "gpu/driver/gpu_kernels.h"
#include "gpu/driver/node.h"
#include "gpu/driver/pages.h"

#define ROUNDS   2200
#define SKIPPED  200
#define LIMIT_NS INT64_C(500000000) /* 200 times a round trip by PCIe */
#define APART    256                /* bytes between flags: two lines */
#define RESULT   4096               /* in each device's second buffer */

enum { FLAGS_FROM, FLAGS_TO, FLAGS_READER };

/* One side of a round trip: polls its own flag and writes the flag of the other side. */
struct side {
    const struct gpu_node *node;
    int device;
    struct gpu_pingpong_args args;
};

static int enqueue(void *arg, gpu_stream stream)
{
    const struct side *side = arg;
    const struct gpu_api *api = side->node->api;
    return api->launch(api, side->node->device[side->device].kernel[GPU_KERNEL_PINGPONG], 1, 1,
                       stream, &side->args, sizeof side->args);
}

/* Reads a kernel's result: rounds done, nanoseconds, cycles. */
static bool read_result(const struct side *side, uint64_t ret_words[3], struct gpu_err *err)
{
    const struct gpu_api *api = side->node->api;
    gpu_stream stream = side->node->device[side->device].stream[0];
    if (!gpu_node_enter(side->node, side->device, err))
        return false;
    int code = api->copy(api, (gpu_address)(uintptr_t)ret_words, side->args.result,
                         3 * sizeof *ret_words, stream);
    if (code == 0)
        code = api->stream_wait(api, stream);
    return gpu_node_check(side->node, side->device, code, "read the result", err);
}

static bool clear(const struct gpu_node *node, int device, gpu_address flags, struct gpu_err *err)
{
    gpu_stream stream = node->device[device].stream[0];
    if (!gpu_node_enter(node, device, err))
        return false;
    int code = node->api->fill(node->api, flags, 0, 2 * APART, stream);
    if (code == 0)
        code = node->api->stream_wait(node->api, stream);
    return gpu_node_check(node, device, code, "clear the flags", err);
}

static bool find_side(struct gpu_run *run, int device, bool first, struct side *ret_side,
                      struct probe_why *why)
{
    struct gpu_memory own;
    const struct gpu_device *of = &run->node->device[device];
    if (!of->usable)
        return probe_why_set(why, "%.190s", of->why.text);
    if (of->kernel[GPU_KERNEL_PINGPONG] == NULL)
        return probe_why_set(why, "%.190s",
                             run->node->kernels_why.text[0] != '\0' ? run->node->kernels_why.text
                                                                    : "no such kernel");
    if (!gpu_buffers_device(run->buffers, device, 1, &own, why))
        return false;
    *ret_side = (struct side){.node = run->node,
                              .device = device,
                              .args = {.rounds = ROUNDS,
                                       .skip = SKIPPED,
                                       .first = first,
                                       .result = own.address + RESULT,
                                       .limit_ns = (gpu_u64)LIMIT_NS}};
    return true;
}

static bool check_access(const struct gpu_node *node, int device, int peer, struct probe_why *why)
{
    return node->device[device].access[peer] ||
           probe_why_set(why, "%s", probe_nevers[PROBE_NO_ACCESS]);
}

/* Finds both sides, with their flags in the cell's memories. */
static bool find_sides(struct gpu_run *run, const struct gpu_cell *cell, struct side ret_sides[2],
                       struct probe_why *why)
{
    struct gpu_memory from, to;
    int flags = cell->variant;
    if (!find_side(run, cell->from, true, &ret_sides[0], why) ||
        !find_side(run, cell->to, false, &ret_sides[1], why) ||
        (flags != FLAGS_FROM && !check_access(run->node, cell->from, cell->to, why)) ||
        (flags != FLAGS_TO && !check_access(run->node, cell->to, cell->from, why)) ||
        !gpu_buffers_device(run->buffers, cell->from, 0, &from, why) ||
        !gpu_buffers_device(run->buffers, cell->to, 0, &to, why))
        return false;
    gpu_address first = flags == FLAGS_TO ? to.address : from.address;
    gpu_address second = (flags == FLAGS_FROM ? from.address : to.address) + APART;
    ret_sides[0].args.mine = ret_sides[1].args.theirs = first;
    ret_sides[1].args.mine = ret_sides[0].args.theirs = second;
    return true;
}

static bool play_devices(struct gpu_run *run, struct side sides[2],
                         const struct gpu_memory flags[2], double *ret_ns, struct gpu_err *err)
{
    uint64_t words[3] = {0};
    struct gpu_task tasks[2];
    for (int i = 0; i < 2; i++) {
        tasks[i] =
            (struct gpu_task){.device = sides[i].device, .enqueue = enqueue, .arg = &sides[i]};
        if (!clear(run->node, sides[i].device, flags[i].address, err))
            return false;
    }
    if (!gpu_trial_tasks(run->trial, tasks, 2, err) || !read_result(&sides[0], words, err))
        return false;
    err->fault = GPU_FAULT_OTHER;
    if (words[0] < ROUNDS)
        return probe_why_set(&err->why, "no answer to round %llu",
                             (unsigned long long)words[0] + 1);
    *ret_ns = words[1] > 0 ? (double)words[1] / (ROUNDS - SKIPPED) : tasks[0].ns / ROUNDS;
    return true;
}

static struct probe_axes axes_of(const struct gpu_cell *cell)
{
    static const char *const names[] = {"from", "to", "reader"};
    struct probe_axes axes = {0};
    if (cell->variant != FLAGS_TO)
        probe_axes_add(&axes, "flag", "%s", names[cell->variant]);
    return axes;
}

static bool measure_devices(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct side sides[2];
    struct gpu_memory flags[2];
    double samples[PROBE_STATS_MAX];
    struct probe_axes axes = axes_of(cell);
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    int64_t end_ns = probe_clock_ns() + budget_ns;
    unsigned n = 0;
    bool ok = find_sides(run, cell, sides, &err.why) &&
              gpu_buffers_device(run->buffers, cell->from, 0, &flags[0], &err.why) &&
              gpu_buffers_device(run->buffers, cell->to, 0, &flags[1], &err.why);
    for (bool enough = false; ok && !enough;) {
        ok = play_devices(run, sides, flags, &samples[n], &err);
        enough = ok && probe_stats_enough(samples, ++n, probe_clock_ns() >= end_ns);
    }
    if (!ok)
        return gpu_run_failed(run, cell, &axes, &err);
    struct probe_summary ns = probe_stats_quantile(samples, n, 0.5);
    return gpu_run_value(run, cell, &axes, &ns);
}

/* Launched alone: a held stream would wait for this thread. */
static bool play_host(const struct side *side, struct gpu_pingpong_host *host_side, double *ret_ns,
                      struct gpu_err *err)
{
    uint64_t words[3] = {0};
    double ns = 0;
    gpu_stream stream = side->node->device[side->device].stream[0];
    atomic_store(host_side->mine, 0);
    atomic_store(host_side->theirs, 0);
    if (!gpu_node_enter(side->node, side->device, err) ||
        !gpu_node_check(side->node, side->device, enqueue((void *)(uintptr_t)side, stream),
                        "launch", err))
        return false;
    err->fault = GPU_FAULT_OTHER;
    bool played = gpu_pingpong_host_run(host_side, &ns, &err->why);
    /* The kernel ends by itself, also without the host. */
    struct gpu_err wait_err;
    if (!gpu_node_check(side->node, side->device,
                        side->node->api->stream_wait(side->node->api, stream), "ping-pong",
                        &wait_err)) {
        err->fault = wait_err.fault;
        if (played)
            err->why = wait_err.why;
        return false;
    }
    if (!played || !read_result(side, words, err))
        return false;
    *ret_ns = ns / (ROUNDS - SKIPPED);
    return true;
}

/* Maps a piece of a device's own memory on the host. Possible where that memory is a NUMA node and
 * the device uses the host's page tables, so that both use the same address. */
static bool map_own(const struct gpu_run *run, int device, struct gpu_pages *ret_pages,
                    struct probe_why *why)
{
    const struct gpu_device *of = &run->node->device[device];
    if (!of->usable)
        return probe_why_set(why, "%.190s", of->why.text);
    int numa = of->attribute[GPU_ATTRIBUTE_MEMORY_NUMA];
    if (numa < 0)
        return probe_why_set(why,
                             "CPUs do not reach the memory of %s: it is no NUMA node, and the "
                             "runtime does not map it for them",
                             of->name);
    if (of->attribute[GPU_ATTRIBUTE_PAGEABLE_BY_HOST] <= 0)
        return probe_why_set(
            why, "%s does not use the page tables of CPUs, so its memory has no address for both",
            of->name);
    return gpu_pages_new(numa, false, 2 * APART, ret_pages, why);
}

/* Places the two flags: the host writes one and the kernel polls it, and the reverse for the
 * other. */
static bool place_flags(struct gpu_run *run, const struct gpu_cell *cell, struct side *side,
                        struct gpu_pingpong_host *host_side, struct gpu_pages *ret_own,
                        struct probe_why *why)
{
    struct gpu_memory host;
    struct gpu_pages own = {0};
    if (cell->variant != FLAGS_FROM && !map_own(run, cell->to, &own, why))
        return false;
    *ret_own = own;
    if (!gpu_buffers_host(run->buffers, GPU_PLACE_NUMA(0) - cell->from, GPU_MEMORY_PINNED, 0,
                          cell->to, &host, why))
        return false;
    char *polled_here = cell->variant == FLAGS_TO ? own.base : host.host;
    char *polled_there = cell->variant == FLAGS_FROM ? host.host : own.base;
    host_side->theirs = (void *)polled_there;
    host_side->mine = (void *)(polled_here + APART);
    side->args.mine =
        cell->variant == FLAGS_FROM ? host.address : (gpu_address)(uintptr_t)polled_there;
    side->args.theirs =
        (cell->variant == FLAGS_TO ? (gpu_address)(uintptr_t)polled_here : host.address) + APART;
    return true;
}

static bool measure_host(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct side side;
    struct gpu_pages own = {0};
    double samples[PROBE_STATS_MAX];
    struct probe_axes axes = axes_of(cell);
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    int64_t end_ns = probe_clock_ns() + budget_ns;
    struct gpu_pingpong_host host_side = {.numa = run->node->numa[GPU_PLACE_NUMA(0) - cell->from],
                                          .rounds = ROUNDS,
                                          .skip = SKIPPED,
                                          .limit_ns = LIMIT_NS};
    unsigned n = 0;
    bool ok = find_side(run, cell->to, false, &side, &err.why) &&
              place_flags(run, cell, &side, &host_side, &own, &err.why);
    for (bool enough = false; ok && !enough;) {
        ok = play_host(&side, &host_side, &samples[n], &err);
        enough = ok && probe_stats_enough(samples, ++n, probe_clock_ns() >= end_ns);
    }
    /* not after a loss: the device may still write there */
    if (ok || err.fault != GPU_FAULT_LOST)
        gpu_pages_done(&own);
    if (!ok)
        return gpu_run_failed(run, cell, &axes, &err);
    struct probe_summary ns = probe_stats_quantile(samples, n, 0.5);
    return gpu_run_value(run, cell, &axes, &ns);
}

bool gpu_cells_pingpong(const struct gpu_run *run, struct gpu_cells *cells)
{
    bool ok = true;
    if (run->selection.profile != GPU_FULL)
        return true;
    struct gpu_cell cell = {
        .metric = PROBE_GPU_PINGPONG, .phase = GPU_PHASE_DETAIL, .axes = axes_of};
    for (cell.to = 0; cell.to < run->node->device_count; cell.to++)
        for (cell.variant = FLAGS_FROM; cell.variant <= FLAGS_READER; cell.variant++) {
            cell.measure = measure_devices;
            for (cell.from = 0; ok && cell.from < run->node->device_count; cell.from++)
                ok = cell.from == cell.to || gpu_cells_add(run, cells, &cell);
            cell.measure = measure_host;
            for (int index = 0; ok && index < run->node->numa_count; index++) {
                cell.from = GPU_PLACE_NUMA(index);
                ok = gpu_cells_add(run, cells, &cell);
            }
        }
    return ok;
}
