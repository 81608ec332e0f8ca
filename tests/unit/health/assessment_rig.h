/* Fixture of the tests of assessments: a node whose values are assessed by the configuration's
 * defaults. */
#pragma once
#include "unit/node/built_nodes.h"

#include "base/config.h"
#include "health/assessment.h"

#define GB 1e9

static const struct shape four_numas = {2, 2, 1, 4, 1, INT64_C(64) << 30};

struct fixture {
    struct graph *graph;
    struct values *values;
    struct snapshot *snap;
    struct assessment assessment;
};

static struct health_limits limits; /* the defaults with one look, set by begin_judging */

static inline struct fixture begin(struct graph *graph)
{
    struct fixture f = {.graph = graph, .values = values_new()};
    assert_non_null(f.values);
    return f;
}

static inline void assess(struct fixture *f, const bool *selected)
{
    struct berth_err err = {0};
    if (f->snap == NULL)
        f->snap = nodes_snapshot(f->graph, f->values);
    assessment_done(&f->assessment);
    assert_int_equal(health_assess(f->snap, selected, &limits, &f->assessment, &err), BERTH_OK);
    assert_true(strlen(f->assessment.reason) < ASSESSMENT_REASON_SIZE);
}

static inline void end(struct fixture *f)
{
    assessment_done(&f->assessment);
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
    for (size_t i = 0; i < f->assessment.count; i++)
        if (strcmp(f->assessment.finding[i].code, code) == 0)
            return &f->assessment.finding[i];
    return NULL;
}

static inline size_t listed(const struct fixture *f)
{
    size_t count = 0;
    for (size_t i = 0; i < f->assessment.count; i++)
        count += !f->assessment.finding[i].is_unlisted;
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
    limits = health_limits_from(&config);
    limits.looks = 1;
    config_done(&config);
    return 0;
}
