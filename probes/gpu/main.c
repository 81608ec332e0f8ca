/* berth-probe-gpu: measures GPUs and prints the measurement record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/options.h"
#include "common/stop.h"
#include "gpu/cells/names.h"
#include "gpu/driver/api.h"
#include "gpu/driver/collective.h"
#include "gpu/driver/image.h"
#include "gpu/explain.h"
#include "gpu/facts/conditions.h"
#include "gpu/facts/facts.h"
#include "gpu/load.h"
#include "gpu/probe.h"
#include "gpu/timing/launch_shapes.h"

#define EXIT_NOTHING 69 /* no driver, or no GPU that can be measured */
#define EXIT_BUG     70

#define QUICK_BUDGET_NS INT64_C(5000000000)
#define FULL_BUDGET_NS  INT64_C(1200000000000)
#define PLACES_MAX      4096
#define SKIPPED_MAX     256
#define SETS_MAX        256

struct options {
    struct gpu_probe_options run;
    const char **places, **skipped, **without, **sets;
    size_t without_count;
    const char *backend;    /* NULL: the first with devices */
    const char *variant[2]; /* axis and value */
    int64_t load_ns;        /* 0: measures */
    const char *explain[2]; /* from, to; NULL none */
    bool table, child, facts;
    const char *root; /* root of facts and conditions; NULL this machine */
};

enum option_key {
    OPT_PROFILE = PROBE_OPTIONS_KEY,
    OPT_METRICS,
    OPT_PLACES,
    OPT_BUDGET,
    OPT_LOAD,
    OPT_SEED,
    OPT_BACKEND,
    OPT_SHAPES,
    OPT_TUNE,
    OPT_SKIP,
    OPT_WITHOUT,
    OPT_SETS,
    OPT_VARIANT,
    OPT_EXPLAIN,
    OPT_FACTS,
    OPT_ROOT,
    OPT_TABLE,
    OPT_CHILD
};

static const struct probe_option list[] = {
    {"profile", "quick|full", "what to measure; quick is seconds (default), full is minutes",
     OPT_PROFILE},
    {"metrics", "NAME,...",
     "only these of host_gpu_*, gpu_gpu_*, copy_latency, memory_bandwidth, ...", OPT_METRICS},
    {"places", "NAME,...", "only what goes from or to one of these: PCI addresses, UUIDs, numa0",
     OPT_PLACES},
    {"budget-ns", "N",
     "take N nanoseconds from when the driver has started (default 5e9 for quick, 1.2e12 for full)",
     OPT_BUDGET},
    {"load-ns", "N", "measure nothing: copy and multiply in all GPUs at once for N nanoseconds",
     OPT_LOAD},
    {"seed", "N", "of what is chosen at random (default 1)", OPT_SEED},
    {"backend", "cuda|hip", "use this driver (default: the first of them that has a GPU)",
     OPT_BACKEND},
    {"shapes", "TEXT", "how kernels are launched, as the conditions of an earlier run say it",
     OPT_SHAPES},
    {"tune", NULL, "find the launch shapes anew, even if those of --shapes hold", OPT_TUNE},
    {"skip", "CELL,...", "do not measure these, \"METRIC FROM TO\" each, which hung before",
     OPT_SKIP},
    {"without", "GPU,...", "do not touch these GPUs: PCI addresses, UUIDs", OPT_WITHOUT},
    {"sets", "SET,...",
     "measure these concurrent copies, too: \"FROM>TO+FROM>TO\" by copy engine, behind "
     "\"kernel/\" by kernel; PCI addresses, UUIDs",
     OPT_SETS},
    {"variant", "NAME", "AMD: no-sdma or xnack, which this process's environment is made for",
     OPT_VARIANT},
    {"explain", "FROM,TO",
     "say what the kernels of FROM wait for on the memory of TO: PCI addresses, UUIDs, numa0",
     OPT_EXPLAIN},
    {"facts", NULL, "print what the drivers say of GPUs and links, touching none of them",
     OPT_FACTS},
    {"root", "DIR",
     "read facts and conditions below DIR: /sys, /proc, /dev and /usr/lib/libnvidia-ml.so.1",
     OPT_ROOT},
    {"table", NULL, "print tables for a person instead of the record", OPT_TABLE},
    {"child", NULL, "end when the program that started this one ends", OPT_CHILD},
};
static const enum probe_metric gpu_metrics[] = {
    PROBE_HOST_GPU_COPY_ENGINE,
    PROBE_HOST_GPU_KERNEL,
    PROBE_GPU_GPU_COPY_ENGINE,
    PROBE_GPU_GPU_KERNEL,
    PROBE_COPY_LATENCY,
    PROBE_GPU_PINGPONG,
    PROBE_GPU_STREAM,
    PROBE_MEMORY_LATENCY,
    PROBE_MEMORY_BANDWIDTH,
    PROBE_MEMORY_NOISE,
    PROBE_KIND_COPY,
    PROBE_COPY_STREAMS,
    PROBE_SHARED_WRITE,
    PROBE_GPU_TOUCH,
    PROBE_ALLOCATION,
    PROBE_COLLECTIVE_BANDWIDTH,
    PROBE_COLLECTIVE_LATENCY,
    PROBE_MATRIX_PRODUCT,
    PROBE_HOST_GPU_COPY_ENGINE_CONCURRENT,
    PROBE_HOST_GPU_KERNEL_CONCURRENT,
    PROBE_GPU_GPU_COPY_ENGINE_CONCURRENT,
    PROBE_GPU_GPU_KERNEL_CONCURRENT,
};
static const struct probe_options command = {
    .program = "berth-probe-gpu",
    .about = "Measures copies and kernels between GPUs, the host's memory and each GPU's own.",
    .list = list,
    .count = sizeof list / sizeof *list,
    .metrics = gpu_metrics,
    .metric_count = sizeof gpu_metrics / sizeof *gpu_metrics,
    .built = gpu_image_included,
};

