#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "discover/backend.h"
#include "unit/base/tree_root.h"

/* Writes root/kfd/topology/nodes/path. */
__attribute__((format(printf, 2, 3))) static void put(const char *path, const char *format, ...)
{
    char full[256], text[4096];
    snprintf(full, sizeof full, "/kfd/topology/nodes/%s", path);
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tree_put(root, full, text);
}

static void put_gpu(int node, unsigned location, const char *more)
{
    char path[64];
    snprintf(path, sizeof path, "%d/properties", node);
    put(path,
        "cpu_cores_count 0\nsimd_count 440\nsimd_per_cu 4\nlocation_id %u\ndomain "
        "1\ndrm_render_minor %d\n%s",
        location, 126 + node, more);
}

static void put_link(int from, int index, int to, int type, int weight, int min, int max)
{
    char path[64];
    snprintf(path, sizeof path, "%d/io_links/%d/properties", from, index);
    put(path, "type %d\nnode_from %d\nnode_to %d\nweight %d\nmin_bandwidth %d\nmax_bandwidth %d\n",
        type, from, to, weight, min, max);
}

static struct graph *graph_of(struct berth_err *err)
{
    const struct files io = {root};
    const struct backend_input input = {.io = &io, .kfd = "/kfd"};
    struct draft draft;
    struct graph *graph = NULL;
    struct values *values = NULL;
    assert_true(draft_init(&draft));
    if (backend_kfd.discover(&input, &draft, err) != BERTH_OK) {
        draft_done(&draft);
        return NULL;
    }
    assert_int_equal(draft_finish(&draft, "test", ORIGIN_RECORDED, &graph, &values, err), BERTH_OK);
    values_free(values);
    return graph;
}

static const struct link *link_between(const struct graph *graph, const char *a, const char *b)
{
    place_id from = graph_find(graph, a), to = graph_find(graph, b);
    for (size_t i = 0; i < graph->link_count; i++)
        if (graph->links[i].from == from && graph->links[i].to == to)
            return &graph->links[i];
    return NULL;
}

static void numbers_of_64_bits_and_banks(void **state)
{
    (void)state;
    struct berth_err err = {0};
    put("0/properties", "cpu_cores_count 20\nsimd_count 0\nmem_banks_count 1\n");
    put("0/mem_banks/0/properties", "heap_type 0\nsize_in_bytes 1000000000\n");
    put_gpu(1, 0x1900,
            "hive_id 18446744073709551615\nunique_id 18091350218769748594\ngfx_target_version "
            "90402\nmem_banks_count 2\nfuture_key x y z\n");
    put("1/mem_banks/0/properties", "heap_type 1\nsize_in_bytes 17000000000\n");
    put("1/mem_banks/1/properties", "heap_type 7\nsize_in_bytes 64000\n");
    put("1/name", "aqua\n");
    put("1/gpu_id", "13261\n");
    struct graph *graph = graph_of(&err);
    assert_non_null(graph);
    const struct place *gpu = graph_place(graph, graph_find(graph, "gpu0"));
    assert_string_equal(gpu->pci, "0001:19:00.0");
    assert_string_equal(gpu->uuid, "GPU-fb11632c00f4d272");
    assert_string_equal(place_detail(gpu, "hive"), "ffffffffffffffff");
    assert_string_equal(place_detail(gpu, "gfx"), "gfx942");
    assert_string_equal(place_detail(gpu, "chip"), "aqua");
    assert_string_equal(place_detail(gpu, "gpu_id"), "13261");
    assert_string_equal(gpu->render_node, "/dev/dri/renderD127");
    assert_true(gpu->capacity_bytes == 17000000000);
    assert_int_equal(graph->disagreement_count, 0);
    assert_true(graph_place(graph, graph_find(graph, "numa0"))->capacity_bytes == 1000000000);
    graph_unref(graph);
}

static void links_of_two_cards(void **state)
{
    (void)state;
    struct berth_err err = {0};
    put("0/properties", "cpu_cores_count 8\nsimd_count 0\nio_links_count 4\n");
    for (int g = 1; g <= 4; g++) {
        put_gpu(g, (unsigned)g << 8,
                g == 1   ? "gfx_target_version 90010\nio_links_count 4\n"
                : g == 4 ? "gfx_target_version 90010\nio_links_count 2\n"
                         : "gfx_target_version 90010\nio_links_count 3\n");
        put_link(0, g - 1, g, 11, 15, 50000, 50000);
        put_link(g, 0, 0, 11, 15, 50000, 50000);
    }
    put_link(1, 1, 2, 11, 15, 50000, 200000);
    put_link(2, 1, 1, 11, 15, 50000, 200000);
    put_link(3, 1, 4, 11, 15, 50000, 200000);
    put_link(4, 1, 3, 11, 15, 50000, 200000);
    put_link(1, 2, 3, 11, 15, 50000, 100000);
    put_link(3, 2, 1, 11, 15, 50000, 100000);
    put_link(1, 3, 4, 11, 30, 0, 0); /* two hops */
    put_link(2, 2, 3, 11, 15, 0, 0); /* a link of unknown width */
    struct graph *graph = graph_of(&err);
    assert_non_null(graph);
    assert_int_equal(graph->disagreement_count, 0);
    assert_int_equal(graph_count(graph, PLACE_MODULE), 2);
    assert_string_equal(graph->places[graph_place(graph, graph_find(graph, "gpu3"))->parent].name,
                        "module1");
    assert_int_equal(link_between(graph, "gpu0", "gpu1")->width, 4);
    assert_true(link_between(graph, "gpu0", "gpu1")->nominal_bytes_per_s == 2e11);
    assert_int_equal(link_between(graph, "gpu0", "gpu2")->width, 2);
    assert_null(link_between(graph, "gpu0", "gpu3"));
    assert_int_equal(link_between(graph, "gpu1", "gpu2")->width, 0);
    assert_true(isnan(link_between(graph, "gpu1", "gpu2")->nominal_bytes_per_s));
    assert_int_equal(link_between(graph, "numa0", "gpu3")->kind, LINK_XGMI);
    graph_unref(graph);
}

