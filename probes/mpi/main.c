/* berth-probe-mpi: measures MPI between its ranks and prints the measurement record. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/options.h"
#include "common/stop.h"
#include "mpi/collectives.h"
#include "mpi/internode.h"
#include "mpi/pairs.h"
#include "mpi/report.h"

#define EXIT_BUG        70
#define FINALIZE_S      3
#define INTERFACE_MAX   24 /* of an axis, with NUL */
#define QUICK_BUDGET_NS INT64_C(10000000000)
#define FULL_BUDGET_NS  INT64_C(120000000000)

struct options {
    bool metrics[PROBE_METRIC_COUNT];
    int64_t budget_ns, ranks;
    const char *interface;
    bool is_full, is_table, child;
};

enum option_key {
    OPT_PROFILE = PROBE_OPTIONS_KEY,
    OPT_METRICS,
    OPT_BUDGET,
    OPT_RANKS,
    OPT_INTERFACE,
    OPT_TABLE,
    OPT_CHILD
};

static const struct probe_option list[] = {
    {"profile", "quick|full", "time to take: 10 s (quick, default) or 120 s (full)", OPT_PROFILE},
    {"metrics", "NAME,...",
     "only these: mpi_latency, mpi_bandwidth, mpi_collective_latency, "
     "mpi_collective_bandwidth",
     OPT_METRICS},
    {"budget-ns", "N", "end after N nanoseconds", OPT_BUDGET},
    {"ranks", "N", "fail unless mpiexec started N ranks that know each other", OPT_RANKS},
    {"interface", "NAME",
     "measure only mpi_internode_bandwidth, over this interface of rank 0's node", OPT_INTERFACE},
    {"table", NULL, "print tables for a person instead of the record", OPT_TABLE},
    {"child", NULL, "end when the program that started this one ends", OPT_CHILD},
};
static const enum probe_metric metrics[] = {PROBE_MPI_LATENCY, PROBE_MPI_BANDWIDTH,
                                            PROBE_MPI_COLLECTIVE_LATENCY,
                                            PROBE_MPI_COLLECTIVE_BANDWIDTH};
static const struct probe_options command = {
    .program = "berth-probe-mpi",
    .about = "Measures messages and collectives of MPI between its ranks: mpiexec -n 4 "
             "berth-probe-mpi",
    .list = list,
    .count = sizeof list / sizeof *list,
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
};

static int take_option(int key, char *text, void *arg)
{
    struct options *options = arg;
    switch (key) {
    case OPT_PROFILE:
        if (strcmp(text, "quick") != 0 && strcmp(text, "full") != 0)
            return probe_options_usage(&command, "--profile is quick or full, not", text);
        options->is_full = strcmp(text, "full") == 0;
        return -1;
    case OPT_METRICS:
        return probe_options_metrics(&command, text, options->metrics);
    case OPT_BUDGET:
        return probe_options_integer(text, 1, &options->budget_ns)
                   ? -1
                   : probe_options_usage(&command, "--budget-ns is not a number above 0", text);
    case OPT_RANKS:
        return probe_options_integer(text, 1, &options->ranks)
                   ? -1
                   : probe_options_usage(&command, "--ranks is not a number above 0", text);
    case OPT_INTERFACE:
        options->interface = text;
        return text[0] != '\0' && strlen(text) < INTERFACE_MAX && strpbrk(text, "/;=%") == NULL
                   ? -1
                   : probe_options_usage(&command, "no name of an interface", text);
    case OPT_TABLE:
        options->is_table = true;
        return -1;
    default:
        options->child = true;
        return -1;
    }
}

/* A launcher of another MPI starts each rank as a job of its own. */
static bool check_ranks(const struct options *options, const struct mpi_ranks *ranks,
                        struct probe_why *why)
{
    if (options->ranks > 0 && ranks->size != options->ranks)
        return probe_why_set(why,
                             "mpiexec started %d ranks that know each other, not %lld: is it of "
                             "another MPI than this probe?",
                             ranks->size, (long long)options->ranks);
    if (ranks->local_count < 2 && options->interface == NULL)
        return probe_why_set(why, "there is one rank on this node: mpiexec -n 2 %s",
                             command.program);
    return true;
}

static bool measure(const struct options *options, struct mpi_report *report, struct probe_why *why)
{
    struct mpi_ranks ranks = {.rank = 0};
    struct mpi_pairs pairs;
    struct mpi_internode internode = {.pairs = 0};
    bool ok = mpi_ranks_new(&ranks, why) && check_ranks(options, &ranks, why) &&
              mpi_internode_new(&ranks, options->interface, &internode, why);
    if (ok) {
        report->total = mpi_pairs_choose(&ranks, options->metrics, &pairs) +
                        mpi_collectives_count(&ranks, options->metrics) +
                        mpi_internode_count(&internode);
        mpi_report_begin(report, &ranks);
        ok = mpi_pairs_run(&ranks, &pairs, report, why) &&
             mpi_collectives_run(&ranks, options->metrics, report, why) &&
             mpi_internode_run(&ranks, &internode, report, why);
    }
    if (ok)
        mpi_ranks_wait();
    mpi_internode_done(&internode);
    mpi_ranks_done(&ranks);
    return ok;
}

static int run(const struct options *options, int64_t begun_ns)
{
    struct probe_out out = {.fd = STDOUT_FILENO, .gate = PTHREAD_MUTEX_INITIALIZER};
    struct mpi_report report = {.begun_ns = begun_ns, .budget_ns = options->budget_ns};
    struct probe_why why = {0};
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    report.is_table = rank == 0 && options->is_table;
    report.out = rank == 0 && !options->is_table ? &out : NULL;
    struct probe_stop stop = {.out = report.out, .started_ns = begun_ns};
    bool ok = probe_stop_start(&stop, &why) && measure(options, &report, &why);
    if (!ok) {
        if (rank == 0)
            fprintf(stderr, "%s: %s\n", command.program, why.text);
        MPI_Abort(MPI_COMM_WORLD, EXIT_BUG);
    }
    return mpi_report_end(&report) ? 0 : EXIT_BUG;
}

/* Ends the process although its library does not. */
static void leave(int number)
{
    (void)number;
    _exit(0);
}

/* Some libraries wait for ever where others of their processes ended: over TCP with UCX 1.13. */
static void finalize(void)
{
    signal(SIGALRM, leave);
    alarm(FINALIZE_S);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    struct options options = {.budget_ns = 0};
    struct probe_why why = {0};
    int64_t begun_ns = probe_clock_ns();
    int status = probe_options_parse(&command, argc, argv, take_option, &options);
    if (status < 0)
        status = probe_options_settle_metrics(&command, options.child, options.metrics);
    if (status >= 0)
        return status;
    if (options.interface != NULL)
        memset(options.metrics, 0, sizeof options.metrics);
    if (options.budget_ns == 0)
        options.budget_ns = options.is_full ? FULL_BUDGET_NS : QUICK_BUDGET_NS;
    if (!probe_stop_prepare(options.child, &why)) {
        fprintf(stderr, "%s: %s\n", command.program, why.text);
        return PROBE_OPTIONS_USAGE;
    }
    MPI_Init(&argc, &argv);
    status = run(&options, begun_ns);
    finalize();
    return status;
}
