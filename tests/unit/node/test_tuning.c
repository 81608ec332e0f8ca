/* Launch shapes as text: found, merged by model and memory, and dropped when they no longer hold.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "node/tuning.h"

#define H200     "NVIDIA H200/13000@1790000000,700W,1980MHz,580.95.05,0000:c1:00.0>numa0: "
#define H200_OWN H200 "read 256x0u4 4e+12 3.9e+12 4.1e+12 3.8e+12 copy 512x132u12"
#define H200_HOST                                                                                  \
    H200 "host-read 256x132u8 2e+10 2e+10 2e+10 1e+10 host-copy 128x64u2 1e+10 9e+09 1.1e+10 "     \
         "8e+09"
#define MI250X_OWN "AMD Instinct MI250X/507@1780000000: read 1024x880u2"
#define NOW        1790000100

static void a_use_of_a_model_is_found(void **state)
{
    (void)state;
    struct tuning shape;
    const char *text = MI250X_OWN "; " H200_OWN "; " H200_HOST;
    assert_true(tuning_find(text, "NVIDIA H200", "host-copy", &shape));
    assert_int_equal(shape.block, 128);
    assert_int_equal(shape.grid, 64);
    assert_int_equal(shape.unroll, 2);
    assert_true(shape.bytes_per_s == 1e10 && shape.low == 9e9 && shape.high == 1.1e10);
    assert_true(shape.next_bytes_per_s == 8e9);
    assert_int_equal(shape.tuned_at_s, 1790000000);
    assert_int_equal(shape.power_cap_w, 700);
    assert_int_equal(shape.clock_max_mhz, 1980);
    assert_string_equal(shape.version, "580.95.05");
    assert_string_equal(shape.timed[0], "0000:c1:00.0");
    assert_string_equal(shape.timed[1], "numa0");
    assert_true(tuning_find(text, "NVIDIA H200", "copy", &shape)); /* not the host's */
    assert_int_equal(shape.block, 512);
    assert_true(isnan(shape.bytes_per_s) && isnan(shape.next_bytes_per_s));
    assert_true(tuning_find(text, "AMD Instinct MI250X", "read", &shape));
    assert_int_equal(shape.power_cap_w, -1);
    assert_string_equal(shape.version, "");
    assert_string_equal(shape.timed[0], "");
    assert_false(tuning_find(text, "AMD Instinct MI250X", "copy", &shape)); /* another's section */
    assert_false(tuning_find(text, "H200", "copy", &shape));
    assert_false(tuning_find(text, "NVIDIA H20", "copy", &shape));
    assert_false(tuning_find(text, "", "copy", &shape));
    assert_false(tuning_find(text, NULL, "copy", &shape));
    assert_false(tuning_find(NULL, "NVIDIA H200", "copy", &shape));
}