static int usage(const char *what, const char *text)
{
    return probe_options_usage(&command, what, text);
}

static int take_word(const char *text, const char *first, const char *second, const char *what,
                     bool *ret_second)
{
    *ret_second = strcmp(text, second) == 0;
    return *ret_second || strcmp(text, first) == 0 ? -1 : usage(what, text);
}

static int take_option(int key, char *text, void *arg)
{
    struct options *options = arg;
    struct gpu_selection *selection = &options->run.selection;
    int64_t number;
    size_t count = 0;
    bool second;
    int status;
    switch (key) {
    case OPT_PROFILE:
        status = take_word(text, "quick", "full", "--profile is quick or full, not", &second);
        selection->profile = second ? GPU_FULL : GPU_QUICK;
        return status;
    case OPT_METRICS:
        return probe_options_metrics(&command, text, selection->metrics);
    case OPT_PLACES:
        return probe_options_names(text, PLACES_MAX, options->places, &selection->place_count)
                   ? -1
                   : usage("--places takes 1 to 4096 names", NULL);
    case OPT_BUDGET:
        return probe_options_integer(text, 1, &options->run.budget_ns)
                   ? -1
                   : usage("--budget-ns is not a number above 0", text);
    case OPT_LOAD:
        return probe_options_integer(text, 1, &options->load_ns)
                   ? -1
                   : usage("--load-ns is not a number above 0", text);
    case OPT_SEED:
        if (!probe_options_integer(text, 0, &number))
            return usage("--seed is not a number from 0 on", text);
        selection->seed = (uint64_t)number;
        return -1;
    case OPT_BACKEND:
        status = take_word(text, "cuda", "hip", "--backend is cuda or hip, not", &second);
        options->backend = text;
        return status;
    case OPT_SHAPES:
        options->run.shapes = text;
        return -1;
    case OPT_TUNE:
        options->run.tunes_anew = true;
        return -1;
    case OPT_SKIP:
        return probe_options_names(text, SKIPPED_MAX, options->skipped, &selection->skipped_count)
                   ? -1
                   : usage("--skip takes 1 to 256 cells", NULL);
    case OPT_WITHOUT:
        return probe_options_names(text, GPU_DEVICES_MAX, options->without, &options->without_count)
                   ? -1
                   : usage("--without takes 1 to 64 GPUs", NULL);
    case OPT_SETS:
        return probe_options_names(text, SETS_MAX, options->sets, &selection->set_count)
                   ? -1
                   : usage("--sets takes 1 to 256 sets", NULL);
    case OPT_VARIANT:
        status = take_word(text, "no-sdma", "xnack", "--variant is no-sdma or xnack, not", &second);
        options->variant[0] = second ? "xnack" : "sdma";
        options->variant[1] = second ? "on" : "off";
        return status;
    case OPT_EXPLAIN:
        return probe_options_names(text, 2, options->explain, &count) && count == 2
                   ? -1
                   : usage("--explain takes two places", NULL);
    case OPT_FACTS:
        options->facts = true;
        return -1;
    case OPT_ROOT:
        options->root = text;
        return -1;
    case OPT_TABLE:
        options->table = true;
        return -1;
    default:
        options->child = true;
        return -1;
    }
}

