/* Gpus with a link to each of several switches, as those of a DGX-2 are: all links count at once.
 */
#include "unit/node/built_nodes.h"

#include "cost/limits.h"

#define GB 1e9

struct scene {
    struct graph *graph;
    place_id numa, gpu[4], nvswitch[3];
    struct values *values;
    struct limits *limits;
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
    scene->limits = limits_new(scene->graph, NULL, scene->values);
    assert_non_null(scene->limits);
}

static void end(struct scene *scene)
{
    limits_free(scene->limits);
    values_free(scene->values);
    graph_unref(scene->graph);
}

/* "gpu0:switch-port:out gpu1:switch-port:in" */
static void assert_uses(const struct scene *scene, place_id from, place_id to, double gb,
                        const char *uses)
{
    uint16_t use[LIMITS_USES_MAX];
    char text[256] = "";
    size_t count = limits_of(scene->limits, TRANSFER_PEER_ENGINE, from, to, "", use), length = 0;
    for (size_t i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", i > 0 ? " " : "",
                                   scene->limits->item[use[i]].name);
    assert_string_equal(text, uses);
    const struct limits_pair *pair = limits_pair(scene->limits, from, to);
    assert_float_equal(pair->bytes_per_s, gb * GB, 1);
    assert_false(pair->several); /* no driver chooses one of them */
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
    const struct limit_role out = {LIMIT_SWITCH_PORT, LIMIT_OUT, scene.gpu[0], PLACE_NONE};
    assert_float_equal(limits_find(scene.limits, &out)->step[0].bytes_per_s, 75 * GB, 1);
    assert_false(
        limits_uses(scene.limits, limits_find(scene.limits, &out), scene.gpu[1], scene.gpu[0], ""));
    assert_false(
        limits_uses(scene.limits, limits_find(scene.limits, &out), scene.gpu[0], scene.numa, ""));
    end(&scene);
}

/* One measured transfer fills it, and in the other direction its rate stands for the reverse one.
 */
static void a_port_carries_what_one_was_measured_to_get(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    nodes_value(scene.values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED, scene.gpu[0],
                scene.gpu[1], "", 69 * GB, 68 * GB, 70 * GB);
    finish(&scene);
    const struct limit_role out = {LIMIT_SWITCH_PORT, LIMIT_OUT, scene.gpu[0], PLACE_NONE},
                            in = {LIMIT_SWITCH_PORT, LIMIT_IN, scene.gpu[0], PLACE_NONE},
                            other = {LIMIT_SWITCH_PORT, LIMIT_IN, scene.gpu[2], PLACE_NONE};
    assert_float_equal(limits_find(scene.limits, &out)->step[0].bytes_per_s, 69 * GB, 1);
    assert_float_equal(limits_find(scene.limits, &in)->step[0].bytes_per_s, 69 * GB, 1);
    assert_float_equal(limits_find(scene.limits, &other)->step[0].bytes_per_s, 50 * GB, 1);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpus_links_to_switches_are_one_port),
        cmocka_unit_test(a_port_carries_what_one_was_measured_to_get),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