static void partitions_hang_on_their_module(void **state)
{
    (void)state;
    struct berth_err err = {0};
    put("0/properties", "cpu_cores_count 8\nsimd_count 0\n");
    for (int g = 1; g <= 4; g++) {
        put_gpu(g, (unsigned)(g <= 2 ? 0x500 + g - 1 : 0x600 + g - 3),
                "io_links_count 4\nunique_id 7\n");
        put_link(g, 0, 0, 2, 20, 0, 64000);
        for (int other = 1, index = 1; other <= 4; other++)
            if (other != g)
                put_link(g, index++, other, 11, (g <= 2) == (other <= 2) ? 13 : 41,
                         (g <= 2) == (other <= 2) ? 819200 : 0,
                         (g <= 2) == (other <= 2) ? 819200 : 0);
    }
    struct graph *graph = graph_of(&err);
    assert_non_null(graph);
    assert_int_equal(graph->disagreement_count, 0);
    assert_int_equal(graph_count(graph, PLACE_GPU), 4);
    assert_int_equal(graph_count(graph, PLACE_MODULE), 2);
    assert_string_equal(graph_place(graph, graph_find(graph, "gpu1"))->pci, "0001:05:00.1");
    assert_string_equal(place_detail(graph_place(graph, graph_find(graph, "gpu1")), "partition"),
                        "1");
    assert_string_equal(
        graph->places[graph_place(graph, graph_find(graph, "module1"))->parent].name, "numa0");
    /* one, not one for each pair of partitions */
    assert_int_equal(link_between(graph, "module0", "module1")->kind, LINK_XGMI);
    assert_int_equal(link_between(graph, "numa0", "module0")->kind, LINK_PCIE);
    assert_true(link_between(graph, "module0", "gpu0")->nominal_bytes_per_s == 819.2e9);
    assert_int_equal(graph->link_count, 1 + 2 + 4);
    assert_int_equal(graph_find(graph, "GPU-0000000000000007"), graph_find(graph, "gpu0"));
    graph_unref(graph);
}

static void lies_are_sentences(void **state)
{
    (void)state;
    struct berth_err err = {0};
    put("0/properties", "cpu_cores_count 8\nsimd_count 0\nio_links_count 5\n");
    put_gpu(1, 0x100, "mem_banks_count 1\nio_links_count 2\n");
    put_gpu(2, 0x100, "");
    put_link(1, 0, 9, 11, 15, 0, 0);
    put("1/io_links/1/properties", "type 11\nweight 15\n"); /* from nowhere to nowhere */
    struct graph *graph = graph_of(&err);
    assert_non_null(graph);
    static const char *const parts[] = {"counts 5 io_links on node 0 and shows 0",
                                        "counts 1 mem_banks on node 1",
                                        "nodes 1 and 2 the same PCI address",
                                        "to node 9; it is left out", "at node 1 from node -1"};
    assert_int_equal(graph->disagreement_count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_non_null(strstr(graph->disagreements[i], parts[i]));
    assert_int_equal(graph->link_count, 0);
    graph_unref(graph);
}

static void refuses(enum berth_code code, const char *why)
{
    struct berth_err err = {0};
    assert_null(graph_of(&err));
    assert_int_equal(err.code, code);
    if (strstr(err.detail, why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.detail, why);
}

static void absent_and_broken_trees(void **state)
{
    (void)state;
    const struct backend_input none = {0};
    assert_int_equal(backend_kfd.discover(&none, NULL, NULL), BERTH_ABSENT);
    refuses(BERTH_ABSENT, "topology/nodes");
    put("0/properties", "cpu_cores_count 8\nsimd_count 0\n");
    refuses(BERTH_ABSENT, "no gpu");
    put_gpu(1, 0x100, "hive_id 99999999999999999999999\n");
    refuses(BERTH_BAD_DATA, "hive_id is no number");
    put_gpu(1, 0x100, "unique_id -1\n");
    refuses(BERTH_BAD_DATA, "unique_id is no number");
    put_gpu(1, 0x100, "unique_id\n");
    refuses(BERTH_BAD_DATA, "unique_id is no number");
    put_gpu(1, 0x100, "");
    put("nonsense/properties", "simd_count 1\n");
    refuses(BERTH_BAD_DATA, "nonsense is no node number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(numbers_of_64_bits_and_banks, make_root, remove_root),
        cmocka_unit_test_setup_teardown(links_of_two_cards, make_root, remove_root),
        cmocka_unit_test_setup_teardown(partitions_hang_on_their_module, make_root, remove_root),
        cmocka_unit_test_setup_teardown(lies_are_sentences, make_root, remove_root),
        cmocka_unit_test_setup_teardown(absent_and_broken_trees, make_root, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
