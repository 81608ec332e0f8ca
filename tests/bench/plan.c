/* What an answer of Route and of Allocate takes, the planner alone, over a node folder: every pair
 * of memories in three sizes, and a buffer that every gpu and all cores read. plan FOLDER prints
 * "NAME median_ns worst_ns" each: of the fastest of some turns of each question, the median over
 * questions and the slowest; derived: what answers rest on, of some new snapshots. */
#include <math.h>

#include "bench_node.h"
#include "node/allowed.h"
#include "node/locality.h"
#include "plan/alloc/alloc.h"
#include "plan/route/route.h"

#define TURNS     25
#define SNAPSHOTS 9
#define QUESTIONS 65536

static double route_ns(const struct snapshot *snap, const struct route_request *request)
{
    struct route_answer *answer = malloc(sizeof *answer);
    struct berth_err err = {0};
    double best_ns = INFINITY;
    if (answer == NULL)
        bench_die("no memory");
    for (int turn = 0; turn < TURNS; turn++) {
        double begin = bench_now_ns();
        if (plan_route(snap, request, answer, &err) != BERTH_OK) {
            best_ns = NAN;
            break;
        }
        double took = bench_now_ns() - begin;
        best_ns = took < best_ns ? took : best_ns;
        plan_route_done(answer);
    }
    free(answer);
    return best_ns;
}

static double alloc_ns(struct snapshot *snap, const struct alloc_request *request)
{
    double best_ns = INFINITY;
    for (int turn = 0; turn < TURNS; turn++) {
        struct alloc_answer answer;
        struct berth_err err = {0};
        double begin = bench_now_ns();
        if (plan_alloc(snap, request, &answer, &err) != BERTH_OK)
            return NAN;
        double took = bench_now_ns() - begin;
        best_ns = took < best_ns ? took : best_ns;
        plan_alloc_done(&answer);
    }
    return best_ns;
}

static void print(const char *name, double *took_ns, size_t count)
{
    if (count == 0)
        return;
    double median_ns = bench_median(took_ns, count);
    printf("%s %.0f %.0f\n", name, median_ns, took_ns[count - 1]); /* it has sorted them */
}

static void measure_derived(const char *folder)
{
    double took_ns[SNAPSHOTS];
    for (size_t i = 0; i < SNAPSHOTS; i++) {
        snapshot_unref(bench_node(folder, &took_ns[i]));
    }
    print("derived", took_ns, SNAPSHOTS);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "";
    measure_derived(folder);
    double derived_ns;
    struct snapshot *snap = bench_node(folder, &derived_ns);
    const struct graph *graph = snap->graph;
    static const int64_t sizes[] = {INT64_C(64) << 10, INT64_C(16) << 20, INT64_C(1) << 30};
    static double took_ns[QUESTIONS];
    struct allowed allowed = {.given = true};
    size_t count = 0;
    locality_cpus(graph, &allowed.cpus);
    for (place_id from = 0; from < (place_id)graph->place_count; from++)
        for (place_id to = 0; to < (place_id)graph->place_count; to++)
            for (size_t s = 0; s < 3; s++) {
                const struct route_request request = {
                    .from = from, .to = to, .bytes = sizes[s], .allowed = &allowed};
                bool is_gpu =
                    graph->places[from].kind == PLACE_GPU || graph->places[to].kind == PLACE_GPU;
                double ns =
                    is_gpu && from != to && count < QUESTIONS ? route_ns(snap, &request) : NAN;
                if (!isnan(ns))
                    took_ns[count++] = ns;
            }
    print("route", took_ns, count);
    count = 0;
    for (place_id by = -1; by < (place_id)graph->place_count; by++) {
        const struct memuse_access access = {.by = by, .reads_bytes = INT64_C(1) << 30};
        const struct alloc_request request = {.bytes = INT64_C(1) << 30,
                                              .access = &access,
                                              .access_count = by >= 0,
                                              .allowed = &allowed};
        double ns = (by < 0 || graph->places[by].kind == PLACE_GPU) && count < QUESTIONS
                        ? alloc_ns(snap, &request)
                        : NAN;
        if (!isnan(ns))
            took_ns[count++] = ns;
    }
    print("allocate", took_ns, count);
    snapshot_unref(snap);
    return 0;
}
