/* The ways that bytes go over a node's links, on the node of eight GCDs and on small ones. */
#include "unit/node/built_nodes.h"

#include <time.h>

#include "cost/endpoints.h"
#include "discover/discover.h"
#include "node/link_path.h"

/* "gpu1 gpu0 gpu6 gpu7" */
static void name_way(const struct graph *graph, place_id from, const struct link_path *path,
                     char *buffer, size_t size)
{
    place_id at = from;
    snprintf(buffer, size, "%s", graph_place(graph, at)->name);
    for (size_t i = 0; i < path->step_count; i++) {
        const struct link *link = &graph->links[path->step[i].link];
        assert_int_equal(path->step[i].back ? link->to : link->from, at);
        at = path->step[i].back ? link->from : link->to;
        size_t length = strlen(buffer);
        snprintf(buffer + length, size - length, " %s", graph_place(graph, at)->name);
    }
}

static void assert_way(const struct graph *graph, const struct link_paths *paths, const char *from,
                       const char *to, double gb, bool several, const char *way)
{
    struct link_path path;
    char name[128];
    assert_true(link_path_find(paths, graph_find(graph, from), graph_find(graph, to), &path));
    name_way(graph, graph_find(graph, from), &path, name, sizeof name);
    if (path.bytes_per_s != gb * 1e9 || path.is_one_of_several != several ||
        (way != NULL && strcmp(name, way) != 0))
        fail_msg("%s to %s: %s, %g GB/s", from, to, name, path.bytes_per_s / 1e9);
}

/* The warnings of links that are down between two places: none, one or two. */
static void assert_down(const struct graph *graph, place_id a, place_id b, const char *first,
                        const char *second)
{
    struct reasons *warnings = calloc(1, sizeof *warnings);
    assert_non_null(warnings);
    endpoints_warn_down(graph, a, b, warnings);
    assert_int_equal(warnings->count, (first != NULL) + (second != NULL));
    if (first != NULL)
        assert_string_equal(warnings->item[0].subject[0], first);
    if (second != NULL)
        assert_string_equal(warnings->item[1].subject[0], second);
    free(warnings);
}

static void gpus_are_reached_by_the_widest_way(void **state)
{
    (void)state;
    struct discovery found = {0};
    struct berth_err err = {0};
    assert_int_equal(discover_folder("tests/nodes/mi250x", &found, &err), BERTH_OK);
    struct link_paths *paths = link_paths_new(found.graph);
    assert_non_null(paths);
    assert_way(found.graph, paths, "gpu0", "gpu1", 200, false, "gpu0 gpu1");
    assert_way(found.graph, paths, "gpu1", "gpu7", 100, false, "gpu1 gpu0 gpu6 gpu7");
    assert_way(found.graph, paths, "gpu7", "gpu1", 100, false, "gpu7 gpu6 gpu0 gpu1");
    assert_way(found.graph, paths, "gpu3", "gpu5", 100, false, "gpu3 gpu2 gpu4 gpu5");
    assert_way(found.graph, paths, "gpu1", "gpu6", 100, false, "gpu1 gpu0 gpu6");
    assert_way(found.graph, paths, "gpu1", "gpu3", 50, false, "gpu1 gpu3");
    assert_way(found.graph, paths, "gpu0", "gpu3", 50, true, NULL); /* over gpu1 or gpu2 */
    assert_way(found.graph, paths, "numa3", "gpu0", 36, false, "numa3 gpu0");
    assert_way(found.graph, paths, "gpu0", "numa0", 36, false, "gpu0 numa3 package0 numa0");
    link_paths_free(paths);
    discovery_done(&found);
}

static void links_that_are_down_or_lead_through_the_host_are_the_last_choice(void **state)
{
    (void)state;
    struct graph *graph = nodes_cpu(&(struct shape){1, 1, 1, 2, 1, 1});
    place_id numa = nodes_place(graph, PLACE_NUMA, 0), gpu[3];
    for (int g = 0; g < 3; g++) {
        gpu[g] = nodes_add(graph, PLACE_GPU, g, numa, numa, NULL);
        nodes_join(graph, numa, gpu[g], LINK_PCIE, 60 * 1e9);
    }
    nodes_join(graph, gpu[0], gpu[1], LINK_NVLINK, 50 * 1e9);
    nodes_join(graph, gpu[0], gpu[2], LINK_NVLINK, 50 * 1e9); /* gpus pass nothing on by NVLink */
    nodes_join(graph, gpu[1], gpu[2], LINK_NVLINK, 25 * 1e9)->state = LINK_DOWN;
    nodes_finish(graph);
    struct link_paths *paths = link_paths_new(graph);
    assert_non_null(paths);
    assert_way(graph, paths, "gpu0", "gpu1", 50, false, "gpu0 gpu1"); /* not over the wider host */
    assert_way(graph, paths, "gpu1", "gpu2", 60, false, "gpu1 numa0 gpu2");
    assert_down(graph, gpu[0], gpu[1], NULL, NULL);
    assert_down(graph, gpu[2], gpu[1], "the link between gpu1 and gpu2 is down", NULL);
    assert_down(graph, gpu[1], gpu[2], "the link between gpu1 and gpu2 is down", NULL);
    assert_way(graph, paths, "gpu2", "numa0", 60, false, "gpu2 numa0");
    struct link_path path;
    assert_false(link_path_find(paths, gpu[0], gpu[0], &path));
    link_paths_free(paths);
    graph_unref(graph);
}

