/**
 * A node folder as a snapshot, for benches of the planner alone. One that cannot be read ends the
 * program with a line.
 */
#pragma once
#include "bench.h"
#include "cost/derive.h"
#include "discover/discover.h"
#include "node/snapshot.h"

static inline struct snapshot *bench_node(const char *folder, double *ret_derived_ns)
{
    struct discovery found = {0};
    struct berth_err err = {0};
    if (discover_folder(folder, &found, &err) != BERTH_OK) {
        fprintf(stderr, "%s: %s\n", folder, err.detail);
        exit(1);
    }
    struct snapshot *snap = snapshot_new(found.graph, found.values, NULL, 0, 0, 1);
    if (snap == NULL)
        bench_die(folder);
    snap->sets = found.sets;
    graph_unref(found.graph);
    double begin = bench_cpu_ns();
    if (!derive_costs(snap))
        bench_die(folder);
    *ret_derived_ns = bench_cpu_ns() - begin;
    return snap;
}
