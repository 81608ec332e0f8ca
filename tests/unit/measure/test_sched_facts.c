/* The scheduler asks the GPU drivers beside everything else: with probes that are scripts, and a
 * gpu that the driver's files below a root show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measure/sched_facts.h"
#include "unit/measure/sched_rig.h"

#define ADDRESS "ffff:fe:06.0" /* where no machine has a gpu */
#define RUN                                                                                        \
    "{\"record\":\"run\",\"schema\":1,\"probe\":\"gpu\",\"backend\":\"facts\",\"started_at\":"     \
    "1790000000,\"conditions\":{}}\n"
#define DEVICE                                                                                     \
    "{\"record\":\"device\",\"gpu\":\"gpu0\",\"vendor\":\"nvidia\",\"pci\":\"" ADDRESS             \
    "\",\"model\":\"NVIDIA H200\",\"bytes\":150754820096,\"processes\":%d}\n"
#define LINK                                                                                       \
    "{\"record\":\"link\",\"from\":\"gpu0\",\"to\":\"switch0\",\"kind\":\"nvlink\",\"width\":18,"  \
    "\"state\":\"up\"}\n"
#define END "{\"record\":\"end\",\"status\":\"complete\",\"elapsed_ns\":5}\n"

/* Writes a shell script that the probe runs with --facts; each call adds a line to the file
 * asked. */
static void put_probe(const struct rig *rig, const char *script)
{
    char text[1024];
    snprintf(text, sizeof text, "#!/bin/sh\ncd %s\necho \"$*\" >>asked\n%s\n", rig->folder, script);
    rig_put(rig, "/probes/berth-probe-gpu", text, 0755);
}

static void put_facts(const struct rig *rig, int processes)
{
    char text[2048];
    snprintf(text, sizeof text, RUN DEVICE LINK END, processes);
    rig_put(rig, "/facts", text, 0644);
}

static size_t asked(const struct rig *rig) { return rig_lines(rig, "/asked"); }

static void prepare(struct rig *rig)
{
    struct berth_err err = {0};
    rig_prepare(rig);
    assert_int_equal(config_set(&rig->config, "probe_at_start", "no", &err), BERTH_OK);
}

static void put_gpu(const struct rig *rig)
{
    rig_put(rig, "/proc/driver/nvidia/gpus/" ADDRESS "/information",
            "Model: \t\t NVIDIA H200\nIRQ:   \t\t 1\nDevice Minor: \t 0\n", 0644);
}

static const struct place *gpu_of(const struct rig *rig)
{
    const struct graph *graph = sched_snapshot(rig->sched)->graph;
    place_id gpu = graph_find(graph, ADDRESS);
    return gpu != PLACE_NONE ? graph_place(graph, gpu) : NULL;
}

static bool has_processes(const struct rig *rig, const char *wanted)
{
    const struct place *gpu = gpu_of(rig);
    const char *processes = gpu != NULL ? place_detail(gpu, "processes") : NULL;
    return processes != NULL && strcmp(processes, wanted) == 0;
}

static bool has_one_process(const struct rig *rig) { return has_processes(rig, "1"); }
static bool has_two_processes(const struct rig *rig) { return has_processes(rig, "2"); }

static bool has_note(const struct rig *rig)
{
    const struct snapshot *snap = sched_snapshot(rig->sched);
    for (size_t i = 0; i < snap->note_count; i++)
        if (strcmp(snap->notes[i].code, "gpu-facts") == 0)
            return true;
    return false;
}

static bool was_asked(const struct rig *rig) { return asked(rig) > 0; }
static bool is_measuring(const struct rig *rig) { return sched_is_measuring(rig->sched); }

