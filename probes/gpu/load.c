#include "gpu/load.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/load.h"
#include "gpu/cells/cells.h"
#include "gpu/facts/conditions.h"
#include "gpu/timing/launch_shapes.h"
#include "gpu/timing/path.h"

#define DEVICE_BYTES ((size_t)1 << 30)
#define HOST_BYTES   ((size_t)2 << 20) /* no flow uses the host's memory */
#define ROUND_NS     50e6              /* aim for one trial of copies, and for one of products */
#define FIRST_COUNT  4
#define MOST_COUNT   512

/* A device under load. */
struct stream {
    int device;
    double bytes, copy_ns;   /* of this interval: read and written, and the time that it took */
    double flop, product_ns; /* likewise */
    struct gpu_cells_product_job product;
    unsigned products; /* of one trial; 0: the device computes none */
};

struct load {
    struct gpu_node *node;
    struct gpu_report *report;
    struct gpu_conditions *conditions;
    struct gpu_trial *trial;
    struct gpu_buffers *buffers;
    struct gpu_flow flow[GPU_DEVICES_MAX]; /* of stream[i] */
    struct stream stream[GPU_DEVICES_MAX];
    size_t count;
    struct gpu_conditions_now now[GPU_DEVICES_MAX]; /* by device */
    int64_t began_ns;
};

/* A kernel copies, where there are kernels; else the copy engine. */
static bool add_devices(struct load *load)
{
    bool ok = true;
    for (int i = 0; ok && i < load->node->device_count; i++) {
        struct gpu_path path = {.mechanism = GPU_BY_KERNEL, .operation = GPU_OPERATION_COPY};
        struct gpu_flow *flow = &load->flow[load->count];
        struct probe_why why;
        bool has_flow = gpu_path_flow(load->buffers, &path, i, i, flow, &why);
        if (!has_flow) {
            path.mechanism = GPU_BY_ENGINE;
            has_flow = gpu_path_flow(load->buffers, &path, i, i, flow, &why);
        }
        if (!has_flow) {
            ok = probe_load_left_out(load->node->device[i].name, why.text, load->report->out);
            continue;
        }
        flow->op.bytes = flow->span;
        flow->count = FIRST_COUNT;
        load->stream[load->count++] = (struct stream){.device = i};
    }
    return ok;
}

/* Lays out the matrices of a device in its two buffers. */
static bool lay_product(struct load *load, struct stream *stream, struct probe_why *why)
{
    struct gpu_memory first, second;
    if (!gpu_buffers_device(load->buffers, stream->device, 0, &first, why) ||
        !gpu_buffers_device(load->buffers, stream->device, 1, &second, why))
        return false;
    uint64_t n = gpu_cells_product_side(first.bytes < second.bytes ? first.bytes : second.bytes,
                                        sizeof(float));
    stream->product =
        (struct gpu_cells_product_job){.node = load->node,
                                       .device = stream->device,
                                       .args = {.a = first.address,
                                                .b = first.address + n * n * sizeof(float),
                                                .c = second.address,
                                                .n = n}};
    return n > 0;
}

static void free_libraries(struct load *load)
{
    for (size_t i = 0; i < load->count; i++) {
        gpu_blas_free(load->stream[i].product.blas);
        load->stream[i].product.blas = NULL;
    }
}

/* Prepares products on all devices: by the library if each has it, so that they can be compared,
 * else by the probe's kernel. A device with neither only copies. False: a device is lost. */
static bool add_products(struct load *load, struct gpu_err *err)
{
    struct probe_why why;
    bool have_library = true;
    for (size_t i = 0; i < load->count; i++) {
        struct stream *stream = &load->stream[i];
        stream->products = lay_product(load, stream, &why) ? 1 : 0;
        have_library = have_library && stream->products > 0 &&
                       gpu_blas_new(load->node, stream->device, &stream->product.blas, &why);
    }
    if (!have_library)
        free_libraries(load);
    for (size_t i = 0; i < load->count; i++) {
        struct stream *stream = &load->stream[i];
        bool can =
            stream->products > 0 &&
            (have_library || load->node->device[stream->device].kernel[GPU_KERNEL_PRODUCT] != NULL);
        err->fault = GPU_FAULT_NONE;
        stream->products = can && gpu_cells_product_warm_up(&stream->product, err);
        if (err->fault == GPU_FAULT_LOST)
            return false;
    }
    return true;
}

static void *read_now(void *arg)
{
    struct load *load = arg;
    gpu_conditions_read_now(load->conditions, load->node, load->now);
    return NULL;
}

/* As many operations as take one trial, where one takes so long. */
static unsigned count_for(double each_ns)
{
    return each_ns * MOST_COUNT < ROUND_NS ? MOST_COUNT
           : each_ns > ROUND_NS            ? 1
                                           : (unsigned)(ROUND_NS / each_ns);
}

static bool copy(struct load *load, struct gpu_err *err)
{
    if (!gpu_trial_run(load->trial, load->flow, load->count, err))
        return false;
    for (size_t i = 0; i < load->count; i++) {
        struct gpu_flow *flow = &load->flow[i];
        load->stream[i].bytes += 2 * (double)flow->op.bytes * flow->count;
        load->stream[i].copy_ns += flow->ns;
        flow->count = count_for(flow->ns / flow->count);
    }
    return true;
}

static int enqueue_products(void *arg, gpu_stream queue)
{
    struct stream *stream = arg;
    int code = 0;
    for (unsigned i = 0; i < stream->products && code == 0; i++)
        code = gpu_cells_product_enqueue(&stream->product, queue);
    return code;
}