static void text_from_outside_is_harmless(void **state)
{
    (void)state;
    struct tuning shape;
    static const char *const bad[] = {"",
                                      "; ",
                                      ";",
                                      "NVIDIA H200/",
                                      "NVIDIA H200: copy 1x1u1",
                                      "/1: copy 1x1u1",
                                      "NVIDIA H200/1: copy",
                                      "NVIDIA H200/1: copy 0x1u1",
                                      "NVIDIA H200/1: copy 1x1u0",
                                      "NVIDIA H200/1: copy x",
                                      "NVIDIA H200/1:copy 1x1u1",
                                      "NVIDIA H200/1; copy 1x1u1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(tuning_find(bad[i], "NVIDIA H200", "copy", &shape));
    static const char *const no_rates[] = {"NVIDIA H200/1: copy 1x1u1 nan 1 1 1",
                                           "NVIDIA H200/1: copy 1x1u1 1 2 3 1",
                                           "NVIDIA H200/1: copy 1x1u1 1 1 inf 1",
                                           "NVIDIA H200/1: copy 1x1u1 1 0 1 1",
                                           "NVIDIA H200/1: copy 1x1u1 1 1",
                                           "NVIDIA H200/1@,W,9MHz9,>: copy 1x1u1",
                                           "NVIDIA H200/1@0,700W: copy 1x1u1 -1 -1 -1 -1"};
    for (size_t i = 0; i < sizeof no_rates / sizeof *no_rates; i++) {
        assert_true(tuning_find(no_rates[i], "NVIDIA H200", "copy", &shape));
        assert_true(isnan(shape.bytes_per_s) && isnan(shape.low) && isnan(shape.high));
        assert_int_equal(shape.tuned_at_s, 0);
    }
    char *text = calloc(1, 2 * TUNING_TEXT_SIZE);
    assert_non_null(text);
    while (strlen(text) < TUNING_TEXT_SIZE - 100)
        strcat(text, MI250X_OWN "; ");
    assert_false(tuning_find(text, "NVIDIA H200", "copy", &shape));
    assert_true(tuning_find(text, "AMD Instinct MI250X", "read", &shape));
    while (strlen(text) < TUNING_TEXT_SIZE)
        strcat(text, MI250X_OWN "; ");
    assert_false(tuning_find(text, "AMD Instinct MI250X", "read", &shape)); /* too long */
    free(text);
}

static void assert_merged(const char *before, const char *after, const char *expected)
{
    char *merged = tuning_merge(before, after);
    if (expected == NULL)
        assert_null(merged);
    else
        assert_string_equal(merged, expected);
    free(merged);
}

static void new_sections_replace_old_ones(void **state)
{
    (void)state;
    static const char newer[] = "NVIDIA H200/13010@1790009999: read 512x0u8";
    assert_merged(NULL, NULL, NULL);
    assert_merged("", "no section", NULL);
    assert_merged(H200_OWN, NULL, H200_OWN);
    assert_merged(NULL, H200_OWN, H200_OWN);
    assert_merged(H200_OWN "; " H200_HOST "; " MI250X_OWN, newer,
                  "NVIDIA H200/13010@1790009999: read 512x0u8; " H200_HOST "; " MI250X_OWN);
    assert_merged("rubbish; " H200_HOST, H200_OWN "; rubbish", H200_OWN "; " H200_HOST);
}

/* Two GPUs of one model, the first of which has facts. */
static struct graph *node_with(const char *driver, const char *cap_w, const char *clock_mhz)
{
    struct graph *graph = graph_new();
    assert_non_null(graph);
    graph_add_place(graph, PLACE_MACHINE, 0);
    for (int i = 0; i < 2; i++) {
        place_id id = graph_add_place(graph, PLACE_GPU, i);
        struct place *gpu = &graph->places[id];
        gpu->parent = 0;
        assert_true(place_set_text(&gpu->model, "NVIDIA H200"));
    }
    struct place *first = &graph->places[1];
    assert_true(cap_w == NULL || place_set_detail(first, "power_cap_w", cap_w));
    assert_true(clock_mhz == NULL || place_set_detail(first, "clock_max_mhz", clock_mhz));
    assert_true(driver == NULL || graph_set_software(graph, "driver", driver));
    assert_int_equal(graph_finish(graph, NULL), BERTH_OK);
    return graph;
}

static void assert_stale(const char *driver, const char *cap_w, const char *clock_mhz,
                         int64_t now_s, const char *expected)
{
    struct graph *graph = node_with(driver, cap_w, clock_mhz);
    struct tuning shape;
    char why[TUNING_WHY_SIZE] = "";
    assert_true(tuning_find(H200_OWN, "NVIDIA H200", "read", &shape));
    for (place_id gpu = 1; gpu <= 2; gpu++) { /* the first one's limits count for both */
        assert_int_equal(tuning_is_stale(&shape, graph, gpu, now_s, why), expected != NULL);
        assert_string_equal(why, expected != NULL ? expected : "");
    }
    /* the other model is not here, so nothing says that its shapes do not hold */
    assert_int_equal(tuning_is_due(MI250X_OWN "; " H200_OWN, graph, now_s), expected != NULL);
    assert_false(tuning_is_due(MI250X_OWN, graph, now_s));
    graph_unref(graph);
}

static void other_conditions_or_age_make_it_stale(void **state)
{
    (void)state;
    assert_stale("580.95.05", "700", "1980", NOW, NULL);
    assert_stale(NULL, NULL, NULL, NOW, NULL); /* unknown limits are no reason */
    assert_stale("580.95.05", "700", "1980", 0, NULL);
    assert_stale("590.1", "700", "1980", NOW,
                 "driver 590.1 has replaced 580.95.05 since it was tuned");
    assert_stale("580.95.05", "500", "1980", NOW,
                 "gpu0 may draw 500 W now, 700 W when it was tuned");
    assert_stale("580.95.05", "700", "1500", NOW,
                 "gpu0 may clock to 1500 MHz now, 1980 MHz when it was tuned");
    assert_stale(NULL, NULL, NULL, 1790000000 + TUNING_FRESH_S, NULL);
    assert_stale(NULL, NULL, NULL, 1790000001 + TUNING_FRESH_S,
                 "it was tuned more than 7 days ago");
    /* the clock was set back */
    assert_stale(NULL, NULL, NULL, 1790000000 - TUNING_FRESH_S, NULL);
    assert_stale(NULL, NULL, NULL, 1789999999 - TUNING_FRESH_S,
                 "its time is more than 7 days ahead of the clock");
    struct graph *graph = node_with(NULL, NULL, NULL);
    assert_false(tuning_is_due(NULL, graph, NOW));
    assert_false(tuning_is_due("rubbish", graph, NOW));
    assert_true(tuning_is_due("NVIDIA H200/13000: read 256x0u4", graph, NOW)); /* of unknown age */
    graph_unref(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_use_of_a_model_is_found),
        cmocka_unit_test(text_from_outside_is_harmless),
        cmocka_unit_test(new_sections_replace_old_ones),
        cmocka_unit_test(other_conditions_or_age_make_it_stale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
