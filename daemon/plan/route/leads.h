/**
 * Concurrent runs worth measuring: those without which options of Route do not lead that would.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/route/route.h"

/* Transfers that are to be measured together. */
struct route_run {
    enum metric metric; /* of concurrent runs */
    struct {
        place_id from, to;
    } flow[ROUTE_PARTS_MAX * ROUTE_HOPS_MAX]; /* ascending by from, to */
    size_t count;
};

/* The runs for so many bytes between any two memories of which one is a gpu's, each run once; at
 * most most. Fails with NO_MEMORY. */
enum berth_code route_unmeasured_leads(const struct snapshot *snap, int64_t bytes,
                                       struct route_run *ret, size_t most, size_t *ret_count,
                                       struct berth_err *err);
