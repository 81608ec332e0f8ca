/* Checks the bytes that host_gpu_copy_engine, host_gpu_kernel, gpu_gpu_copy_engine and
 * gpu_gpu_kernel transfer, outside all timing. */
#include "gpu/cells/cells.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/driver/gpu_kernels.h"
#include "gpu/driver/node.h"
#include "gpu/timing/path.h"

#define BYTES  (UINT64_C(256) << 10)
#define WORDS  (BYTES / 8)
#define POISON 0xA5

/* The cell's variant. */
enum { ENGINE, ENGINE_PULLED, KERNEL_PUSHED, KERNEL_PULLED };

uint64_t gpu_verify_compare(const uint64_t *words, uint64_t count, uint64_t seed,
                            uint64_t *ret_first)
{
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count; i++)
        if (words[i] != gpu_pattern(seed, i) && wrong++ == 0)
            *ret_first = i;
    return wrong;
}

/* One end of a path. */
struct end {
    int place, device; /* device that reaches it */
    struct gpu_memory memory;
};

static bool end_of(struct gpu_run *run, int place, int other, int which, struct end *ret_end,
                   struct probe_why *why)
{
    *ret_end = (struct end){.place = place, .device = place >= 0 ? place : other};
    bool ok = place >= 0 ? gpu_buffers_device(run->buffers, place, which, &ret_end->memory, why)
                         : gpu_buffers_host(run->buffers, GPU_PLACE_NUMA(0) - place,
                                            GPU_MEMORY_PINNED, which, other, &ret_end->memory, why);
    return ok && (ret_end->memory.bytes >= BYTES + 16 || probe_why_set(why, "too little memory"));
}

static bool check(struct gpu_run *run, int device, int code, const char *what, struct gpu_err *err)
{
    return gpu_node_check(run->node, device, code, what, err);
}

static bool wait_for(struct gpu_run *run, int device, struct gpu_err *err)
{
    const struct gpu_api *api = run->node->api;
    return check(run, device, api->stream_wait(api, run->node->device[device].stream[0]), "wait",
                 err);
}

/* Writes the pattern at the source by the device's own kernel, which needs no other path, or else
 * by a copy from the host. */
static bool put_pattern(struct gpu_run *run, const struct end *end, uint64_t seed,
                        uint64_t *scratch, struct gpu_err *err)
{
    const struct gpu_api *api = run->node->api;
    const struct gpu_device *device = &run->node->device[end->device];
    uint64_t *words = end->place >= 0 ? scratch : end->memory.host;
    if (end->place >= 0 && device->kernel[GPU_KERNEL_FILL] != NULL) {
        struct gpu_pattern_args args = {
            .address = end->memory.address, .bytes = BYTES, .seed = seed};
        return gpu_node_enter(run->node, end->device, err) &&
               check(run, end->device,
                     api->launch(api, device->kernel[GPU_KERNEL_FILL], 64, 256, device->stream[0],
                                 &args, sizeof args),
                     "launch", err) &&
               wait_for(run, end->device, err);
    }
    for (uint64_t i = 0; i < WORDS; i++)
        words[i] = gpu_pattern(seed, i);
    return end->place < 0 ||
           (gpu_node_enter(run->node, end->device, err) &&
            check(run, end->device,
                  api->copy(api, end->memory.address, (gpu_address)(uintptr_t)words, BYTES,
                            device->stream[0]),
                  "copy", err) &&
            wait_for(run, end->device, err));
}

static bool poison(struct gpu_run *run, const struct end *end, struct gpu_err *err)
{
    const struct gpu_api *api = run->node->api;
    if (end->place < 0) {
        memset(end->memory.host, POISON, BYTES);
        return true;
    }
    return gpu_node_enter(run->node, end->device, err) &&
           check(run, end->device,
                 api->fill(api, end->memory.address, POISON, BYTES,
                           run->node->device[end->device].stream[0]),
                 "fill", err) &&
           wait_for(run, end->device, err);
}

/* Words that a transfer left wrong. */
struct wrong {
    uint64_t count, first; /* first: index of a word */
};

/* Counts by the device's own kernel, which leaves two words behind the bytes. */
static bool count_on_device(struct gpu_run *run, const struct end *end, uint64_t seed,
                            struct wrong *ret_wrong, struct gpu_err *err)
{
    const struct gpu_api *api = run->node->api;
    const struct gpu_device *device = &run->node->device[end->device];
    gpu_stream stream = device->stream[0];
    uint64_t result[2] = {0, UINT64_MAX};
    struct gpu_pattern_args args = {.address = end->memory.address,
                                    .bytes = BYTES,
                                    .seed = seed,
                                    .result = end->memory.address + BYTES};
    if (!check(run, end->device, api->fill(api, args.result, 0, 8, stream), "fill", err) ||
        !check(run, end->device, api->fill(api, args.result + 8, 0xff, 8, stream), "fill", err) ||
        !check(
            run, end->device,
            api->launch(api, device->kernel[GPU_KERNEL_CHECK], 64, 256, stream, &args, sizeof args),
            "launch", err) ||
        !check(run, end->device,
               api->copy(api, (gpu_address)(uintptr_t)result, args.result, sizeof result, stream),
               "copy", err) ||
        !wait_for(run, end->device, err))
        return false;
    *ret_wrong = (struct wrong){result[0], result[1]};
    return true;
}

