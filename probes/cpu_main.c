/* berth-probe-cpu: measures cores and memory and prints the measurement record. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu_run.h"
#include "cpu_table.h"
#include "probe_clock.h"
#include "probe_stop.h"

#define EXIT_USAGE 64
#define EXIT_BUG   70

#define QUICK_BUDGET_NS INT64_C(2800000000)
#define FULL_BUDGET_NS  INT64_C(1200000000000)
#define PLACES_MAX      4096

struct options {
    struct cpu_run_options run;
    struct cpu_list cpus;
    const char **places;
    bool has_cpus, table, child;
};

enum option_key {
    OPT_PROFILE = 256,
    OPT_METRICS,
    OPT_CPUS,
    OPT_PLACES,
    OPT_BUDGET,
    OPT_SEED,
    OPT_TABLE,
    OPT_ROOT,
    OPT_CHILD,
    OPT_HELP,
    OPT_VERSION
};

static const struct {
    const char *name, *argument, *about;
    enum option_key key;
} table[] = {
    {"profile", "quick|full", "what to measure; quick is seconds (default), full is minutes", OPT_PROFILE},
    {"metrics", "NAME,...", "only these: cpu_pingpong, cpu_copy, cpu_queue, memory_bandwidth, memory_latency, memory_noise", OPT_METRICS},
    {"cpus", "LIST", "run on these CPUs only, as in 0-3,8", OPT_CPUS},
    {"places", "NAME,...", "only what goes from or to one of these, as in core0,numa1", OPT_PLACES},
    {"budget-ns", "N", "end after N nanoseconds (default 2.8e9 for quick, 1.2e12 for full)", OPT_BUDGET},
    {"seed", "N", "of what is chosen at random (default 1)", OPT_SEED},
    {"table", NULL, "print tables for a person instead of the record", OPT_TABLE},
    {"root", "DIR", "read /sys and /proc below DIR", OPT_ROOT},
    {"child", NULL, "end when the program that started this one ends", OPT_CHILD},
    {"help", NULL, "print this", OPT_HELP},
    {"version", NULL, "print the version", OPT_VERSION},
};

/* What this probe measures, all of it unless told otherwise. */
static const enum probe_metric cpu_metrics[] = {PROBE_CPU_PINGPONG,     PROBE_CPU_COPY,       PROBE_CPU_QUEUE,
                                                PROBE_MEMORY_BANDWIDTH, PROBE_MEMORY_LATENCY, PROBE_MEMORY_NOISE};

#define OPTION_COUNT (sizeof table / sizeof *table)

static void print_help(void)
{
    puts("Usage: berth-probe-cpu [options]\n\nMeasures ping-pong, copies and queues between cores, and bandwidth and latency of memory.\n");
    for (size_t i = 0; i < OPTION_COUNT; i++)
        printf("  --%-9s %-11s %s\n", table[i].name, table[i].argument ? table[i].argument : "", table[i].about);
}

static int usage(const char *what, const char *text)
{
    fprintf(stderr, "berth-probe-cpu: %s%s%s; see --help\n", what, text ? ": " : "", text ? text : "");
    return EXIT_USAGE;
}

static bool parse_integer(const char *text, int64_t min, int64_t *ret_number)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < min)
        return false;
    *ret_number = number;
    return true;
}

/* Metrics of other probes are fine: whoever asks for those too starts that probe as well. Returns the first name that is no
 * metric at all, else NULL. */
static const char *parse_metrics(char *list, bool *ret_metrics)
{
    char *save = NULL;
    for (char *name = strtok_r(list, ",", &save); name != NULL; name = strtok_r(NULL, ",", &save)) {
        bool found = false;
        for (int i = 0; i < PROBE_METRIC_COUNT; i++)
            if (strcmp(name, probe_metric_name((enum probe_metric)i)) == 0)
                ret_metrics[i] = found = true;
        if (!found)
            return name;
    }
    return NULL;
}

static bool parse_places(char *list, struct options *options)
{
    char *save = NULL;
    for (char *name = strtok_r(list, ",", &save); name != NULL; name = strtok_r(NULL, ",", &save)) {
        if (options->run.wanted.place_count == PLACES_MAX)
            return false;
        options->places[options->run.wanted.place_count++] = name;
    }
    return options->run.wanted.place_count > 0;
}

/* One option with its argument, or with itself when it is wrong; -1 to go on, else the exit status. */
static int parse_option(int key, char *text, struct options *options)
{
    int64_t number;
    const char *unknown;
    struct cpu_wanted *wanted = &options->run.wanted;
    switch (key) {
    case OPT_PROFILE:
        if (strcmp(text, "quick") != 0 && strcmp(text, "full") != 0)
            return usage("--profile is quick or full, not", text);
        wanted->profile = strcmp(text, "full") == 0 ? CPU_FULL : CPU_QUICK;
        return -1;
    case OPT_METRICS:
        unknown = parse_metrics(text, wanted->metrics);
        return unknown == NULL ? -1 : usage("no such metric", unknown);
    case OPT_CPUS:
        options->has_cpus = true;
        return cpu_list_parse(text, &options->cpus) ? -1 : usage("not a list of CPUs", text);
    case OPT_PLACES:
        return parse_places(text, options) ? -1 : usage("--places takes 1 to 4096 names", NULL);
    case OPT_BUDGET:
        return parse_integer(text, 1, &options->run.budget_ns) ? -1 : usage("--budget-ns is not a number above 0", text);
    case OPT_SEED:
        if (!parse_integer(text, 0, &number))
            return usage("--seed is not a number from 0 on", text);
        wanted->seed = (uint64_t)number;
        return -1;
    case OPT_TABLE:
        options->table = true;
        return -1;
    case OPT_ROOT:
        options->run.root = text;
        return -1;
    case OPT_CHILD:
        options->child = true;
        return -1;
    case OPT_HELP:
        print_help();
        return 0;
    case OPT_VERSION:
        puts("berth-probe-cpu " BERTH_VERSION);
        return 0;
    case ':':
        return usage("an argument is missing after", text);
    default:
        return usage(optopt >= OPT_PROFILE ? "this option takes no argument" : "unknown option", text);
    }
}

