/* Processor time of Route and of Allocate, the planner alone: for every pair of memories in three
 * sizes, and for a buffer that a gpu or all cores read. plan FOLDER... prints for each node folder
 * "route-NODE/REQUEST median_ms", "allocate-NODE/REQUEST median_ms", and "derived-NODE median_ms":
 * of what answers rest on, once for a snapshot. */
#include <libgen.h>
#include <math.h>

#include "bench_node.h"
#include "node/allowed.h"
#include "node/locality.h"
#include "plan/alloc/alloc.h"
#include "plan/route/route.h"

#define ROUNDS 9

/* NAN where there is no answer. */
static double route_ns(const struct snapshot *snap, const struct route_request *request)
{
    struct route_answer *answer = malloc(sizeof *answer);
    struct berth_err err = {0};
    double took_ns[ROUNDS], median_ns = NAN;
    size_t round = 0;
    if (answer == NULL)
        bench_die("no memory");
    for (; round < ROUNDS; round++) {
        double begin = bench_cpu_ns();
        if (plan_route(snap, request, answer, &err) != BERTH_OK)
            break;
        took_ns[round] = bench_cpu_ns() - begin;
        plan_route_done(answer);
    }
    if (round == ROUNDS)
        median_ns = bench_median(took_ns, ROUNDS);
    free(answer);
    return median_ns;
}

static double alloc_ns(const struct snapshot *snap, const struct alloc_request *request)
{
    double took_ns[ROUNDS];
    for (size_t round = 0; round < ROUNDS; round++) {
        struct alloc_answer answer;
        struct berth_err err = {0};
        double begin = bench_cpu_ns();
        if (plan_alloc(snap, request, &answer, &err) != BERTH_OK)
            return NAN;
        took_ns[round] = bench_cpu_ns() - begin;
        plan_alloc_done(&answer);
    }
    return bench_median(took_ns, ROUNDS);
}

static void measure_routes(const struct snapshot *snap, const char *node,
                           const struct allowed *allowed)
{
    static const int64_t mib[] = {0, 16, 1024}; /* 0: 64 KiB */
    const struct graph *graph = snap->graph;
    for (place_id from = 0; from < (place_id)graph->place_count; from++)
        for (place_id to = 0; to < (place_id)graph->place_count; to++)
            for (size_t s = 0; s < sizeof mib / sizeof mib[0]; s++) {
                const struct route_request request = {.from = from,
                                                      .to = to,
                                                      .bytes = mib[s] > 0 ? mib[s] << 20 : 64 << 10,
                                                      .allowed = allowed};
                if (from == to ||
                    (graph->places[from].kind != PLACE_GPU && graph->places[to].kind != PLACE_GPU))
                    continue;
                double ns = route_ns(snap, &request);
                if (!isnan(ns))
                    printf("route-%s/%s-%s-%s %.4f\n", node, graph->places[from].name,
                           graph->places[to].name,
                           mib[s] == 0    ? "64K"
                           : mib[s] == 16 ? "16M"
                                          : "1G",
                           ns / 1e6);
            }
}

static void measure_allocations(const struct snapshot *snap, const char *node,
                                const struct allowed *allowed)
{
    const struct graph *graph = snap->graph;
    for (place_id by = PLACE_NONE; by < (place_id)graph->place_count; by++) {
        const struct alloc_access access = {.by = by, .reads_bytes = INT64_C(1) << 30};
        const struct alloc_request request = {.bytes = INT64_C(1) << 30,
                                              .access = &access,
                                              .access_count = by != PLACE_NONE,
                                              .allowed = allowed};
        double ns = by == PLACE_NONE || graph->places[by].kind == PLACE_GPU
                        ? alloc_ns(snap, &request)
                        : NAN;
        if (!isnan(ns))
            printf("allocate-%s/%s %.4f\n", node,
                   by == PLACE_NONE ? "cores" : graph->places[by].name, ns / 1e6);
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *node = basename(argv[i]);
        double took_ns[ROUNDS];
        struct snapshot *snap = NULL;
        for (size_t round = 0; round < ROUNDS; round++) {
            if (snap != NULL)
                snapshot_unref(snap);
            snap = bench_node(argv[i], &took_ns[round]);
        }
        printf("derived-%s %.3f\n", node, bench_median(took_ns, ROUNDS) / 1e6);
        struct allowed allowed = {.given = true};
        locality_cpus(snap->graph, &allowed.cpus);
        measure_routes(snap, node, &allowed);
        measure_allocations(snap, node, &allowed);
        snapshot_unref(snap);
    }
    return 0;
}
