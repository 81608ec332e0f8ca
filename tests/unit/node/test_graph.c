#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "node/graph.h"

/* machine0 - package0 - numa0, core0 with pu0; gpu0 and gpu1 below numa0. */
static struct graph *small_graph(void)
{
    struct graph *graph = graph_new();
    assert_non_null(graph);
    const enum place_kind kinds[] = {PLACE_MACHINE, PLACE_PACKAGE, PLACE_NUMA, PLACE_CORE,
                                     PLACE_PU};
    for (size_t i = 0; i < 5; i++) {
        place_id id = graph_add_place(graph, kinds[i], 0);
        assert_int_equal(id, i);
        if (i > 0)
            graph->places[id].parent = i == 3 ? 1 : (place_id)i - 1;
    }
    struct cpuset cpus = {0};
    cpuset_add(&cpus, 0);
    assert_true(place_set_cpus(&graph->places[3], &cpus));
    assert_true(place_set_cpus(&graph->places[4], &cpus));
    for (int g = 0; g < 2; g++) {
        place_id id = graph_add_place(graph, PLACE_GPU, g);
        graph->places[id].parent = graph->places[id].numa = 2;
        assert_true(
            place_set_text(&graph->places[id].pci, g == 0 ? "0000:c1:00.0" : "0000:c6:00.0"));
        assert_true(place_set_text(&graph->places[id].uuid, "GPU-abc"));
    }
    struct link *link = graph_add_link(graph, 5, 6, LINK_XGMI);
    assert_non_null(link);
    link->width = 4;
    return graph;
}

static void finds_names_addresses_and_uuids(void **state)
{
    (void)state;
    struct graph *graph = small_graph();
    struct berth_err err = {0};
    assert_int_equal(graph_finish(graph, &err), BERTH_OK);
    assert_int_equal(graph_find(graph, "machine0"), 0);
    assert_int_equal(graph_find(graph, "numa0"), 2);
    assert_int_equal(graph_find(graph, "gpu1"), 6);
    assert_int_equal(graph_find(graph, "0000:c6:00.0"), 6);
    assert_int_equal(graph_find(graph, "GPU-abc"), 5); /* shared by partitions: the first */
    assert_int_equal(graph_find(graph, "gpu2"), PLACE_NONE);
    assert_int_equal(graph_find(graph, ""), PLACE_NONE);
    assert_int_equal(graph_count(graph, PLACE_GPU), 2);
    assert_int_equal(graph_next(graph, PLACE_GPU, 0), 5);
    assert_int_equal(graph_next(graph, PLACE_GPU, 6), 6);
    assert_int_equal(graph_next(graph, PLACE_GPU, 7), PLACE_NONE);
    assert_string_equal(graph_place(graph, 5)->name, "gpu0");
    assert_true(graph->links[0].nominal_bytes_per_s != graph->links[0].nominal_bytes_per_s);
    graph_unref(graph);
}

static void a_uuid_hides_no_name(void **state)
{
    (void)state;
    struct graph *graph = small_graph();
    assert_true(place_set_text(&graph->places[5].uuid, "numa0"));
    assert_int_equal(graph_finish(graph, NULL), BERTH_OK);
    assert_int_equal(graph_find(graph, "numa0"), 2);
    graph_unref(graph);
}

static void refuses(struct graph *graph, const char *why)
{
    struct berth_err err = {0};
    assert_int_equal(graph_finish(graph, &err), BERTH_BAD_DATA);
    assert_non_null(strstr(err.detail, why));
    graph_unref(graph);
}

