/* What planners rest on is there before anybody asks. */
#include "cost/derive.h"
#include "cost/limits.h"
#include "cost/matrix.h"
#include "cost/transfer.h"
#include "unit/plan/node_folder.h"

static void all_of_it_is_there_before_the_first_question(void **state)
{
    (void)state;
    struct snapshot *snap = folder_snapshot("tests/nodes/h100x2");
    const struct derived *derived = &snap->derived;
    const place_id *memory;
    assert_true(derived->curves->count > 0 && derived->curves->overheads != NULL);
    assert_int_equal(derived->limits->run_count, snap->sets->count);
    assert_true(derived->limits->count > 0);
    assert_int_equal(matrix_memories(derived->matrix, &memory),
                     graph_count(snap->graph, PLACE_GPU) + graph_count(snap->graph, PLACE_NUMA));
    const struct matrix_item *pair =
        matrix_find(derived->matrix, nodes_place(snap->graph, PLACE_GPU, 0),
                    nodes_place(snap->graph, PLACE_NUMA, 0), MECHANISM_COPY_ENGINE);
    assert_true(pair != NULL && pair->peer != NULL);
    /* each part points into the one before it */
    assert_true(pair->alone.curve >= derived->curves->item &&
                pair->alone.curve < derived->curves->item + derived->curves->count);
    assert_true(pair->alone.drift >= derived->limits->agree &&
                pair->alone.drift < derived->limits->agree + AGREE_KINDS);
    snapshot_unref(snap);
}

/* A machine without gpus and without sets has something of each, too: no planner looks for NULL. */
static void without_measurements_it_is_empty(void **state)
{
    (void)state;
    const struct shape shape = {1, 2, 1, 2, 1, INT64_C(1) << 30};
    struct snapshot *snap = nodes_snapshot(nodes_cpu(&shape), NULL);
    const place_id *memory;
    assert_int_equal(snap->derived.curves->count + snap->derived.limits->run_count, 0);
    assert_int_equal(matrix_memories(snap->derived.matrix, &memory), 2);
    snapshot_unref(snap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_is_there_before_the_first_question),
        cmocka_unit_test(without_measurements_it_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