static void facts_come_after_the_first_snapshot(void **state)
{
    (void)state;
    struct rig rig;
    prepare(&rig);
    put_gpu(&rig);
    put_facts(&rig, 1);
    put_probe(&rig, "cat facts");
    rig_begin(&rig);
    const struct snapshot *first = snapshot_ref(sched_snapshot(rig.sched));
    assert_non_null(gpu_of(&rig));
    assert_null(place_detail(gpu_of(&rig), "processes"));
    assert_true(rig_runs_until(&rig, has_one_process));
    const struct snapshot *second = sched_snapshot(rig.sched);
    assert_true(second->generation > first->generation);
    assert_string_equal(second->graph->fingerprint, first->graph->fingerprint);
    assert_true(gpu_of(&rig)->capacity_bytes == INT64_C(150754820096));
    assert_int_equal(second->graph->disagreement_count, first->graph->disagreement_count);
    assert_non_null(strstr(second->graph->facts, "switch0"));
    assert_int_equal(asked(&rig), 1);
    snapshot_unref(first);
    rig_end(&rig);
}

static void a_reload_asks_again(void **state)
{
    (void)state;
    struct rig rig;
    prepare(&rig);
    put_gpu(&rig);
    put_facts(&rig, 1);
    put_probe(&rig, "cat facts");
    rig_begin(&rig);
    assert_true(rig_runs_until(&rig, has_one_process));
    put_facts(&rig, 2);
    sched_reload(rig.sched);
    assert_true(rig_runs_until(&rig, has_two_processes));
    assert_int_equal(asked(&rig), 2);
    rig_end(&rig);
}

static void a_gpu_that_comes_is_asked_about(void **state)
{
    (void)state;
    struct rig rig;
    prepare(&rig);
    put_facts(&rig, 1);
    put_probe(&rig, "cat facts");
    rig_begin(&rig);
    if (graph_count(sched_snapshot(rig.sched)->graph, PLACE_GPU) == 0) { /* this machine has none */
        uv_run(&rig.loop, UV_RUN_NOWAIT);
        assert_int_equal(asked(&rig), 0);
    }
    put_gpu(&rig);
    sched_reload(rig.sched);
    assert_true(rig_runs_until(&rig, has_one_process));
    rig_end(&rig);
}

static void facts_that_fail_are_a_note(void **state)
{
    (void)state;
    struct rig rig;
    prepare(&rig);
    put_gpu(&rig);
    put_facts(&rig, 1);
    put_probe(&rig, "cat facts; echo no luck >&2; exit 3"); /* its output may be incomplete */
    rig_begin(&rig);
    assert_true(rig_runs_until(&rig, has_note));
    assert_non_null(gpu_of(&rig));
    assert_null(place_detail(gpu_of(&rig), "processes"));
    const struct snapshot *snap = sched_snapshot(rig.sched);
    for (size_t i = 0; i < snap->note_count; i++)
        if (strcmp(snap->notes[i].code, "gpu-facts") == 0)
            assert_string_equal(snap->notes[i].text,
                                "what the drivers say of the gpus is not known: berth-probe-gpu "
                                "ended with status 3: no luck");
    put_probe(&rig, "cat facts");
    sched_reload(rig.sched);
    assert_true(rig_runs_until(&rig, has_one_process));
    assert_false(has_note(&rig));
    rig_end(&rig);
}

/* It is served from the first moment on, and measured when the driver has been given up. */
static void a_driver_that_hangs_holds_nothing_up(void **state)
{
    (void)state;
    struct rig rig;
    struct berth_err err = {0};
    prepare(&rig);
    put_gpu(&rig);
    put_probe(&rig, "exec sleep 60");
    rig_put(&rig, "/probes/berth-probe-cpu", "#!/bin/sh\nexec sleep 60\n", 0755);
    assert_int_equal(config_set(&rig.config, "probe_at_start", "yes", &err), BERTH_OK);
    assert_int_equal(config_set(&rig.config, "probe_silence_s", "3", &err), BERTH_OK);
    rig_begin(&rig);
    assert_false(has_note(&rig)); /* as when the driver has had its 3 s */
    assert_int_equal(sched_state(rig.sched), SCHED_PROBING);
    assert_false(sched_is_measuring(rig.sched));
    assert_true(rig_runs_until(&rig, has_note));
    assert_non_null(gpu_of(&rig));
    assert_true(rig_runs_until(&rig, is_measuring));
    rig_end(&rig);
}