/* Whoever it is with, the link that is down is the gpu's to the switch. */
static void a_gpus_links_to_switches_that_are_down_are_named(void **state)
{
    (void)state;
    struct graph *graph = nodes_cpu(&(struct shape){1, 1, 1, 2, 1, 1});
    place_id numa = nodes_place(graph, PLACE_NUMA, 0), gpu[3], nvswitch[2];
    for (int g = 0; g < 3; g++)
        gpu[g] = nodes_add(graph, PLACE_GPU, g, numa, numa, NULL);
    for (int s = 0; s < 2; s++)
        nvswitch[s] = nodes_add(graph, PLACE_SWITCH, s, numa, PLACE_NONE, NULL);
    nodes_join(graph, gpu[0], nvswitch[0], LINK_NVLINK, 450 * 1e9);
    nodes_join(graph, gpu[1], nvswitch[0], LINK_NVLINK, 450 * 1e9)->state = LINK_DOWN;
    for (int s = 0; s < 2; s++)
        nodes_join(graph, gpu[2], nvswitch[s], LINK_NVLINK, 450 * 1e9)->state = LINK_DOWN;
    nodes_finish(graph);
    const char *one = "the link between gpu1 and switch0 is down",
               *two = "all 2 links of gpu2 to switches are down";
    assert_down(graph, gpu[0], gpu[1], one, NULL);
    assert_down(graph, gpu[2], gpu[0], two, NULL);
    assert_down(graph, gpu[2], gpu[1], one, two);
    assert_down(graph, gpu[0], numa, NULL, NULL);
    assert_true(endpoints_is_off_switches(graph, gpu[1]) &&
                endpoints_is_off_switches(graph, gpu[2]));
    assert_false(endpoints_is_off_switches(graph, gpu[0]) ||
                 endpoints_is_off_switches(graph, numa));
    graph_unref(graph);
}

static void without_widths_nothing_is_known(void **state)
{
    (void)state;
    struct graph *graph = nodes_cpu(&(struct shape){1, 1, 1, 2, 1, 1});
    place_id numa = nodes_place(graph, PLACE_NUMA, 0),
             gpu = nodes_add(graph, PLACE_GPU, 0, numa, numa, NULL),
             lone = nodes_add(graph, PLACE_GPU, 1, numa, numa, NULL);
    nodes_join(graph, numa, gpu, LINK_PCIE, NAN);
    nodes_finish(graph);
    struct link_paths *paths = link_paths_new(graph);
    struct link_path path;
    assert_non_null(paths);
    assert_false(link_path_find(paths, numa, gpu, &path));
    assert_false(link_path_find(paths, gpu, lone, &path));
    link_paths_free(paths);
    graph_unref(graph);
}

/* 64 gpus, each linked to each: all ways at once. */
static void many_gpus_do_not_take_long(void **state)
{
    (void)state;
    struct graph *graph = nodes_cpu(&(struct shape){1, 1, 1, 2, 1, 1});
    place_id numa = nodes_place(graph, PLACE_NUMA, 0), gpu[64];
    for (int g = 0; g < 64; g++) {
        gpu[g] = nodes_add(graph, PLACE_GPU, g, numa, numa, NULL);
        nodes_join(graph, numa, gpu[g], LINK_PCIE, 60 * 1e9);
        for (int h = 0; h < g; h++)
            nodes_join(graph, gpu[h], gpu[g], LINK_NVLINK, 25 * 1e9);
    }
    nodes_finish(graph);
    struct link_paths *paths = link_paths_new(graph);
    struct link_path path;
    struct timespec before, after;
    assert_non_null(paths);
    clock_gettime(CLOCK_MONOTONIC, &before);
    for (int a = 0; a < 64; a++)
        for (int b = 0; b < 64; b++)
            if (a != b) {
                assert_true(link_path_find(paths, gpu[a], gpu[b], &path));
                assert_int_equal(path.step_count, 1);
            }
    clock_gettime(CLOCK_MONOTONIC, &after);
    double ms = (double)(after.tv_sec - before.tv_sec) * 1e3 +
                (double)(after.tv_nsec - before.tv_nsec) / 1e6;
    print_message("%.1f ms\n", ms);
    assert_true(ms < 2000); /* far above its time, for a sanitizer on a busy machine */
    link_paths_free(paths);
    graph_unref(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_are_reached_by_the_widest_way),
        cmocka_unit_test(links_that_are_down_or_lead_through_the_host_are_the_last_choice),
        cmocka_unit_test(a_gpus_links_to_switches_that_are_down_are_named),
        cmocka_unit_test(without_widths_nothing_is_known),
        cmocka_unit_test(many_gpus_do_not_take_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