static int parse_options(int argc, char **argv, struct options *options)
{
    int status = probe_options_parse(&command, argc, argv, take_option, options);
    if (status >= 0)
        return status;
    struct gpu_selection *selection = &options->run.selection;
    if (options->variant[0] != NULL) {
        if (options->backend != NULL && strcmp(options->backend, "hip") != 0)
            return usage("--variant is of AMD's driver, --backend hip, not", options->backend);
        options->backend = "hip";
    }
    if (options->load_ns > 0 && options->table)
        return usage("--table shows no load", NULL);
    if (options->run.shapes != NULL && !options->child && !gpu_tune_is_text(options->run.shapes))
        return usage("--shapes is not what the conditions of a run say, \"MODEL/DRIVER: read "
                     "512x132u4 write ... copy ...\", but",
                     options->run.shapes);
    status = probe_options_settle_metrics(&command, options->child, selection->metrics);
    if (status >= 0)
        return status;
    if (options->run.budget_ns == 0)
        options->run.budget_ns = selection->profile == GPU_FULL ? FULL_BUDGET_NS : QUICK_BUDGET_NS;
    selection->places = options->places;
    selection->skipped = options->skipped;
    selection->sets = options->sets;
    return -1;
}

/* Opens the first driver that is there and has devices, of those selected; else why gets the fault
 * of each. */
static struct gpu_api *open_node(const struct options *options, struct gpu_node *ret_node,
                                 struct probe_why *why)
{
    struct gpu_api *(*const makers[])(struct probe_why *) = {gpu_cuda_new, gpu_hip_new};
    static const char *const names[] = {"cuda", "hip"};
    struct probe_why whys[2] = {0};
    for (int i = 0; i < 2; i++) {
        if (options->backend != NULL && strcmp(options->backend, names[i]) != 0)
            continue;
        struct gpu_api *api = makers[i](&whys[i]);
        if (api != NULL &&
            gpu_node_open(api, "", NULL, options->without_count > 0 ? options->without : NULL,
                          ret_node, &whys[i]))
            return api;
        gpu_api_free(api);
    }
    if (whys[0].text[0] != '\0' && whys[1].text[0] != '\0')
        probe_why_write(why, "%.96s; %.96s", whys[0].text, whys[1].text);
    else
        *why = whys[0].text[0] != '\0' ? whys[0] : whys[1];
    return NULL;
}

static bool any_usable(const struct gpu_node *node, struct probe_why *why)
{
    for (int i = 0; i < node->device_count; i++)
        if (node->device[i].usable)
            return true;
    return probe_why_set(why, "%s: %.150s", node->device[0].name, node->device[0].why.text);
}

/* Explains a transfer with open devices. */
static int explain_opened(const struct options *options, struct gpu_node *node,
                          struct probe_out *out)
{
    struct probe_why why = {0};
    switch (gpu_explain(node, options->explain[0], options->explain[1], options->run.shapes, out,
                        &why)) {
    case GPU_EXPLAIN_DONE:
        return 0;
    case GPU_EXPLAIN_NO_PLACE:
        return usage(why.text, NULL);
    default:
        fprintf(stderr, "berth-probe-gpu: %s\n", why.text);
        fflush(stdout);
        _exit(EXIT_BUG); /* closing a lost device may hang */
    }
}

/* Measures with open devices. Closing a lost device may hang, so the process ends without closing
 * it. */
