/* Fixture of the tests of judging: a node whose values are judged by the configuration's
 * defaults. */
#pragma once
#include "unit/node/built_nodes.h"

#include "base/config.h"
#include "health/judge.h"

#define GB 1e9

static const struct shape four_numas = {2, 2, 1, 4, 1, INT64_C(64) << 30};

struct fixture {
    struct graph *graph;
    struct values *values;
    struct snapshot *snap;
    struct judgement judgement;
};

static struct judge_limits limits; /* the defaults, set by begin_judging */

static inline struct fixture begin(struct graph *graph)
{
    struct fixture f = {.graph = graph, .values = values_new()};
    assert_non_null(f.values);
    return f;
}

static inline void judged(struct fixture *f, const bool *selected)
{
    struct berth_err err = {0};
    if (f->snap == NULL)
        f->snap = nodes_snapshot(f->graph, f->values);
    judge_done(&f->judgement);
    assert_int_equal(judge(f->snap, selected, &limits, &f->judgement, &err), BERTH_OK);
    assert_true(strlen(f->judgement.reason) < JUDGE_REASON_SIZE);
}

static inline void end(struct fixture *f)
{
    judge_done(&f->judgement);
    snapshot_unref(f->snap);
}

static inline place_id numa(const struct fixture *f, int n)
{
    return nodes_place(f->graph, PLACE_NUMA, n);
}

static inline void rate(struct fixture *f, int from, int to, double gb_per_s, double half)
{
    nodes_value(f->values, METRIC_MEMORY_BANDWIDTH, VALUE_MEASURED, numa(f, from), numa(f, to), "",
                gb_per_s * GB, (gb_per_s - half) * GB, (gb_per_s + half) * GB);
}

static inline const struct finding *found(const struct fixture *f, const char *code)
{
    for (size_t i = 0; i < f->judgement.count; i++)
        if (strcmp(f->judgement.finding[i].code, code) == 0)
            return &f->judgement.finding[i];
    return NULL;
}

static inline size_t listed(const struct fixture *f)
{
    size_t count = 0;
    for (size_t i = 0; i < f->judgement.count; i++)
        count += !f->judgement.finding[i].is_unlisted;
    return count;
}

/* The group's set-up. */
static inline int begin_judging(void **state)
{
    (void)state;
    struct config config;
    struct berth_err err = {0};
    if (config_init(&config, &err) != BERTH_OK)
        return -1;
    limits = judge_limits_of(&config);
    config_done(&config);
    return 0;
}
