/* The scheduler's background measuring on this machine, with a probe that is a script, files below
 * a root and a clock that the tests set: requests that do not wait for its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "health/baseline.h"
#include "measure/sched_load.h"
#include "unit/measure/sched_rig.h"

#define RUN                                                                                        \
    "{\"record\":\"run\",\"schema\":1,\"probe\":\"cpu\",\"backend\":\"cpu\",\"started_at\":"       \
    "1790000000,\"conditions\":{}}"
#define VALUE                                                                                      \
    "{\"record\":\"value\",\"metric\":\"memory_bandwidth\",\"from\":\"numa0\",\"to\":\"numa0\","   \
    "\"value\":1e10,\"low\":0.9e10,\"high\":1.1e10,\"n\":9}"
#define END "{\"record\":\"end\",\"status\":\"complete\",\"elapsed_ns\":5}"

/* In the background (with --places) it waits until it is stopped, or until there is a file go. */
#define PROBE                                                                                      \
    "#!/bin/sh\ncd %s\necho '" RUN "'\necho '" VALUE "'\necho \"$*\" >>begun\n"                    \
    "case \"$*\" in\n*--places*) [ -e go ] || exec sleep 60 ;;\nesac\necho '" END "'\n"

static size_t begun(const struct rig *rig) { return rig_lines(rig, "/begun"); }

static struct background_view view_of(const struct rig *rig)
{
    struct background_view view;
    sched_background_view(rig->sched, &view);
    return view;
}

static bool is_ready(const struct rig *rig) { return sched_state(rig->sched) == SCHED_READY; }
static bool has_begun_again(const struct rig *rig) { return begun(rig) == 2; }
static bool has_looked(const struct rig *rig) { return rig->looks >= 20; }
static bool is_accepted(const struct rig *rig) { return rig->is_accepted; }
static bool has_measured(const struct rig *rig) { return view_of(rig).last[0] != '\0'; }
static bool is_held(const struct rig *rig)
{
    return strcmp(view_of(rig).waits, "the stored claims are unknown") == 0;
}
static bool waits_for_load(const struct rig *rig)
{
    return strcmp(view_of(rig).waits, "the node has a load of 99.00") == 0;
}

/* A scheduler that has measured, and whose value is old now. */
static void prepare(struct rig *rig)
{
    struct berth_err err = {0};
    char text[1024];
    rig_prepare(rig);
    snprintf(text, sizeof text, PROBE, rig->folder);
    rig_put(rig, "/probes/berth-probe-cpu", text, 0755);
    assert_int_equal(config_set(&rig->config, "claim_resume_s", "2", &err), BERTH_OK);
    rig_begin(rig);
    assert_true(rig_runs_until(rig, is_ready));
    assert_int_equal(begun(rig), 1);
    assert_true(view_of(rig).is_on &&
                view_of(rig).next_at_s == rig_now_s(rig) + rig->config.freshness_s);
    rig->ahead_s = rig->config.freshness_s + 100;
}

/* A change of the claims has the time looked at again. */
static void follow(struct rig *rig) { sched_follow_claims(rig->sched, &rig->claims, true); }

static void accepted(void *arg, enum berth_code code, const struct accepted *what,
                     const struct berth_err *err)
{
    struct rig *rig = arg;
    (void)what;
    (void)err;
    rig->is_accepted = true;
    rig->accepted = code;
}

static void accepting_stops_it(void **state)
{
    (void)state;
    struct rig rig;
    struct berth_err err = {0};
    prepare(&rig);
    follow(&rig);
    assert_true(rig_runs_until(&rig, has_begun_again));
    assert_true(rig_runs_until(&rig, has_looked)); /* the value has been read */
    assert_int_equal(sched_state(rig.sched), SCHED_READY);
    assert_int_equal(sched_accept(rig.sched, NULL, accepted, &rig, &err), BERTH_OK);
    assert_int_equal(sched_state(rig.sched), SCHED_PROBING);
    assert_true(sched_is_yielding(rig.sched));
    /* one at a time */
    assert_int_equal(sched_accept(rig.sched, NULL, accepted, &rig, &err), BERTH_BUSY);
    assert_true(rig_runs_until(&rig, is_accepted));
    assert_int_equal(rig.accepted, BERTH_OK);
    assert_int_equal(sched_state(rig.sched), SCHED_READY);
    /* the stopped run's value is in the snapshot of the acceptance */
    const struct snapshot *snapshot = sched_snapshot(rig.sched);
    const struct value *item;
    assert_int_equal(values_range(snapshot->values, METRIC_MEMORY_BANDWIDTH, PLACE_NONE, &item), 1);
    assert_int_equal(item->measured_at_s, rig_now_s(&rig));
    assert_true(snapshot->baseline != NULL &&
                snapshot->baseline[item - snapshot->values->item].accepted);
    rig_end(&rig);
}