static void every_invariant_is_checked(void **state)
{
    (void)state;
    refuses(graph_new(), "not the machine");
    struct graph *graph = small_graph();
    graph->places[graph_add_place(graph, PLACE_MACHINE, 1)].parent = 0;
    refuses(graph, "two machines");
    graph = small_graph();
    graph->places[graph_add_place(graph, PLACE_NUMA, 0)].parent = 0;
    refuses(graph, "two places called numa0");
    graph = small_graph();
    graph->places[1].parent = 2; /* package0 and numa0 in a circle */
    refuses(graph, "do not lead to the machine");
    graph = small_graph();
    graph->places[5].parent = 99;
    refuses(graph, "do not lead to the machine");
    graph = small_graph();
    graph->places[5].numa = 1;
    refuses(graph, "numa that is none");
    graph = small_graph();
    assert_non_null(graph_add_link(graph, 5, 77, LINK_PCIE));
    refuses(graph, "link 1 ends at no place");
    graph = small_graph();
    place_id core = graph_add_place(graph, PLACE_CORE, 1);
    graph->places[core].parent = 1;
    struct cpuset cpus = {0};
    cpuset_add(&cpus, 0);
    assert_true(place_set_cpus(&graph->places[core], &cpus));
    refuses(graph, "shares a cpu");
}

static void texts_become_one_line_of_utf8(void **state)
{
    (void)state;
    struct graph *graph = small_graph();
    struct place *gpu = &graph->places[5];
    assert_true(place_set_text(&gpu->model, "a\n\x1b[0m\xff\xc3\xa4\xc0\xaf\xed\xa0\x80\xe2\x82"));
    assert_string_equal(gpu->model, "a  [0m?\xc3\xa4???????");
    assert_true(place_set_detail(gpu, "hive", "1"));
    assert_true(place_set_detail(gpu, "hive", "2"));
    assert_int_equal(gpu->detail_count, 1);
    assert_string_equal(place_detail(gpu, "hive"), "2");
    assert_null(place_detail(gpu, "nothing"));
    assert_true(graph_add_disagreement(graph, "%s says %d", "hwloc", 3));
    assert_string_equal(graph->disagreements[0], "hwloc says 3");
    assert_true(graph_set_software(graph, "kernel", "6.1"));
    struct resource *resource = graph_add_resource(graph, "module0 host port");
    assert_non_null(resource);
    assert_true(graph_add_user(resource, "gpu0"));
    assert_true(graph_add_user(resource, "gpu1"));
    assert_int_equal(resource->user_count, 2);
    graph_unref(graph);
}

static void references_keep_it(void **state)
{
    (void)state;
    struct graph *graph = small_graph();
    assert_int_equal(graph_finish(graph, NULL), BERTH_OK);
    assert_ptr_equal(graph_ref(graph), graph);
    graph_unref(graph);
    assert_int_equal(graph_find(graph, "core0"), 3);
    graph_unref(graph);
    graph_unref(NULL);
}

static void names_parse_back(void **state)
{
    (void)state;
    for (int i = 0; i < PLACE_KIND_COUNT; i++) {
        enum place_kind kind = PLACE_MACHINE;
        assert_true(place_kind_parse(place_kind_name((enum place_kind)i), &kind));
        assert_int_equal(kind, i);
    }
    for (int i = 0; i < LINK_KIND_COUNT; i++) {
        enum link_kind kind = LINK_XGMI;
        assert_true(link_kind_parse(link_kind_name((enum link_kind)i), &kind));
        assert_int_equal(kind, i);
    }
    enum link_state state_value = LINK_UP;
    assert_true(link_state_parse("down", &state_value));
    assert_int_equal(state_value, LINK_DOWN);
    enum origin origin = ORIGIN_LIVE;
    assert_true(origin_parse("standin", &origin));
    assert_int_equal(origin, ORIGIN_STANDIN);
    assert_false(origin_parse("invented", &origin));
    assert_int_equal(origin, ORIGIN_STANDIN);
    assert_string_equal(link_state_name(LINK_DEGRADED), "degraded");
    assert_string_equal(origin_name(ORIGIN_RECORDED), "recorded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_names_addresses_and_uuids),
        cmocka_unit_test(a_uuid_hides_no_name),
        cmocka_unit_test(every_invariant_is_checked),
        cmocka_unit_test(texts_become_one_line_of_utf8),
        cmocka_unit_test(references_keep_it),
        cmocka_unit_test(names_parse_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
