/* Errors of a request that names a missing place. */
#include "unit/node/built_nodes.h"

#include "serve/request.h"

static void rename_gpu(struct graph *graph, int number, const char *name)
{
    struct place *place = &graph->places[nodes_place(graph, PLACE_GPU, number)];
    snprintf(place->name, sizeof place->name, "%s", name);
}

static void places_that_there_are_are_listed_with_their_holes(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    struct berth_err err = {0};
    assert_int_equal(request_no_such_place(graph, "gpu99", &err), BERTH_NO_SUCH_PLACE);
    assert_string_equal(
        err.detail, "this node has no place gpu99; of that kind it has gpu0 to gpu7 (berth topo)");
    rename_gpu(graph, 6, "gpu24");
    rename_gpu(graph, 7, "gpu25");
    err = (struct berth_err){0};
    assert_int_equal(request_no_such_place(graph, "gpu6", &err), BERTH_NO_SUCH_PLACE);
    assert_string_equal(err.detail, "this node has no place gpu6; of that kind it has gpu0 to "
                                    "gpu5, gpu24 to gpu25 (berth topo)");
    graph_unref(graph);
}

static void of_more_than_fit_some_are_listed(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    for (int gpu = 0; gpu < 8; gpu++) {
        char name[20];
        snprintf(name, sizeof name, "gpu%d", 1000000000 + 2 * gpu);
        rename_gpu(graph, gpu, name);
    }
    struct berth_err err = {0};
    assert_int_equal(request_no_such_place(graph, "gpu6", &err), BERTH_NO_SUCH_PLACE);
    assert_string_equal(
        err.detail, "this node has no place gpu6; of that kind it has gpu1000000000, "
                    "gpu1000000002, gpu1000000004, gpu1000000006, gpu1000000008, ... (berth topo)");
    graph_unref(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_that_there_are_are_listed_with_their_holes),
        cmocka_unit_test(of_more_than_fit_some_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
