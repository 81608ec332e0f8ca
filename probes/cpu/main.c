/* berth-probe-cpu: measures cores and memory and prints the measurement record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/options.h"
#include "common/stop.h"
#include "cpu/load.h"
#include "cpu/report.h"
#include "cpu/run.h"

#define EXIT_BUG 70

#define QUICK_BUDGET_NS INT64_C(2800000000)
#define FULL_BUDGET_NS  INT64_C(1200000000000)
#define PLACES_MAX      4096

struct options {
    struct cpu_run_options run;
    struct cpu_list cpus;
    const char **places, **without;
    int64_t load_ns; /* 0: measures */
    bool has_cpus, table, child;
};

enum option_key {
    OPT_PROFILE = PROBE_OPTIONS_KEY,
    OPT_METRICS,
    OPT_CPUS,
    OPT_PLACES,
    OPT_WITHOUT,
    OPT_BUDGET,
    OPT_LOAD,
    OPT_SEED,
    OPT_TABLE,
    OPT_ROOT,
    OPT_CHILD
};

static const struct probe_option list[] = {
    {"profile", "quick|full", "what to measure; quick is seconds (default), full is minutes",
     OPT_PROFILE},
    {"metrics", "NAME,...",
     "only these: cpu_pingpong, cpu_copy, cpu_queue, memory_bandwidth, memory_latency, "
     "memory_noise",
     OPT_METRICS},
    {"cpus", "LIST", "run on these CPUs only, as in 0-3,8", OPT_CPUS},
    {"places", "NAME,...", "only what goes from or to one of these, as in core0,numa1", OPT_PLACES},
    {"without", "NAME,...", "nothing from or to one of these, as in numa1", OPT_WITHOUT},
    {"budget-ns", "N", "end after N nanoseconds (default 2.8e9 for quick, 1.2e12 for full)",
     OPT_BUDGET},
    {"load-ns", "N",
     "measure nothing: copy in the memory of all NUMA nodes at once for N nanoseconds", OPT_LOAD},
    {"seed", "N", "of what is chosen at random (default 1)", OPT_SEED},
    {"table", NULL, "print tables for a person instead of the record", OPT_TABLE},
    {"root", "DIR", "read /sys and /proc below DIR", OPT_ROOT},
    {"child", NULL, "end when the program that started this one ends", OPT_CHILD},
};
static const enum probe_metric cpu_metrics[] = {PROBE_CPU_PINGPONG,   PROBE_CPU_COPY,
                                                PROBE_CPU_QUEUE,      PROBE_MEMORY_BANDWIDTH,
                                                PROBE_MEMORY_LATENCY, PROBE_MEMORY_NOISE};
static const struct probe_options command = {
    .program = "berth-probe-cpu",
    .about =
        "Measures ping-pong, copies and queues between cores, and bandwidth and latency of memory.",
    .list = list,
    .count = sizeof list / sizeof *list,
    .metrics = cpu_metrics,
    .metric_count = sizeof cpu_metrics / sizeof *cpu_metrics,
};

static int usage(const char *what, const char *text)
{
    return probe_options_usage(&command, what, text);
}

