/* Indistinguishable numbers and transfers share one number, and no chain of overlaps joins
 * different ones. */
#include "unit/node/built_nodes.h"

#include "cost/alike.h"
#include "cost/pairs.h"

static void numbers_with_a_value_in_common_are_one(void **state)
{
    (void)state;
    const struct alike_number number[] = {{10, 9, 11},       {11.5, 10.5, 12.5}, {13, 12, 14},
                                          {10.2, 9.5, 10.9}, {30, NAN, NAN},     {30.2, NAN, NAN},
                                          {31, NAN, NAN}};
    uint32_t stands[7] = {0};
    assert_true(plan_alike_numbers(number, 7, stands));
    /* 10, 10.2 and 11.5 have 10.5 to 10.9 in common; 13 overlaps with 11.5 alone. */
    assert_true(stands[0] == 3 && stands[1] == 3 && stands[3] == 3 && stands[2] == 2);
    assert_true(stands[4] == stands[5] && stands[6] == 6);
    assert_true(plan_alike_numbers(number, 0, stands));
}

/* Numbers in any order have the same classes; each is within the interval of all members. */
static void who_stands_for_all_is_within_their_intervals(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int round = 0; round < 2000; round++) {
        struct alike_number number[9];
        uint32_t stands[9] = {0}, turned[9] = {0};
        for (size_t i = 0; i < 9; i++) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            double value = 100 + (double)(seed >> 33 & 1023) / 50,
                   half = 0.2 + (double)(seed >> 50 & 7);
            number[i] = (struct alike_number){value, value - half, value + half};
        }
        assert_true(plan_alike_numbers(number, 9, stands));
        for (size_t i = 0; i < 9; i++) {
            assert_int_equal(stands[stands[i]], stands[i]);
            assert_true(number[stands[i]].low <= number[i].high &&
                        number[stands[i]].high >= number[i].low);
        }
        for (size_t i = 0; i < 4; i++) {
            struct alike_number other = number[i];
            number[i] = number[8 - i];
            number[8 - i] = other;
        }
        assert_true(plan_alike_numbers(number, 9, turned));
        for (size_t i = 0; i < 9; i++)
            for (size_t j = 0; j < 9; j++)
                assert_int_equal(stands[i] == stands[j], turned[8 - i] == turned[8 - j]);
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
    const struct plan_pairs *pairs = snap->derived.pairs;
    assert_non_null(pairs);
    const struct pair *first =
        plan_pairs_find(pairs, nodes_place(snap->graph, PLACE_GPU, 1),
                        nodes_place(snap->graph, PLACE_GPU, 0), MOVE_COPY_ENGINE);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            place_id from = nodes_place(snap->graph, PLACE_GPU, a),
                     to = nodes_place(snap->graph, PLACE_GPU, b);
            if (a == b)
                continue;
            const struct pair *engine = plan_pairs_find(pairs, from, to, MOVE_COPY_ENGINE),
                              *kernel = plan_pairs_find(pairs, from, to, MOVE_KERNEL);
            assert_true((engine->alike == first->alike) == !(a == 0 && b == 1));
            assert_true(kernel->alike != engine->alike && kernel->alike->by == MOVE_KERNEL);
            struct move taken = engine->move;
            plan_alike_take(&taken, engine->alike);
            assert_true(taken.from == from && taken.to == to && taken.rate == engine->move.rate &&
                        taken.bytes_per_s == engine->alike->bytes_per_s);
        }
    snapshot_unref(snap);
}

/* Of moves that are alike at every size the one stands for all whose own times are nearest to what
 * all intervals have in common; one whose start is another's has no say in what starting costs. */
static void a_start_that_is_another_pairs_is_no_better_known(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    struct values *values = values_new();
    assert_non_null(values);
    place_id gpu[4];
    for (int g = 0; g < 4; g++) {
        gpu[g] = nodes_place(graph, PLACE_GPU, g);
    }
    nodes_value(values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED, gpu[0], gpu[1], "", 50e9, 49e9,
                51e9);
    struct snapshot *snap = nodes_snapshot(graph, values);
    struct move known;
    struct agreement drift = {.calls = 50, .call = 0.25};
    assert_true(plan_move_find(snap, gpu[0], gpu[1], MOVE_COPY_ENGINE, &known));
    struct move move[4];
    const struct move *list[4];
    const double start_ns[] = {12000, 18000, 24000, 4000};
    for (size_t i = 0; i < 4; i++) {
        move[i] = known;
        move[i].drift = &drift;
        move[i].t0_queue_ns = move[i].t0_call_ns = start_ns[i];
        list[i] = &move[i];
    }
    move[3].is_start_like = true;
    uint32_t stands[4] = {0};
    assert_true(plan_alike(snap, list, 4, stands));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(stands[i], 1);
    /* If its start were its own it would be apart. */
    move[3].is_start_like = false;
    assert_true(plan_alike(snap, list, 4, stands));
    assert_true(stands[3] != stands[2]);
    snapshot_unref(snap);
}

/* Who has no sizes of its own has another's, also where both count as one. */
static void whose_sizes_they_are_is_kept(void **state)
{
    (void)state;
    static const struct curve one, other;
    const struct move sized = {.curve = &one}, like = {.curve = &other, .is_like = true},
                      started = {.is_start_like = true}, bare = {.curve = NULL};
    const struct move *const takes[] = {&sized, &like, &started, &bare};
    for (size_t i = 0; i < 4; i++) {
        struct move from_sized = *takes[i], from_started = *takes[i], from_itself = *takes[i];
        plan_alike_take(&from_sized, &sized);
        plan_alike_take(&from_started, &started);
        plan_alike_take(&from_itself, takes[i]);
        assert_true(from_sized.curve == &one && from_sized.is_like == (i > 0) &&
                    !from_sized.is_start_like);
        assert_true(from_started.curve == NULL && !from_started.is_like &&
                    from_started.is_start_like);
        assert_true(from_itself.is_like == takes[i]->is_like &&
                    from_itself.is_start_like == takes[i]->is_start_like);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_with_a_value_in_common_are_one),
        cmocka_unit_test(whose_sizes_they_are_is_kept),
        cmocka_unit_test(who_stands_for_all_is_within_their_intervals),
        cmocka_unit_test(a_start_that_is_another_pairs_is_no_better_known),
        cmocka_unit_test(transfers_of_one_sort_have_one_price),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