static bool count_wrong(struct gpu_run *run, const struct end *end, uint64_t seed,
                        uint64_t *scratch, struct wrong *ret_wrong, struct gpu_err *err)
{
    const struct gpu_api *api = run->node->api;
    const uint64_t *words = scratch;
    if (end->place < 0) {
        words = end->memory.host;
    } else {
        if (!gpu_node_enter(run->node, end->device, err))
            return false;
        if (run->node->device[end->device].kernel[GPU_KERNEL_CHECK] != NULL)
            return count_on_device(run, end, seed, ret_wrong, err);
        if (!check(run, end->device,
                   api->copy(api, (gpu_address)(uintptr_t)scratch, end->memory.address, BYTES,
                             run->node->device[end->device].stream[0]),
                   "copy", err) ||
            !wait_for(run, end->device, err))
            return false;
    }
    ret_wrong->count = gpu_verify_compare(words, WORDS, seed, &ret_wrong->first);
    return true;
}

/* Makes the flow of one transfer from the source to the target, driven by any device. False when
 * this path is not there. */
static bool flow_of(struct gpu_run *run, int variant, const struct end *source,
                    const struct end *target, struct gpu_flow *ret_flow, struct probe_why *why)
{
    int driver = variant == ENGINE || variant == KERNEL_PUSHED ? source->device : target->device;
    int other = driver == source->device ? target->device : source->device;
    const struct gpu_device *device = &run->node->device[driver];
    struct gpu_op op = {.device = driver,
                        .mechanism = variant >= KERNEL_PUSHED ? GPU_BY_KERNEL : GPU_BY_ENGINE,
                        .operation = GPU_OPERATION_COPY,
                        .to = target->memory.address,
                        .from = source->memory.address,
                        .to_device = target->place >= 0 ? target->place : -1,
                        .from_device = source->place >= 0 ? source->place : -1,
                        .bytes = BYTES,
                        .shape = device->copy};
    if (op.mechanism == GPU_BY_KERNEL &&
        ((driver != other && !device->access[other]) ||
         gpu_node_stream_kernel(device, GPU_KERNEL_COPY, op.shape.unroll) == NULL))
        return probe_why_set(why, "not there");
    *ret_flow = (struct gpu_flow){.op = op, .count = 1, .span = BYTES};
    return true;
}

static bool look(struct gpu_run *run, const struct gpu_cell *cell, uint64_t *scratch,
                 struct wrong *ret_wrong, struct gpu_err *err)
{
    struct end source, target;
    struct gpu_flow flow;
    uint64_t seed = probe_random_next(&run->random);
    err->fault = GPU_FAULT_OTHER;
    return end_of(run, cell->from, cell->to, 0, &source, &err->why) &&
           end_of(run, cell->to, cell->from, 1, &target, &err->why) &&
           flow_of(run, cell->variant, &source, &target, &flow, &err->why) &&
           put_pattern(run, &source, seed, scratch, err) && poison(run, &target, err) &&
           gpu_trial_run(run->trial, &flow, 1, err) &&
           count_wrong(run, &target, seed, scratch, ret_wrong, err);
}

static bool measure(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    static const char *const names[] = {"the copy engine", "the copy engine, driven by the target,",
                                        "a kernel", "a kernel of the target"};
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    struct wrong wrong = {0};
    (void)budget_ns;
    uint64_t *scratch = malloc(BYTES);
    if (scratch == NULL) {
        probe_why_write(&err.why, "out of memory");
        return gpu_run_failed(run, cell, NULL, &err);
    }
    bool ok = look(run, cell, scratch, &wrong, &err);
    free(scratch);
    if (!ok)
        return gpu_run_failed(run, cell, NULL, &err);
    run->report->paths++;
    run->report->wrong += wrong.count > 0;
    probe_why_write(&err.why,
                    "%llu of %llu words of 8 bytes that %s moved are wrong, the first at byte %llu",
                    (unsigned long long)wrong.count, (unsigned long long)WORDS,
                    names[cell->variant], (unsigned long long)wrong.first * 8);
    return wrong.count == 0 || gpu_report_finding(run->report, run->node, "wrong-bytes", cell->from,
                                                  cell->to, err.why.text);
}

static bool list_path(const struct gpu_run *run, struct gpu_cells *cells, int from, int to,
                      int variant)
{
    bool by_kernel = variant >= KERNEL_PUSHED, on_host = from < 0 || to < 0;
    struct gpu_cell cell = {
        .metric = on_host ? (by_kernel ? PROBE_HOST_GPU_KERNEL : PROBE_HOST_GPU_COPY_ENGINE)
                          : (by_kernel ? PROBE_GPU_GPU_KERNEL : PROBE_GPU_GPU_COPY_ENGINE),
        .phase = GPU_PHASE_VERIFY,
        .from = from,
        .to = to,
        .variant = variant,
        .is_more = true,
        .measure = measure};
    return gpu_cells_add(run, cells, &cell);
}

bool gpu_verify(const struct gpu_run *run, struct gpu_cells *cells)
{
    bool ok = true;
    for (int a = 0; a < run->node->device_count; a++) {
        for (int i = 0; i < run->node->numa_count; i++)
            for (int variant = ENGINE; variant <= KERNEL_PUSHED; variant += KERNEL_PUSHED)
                ok = ok && list_path(run, cells, a, GPU_PLACE_NUMA(i), variant) &&
                     list_path(run, cells, GPU_PLACE_NUMA(i), a, variant);
        for (int b = 0; b < run->node->device_count; b++)
            for (int variant = ENGINE; a != b && variant <= KERNEL_PULLED; variant++)
                ok = ok && list_path(run, cells, a, b, variant);
    }
    return ok;
}