static int take_option(int key, char *text, void *arg)
{
    struct options *options = arg;
    int64_t number;
    struct cpu_selection *selection = &options->run.selection;
    switch (key) {
    case OPT_PROFILE:
        if (strcmp(text, "quick") != 0 && strcmp(text, "full") != 0)
            return usage("--profile is quick or full, not", text);
        selection->profile = strcmp(text, "full") == 0 ? CPU_FULL : CPU_QUICK;
        return -1;
    case OPT_METRICS:
        return probe_options_metrics(&command, text, selection->metrics);
    case OPT_CPUS:
        options->has_cpus = true;
        return cpu_list_parse(text, &options->cpus) ? -1 : usage("not a list of CPUs", text);
    case OPT_PLACES:
        return probe_options_names(text, PLACES_MAX, options->places, &selection->place_count)
                   ? -1
                   : usage("--places takes 1 to 4096 names", NULL);
    case OPT_WITHOUT:
        return probe_options_names(text, PLACES_MAX, options->without, &selection->without_count)
                   ? -1
                   : usage("--without takes 1 to 4096 names", NULL);
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
    case OPT_TABLE:
        options->table = true;
        return -1;
    case OPT_ROOT:
        options->run.root = text;
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
    struct cpu_selection *selection = &options->run.selection;
    if (options->load_ns > 0) {
        if (options->table)
            return usage("--table shows no load", NULL);
        memset(selection->metrics, 0, sizeof selection->metrics);
        selection->metrics[PROBE_MEMORY_BANDWIDTH] = true;
    }
    status = probe_options_settle_metrics(&command, options->child, selection->metrics);
    if (status >= 0)
        return status;
    if (options->run.budget_ns == 0)
        options->run.budget_ns = selection->profile == CPU_FULL ? FULL_BUDGET_NS : QUICK_BUDGET_NS;
    selection->places = options->places;
    selection->without = options->without;
    return -1;
}

static bool read_topology(const struct options *options, struct cpu_topology *ret_topology,
                          struct probe_why *why)
{
    struct cpu_list cpus, memory;
    bool memory_known;
    if (!cpu_topology_allowed(&cpus, &memory, &memory_known, why))
        return false;
    for (size_t i = 0; options->has_cpus && i < sizeof cpus.word / sizeof *cpus.word; i++)
        cpus.word[i] &= options->cpus.word[i];
    if (cpu_list_next(&cpus, 0) < 0)
        return probe_why_set(why, "this process may run on none of the CPUs asked for");
    return cpu_topology_read(options->run.root, &cpus, memory_known ? &memory : NULL, ret_topology,
                             why);
}

/* Checks the names of a person's list: each must be here. A program that started this one may name
 * places of other probes as well. */
static bool check_names(const struct options *options, const struct cpu_topology *topology,
                        const char *const *asked, size_t count, struct probe_why *why)
{
    char names[120];
    for (size_t i = 0; !options->child && i < count; i++)
        if (!cpu_topology_has(topology, asked[i])) {
            cpu_topology_names(topology, names, sizeof names);
            return probe_why_set(why, "no such core, llc or numa: %.40s; there are %s", asked[i],
                                 names);
        }
    return true;
}

static bool check_places(const struct options *options, const struct cpu_topology *topology,
                         struct probe_why *why)
{
    const struct cpu_selection *selection = &options->run.selection;
    return check_names(options, topology, selection->places, selection->place_count, why) &&
           check_names(options, topology, selection->without, selection->without_count, why);
}

static enum cpu_run_status put_under_load(const struct options *options,
                                          const struct cpu_topology *topology,
                                          const struct cpu_cells *cells, struct probe_out *out,
                                          struct probe_why *why)
{
    struct cpu_workers *workers = cpu_workers_new();
    if (workers == NULL) {
        probe_why_write(why, "out of memory");
        return CPU_RUN_FAILED;
    }
    if (!cpu_load_run(options->run.root, topology, cells, options->load_ns, workers, out, why))
        return why->text[0] != '\0' ? CPU_RUN_FAILED : CPU_RUN_GONE;
    cpu_workers_free(workers);
    return CPU_RUN_COMPLETE;
}

static int measure(const struct options *options, const struct cpu_topology *topology,
                   const struct cpu_cells *cells)
{
    struct probe_out out = {.fd = STDOUT_FILENO, .gate = PTHREAD_MUTEX_INITIALIZER};
    struct cpu_report report = {.out = options->table ? NULL : &out};
    struct probe_stop stop = {.out = report.out, .started_ns = options->run.started_ns};
    struct probe_why why = {0};
    if (!probe_stop_start(&stop, &why)) {
        fprintf(stderr, "berth-probe-cpu: %s\n", why.text);
        return EXIT_BUG;
    }
    enum cpu_run_status status = options->load_ns > 0
                                     ? put_under_load(options, topology, cells, &out, &why)
                                     : cpu_run(topology, cells, &options->run, &report, &why);
    if (status == CPU_RUN_FAILED)
        fprintf(stderr, "berth-probe-cpu: %s\n", why.text);
    if (status != CPU_RUN_GONE)
        cpu_report_end(&report, cpu_run_status_name(status),
                       probe_clock_ns() - options->run.started_ns);
    if (options->table && status != CPU_RUN_FAILED && !cpu_table_print(&report, stdout))
        status = CPU_RUN_FAILED;
    fflush(stdout);
    if (status == CPU_RUN_FAILED || status == CPU_RUN_GONE)
        _exit(EXIT_BUG); /* a worker may be stuck, so exit handlers are left out */
    cpu_report_done(&report);
    return 0;
}

int main(int argc, char **argv)
{
    struct options options = {
        .run = {.root = "", .started_ns = probe_clock_ns(), .selection = {.seed = 1}}};
    options.places = calloc(PLACES_MAX, sizeof *options.places);
    options.without = calloc(PLACES_MAX, sizeof *options.without);
    int status = options.places == NULL || options.without == NULL
                     ? EXIT_BUG
                     : parse_options(argc, argv, &options);
    struct probe_why why = {0};
    struct cpu_topology topology = {0};
    struct cpu_cells cells = {0};
    if (status < 0) {
        if (probe_stop_prepare(options.child, &why) && read_topology(&options, &topology, &why) &&
            check_places(&options, &topology, &why) &&
            cpu_cells_new(&topology, &options.run.selection, &cells, &why)) {
            status = measure(&options, &topology, &cells);
        } else {
            fprintf(stderr, "berth-probe-cpu: %s\n", why.text);
            status = PROBE_OPTIONS_USAGE;
        }
    }
    cpu_cells_done(&cells);
    cpu_topology_done(&topology);
    free(options.places);
    free(options.without);
    return status;
}