/* Facts from before the gpus were measured count afterwards, and a request to measure meanwhile is
 * accepted. */
static void what_a_look_says_counts(void **state)
{
    (void)state;
    struct rig rig;
    struct probe_request request = {0};
    struct berth_err err = {0};
    uint64_t number;
    prepare(&rig);
    put_gpu(&rig);
    put_facts(&rig, 1);
    put_probe(&rig, "[ \"$1\" = --facts ] && cat facts");
    rig_put(&rig, "/probes/berth-probe-cpu", "#!/bin/sh\nexit 0\n", 0755);
    rig_begin(&rig);
    assert_true(rig_runs_until(&rig, has_one_process));
    put_facts(&rig, 2);
    assert_int_equal(sched_probe(rig.sched, &request, &number, &err), BERTH_OK);
    assert_true(rig_runs_until(&rig, has_two_processes));
    /* nobody to ask: the node is looked at again at once */
    rig_put(&rig, "/probes/berth-probe-gpu", "", 0644);
    sched_reload(rig.sched);
    assert_int_equal(sched_state(rig.sched), SCHED_PROBING);
    assert_false(sched_is_measuring(rig.sched));
    assert_int_equal(sched_probe(rig.sched, &(struct probe_request){0}, &number, &err), BERTH_OK);
    assert_int_equal(number, 2);
    assert_int_equal(sched_probe(rig.sched, &(struct probe_request){0}, &number, &err), BERTH_BUSY);
    rig_end(&rig);
}

static void a_stop_does_not_wait_for_a_driver(void **state)
{
    (void)state;
    struct rig rig;
    prepare(&rig);
    put_gpu(&rig);
    put_probe(&rig, "exec sleep 60");
    rig_begin(&rig);
    assert_true(rig_runs_until(&rig, was_asked));
    uint64_t start = uv_hrtime();
    rig_end(&rig);
    assert_true(uv_hrtime() - start < UINT64_C(8000000000)); /* it is given 10 s */
    prepare(&rig);
    put_probe(&rig, "exec sleep 60");
    rig_begin(&rig);
    put_gpu(&rig);
    sched_reload(rig.sched); /* finds a gpu when nobody wants to know any more */
    start = uv_hrtime();
    rig_end(&rig);
    assert_true(uv_hrtime() - start < UINT64_C(8000000000)); /* it is given 10 s */
}

static void a_text_is_whole_or_nothing(void **state)
{
    (void)state;
    struct sched_facts_text facts = {0};
    assert_null(sched_facts_text_detach(&facts));
    sched_facts_text_add(&facts, "one", 3);
    sched_facts_text_add(&facts, "", 0);
    sched_facts_text_add(&facts, "two", 3);
    char *text = sched_facts_text_detach(&facts);
    assert_string_equal(text, "one\n\ntwo\n");
    free(text);
    static char long_line[60000];
    memset(long_line, 'x', sizeof long_line);
    for (size_t i = 0; i <= SCHED_FACTS_TEXT_MAX / sizeof long_line; i++)
        sched_facts_text_add(&facts, long_line, sizeof long_line);
    sched_facts_text_add(&facts, "short", 5);
    assert_null(sched_facts_text_detach(&facts));
    sched_facts_text_add(&facts, "again", 5);
    text = sched_facts_text_detach(&facts);
    assert_string_equal(text, "again\n");
    free(text);
}

int main(int argc, char **argv)
{
    (void)argc;
    rig_main(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_whole_or_nothing),
        cmocka_unit_test(facts_come_after_the_first_snapshot),
        cmocka_unit_test(a_reload_asks_again),
        cmocka_unit_test(a_gpu_that_comes_is_asked_about),
        cmocka_unit_test(facts_that_fail_are_a_note),
        cmocka_unit_test(a_driver_that_hangs_holds_nothing_up),
        cmocka_unit_test(what_a_look_says_counts),
        cmocka_unit_test(a_stop_does_not_wait_for_a_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
