/* Gpus with a link to each of several switches, as those of a DGX-2 are: all links count at once.
 */
#include "unit/node/built_nodes.h"

#include "cost/link_switches.h"
#include "cost/resource_make.h"
#include "cost/resource_structure.h"

#define GB 1e9

struct scene {
    struct graph *graph;
    place_id numa, gpu[4], nvswitch[3];
    struct values *values;
    struct resource_structure *structure;
};

/* Three switches; gpu0 and gpu1 have 25 to each, gpu2 has lost one of its links, gpu3 has one link
 * only. */
static void begin(struct scene *scene)
{
    *scene = (struct scene){.graph = nodes_cpu(&(struct shape){1, 1, 1, 4, 1, 1}),
                            .values = values_new()};
    scene->numa = nodes_place(scene->graph, PLACE_NUMA, 0);
    for (int g = 0; g < 4; g++)
        scene->gpu[g] = nodes_add(scene->graph, PLACE_GPU, g, scene->numa, scene->numa, NULL);
    for (int s = 0; s < 3; s++)
        scene->nvswitch[s] = nodes_add(scene->graph, PLACE_SWITCH, s, 0, PLACE_NONE, NULL);
    for (int g = 0; g < 4; g++) {
        nodes_join(scene->graph, scene->numa, scene->gpu[g], LINK_PCIE, 15 * GB);
        for (int s = 0; s < (g == 3 ? 1 : 3); s++)
            nodes_join(scene->graph, scene->gpu[g], scene->nvswitch[s], LINK_NVLINK, 25 * GB)
                ->state = g == 2 && s == 2 ? LINK_DOWN : LINK_UP;
    }
    nodes_finish(scene->graph);
}

static void finish(struct scene *scene)
{
    values_finish(scene->values);
    scene->structure = resource_make(scene->graph, scene->values, NULL);
    assert_non_null(scene->structure);
}

static void end(struct scene *scene)
{
    resource_structure_free(scene->structure);
    values_free(scene->values);
    graph_unref(scene->graph);
}

static void ways_over_switches_add_up(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    struct link_switches *switches = link_switches_new(scene.graph);
    assert_non_null(switches);
    size_t ways;
    assert_float_equal(link_switches_between(switches, scene.gpu[0], scene.gpu[1], &ways), 75 * GB,
                       1);
    assert_int_equal(ways, 3);
    assert_float_equal(link_switches_between(switches, scene.gpu[2], scene.gpu[0], &ways), 50 * GB,
                       1);
    assert_int_equal(ways, 2);
    assert_float_equal(link_switches_between(switches, scene.gpu[0], scene.gpu[3], &ways), 25 * GB,
                       1);
    assert_int_equal(ways, 1);
    assert_float_equal(link_switches_between(switches, scene.gpu[0], scene.numa, &ways), 0, 0);
    assert_int_equal(ways, 0);
    assert_float_equal(link_switches_port(switches, scene.gpu[1]), 75 * GB, 1);
    assert_float_equal(link_switches_port(switches, scene.gpu[2]), 50 * GB, 1);
    assert_float_equal(link_switches_port(switches, scene.gpu[3]), 0, 0); /* that is its link */
    link_switches_free(switches);
    values_finish(scene.values);
    end(&scene);
}

/* "gpu0:switch-port:out gpu1:switch-port:in" */
static void assert_uses(const struct scene *scene, place_id from, place_id to, double gb,
                        const char *uses)
{
    uint16_t use[RESOURCE_STRUCTURE_USES];
    char text[256] = "";
    bool several = true;
    size_t count = resource_structure_uses(scene->structure, from, to, use), length = 0;
    for (size_t i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", i > 0 ? " " : "",
                                   scene->structure->item[use[i]].name);
    assert_string_equal(text, uses);
    assert_float_equal(resource_structure_width(scene->structure, from, to, &several), gb * GB, 1);
    assert_false(several); /* no driver chooses one of them */
    for (size_t i = 0; i < count; i++)
        assert_true(resource_structure_has(scene->structure, scene->graph,
                                           &scene->structure->item[use[i]].role, from, to));
}

/* Whoever it is with, all that a gpu sends to others leaves by its links to the switches together.
 */
static void a_gpus_links_to_switches_are_one_port(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    finish(&scene);
    assert_uses(&scene, scene.gpu[0], scene.gpu[1], 75, "gpu0:switch-port:out gpu1:switch-port:in");
    assert_uses(&scene, scene.gpu[0], scene.gpu[2], 50, "gpu0:switch-port:out gpu2:switch-port:in");
    assert_uses(&scene, scene.gpu[0], scene.gpu[3], 25,
                "gpu0-switch0:link:out gpu3-switch0:link:in gpu0:switch-port:out");
    const struct resource_role out = {RESOURCE_SWITCH_PORT, RESOURCE_OUT, scene.gpu[0], PLACE_NONE,
                                      0};
    assert_float_equal(resource_structure_find(scene.structure, &out)->bytes_per_s, 75 * GB, 1);
    assert_false(
        resource_structure_has(scene.structure, scene.graph, &out, scene.gpu[1], scene.gpu[0]));
    assert_false(
        resource_structure_has(scene.structure, scene.graph, &out, scene.gpu[0], scene.numa));
    end(&scene);
}

/* What one transfer was measured to get fills it, however much the links are said to carry. */
static void a_port_carries_what_one_was_measured_to_get(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    nodes_value(scene.values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED, scene.gpu[0],
                scene.gpu[1], "", 69 * GB, 68 * GB, 70 * GB);
    finish(&scene);
    const struct resource_role out = {RESOURCE_SWITCH_PORT, RESOURCE_OUT, scene.gpu[0], PLACE_NONE,
                                      0},
                               in = {RESOURCE_SWITCH_PORT, RESOURCE_IN, scene.gpu[0], PLACE_NONE,
                                     0};
    assert_float_equal(resource_structure_find(scene.structure, &out)->bytes_per_s, 69 * GB, 1);
    assert_float_equal(resource_structure_find(scene.structure, &in)->bytes_per_s, 75 * GB, 1);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_over_switches_add_up),
        cmocka_unit_test(a_gpus_links_to_switches_are_one_port),
        cmocka_unit_test(a_port_carries_what_one_was_measured_to_get),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
