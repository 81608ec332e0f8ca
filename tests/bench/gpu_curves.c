/*
 * How well curves say what was not measured: gpu_curves RECORD [SEED] [PER_CURVE_MS]. RECORD is
 * what berth-probe-gpu printed on this machine.
 *
 * Each curve of copies or kernels between GPUs, and between a GPU and pinned host memory, is fitted
 * as the daemon fits it. Then one size of each octave from 4 KiB to 1 GiB, drawn at random, is
 * measured queued (gpu_rate_times) and as the caller's clock sees it (gpu_rate_calls), and compared
 * with the curve, and with what that makes of a call (curve_fit_called_ns). Prints a line for each
 * curve and one for all: median, 95th percentile and worst of |predicted / measured - 1|; and how
 * many single calls are as near to what was predicted of them as the record says that 95 % are
 * (t0_call_low_ns, t0_call_high_ns, and the curve's own error). Exit status: 0 all within 3 % in
 * the median and 10 % at the 95th percentile, 1 not, 64 wrong usage, 70 nothing could be measured.
 */
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "gpu/driver/api.h"
#include "gpu/timing/launch_shapes.h"
#include "gpu/timing/path.h"
#include "gpu/timing/rate.h"
#include "node/curve_fit.h"

#define LEAST_BYTES (UINT64_C(4) << 10)
#define OCTAVES     18
#define CURVES_MAX  1024
#define MEDIAN      0.03
#define TAIL        0.10

/* What starting one costs, as the record says it; NAN absent. */
struct starts {
    double call_ns, call_half_ns, queue_ns;
};

struct errors {
    double item[OCTAVES * CURVES_MAX];
    size_t count;
};

struct bench {
    struct gpu_node node;
    struct gpu_trial *trial;
    struct gpu_buffers *buffers;
    struct gpu_caller_cpus caller_cpus; /* of the device whose curve is looked at */
    struct probe_random random;
    struct errors queued, called;
    size_t calls, calls_within; /* of those of which the record says how far they are apart */
    int64_t budget_ns;
    bool all; /* print every size */
};

static _Noreturn __attribute__((format(printf, 2, 3))) void die(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("gpu_curves: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(status);
}

static struct gpu_api *open_node(struct gpu_node *node)
{
    struct gpu_api *(*const makers[])(struct probe_why *) = {gpu_cuda_new, gpu_hip_new};
    struct probe_why why = {0};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        struct gpu_api *api = makers[i](&why);
        if (api != NULL && gpu_node_open(api, "", NULL, NULL, node, &why))
            return api;
        gpu_api_free(api);
    }
    die(70, "%s", why.text);
}

/* A device's index, or a NUMA node as a cell's place; false: neither is here. */
static bool place_of(const struct gpu_node *node, const char *name, int *ret_place)
{
    for (int i = 0; i < node->device_count; i++)
        if (strcmp(node->device[i].name, name) == 0) {
            *ret_place = i;
            return true;
        }
    for (int i = 0; strncmp(name, "numa", 4) == 0 && i < node->numa_count; i++)
        if (node->numa[i] == atoi(name + 4)) {
            *ret_place = GPU_PLACE_NUMA(i);
            return true;
        }
    return false;
}

/* The way that a record's metric and axes name; false: not one of those that are looked at. */
static bool path_of(const char *metric, json_t *axes, struct gpu_path *ret_path)
{
    bool by_engine =
        strcmp(metric, "host_gpu_copy_engine") == 0 || strcmp(metric, "gpu_gpu_copy_engine") == 0;
    if (!by_engine && strcmp(metric, "host_gpu_kernel") != 0 &&
        strcmp(metric, "gpu_gpu_kernel") != 0)
        return false;
    const char *how = json_string_value(json_object_get(axes, "operation")),
               *direction = json_string_value(json_object_get(axes, "direction"));
    *ret_path = (struct gpu_path){.mechanism = by_engine ? GPU_BY_ENGINE : GPU_BY_KERNEL,
                                  .operation = GPU_OPERATION_COPY};
    bool pulls = how != NULL && strcmp(how, "pull") == 0; /* a kernel's copy the other way round */
    if (how != NULL && !pulls)
        ret_path->operation = strcmp(how, "read") == 0 ? GPU_OPERATION_READ : GPU_OPERATION_WRITE;
    ret_path->pulled = pulls || (direction != NULL && strcmp(direction, "read") == 0);
    return json_object_size(axes) == (how != NULL ? 1u : 0u) + (direction != NULL ? 1u : 0u);
}