static int parse_options(int argc, char **argv, struct options *options)
{
    struct option list[OPTION_COUNT + 1] = {0};
    for (size_t i = 0; i < OPTION_COUNT; i++)
        list[i] = (struct option){table[i].name, table[i].argument ? required_argument : no_argument, NULL, table[i].key};
    opterr = 0;
    for (int at = optind, key; (key = getopt_long(argc, argv, "+:", list, NULL)) != -1; at = optind) {
        int status = parse_option(key, key == '?' || key == ':' ? argv[at] : optarg, options);
        if (status >= 0)
            return status;
    }
    if (optind < argc)
        return usage("what is", argv[optind]);
    struct cpu_wanted *wanted = &options->run.wanted;
    bool any = false;
    for (int i = 0; i < PROBE_METRIC_COUNT; i++)
        any |= wanted->metrics[i];
    if (!any)
        for (size_t i = 0; i < sizeof cpu_metrics / sizeof *cpu_metrics; i++)
            wanted->metrics[cpu_metrics[i]] = true;
    if (options->run.budget_ns == 0)
        options->run.budget_ns = wanted->profile == CPU_FULL ? FULL_BUDGET_NS : QUICK_BUDGET_NS;
    wanted->places = options->places;
    return -1;
}

static bool read_topology(const struct options *options, struct cpu_topology *ret_topology, struct probe_why *why)
{
    struct cpu_list cpus, memory;
    bool memory_known;
    if (!cpu_topology_allowed(&cpus, &memory, &memory_known, why))
        return false;
    for (size_t i = 0; options->has_cpus && i < sizeof cpus.word / sizeof *cpus.word; i++)
        cpus.word[i] &= options->cpus.word[i];
    if (cpu_list_next(&cpus, 0) < 0)
        return probe_why_set(why, "this process may run on none of the CPUs asked for");
    return cpu_topology_read(options->run.root, &cpus, memory_known ? &memory : NULL, ret_topology, why);
}

/* Of a person's list every name must be here. A program that started this one may name places of other probes as well. */
static bool check_places(const struct options *options, const struct cpu_topology *topology, struct probe_why *why)
{
    const struct cpu_wanted *wanted = &options->run.wanted;
    for (size_t i = 0; !options->child && i < wanted->place_count; i++)
        if (!cpu_topology_has(topology, wanted->places[i]))
            return probe_why_set(why, "no core, llc or numa that can be measured here: %.60s", wanted->places[i]);
    return true;
}

static int measure(const struct options *options, const struct cpu_topology *topology, const struct cpu_cells *cells)
{
    struct probe_out out = {.fd = STDOUT_FILENO, .gate = PTHREAD_MUTEX_INITIALIZER};
    struct cpu_report report = {.out = options->table ? NULL : &out};
    struct probe_stop stop = {.out = report.out, .started_ns = options->run.started_ns};
    struct probe_why why = {0};
    if (!probe_stop_start(&stop, &why)) {
        fprintf(stderr, "berth-probe-cpu: %s\n", why.text);
        return EXIT_BUG;
    }
    enum cpu_run_status status = cpu_run(topology, cells, &options->run, &report, &why);
    if (status == CPU_RUN_FAILED)
        fprintf(stderr, "berth-probe-cpu: %s\n", why.text);
    if (status != CPU_RUN_GONE)
        cpu_report_end(&report, cpu_run_status_name(status), probe_clock_ns() - options->run.started_ns);
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
    struct options options = {.run = {.root = "", .started_ns = probe_clock_ns(), .wanted = {.seed = 1}}};
    options.places = calloc(PLACES_MAX, sizeof *options.places);
    int status = options.places == NULL ? EXIT_BUG : parse_options(argc, argv, &options);
    struct probe_why why = {0};
    struct cpu_topology topology = {0};
    struct cpu_cells cells = {0};
    if (status < 0) {
        if (probe_stop_prepare(options.child, &why) && read_topology(&options, &topology, &why) &&
            check_places(&options, &topology, &why) && cpu_cells_new(&topology, &options.run.wanted, &cells, &why)) {
            status = measure(&options, &topology, &cells);
        } else {
            fprintf(stderr, "berth-probe-cpu: %s\n", why.text);
            status = EXIT_USAGE;
        }
    }
    cpu_cells_done(&cells);
    cpu_topology_done(&topology);
    free(options.places);
    return status;
}