static bool multiply(struct load *load, struct gpu_err *err)
{
    struct gpu_task tasks[GPU_DEVICES_MAX];
    struct stream *of[GPU_DEVICES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < load->count; i++)
        if (load->stream[i].products > 0) {
            of[count] = &load->stream[i];
            tasks[count++] =
                (struct gpu_task){load->stream[i].device, enqueue_products, &load->stream[i], 0};
        }
    if (count > 0 && !gpu_trial_tasks(load->trial, tasks, count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        double n = (double)of[i]->product.args.n;
        of[i]->flop += 2 * n * n * n * of[i]->products;
        of[i]->product_ns += tasks[i].ns;
        of[i]->products = count_for(tasks[i].ns / of[i]->products);
    }
    return true;
}

/* All devices copy, then all compute. Each gets as many operations for the next round as it does
 * in the same time. reads: the devices' clocks are read while they compute. */
static bool run_round(struct load *load, bool reads, struct gpu_err *err)
{
    pthread_t reader;
    if (!copy(load, err))
        return false;
    bool has_reader = reads && pthread_create(&reader, NULL, read_now, load) == 0;
    bool ok = multiply(load, err);
    if (has_reader)
        pthread_join(reader, NULL);
    return ok;
}

static bool print_interval(struct load *load)
{
    bool ok = true;
    for (size_t i = 0; ok && i < load->count; i++) {
        struct stream *stream = &load->stream[i];
        const struct gpu_conditions_now *now = &load->now[stream->device];
        if (stream->copy_ns > 0)
            ok = probe_load_print(
                &(struct probe_load){.place = load->node->device[stream->device].name,
                                     .at_ns = probe_clock_ns() - load->began_ns,
                                     .bytes_per_s = stream->bytes / stream->copy_ns * 1e9,
                                     .flop_per_s = stream->product_ns > 0
                                                       ? stream->flop / stream->product_ns * 1e9
                                                       : -1,
                                     .clock_mhz = now->clock_mhz,
                                     .power_mw = now->power_mw,
                                     .temperature_c = now->temperature_c,
                                     .throttle = now->throttle},
                load->report->out);
        stream->bytes = stream->copy_ns = stream->flop = stream->product_ns = 0;
    }
    return ok;
}

static enum gpu_probe_status run(struct load *load, int64_t duration_ns, struct gpu_err *err)
{
    int64_t interval_ns = probe_load_interval_ns(duration_ns), end_ns, next_ns;
    if (!add_products(load, err) || !run_round(load, false, err)) /* warms up */
        return GPU_PROBE_FAILED;
    for (size_t i = 0; i < load->count; i++)
        load->stream[i].bytes = load->stream[i].copy_ns = load->stream[i].flop =
            load->stream[i].product_ns = 0;
    load->began_ns = probe_clock_ns();
    end_ns = load->began_ns + duration_ns;
    for (next_ns = load->began_ns + interval_ns; next_ns <= end_ns; next_ns += interval_ns) {
        bool is_first = true;
        do {
            if (!run_round(load, is_first, err))
                return GPU_PROBE_FAILED;
            is_first = false;
        } while (probe_clock_ns() < next_ns);
        if (!print_interval(load))
            return GPU_PROBE_GONE;
    }
    return GPU_PROBE_COMPLETE;
}

/* Reports a lost device at the place that the driver's call names. */
static bool report_lost(const struct load *load, const struct gpu_err *err)
{
    for (int i = 0; i < load->node->device_count; i++)
        if (strncmp(err->why.text, load->node->device[i].name,
                    strlen(load->node->device[i].name)) == 0)
            return gpu_report_finding(load->report, load->node, "gpu-lost", i, i, err->why.text);
    return true;
}

enum gpu_probe_status gpu_load_run(struct gpu_node *node, const struct gpu_probe_options *options,
                                   int64_t duration_ns, struct gpu_report *report,
                                   struct probe_why *why)
{
    struct load *load = calloc(1, sizeof *load);
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    enum gpu_probe_status status = GPU_PROBE_FAILED;
    int driver = 0;
    if (load == NULL) {
        probe_why_write(why, "out of memory");
        return status;
    }
    load->node = node;
    load->report = report;
    load->conditions = options->conditions;
    (void)node->api->version(node->api, &driver); /* stays 0 */
    gpu_tune_default(node);
    if (options->shapes != NULL)
        gpu_tune_parse(node, driver, options->shapes, false);
    const char *backend = node->api->is_standin ? "standin" : node->api->name;
    if (!probe_load_begin("gpu", backend, report->out))
        status = GPU_PROBE_GONE;
    else if (!gpu_trial_new(node, &load->trial, &err) ||
             !gpu_buffers_new(node, HOST_BYTES, DEVICE_BYTES, &load->buffers, &err.why))
        status = GPU_PROBE_FAILED;
    else if (!add_devices(load))
        status = GPU_PROBE_GONE;
    else
        status = load->count > 0 ? run(load, duration_ns, &err) : GPU_PROBE_COMPLETE;
    if (status == GPU_PROBE_FAILED)
        *why = err.why;
    if (status == GPU_PROBE_FAILED && err.fault == GPU_FAULT_LOST)
        return report_lost(load, &err) ? status : GPU_PROBE_GONE; /* closing it may hang */
    free_libraries(load);
    gpu_buffers_free(load->buffers);
    gpu_trial_free(load->trial);
    free(load);
    return status;
}
