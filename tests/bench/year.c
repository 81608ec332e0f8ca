/* A year of an 8-GPU node measured every hour, written as the daemon writes it, under a clock of its own: how large the file becomes, and how
 * long History of one cell, thinning and a start take. Prints a line for each: name, value.
 *
 * year FOLDER [SHARE]: a share of the 1,900 cells, 1 without it. The same bytes every time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "store_history.h"
#include "store_inner.h"
#include "store_keep.h"

#define CORES   96
#define HOURS   (365 * 24)
#define START_S 1760054400 /* a midnight */
#define CELLS   1900

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

/* Noise of about one in a hundred, six digits. */
static double noisy(uint64_t *seed, double value)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    double share = (double)(*seed >> 33) / (double)(1u << 31) - 0.5;
    char text[32];
    snprintf(text, sizeof text, "%.6g", value * (1 + 0.02 * share));
    return strtod(text, NULL);
}

static struct graph *make_node(void)
{
    struct berth_err err = {0};
    struct graph *graph = graph_new();
    graph_add_place(graph, PLACE_MACHINE, 0);
    for (int i = 0; i < CORES; i++)
        graph->places[graph_add_place(graph, PLACE_CORE, i)].parent = 0;
    memcpy(graph->fingerprint, "00000000000000000000000000000079", 33);
    must(graph_finish(graph, &err) == BERTH_OK, "node", &err);
    return graph;
}

static place_id core(const struct graph *graph, int number)
{
    char name[16];
    snprintf(name, sizeof name, "core%d", number);
    return graph_find(graph, name);
}

static struct run one_run(const struct graph *graph, int hour, int cells, uint64_t *seed)
{
    struct run run = {.probe = "cpu", .backend = "cpu", .profile = "quick", .started_at_s = START_S + hour * INT64_C(3600), .elapsed_ns = 2800000000,
                      .status = "complete", .values = values_new()};
    char conditions[512];
    snprintf(conditions, sizeof conditions,
             "{\"kernel\":\"6.1.0\",\"governor\":\"performance\",\"thp\":\"madvise\",\"pages\":\"huge\",\"clock_source\":\"tsc\",\"smt\":\"off\","
             "\"cpu_model\":\"an example of a processor\",\"microcode\":\"0x1\",\"loadavg\":\"%d.%02d 0.50 0.10 1/900 %d\"}", hour % 3, hour % 100, hour);
    run.conditions = strdup(conditions);
    must(run.values != NULL && run.conditions != NULL, "out of memory", NULL);
    for (int i = 0; i < cells; i++) {
        struct value v = {.metric = METRIC_CPU_PINGPONG, .from = core(graph, i / CORES), .to = core(graph, i % CORES), .n = 9};
        v.value = noisy(seed, 50 + i % 70);
        v.low = noisy(seed, v.value * 0.98);
        v.high = noisy(seed, v.value * 1.02);
        must(values_add(run.values, &v, "", NULL), "out of memory", NULL);
    }
    return run;
}

static int compare(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

static double median(double *of, size_t count)
{
    qsort(of, count, sizeof *of, compare);
    return of[count / 2];
}

int main(int argc, char **argv)
{
    struct berth_err err = {0};
    int cells = argc > 2 ? (int)(CELLS * atof(argv[2])) : CELLS;
    must(argc > 1 && cells > 0, "year FOLDER [SHARE]", NULL);
    struct graph *graph = make_node();
    int64_t now_s = START_S, id;
    const struct clock clock = {.now_s = now_of, .state = &now_s};
    struct store *store;
    uint64_t seed = 1;
    must(store_open(argv[1], &clock, &store, &err) == BERTH_OK && store_state(store) == STORE_OK && store_begin(store, graph, "boot", &err) == BERTH_OK, "open", &err);
    /* What makes a transaction durable costs most of the time, and changes no byte of the result. */
    sqlite3_exec(store->db, "PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; PRAGMA wal_autocheckpoint = 40000", NULL, NULL, NULL);
    const struct keep keep = {.history_days = 90, .daily_days = 730};
    double longest_step = 0, begin = seconds();
    for (int hour = 0; hour < HOURS; hour++) {
        struct run run = one_run(graph, hour, cells, &seed);
        now_s = run.started_at_s;
        must(store_write_run(store, graph, &run, &id, &err) == BERTH_OK, "write", &err);
        run_done(&run);
        for (bool more = true; more;) {
            double before = seconds();
            must(store_keep(store, &keep, &more, &err) == BERTH_OK, "keep", &err);
            longest_step = fmax(longest_step, seconds() - before);
        }
    }
    double written = seconds() - begin;
    store_close(store);

    double took[21];
    size_t points = 0;
    for (int i = 0; i < 21; i++) {
        double before = seconds();
        must(store_open(argv[1], &clock, &store, &err) == BERTH_OK && store_begin(store, graph, "boot", &err) == BERTH_OK, "open", &err);
        struct values *values = values_new();
        struct note *notes;
        size_t note_count;
        int64_t last_s;
        must(store_load_latest(store, graph, values, &notes, &note_count, &last_s, &err) == BERTH_OK, "load", &err);
        values_finish(values);
        took[i] = seconds() - before;
        must(values->count == (size_t)cells, "latest values", NULL);
        values_free(values);
        free(notes);
        if (i < 20)
            store_close(store);
    }
    double start = median(took, 21);
    for (int i = 0; i < 21; i++) {
        struct history history;
        double before = seconds();
        must(store_history(store, graph, METRIC_CPU_PINGPONG, core(graph, i * cells / 21 / CORES), core(graph, i * cells / 21 % CORES), "", INT64_MIN, &history, &err) == BERTH_OK, "history", &err);
        took[i] = seconds() - before;
        points = history.count;
        store_history_done(&history);
    }
    store_close(store);
    char path[4096];
    struct stat status;
    snprintf(path, sizeof path, "%s/berth.db", argv[1]);
    must(stat(path, &status) == 0, "size", NULL);
    double bytes = (double)status.st_size, limit = 1.5e6 + 198.5e6 * cells / CELLS; /* the conditions of runs do not become fewer with the cells */
    printf("cells %d\nruns %d\nwriting %.1f s of processor time\nstep %.1f ms, the longest of thinning\n", cells, HOURS, written, longest_step * 1e3);
    printf("size %.1f MB, at most %.1f\nhistory %.2f ms, at most 5 (%zu points)\nstart %.2f ms, at most 30\n", bytes / 1e6, limit / 1e6,
           median(took, 21) * 1e3, points, start * 1e3);
    graph_unref(graph);
    /* 90 days and the day under way by the hour, the rest by the day. */
    must(points == 90 * 24 + 24 + 365 - 91, "number of points", NULL);
    return bytes <= limit && median(took, 21) <= 0.005 && start <= 0.030 ? 0 : 1;
}
