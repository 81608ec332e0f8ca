/* Users of the gpus by the output of their probe, and the probe's names of gpus. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measure/gpu_use.h"
#include "measure/probe_names.h"
#include "measure/probe_sets.h"

/* gpu0 and gpu1 are a module; gpu2 and gpu3 two slices of one device; gpu4 has no address. */
static struct graph *five_gpus(void)
{
    static const char *const pci[] = {"0000:c1:00.0", "0000:c6:00.0", "0000:d1:00.0",
                                      "0000:d1:00.0", NULL};
    struct graph *graph = graph_new();
    struct berth_err err = {0};
    graph_add_place(graph, PLACE_MACHINE, 0);
    place_id module = graph_add_place(graph, PLACE_MODULE, 0);
    graph->places[module].parent = 0;
    for (int i = 0; i < 5; i++) {
        char uuid[16];
        place_id gpu = graph_add_place(graph, PLACE_GPU, i);
        snprintf(uuid, sizeof uuid, "GPU-%d", i);
        graph->places[gpu].parent = i < 2 ? module : 0;
        assert_true(pci[i] == NULL || place_set_text(&graph->places[gpu].pci, pci[i]));
        assert_true(place_set_text(&graph->places[gpu].uuid, uuid));
    }
    place_id numa = graph_add_place(graph, PLACE_NUMA, 0);
    graph->places[numa].parent = 0;
    assert_int_equal(graph_finish(graph, &err), BERTH_OK);
    return graph;
}

static void feed(struct gpu_use *use, const struct graph *graph, const char *line)
{
    gpu_use_line(use, graph, line, strlen(line));
}

static void processes_make_use(void **state)
{
    (void)state;
    struct graph *graph = five_gpus();
    struct gpu_use use = {0};
    feed(&use, graph,
         "{\"record\":\"run\",\"schema\":1,\"probe\":\"gpu\",\"backend\":\"cuda\",\"started_at\":"
         "1}");
    feed(&use, graph,
         "{\"record\":\"device\",\"gpu\":\"gpu0\",\"pci\":\"0000:c1:00.0\",\"processes\":0}");
    feed(&use, graph, "{\"record\":\"device\",\"gpu\":\"gpu1\",\"pci\":\"0000:c6:00.0\"}");
    feed(&use, graph,
         "{\"record\":\"device\",\"gpu\":\"gpu7\",\"pci\":\"0000:77:00.0\",\"processes\":3}");
    feed(&use, graph, "{\"record\":\"device\",\"gpu\":\"gpu7\",\"processes\":3}");
    feed(&use, graph, "rubbish");
    assert_int_equal(use.count, 0);
    feed(&use, graph,
         "{\"record\":\"device\",\"gpu\":\"a\",\"pci\":\"0000:c6:00.0\",\"processes\":2}");
    feed(&use, graph,
         "{\"record\":\"device\",\"gpu\":\"b\",\"pci\":\"0000:d1:00.0\",\"uuid\":\"GPU-3\","
         "\"processes\":1}");
    feed(&use, graph, "{\"record\":\"device\",\"gpu\":\"b\",\"uuid\":\"GPU-3\",\"processes\":9}");
    assert_int_equal(use.count, 2);
    assert_string_equal(graph_place(graph, use.item[0].gpu)->name, "gpu1");
    assert_int_equal(use.item[0].processes, 2);
    assert_string_equal(graph_place(graph, use.item[1].gpu)->name, "gpu3");
    assert_int_equal(use.item[1].processes, 1);
    assert_false(gpu_use_has_all(&use, graph));
    assert_true(gpu_use_has_places(&use, graph, "gpu1"));
    /* others than gpus do not count */
    assert_true(gpu_use_has_places(&use, graph, "gpu3,numa0,gpu1"));
    assert_false(gpu_use_has_places(&use, graph, "gpu1,gpu0"));
    assert_false(gpu_use_has_places(&use, graph, "gpu0"));
    char *names = gpu_use_names(&use, graph);
    assert_string_equal(names, "0000:c6:00.0,GPU-3");
    free(names);
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1))
        gpu_use_add(&use, gpu, 1);
    assert_int_equal(use.count, 5);
    assert_true(gpu_use_has_all(&use, graph));
    graph_unref(graph);
}

static void places_get_the_probes_names(void **state)
{
    (void)state;
    struct graph *graph = five_gpus();
    char *places = probe_names_translate(graph, "gpu2,module0,numa0,gpu4,elsewhere");
    assert_string_equal(places, "GPU-2,0000:c1:00.0,0000:c6:00.0,numa0,GPU-4,elsewhere");
    free(places);
    graph_unref(graph);
}

/* 20 GPUs of which each two are linked have 760 transfers in parts: the probe gets as many as it
 * takes, within the length of an argument, also with long names. */
static void the_probe_gets_no_more_sets_than_it_takes(void **state)
{
    (void)state;
    for (int is_long = 0; is_long < 2; is_long++) {
        struct graph *graph = graph_new();
        struct berth_err err = {0};
        graph_add_place(graph, PLACE_MACHINE, 0);
        for (int i = 0; i < 20; i++) {
            char uuid[80];
            place_id gpu = graph_add_place(graph, PLACE_GPU, i);
            snprintf(uuid, sizeof uuid, "GPU-%0*d", is_long ? 60 : 2, i);
            graph->places[gpu].parent = 0;
            assert_true(place_set_text(&graph->places[gpu].uuid, uuid));
            for (place_id other = 1; other < gpu; other++) {
                struct link *link = graph_add_link(graph, other, gpu, LINK_XGMI);
                assert_non_null(link);
                link->nominal_bytes_per_s = 50e9;
            }
        }
        assert_int_equal(graph_finish(graph, &err), BERTH_OK);
        char *sets = probe_sets(graph, NULL);
        assert_non_null(sets);
        size_t count = 1;
        for (const char *c = sets; *c != '\0'; c++)
            count += *c == ',';
        assert_true(is_long ? count > 32 && count < PROBE_SETS_MAX : count == PROBE_SETS_MAX);
        assert_true(strlen(sets) < PROBE_SETS_BYTES + 2048);
        free(sets);
        graph_unref(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(processes_make_use),
                                       cmocka_unit_test(places_get_the_probes_names),
                                       cmocka_unit_test(the_probe_gets_no_more_sets_than_it_takes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