static int measure_opened(const struct options *options, struct gpu_node *node,
                          struct gpu_conditions *conditions, struct probe_out *out)
{
    struct gpu_report report = {.out = out, .variant = {options->variant[0], options->variant[1]}};
    struct gpu_times times = gpu_times_from(options->run.started_ns);
    struct gpu_probe_options run = options->run;
    struct probe_why why = {0};
    char unknown[GPU_NAMES_TEXT];
    if (!options->child &&
        !gpu_names_check(node, &run.selection, options->without, unknown, sizeof unknown)) {
        fprintf(stderr, "berth-probe-gpu: %s\n", unknown);
        return PROBE_OPTIONS_USAGE;
    }
    run.conditions = conditions;
    gpu_times_opened(&times, node->driver_ns, node->open_ns, probe_clock_ns());
    enum gpu_probe_status status = options->load_ns > 0
                                       ? gpu_load_run(node, &run, options->load_ns, &report, &why)
                                       : gpu_probe_run(node, &run, &report, &times, &why);
    if (status == GPU_PROBE_FAILED)
        fprintf(stderr, "berth-probe-gpu: %s\n", why.text);
    if (status != GPU_PROBE_GONE)
        gpu_probe_end(&report, node, &run, status, &times);
    int64_t elapsed_ns = probe_clock_ns() - run.started_ns;
    if (options->table && status != GPU_PROBE_FAILED &&
        !(gpu_report_print(&report, stdout) && gpu_times_summary(&times, elapsed_ns, stdout)))
        status = GPU_PROBE_FAILED;
    fflush(stdout);
    if (status == GPU_PROBE_FAILED || status == GPU_PROBE_GONE)
        _exit(EXIT_BUG);
    gpu_report_done(&report);
    return 0;
}

static int measure(const struct options *options, struct probe_out *out)
{
    struct gpu_conditions conditions = {0};
    struct probe_why why = {0};
    struct gpu_node *node = calloc(1, sizeof *node);
    int status = EXIT_NOTHING;
    if (out != NULL)
        gpu_conditions_begin(&conditions, options->root != NULL ? options->root : "");
    struct gpu_api *api = node == NULL ? NULL : open_node(options, node, &why);
    if (api != NULL && any_usable(node, &why))
        status = options->explain[0] != NULL ? explain_opened(options, node, out)
                                             : measure_opened(options, node, &conditions, out);
    else
        fprintf(stderr, "berth-probe-gpu: %s\n", node == NULL ? "out of memory" : why.text);
    if (api != NULL)
        gpu_node_close(node);
    gpu_api_free(api);
    gpu_conditions_done(&conditions);
    free(node);
    return status;
}

static int print_facts(const char *root, struct probe_out *out)
{
    struct probe_why why = {0};
    int status = gpu_facts_print(root != NULL ? root : "", out, &why);
    if (why.text[0] != '\0')
        fprintf(stderr, "berth-probe-gpu: %s\n", why.text);
    return status;
}

int main(int argc, char **argv)
{
    gpu_collective_environment();
    struct options options = {.run = {.started_ns = probe_clock_ns(), .selection = {.seed = 1}}};
    options.places = calloc(PLACES_MAX, sizeof *options.places);
    options.skipped = calloc(SKIPPED_MAX, sizeof *options.skipped);
    options.without = calloc(GPU_DEVICES_MAX + 1, sizeof *options.without);
    options.sets = calloc(SETS_MAX, sizeof *options.sets);
    bool room = options.places != NULL && options.skipped != NULL && options.without != NULL &&
                options.sets != NULL;
    int status = room ? parse_options(argc, argv, &options) : EXIT_BUG;
    struct probe_out out = {.fd = STDOUT_FILENO, .gate = PTHREAD_MUTEX_INITIALIZER};
    struct probe_stop stop = {.out = options.table ? NULL : &out,
                              .started_ns = options.run.started_ns};
    struct probe_why why = {0};
    if (status < 0) {
        if (probe_stop_prepare(options.child, &why) && probe_stop_start(&stop, &why)) {
            status = options.facts ? print_facts(options.root, &out) : measure(&options, stop.out);
        } else {
            fprintf(stderr, "berth-probe-gpu: %s\n", why.text);
            status = EXIT_BUG;
        }
    }
    free(options.places);
    free(options.skipped);
    free(options.without);
    free(options.sets);
    return status;
}
