/* A year of an 8-GPU node measured every hour, written as the daemon writes it, with its settings,
 * under a clock of its own: how large the file and its log become, how long History of one cell,
 * thinning and a start take, and whether what is read is what was written. Prints a line for each:
 * name, value.
 *
 * year FOLDER [SHARE [END_S]]: a share of the 1,900 cells, 1 without it; the year ends with the day
 * before that of END_S. The same values every time. The node is this machine, so that berthd serves
 * what was written; as it may have few cores, the cells are one pair of places with many values of
 * an axis, which are series like any others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "discover/discover.h"
#include "store/baseline.h"
#include "store/history.h"
#include "store/retention.h"

#define DAY_S         INT64_C(86400)
#define DAYS          365
#define HOURS         (DAYS * 24)
#define HISTORY_DAYS  90
#define CELLS         1900
#define LOG_MAX_BYTES 20e6
#define SAMPLES       21

struct year {
    const char *folder;
    struct graph *graph;
    struct store *store;
    int64_t start_s, now_s;
    int cells;
    place_id numa;                    /* cell i is from it to it, by i + 1 threads */
    double writing, tending, longest; /* seconds of processor time */
    double log_bytes;                 /* the most there were */
};

static int64_t now_of(void *state) { return *(int64_t *)state; }

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void must(bool ok, const char *what, const struct berth_err *err)
{
    if (ok)
        return;
    fprintf(stderr, "year: %s: %s\n", what, err != NULL ? err->detail : "");
    exit(1);
}

static double file_bytes(const struct year *year, const char *suffix)
{
    char path[4096];
    struct stat status;
    snprintf(path, sizeof path, "%s/berth.db%s", year->folder, suffix);
    return stat(path, &status) == 0 ? (double)status.st_size : 0;
}

/* Noise of one in a hundred to either side, to the megabyte: a number of hour, cell and which
 * alone. */
static double noisy(double value, int hour, int cell, int which)
{
    uint64_t x = ((uint64_t)hour * CELLS + (uint64_t)cell) * 4 + (uint64_t)which + 1;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    double share = (double)(x >> 40) / (double)(1 << 24) - 0.5;
    return round(value * (1 + 0.02 * share) / 1e6) * 1e6;
}

static double value_of(int hour, int cell) { return noisy(5e9 + 1e8 * (cell % 70), hour, cell, 0); }

static const char *axes_of(int cell, char buffer[static 32])
{
    snprintf(buffer, 32, "threads=%d", cell + 1);
    return buffer;
}

static struct run one_run(const struct year *year, int hour)
{
    struct run run = {.probe = "cpu",
                      .backend = "cpu",
                      .profile = "quick",
                      .started_at_s = year->start_s + hour * INT64_C(3600),
                      .elapsed_ns = 2800000000,
                      .status = "complete",
                      .values = values_new()};
    char conditions[512];
    snprintf(conditions, sizeof conditions,
             "{\"kernel\":\"6.1.0\",\"governor\":\"performance\",\"thp\":\"madvise\",\"pages\":"
             "\"huge\",\"clock_source\":\"tsc\",\"smt\":\"off\","
             "\"cpu_model\":\"an example of a "
             "processor\",\"microcode\":\"0x1\",\"loadavg\":\"%d.%02d 0.50 0.10 1/900 %d\"}",
             hour % 3, hour % 100, hour);
    run.conditions = strdup(conditions);
    must(run.values != NULL && run.conditions != NULL, "out of memory", NULL);
    for (int i = 0; i < year->cells; i++) {
        char axes[32];
        struct value v = {.metric = METRIC_MEMORY_BANDWIDTH,
                          .from = year->numa,
                          .to = year->numa,
                          .value = value_of(hour, i),
                          .n = 9};
        v.low = noisy(v.value * 0.98, hour, i, 1);
        v.high = noisy(v.value * 1.02, hour, i, 2);
        must(values_add(run.values, &v, axes_of(i, axes), NULL), "out of memory", NULL);
    }
    return run;
}

static void write_hour(struct year *year, int hour, const struct health_limits *limits)
{
    const struct keep keep = {.history_days = HISTORY_DAYS, .daily_days = 730};
    struct berth_err err = {0};
    int64_t id;
    struct run run = one_run(year, hour);
    year->now_s = run.started_at_s;
    double before = seconds();
    must(store_write_run(year->store, year->graph, &run, &id, &err) == BERTH_OK, "write", &err);
    /* then they are complete, and what a run adds is read, not written */
    if (hour < BASELINE_VALUES)
        must(store_baseline_record(year->store, year->graph, run.values, false, NULL, limits,
                                   &err) == BERTH_OK,
             "baseline", &err);
    year->writing += seconds() - before;
    run_done(&run);
    for (bool more = true; more;) {
        before = seconds();
        must(store_retention(year->store, &keep, &more, &err) == BERTH_OK, "keep", &err);
        double took = seconds() - before;
        year->tending += took;
        year->longest = fmax(year->longest, took);
    }
    year->log_bytes = fmax(year->log_bytes, file_bytes(year, "-wal"));
}