static bool fit(json_t *samples, struct curve_fit *ret_fit)
{
    struct curve_sample sizes[CURVE_SIZES_MAX];
    size_t count = json_array_size(samples);
    if (count > CURVE_SIZES_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        json_t *sample = json_array_get(samples, i), *low = json_object_get(sample, "low_ns"),
               *high = json_object_get(sample, "high_ns");
        sizes[i] = (struct curve_sample){
            json_integer_value(json_object_get(sample, "bytes")),
            json_number_value(json_object_get(sample, "median_ns")),
            low != NULL && high != NULL ? (json_number_value(high) - json_number_value(low)) / 2
                                        : NAN,
            (uint32_t)json_integer_value(json_object_get(sample, "n"))};
    }
    return curve_fit(sizes, count, ret_fit);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double rank(const struct errors *errors, double share)
{
    size_t at = (size_t)ceil(share * (double)errors->count);
    return errors->item[at > 0 ? at - 1 : 0] * 100;
}

/* Sorts; the errors from first on only. */
static void print_errors(const char *what, struct errors *errors, size_t first)
{
    struct errors *part = malloc(sizeof *part);
    if (part == NULL)
        die(70, "out of memory");
    part->count = errors->count - first;
    memcpy(part->item, errors->item + first, part->count * sizeof *part->item);
    qsort(part->item, part->count, sizeof *part->item, compare);
    if (part->count > 0)
        printf("  %s %5.1f %5.1f %5.1f", what, rank(part, 0.5), rank(part, 0.95), rank(part, 1));
    free(part);
}

static void note(struct errors *errors, double predicted, double measured)
{
    errors->item[errors->count++] = fabs(predicted / measured - 1);
}

static void note_calls(struct bench *bench, const double *ns, unsigned count, double predicted,
                       double half)
{
    for (unsigned i = 0; i < count && !isnan(half); i++) {
        bench->calls++;
        bench->calls_within += fabs(ns[i] - predicted) <= half;
    }
}

/* One size that the curve was not told. */
static bool try_size(struct bench *bench, const struct gpu_flow *flow, uint64_t bytes,
                     const struct curve_fit *curve, const struct starts *starts,
                     struct gpu_err *err)
{
    struct gpu_op op = flow->op;
    struct probe_sample sample = {.bytes = (int64_t)bytes};
    double calls[GPU_RATE_CALLS];
    unsigned count = GPU_RATE_CALLS;
    size_t one = 1;
    op.bytes = bytes;
    const struct gpu_timing timing = {bench->trial, &bench->caller_cpus, &bench->random,
                                      bench->budget_ns};
    if (!gpu_rate_times(&timing, &op, flow->span, &sample, &one, err) ||
        !gpu_rate_calls(&timing, &op, 1, calls, &count, err))
        return false;
    double predicted = curve_fit_time_ns(curve, (double)bytes),
           called = curve_fit_called_ns(predicted, starts->call_ns, starts->queue_ns);
    note(&bench->queued, predicted, sample.ns.value);
    note_calls(bench, calls, count, called,
               hypot(starts->call_half_ns, curve_fit_spread(curve, (double)bytes) * predicted));
    double median = probe_stats_quantile(calls, count, 0.5).value;
    if (!isnan(called))
        note(&bench->called, called, median);
    if (bench->all)
        printf("    %11llu bytes: queued %.0f, predicted %.0f (%+.1f %%); called %.0f, predicted "
               "%.0f (%+.1f %%)\n",
               (unsigned long long)bytes, sample.ns.value, predicted,
               (predicted / sample.ns.value - 1) * 100, median, called,
               (called / median - 1) * 100);
    return true;
}

static double number_of(json_t *record, const char *key)
{
    json_t *number = json_object_get(record, key);
    return number != NULL ? json_number_value(number) : NAN;
}

static void try_curve(struct bench *bench, json_t *record)
{
    struct gpu_path path;
    struct gpu_flow flow;
    struct curve_fit curve;
    struct gpu_err err = {0};
    int from, to;
    json_t *axes = json_object_get(record, "axes");
    const char *metric = json_string_value(json_object_get(record, "metric")),
               *names[] = {json_string_value(json_object_get(record, "from")),
                           json_string_value(json_object_get(record, "to"))};
    if (!path_of(metric, axes, &path) || !place_of(&bench->node, names[0], &from) ||
        !place_of(&bench->node, names[1], &to) || from == to ||
        bench->queued.count > OCTAVES * (CURVES_MAX - 1))
        return;
    char *text = json_dumps(axes, JSON_COMPACT);
    printf("%-20s %-14s %-14s %-20s", metric, names[0], names[1], text);
    free(text);
    bool ok = fit(json_object_get(record, "samples"), &curve);
    if (!ok || !gpu_path_flow(bench->buffers, &path, from, to, &flow, &err.why)) {
        printf("  %s\n", ok ? err.why.text : "no curve");
        return;
    }
    gpu_caller_cpus_choose("", bench->node.numa[gpu_node_near(&bench->node, flow.op.device)],
                           &bench->caller_cpus);
    size_t first[] = {bench->queued.count, bench->called.count};
    struct starts starts = {
        number_of(record, "t0_call_ns"),
        (number_of(record, "t0_call_high_ns") - number_of(record, "t0_call_low_ns")) / 2,
        number_of(record, "t0_queue_ns")};
    if (bench->all)
        putchar('\n');
    for (int i = 0; ok && i < OCTAVES; i++) {
        uint64_t octave = LEAST_BYTES << i,
                 bytes = octave + probe_random_below(&bench->random, octave / 16) * 16;
        if (bytes <= flow.span)
            ok = try_size(bench, &flow, bytes, &curve, &starts, &err);
    }
    print_errors("queued", &bench->queued, first[0]);
    print_errors("called", &bench->called, first[1]);
    printf("  %s\n", ok ? "" : err.why.text);
}

static bool is_met(const char *what, struct errors *errors)
{
    qsort(errors->item, errors->count, sizeof *errors->item, compare);
    if (errors->count == 0)
        die(70, "no curve in the record that is of this machine");
    bool met = rank(errors, 0.5) <= MEDIAN * 100 && rank(errors, 0.95) <= TAIL * 100;
    printf("%s, %zu sizes: median %.1f %%, 95th percentile %.1f %%, worst %.1f %%, target 3 %% and "
           "10 %%: %s\n",
           what, errors->count, rank(errors, 0.5), rank(errors, 0.95), rank(errors, 1),
           met ? "met" : "NOT met");
    return met;
}

int main(int argc, char **argv)
{
    FILE *file = argc >= 2 ? fopen(argv[1], "re") : NULL;
    struct bench *bench = calloc(1, sizeof *bench);
    if (file == NULL || bench == NULL)
        die(64, "gpu_curves RECORD [SEED] [PER_SIZE_MS] [all]");
    bench->budget_ns = (argc > 3 ? atoll(argv[3]) : 5) * 1000000;
    bench->all = argc > 4;
    bench->random = (struct probe_random){argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
    struct gpu_api *api = open_node(&bench->node);
    int driver = 0;
    (void)api->version(api, &driver);
    gpu_tune_default(&bench->node);
    struct gpu_err err = {0};
    if (!gpu_trial_new(&bench->node, &bench->trial, &err) ||
        !gpu_buffers_new(&bench->node, (size_t)1 << 30, (size_t)1 << 30, &bench->buffers, &err.why))
        die(70, "%s", err.why.text);
    json_t *records = json_array();
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) > 0) {
        json_t *record = json_loads(line, 0, NULL);
        const char *shapes =
            json_string_value(json_object_get(json_object_get(record, "conditions"), "shapes"));
        if (shapes != NULL)
            gpu_tune_parse(&bench->node, driver, shapes, false);
        if (json_is_array(json_object_get(record, "samples")))
            json_array_append(records, record);
        json_decref(record);
    }
    puts("off by, in percent: median, 95th percentile, worst of sizes from 4 KiB to 1 GiB that "
         "were not measured");
    for (size_t i = 0; i < json_array_size(records); i++)
        try_curve(bench, json_array_get(records, i));
    bool queued = is_met("queued", &bench->queued), called = is_met("called", &bench->called);
    if (bench->calls > 0)
        printf("single calls, %zu: %.1f %% within what the record says of 95 %%\n", bench->calls,
               100 * (double)bench->calls_within / (double)bench->calls);
    gpu_buffers_free(bench->buffers);
    gpu_trial_free(bench->trial);
    gpu_node_close(&bench->node);
    gpu_api_free(api);
    json_decref(records);
    free(line);
    fclose(file);
    free(bench);
    return queued && called ? 0 : 1;
}