static void it_ends_with_the_scheduler(void **state)
{
    (void)state;
    struct rig rig;
    prepare(&rig);
    follow(&rig);
    assert_true(rig_runs_until(&rig, has_begun_again));
    uint64_t start = uv_hrtime();
    rig_end(&rig);
    assert_true(uv_hrtime() - start < UINT64_C(15000000000));
}

/* Unknown claims are as a claim: the unit stops, and begins again when they are known. */
static void unknown_claims_hold_it(void **state)
{
    (void)state;
    struct rig rig;
    prepare(&rig);
    follow(&rig);
    assert_true(rig_runs_until(&rig, has_begun_again));
    sched_follow_claims(rig.sched, &rig.claims, false);
    assert_true(sched_is_yielding(rig.sched) && rig_runs_until(&rig, is_held));
    rig.ahead_s += 86400; /* its budget is free again */
    sched_follow_claims(rig.sched, &rig.claims, false);
    assert_true(is_held(&rig));
    assert_int_equal(view_of(&rig).next_at_s, 0);
    tree_put(rig.folder, "/go", "");
    follow(&rig);
    assert_int_equal(view_of(&rig).next_at_s, rig_now_s(&rig) + 2); /* claim_resume_s */
    assert_true(rig_runs_until(&rig, has_measured));
    assert_string_equal(view_of(&rig).last, "memory_bandwidth at numa0");
    assert_string_equal(view_of(&rig).waits, "");
    rig_end(&rig);
}

static void load_of_the_machine_is_waited_for(void **state)
{
    (void)state;
    struct rig rig;
    prepare(&rig);
    tree_put(rig.folder, "/proc/loadavg", "99.00 0.00 0.00 1/99 1\n");
    follow(&rig);
    assert_true(rig_runs_until(&rig, waits_for_load));
    assert_int_equal(view_of(&rig).next_at_s, rig_now_s(&rig) + 60);
    assert_int_equal(begun(&rig), 1);
    rig_end(&rig);
}

/* A caller that has no answer yet of the load before learns by its number that another began. */
static void a_load_that_cannot_begin_is_another_one(void **state)
{
    (void)state;
    struct rig rig = {0};
    struct sched_load load;
    struct load_view view;
    struct berth_err err = {0};
    uint64_t number;
    struct graph *graph = graph_new();
    graph_add_place(graph, PLACE_MACHINE, 0);
    graph->origin = ORIGIN_STANDIN; /* needs no probe */
    rig.clock = (struct clock){rig_now_s, rig_now_ns, &rig};
    assert_int_equal(config_init(&rig.config, &err), BERTH_OK);
    assert_int_equal(config_set(&rig.config, "probe_dir", "/nonexistent", &err), BERTH_OK);
    sched_load_init(&load, &(struct sched_load_env){.clock = &rig.clock, .config = &rig.config});
    load.number = 7;
    assert_int_equal(sched_load_begin(&load, graph, NULL, 1, &number, &err), BERTH_UNAVAILABLE);
    sched_load_read_view(&load, &view);
    assert_true(view.number == 8 && !view.running);
    sched_load_done(&load);
    config_done(&rig.config);
    graph_unref(graph);
}

int main(int argc, char **argv)
{
    (void)argc;
    rig_main(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepting_stops_it),
        cmocka_unit_test(it_ends_with_the_scheduler),
        cmocka_unit_test(unknown_claims_hold_it),
        cmocka_unit_test(load_of_the_machine_is_waited_for),
        cmocka_unit_test(a_load_that_cannot_begin_is_another_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
