/* Indistinguishable numbers and transfers share one number, and no chain of overlaps joins
 * different ones. */
#include "unit/node/built_nodes.h"

#include "cost/classes.h"
#include "cost/matrix.h"

static struct classes_item number(double value, double low, double high)
{
    return (struct classes_item){
        .value = {value, value, value}, .low = {low, low, low}, .high = {high, high, high}};
}

static void numbers_with_a_value_in_common_are_one(void **state)
{
    (void)state;
    struct classes_item item[] = {number(10, 9, 11),    number(11.5, 10.5, 12.5),
                                  number(13, 12, 14),   number(10.2, 9.5, 10.9),
                                  number(30, NAN, NAN), number(30.2, NAN, NAN),
                                  number(31, NAN, NAN), number(10.2, 9.5, 10.9)};
    item[7].sort = 1;
    assert_true(classes_find(item, 8));
    /* 10, 10.2 and 11.5 have 10.5 to 10.9 in common; 13 overlaps with 11.5 alone. */
    assert_true(item[0].stands == 3 && item[1].stands == 3 && item[3].stands == 3 &&
                item[2].stands == 2);
    assert_true(item[4].stands == item[5].stands && item[6].stands == 6 && item[7].stands == 7);
    item[0].is_best = true;
    assert_true(classes_find(item, 8) && item[1].stands == 0);
    assert_true(classes_find(item, 0));
}

/* Numbers in any order have the same classes; each is within the interval of all members. */
static void who_stands_for_all_is_within_their_intervals(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int round = 0; round < 2000; round++) {
        struct classes_item item[9], turned[9];
        for (size_t i = 0; i < 9; i++) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            double value = 100 + (double)(seed >> 33 & 1023) / 50,
                   half = 0.2 + (double)(seed >> 50 & 7);
            item[i] = turned[8 - i] = number(value, value - half, value + half);
        }
        assert_true(classes_find(item, 9) && classes_find(turned, 9));
        for (size_t i = 0; i < 9; i++) {
            const struct classes_item *stands = &item[item[i].stands];
            assert_int_equal(stands->stands, item[i].stands);
            assert_true(stands->low[0] <= item[i].high[0] && stands->high[0] >= item[i].low[0]);
            for (size_t j = 0; j < 9; j++)
                assert_int_equal(item[i].stands == item[j].stands,
                                 turned[8 - i].stands == turned[8 - j].stands);
        }
    }
}

/* Copies between gpus whose rates differ by less than their intervals have one price; another
 * mechanism's never joins, nor what is really faster. */
static void transfers_of_one_sort_have_one_price(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    struct values *values = values_new();
    assert_non_null(values);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            double rate = 20e9 * (1 + 0.002 * (a + b)) * (a == 0 && b == 1 ? 2 : 1);
            if (a == b)
                continue;
            nodes_value(values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED,
                        nodes_place(graph, PLACE_GPU, a), nodes_place(graph, PLACE_GPU, b), "",
                        rate, rate * 0.98, rate * 1.02);
            nodes_value(values, METRIC_GPU_GPU_KERNEL, VALUE_MEASURED,
                        nodes_place(graph, PLACE_GPU, a), nodes_place(graph, PLACE_GPU, b), "",
                        rate, rate * 0.98, rate * 1.02);
        }
    struct snapshot *snap = nodes_snapshot(graph, values);
    const struct matrix *pairs = snap->derived.matrix;
    assert_non_null(pairs);
    const struct matrix_item *first =
        matrix_find(pairs, nodes_place(snap->graph, PLACE_GPU, 1),
                    nodes_place(snap->graph, PLACE_GPU, 0), MECHANISM_COPY_ENGINE);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            place_id from = nodes_place(snap->graph, PLACE_GPU, a),
                     to = nodes_place(snap->graph, PLACE_GPU, b);
            if (a == b)
                continue;
            const struct matrix_item *engine = matrix_find(pairs, from, to, MECHANISM_COPY_ENGINE),
                                     *kernel = matrix_find(pairs, from, to, MECHANISM_KERNEL);
            assert_true((engine->peer == first->peer) == !(a == 0 && b == 1));
            assert_true(kernel->peer != engine->peer && kernel->peer->by == MECHANISM_KERNEL);
            struct transfer taken = matrix_of_class(engine);
            assert_true(taken.from == from && taken.to == to &&
                        taken.value == engine->alone.value &&
                        taken.bytes_per_s == engine->peer->bytes_per_s);
        }
    snapshot_unref(snap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_with_a_value_in_common_are_one),
        cmocka_unit_test(who_stands_for_all_is_within_their_intervals),
        cmocka_unit_test(transfers_of_one_sort_have_one_price),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