static int compare(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double median(double *of, size_t count)
{
    qsort(of, count, sizeof *of, compare);
    return count % 2 ? of[count / 2] : (of[count / 2 - 1] + of[count / 2]) / 2;
}

/* 90 days and the day under way by the hour, the rest by the day, each of them what was written. */
static void check_history(const struct year *year, int cell, const struct history *history)
{
    const int first_day = DAYS - 1 - HISTORY_DAYS, points = first_day + (HISTORY_DAYS + 1) * 24;
    must((int)history->count == points, "number of points", NULL);
    for (int i = 0; i < (int)history->count; i++) {
        double of_day[24];
        int hour = i < first_day ? i * 24 : first_day * 24 + i - first_day;
        for (int k = 0; k < 24 && i < first_day; k++)
            of_day[k] = value_of(hour + k, cell);
        double expected = i < first_day ? median(of_day, 24) : value_of(hour, cell);
        must(history->item[i].measured_at_s == year->start_s + hour * INT64_C(3600) &&
                 fabs(history->item[i].value / expected - 1) < 1e-12,
             "a value", NULL);
    }
}

static struct store *open_store(struct year *year)
{
    struct berth_err err = {0};
    const struct clock clock = {.now_s = now_of, .state = &year->now_s};
    must(store_open(year->folder, &clock, &year->store, &err) == BERTH_OK &&
             store_state(year->store) == STORE_OK &&
             store_begin(year->store, year->graph, "boot", &err) == BERTH_OK,
         "open", &err);
    return year->store;
}

static double time_of_start(struct year *year)
{
    double took[SAMPLES];
    struct berth_err err = {0};
    for (int i = 0; i < SAMPLES; i++) {
        double before = seconds();
        struct store *store = open_store(year);
        struct values *values = values_new();
        struct note *notes;
        size_t note_count;
        int64_t last_s;
        must(values != NULL && store_load_latest(store, year->graph, values, &notes, &note_count,
                                                 &last_s, &err) == BERTH_OK,
             "load", &err);
        values_finish(values);
        took[i] = seconds() - before;
        must(values->count == (size_t)year->cells, "latest values", NULL);
        for (int k = 0; k < year->cells; k++) {
            char axes[32];
            const struct value *v = values_find(values, METRIC_MEMORY_BANDWIDTH, year->numa,
                                                year->numa, axes_of(k, axes));
            must(v != NULL && v->value == value_of(HOURS - 1, k), "a latest value", NULL);
        }
        values_free(values);
        free(notes);
        store_close(store);
    }
    return median(took, SAMPLES);
}

static double time_of_history(struct year *year)
{
    double took[SAMPLES];
    struct berth_err err = {0};
    struct store *store = open_store(year);
    for (int i = 0; i < SAMPLES; i++) {
        struct history history;
        char axes[32];
        int cell = i * year->cells / SAMPLES;
        double before = seconds();
        must(store_history(store, year->graph,
                           &(struct history_series){METRIC_MEMORY_BANDWIDTH, year->numa, year->numa,
                                                    axes_of(cell, axes)},
                           INT64_MIN, &history, &err) == BERTH_OK,
             "history", &err);
        took[i] = seconds() - before;
        check_history(year, cell, &history);
        store_history_done(&history);
    }
    store_close(store);
    return median(took, SAMPLES);
}

int main(int argc, char **argv)
{
    struct berth_err err = {0};
    struct discovery found;
    char *facts = NULL;
    struct config config;
    must(argc > 1, "year FOLDER [SHARE [END_S]]", NULL);
    must(config_init(&config, &err) == BERTH_OK, "configuration", &err);
    must(nvproc_facts(&(struct files){""}, &facts, &err) == BERTH_OK, "node", &err);
    must(discover_live(&(struct files){""}, facts, &found, &err) == BERTH_OK, "node", &err);
    const struct health_limits limits = health_limits_from(&config);
    struct year year = {.folder = argv[1],
                        .graph = found.graph,
                        .numa = graph_find(found.graph, "numa0"),
                        .cells = argc > 2 ? (int)(CELLS * atof(argv[2])) : CELLS};
    must(year.cells > 0 && year.numa != PLACE_NONE, "no cells", NULL);
    year.start_s = year.now_s =
        ((argc > 3 ? strtoll(argv[3], NULL, 10) : INT64_C(1791590400)) / DAY_S - DAYS) * DAY_S;
    open_store(&year);
    for (int hour = 0; hour < HOURS; hour++)
        write_hour(&year, hour, &limits);
    store_close(year.store);

    double start = time_of_start(&year), history = time_of_history(&year),
           bytes = file_bytes(&year, "");
    /* the conditions of runs do not become fewer with the cells */
    double limit = 1.5e6 + 198.5e6 * year.cells / CELLS;
    printf("cells %d\nruns %d\nwriting %.1f s of processor time\ntending %.1f s of processor "
           "time\nstep %.1f ms, the longest of tending\n",
           year.cells, HOURS, year.writing, year.tending, year.longest * 1e3);
    printf("size %.1f MB, at most %.1f\nlog %.1f MB, at most %.1f\nhistory %.2f ms, at most "
           "5\nstart %.2f ms, at most 30\n",
           bytes / 1e6, limit / 1e6, year.log_bytes / 1e6, LOG_MAX_BYTES / 1e6, history * 1e3,
           start * 1e3);
    discovery_done(&found);
    free(facts);
    config_done(&config);
    return bytes <= limit && year.log_bytes <= LOG_MAX_BYTES && history <= 0.005 && start <= 0.030
               ? 0
               : 1;
}
