/* What tests share in which every allocation of an answer fails once: there is an error or the
 * answer, never a crash, and nothing stays behind. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cost/derive.h"
#include "fault.h"
#include "node/snapshot.h"

#define GB 1e9

/* Adds a measured value in GB/s. */
static inline void fault_value(struct values *values, enum metric metric, place_id from,
                               place_id to, const char *axes, double gb_per_s)
{
    struct value v = {.metric = metric,
                      .source = VALUE_MEASURED,
                      .from = from,
                      .to = to,
                      .n = 9,
                      .value = gb_per_s * GB,
                      .low = gb_per_s * GB,
                      .high = gb_per_s * GB};
    assert_true(values_add(values, &v, axes, NULL));
}

/* A snapshot of what was made; takes all three, sets may be NULL. */
static inline struct snapshot *fault_snapshot(struct graph *graph, struct values *values,
                                              struct sets *sets)
{
    struct berth_err err = {0};
    memset(graph->fingerprint, 'a', 32);
    assert_int_equal(graph_finish(graph, &err), BERTH_OK);
    values_finish(values);
    struct snapshot *snap = snapshot_new(graph, values, NULL, 0, 0, 1);
    assert_non_null(snap);
    snap->sets = sets;
    graph_unref(graph);
    return snap;
}

/* ask makes the answer to question over a snapshot that make gives for it, of which what planners
 * rest on is derived before, and asserts what is right of one. At least so many places give an
 * error. */
static inline void fault_each_place(struct snapshot *(*make)(const void *),
                                    enum berth_code (*ask)(struct snapshot *, const void *,
                                                           struct berth_err *),
                                    const void *question, int least)
{
    long before = fault_live();
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        int failures = 0;
        for (long at = 1;; at++) {
            struct berth_err err = {0};
            /* anew, because costs are derived once */
            struct snapshot *snap = make(question);
            fault_arm(at, for_ever);
            enum berth_code code = derive_costs(snap) ? ask(snap, question, &err) : BERTH_NO_MEMORY;
            assert_true((snap->derived.matrix == NULL) == (snap->derived.free == NULL));
            bool failed = fault_disarm();
            /* what cannot be looked up is not taken for what was not measured */
            if (code != BERTH_OK && !(failed && code == BERTH_NO_MEMORY))
                fail_msg("allocation %ld: code %d: %s", at, code, err.detail);
            failures += code != BERTH_OK;
            snapshot_unref(snap);
            if (!failed)
                break;
        }
        assert_true(failures >= least);
    }
    assert_int_equal(fault_live(), before);
}
