#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "node/values.h"
#include "unit/base/random.h"

static struct value number(enum metric metric, place_id from, place_id to, double value)
{
    return (struct value){.metric = metric,
                          .source = VALUE_MEASURED,
                          .from = from,
                          .to = to,
                          .value = value,
                          .low = NAN,
                          .high = NAN,
                          .n = 9};
}

static void assert_axes(enum metric metric, const char *const *text, size_t n, const char *expected)
{
    char buffer[128];
    struct berth_err err = {0};
    assert_int_equal(axes_canonical(metric, text, n, buffer, sizeof buffer, &err), BERTH_OK);
    assert_string_equal(buffer, expected);
}

static void assert_bad_axes(enum metric metric, const char *const *text, size_t n)
{
    char buffer[64] = "untouched";
    struct berth_err err = {0};
    assert_int_equal(axes_canonical(metric, text, n, buffer, sizeof buffer, &err), BERTH_BAD_DATA);
    assert_string_equal(buffer, "untouched");
    assert_non_null(strstr(err.detail, metric_info(metric)->name));
}

static void axes_are_canonical(void **state)
{
    (void)state;
    assert_axes(METRIC_CPU_PINGPONG, NULL, 0, "");
    assert_axes(METRIC_CPU_PINGPONG, (const char *[]){"operation", "store"}, 1, "");
    assert_axes(METRIC_CPU_PINGPONG, (const char *[]){"operation", "cas"}, 1, "operation=cas");
    assert_axes(METRIC_CPU_PINGPONG, (const char *[]){"operation", "cas", "flag", "to"}, 2,
                "flag=to;operation=cas");
    assert_axes(METRIC_CPU_PINGPONG, (const char *[]){"flag", "to", "operation", "cas"}, 2,
                "flag=to;operation=cas");
    assert_axes(METRIC_CPU_PINGPONG, (const char *[]){"operation", "cas", "flag", "from"}, 2,
                "operation=cas");
    assert_axes(METRIC_GPU_GPU_KERNEL, (const char *[]){"operation", "read", "bytes", "4096"}, 2,
                "bytes=4096;operation=read");
}

static void bad_axes_are_refused(void **state)
{
    (void)state;
    char longest[41], too_long[42];
    memset(longest, 'x', 40);
    longest[40] = '\0';
    memset(too_long, 'x', 41);
    too_long[41] = '\0';
    assert_bad_axes(METRIC_CPU_PINGPONG, (const char *[]){"bytes", "4096"}, 1);
    assert_bad_axes(METRIC_NUMA_DISTANCE, (const char *[]){"operation", "cas"}, 1);
    assert_bad_axes(METRIC_CPU_PINGPONG, (const char *[]){"", "cas"}, 1);
    assert_bad_axes(METRIC_CPU_PINGPONG, (const char *[]){"operation", ""}, 1);
    assert_bad_axes(METRIC_CPU_PINGPONG, (const char *[]){"operation", "a;b=c"}, 1);
    assert_bad_axes(METRIC_CPU_PINGPONG, (const char *[]){"operation", "a=c"}, 1);
    assert_bad_axes(METRIC_CPU_PINGPONG, (const char *[]){"operation", "a\nc"}, 1);
    assert_bad_axes(METRIC_CPU_PINGPONG, (const char *[]){"operation", too_long}, 1);
    assert_bad_axes(METRIC_CPU_PINGPONG, (const char *[]){"operation", "cas", "operation", "store"},
                    2);
    assert_axes(METRIC_CPU_PINGPONG, (const char *[]){"operation", longest}, 1,
                "operation=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");

    char small[14] = "same";
    struct berth_err err = {0};
    assert_int_equal(axes_canonical(METRIC_CPU_PINGPONG, (const char *[]){"operation", "caass"}, 1,
                                    small, sizeof small, &err),
                     BERTH_BAD_DATA);
    assert_string_equal(small, "same");
    assert_int_equal(axes_canonical(METRIC_CPU_PINGPONG, (const char *[]){"operation", "cas"}, 1,
                                    small, sizeof small, NULL),
                     BERTH_OK);
    assert_string_equal(small, "operation=cas");
}

static void one_axis(void **state)
{
    (void)state;
    char buffer[41];
    assert_string_equal(
        axes_get(METRIC_CPU_PINGPONG, "flag=to;operation=cas", "operation", buffer, sizeof buffer),
        "cas");
    assert_string_equal(
        axes_get(METRIC_CPU_PINGPONG, "flag=to;operation=cas", "flag", buffer, sizeof buffer),
        "to");
    assert_string_equal(
        axes_get(METRIC_CPU_PINGPONG, "operation=cas", "flag", buffer, sizeof buffer), "from");
    assert_string_equal(axes_get(METRIC_CPU_PINGPONG, "", "operation", buffer, sizeof buffer),
                        "store");
    assert_null(axes_get(METRIC_CPU_PINGPONG, "operation=cas", "ho", buffer, sizeof buffer));
    assert_null(axes_get(METRIC_CPU_PINGPONG, "", "bytes", buffer, sizeof buffer));
}

static void empty_set(void **state)
{
    (void)state;
    struct values *values = values_new();
    values_finish(values);
    const struct value *first;
    assert_int_equal(values->count, 0);
    assert_int_equal(values_range(values, METRIC_CPU_PINGPONG, PLACE_NONE, &first), 0);
    assert_null(first);
    assert_null(values_find(values, METRIC_CPU_PINGPONG, 0, 1, ""));
    values_free(values);
    values_free(NULL);
}

static void missing_values_say_why(void **state)
{
    (void)state;
    struct values *values = values_new();
    char why[32] = "the device is busy";
    struct value v = number(METRIC_MEMORY_LATENCY, 3, 4, NAN);
    assert_true(values_add(values, &v, "", why));
    v.to = 5;
    assert_true(values_add(values, &v, "", NULL));
    v = number(METRIC_MEMORY_LATENCY, 3, 6, 90.5);
    assert_true(values_add(values, &v, "", "ignored"));
    memset(why, 'x', sizeof why);
    values_finish(values);

    assert_null(values_find(values, METRIC_MEMORY_LATENCY, 3, 4, ""));
    const struct value *first;
    assert_int_equal(values_range(values, METRIC_MEMORY_LATENCY, 3, &first), 3);
    assert_string_equal(first[0].why_not, "the device is busy");
    assert_non_null(first[1].why_not);
    assert_null(first[2].why_not);
    assert_true(values_find(values, METRIC_MEMORY_LATENCY, 3, 6, "")->value == 90.5);
    values_free(values);
}

static void later_replaces_earlier_but_nominal_never_measured(void **state)
{
    (void)state;
    struct values *values = values_new();
    struct value v = number(METRIC_MEMORY_BANDWIDTH, 1, 2, 1e9);
    assert_true(values_add(values, &v, "", NULL));
    v.value = 2e9;
    assert_true(values_add(values, &v, "", NULL));
    v.value = 3e9;
    v.source = VALUE_NOMINAL;
    assert_true(values_add(values, &v, "", NULL));
    assert_true(values_add(values, &v, "operation=copy", NULL));
    v.source = VALUE_PUBLISHED;
    v.value = 4e9;
    assert_true(values_add(values, &v, "operation=copy", NULL));
    values_finish(values);

    assert_int_equal(values->count, 2);
    assert_true(values_find(values, METRIC_MEMORY_BANDWIDTH, 1, 2, "")->value == 2e9);
    assert_int_equal(values_find(values, METRIC_MEMORY_BANDWIDTH, 1, 2, "")->source,
                     VALUE_MEASURED);
    assert_int_equal(values_find(values, METRIC_MEMORY_BANDWIDTH, 1, 2, "operation=copy")->source,
                     VALUE_PUBLISHED);
    values_free(values);
}

static void one_set_into_another(void **state)
{
    (void)state;
    struct values *a = values_new(), *b = values_new();
    struct value v = number(METRIC_CPU_PINGPONG, 1, 2, 50);
    assert_true(values_add(b, &v, "operation=cas", NULL));
    v.value = NAN;
    assert_true(values_add(b, &v, "", "no such core"));
    values_finish(b);
    v.value = 70;
    assert_true(values_add(a, &v, "flag=to", NULL));
    assert_true(values_add(a, &v, "operation=cas", NULL));
    assert_true(values_add_all(a, b));
    values_free(b);
    values_finish(a);

    assert_int_equal(a->count, 3);
    assert_string_equal(values_axes(a, &a->item[0]), "");
    assert_string_equal(a->item[0].why_not, "no such core");
    assert_true(values_find(a, METRIC_CPU_PINGPONG, 1, 2, "operation=cas")->value == 50);
    values_free(a);
}

/* Random adds against a plain array searched from its end. */
#define ADDS 3000
struct model {
    struct value v;
    char axes[24];
};

static bool same_key(const struct model *a, const struct model *b)
{
    return a->v.metric == b->v.metric && a->v.from == b->v.from && a->v.to == b->v.to &&
           strcmp(a->axes, b->axes) == 0;
}

/* True when replacing old with new loses information: the rule of daemon/node/values.h in another
 * form. */
static bool loses(const struct value *old, const struct value *new)
{
    if (isnan(old->value))
        return false;
    return isnan(new->value) || (old->source == VALUE_MEASURED && new->source != VALUE_MEASURED);
}

static void model_add(struct model *model, size_t *count, const struct model *add)
{
    for (size_t i = 0; i < *count; i++)
        if (same_key(&model[i], add)) {
            if (!loses(&model[i].v, &add->v))
                model[i] = *add;
            return;
        }
    model[(*count)++] = *add;
}

static void check_against_model(unsigned seed)
{
    struct model *model = calloc(ADDS, sizeof *model);
    struct values *values = values_new();
    size_t count = 0;
    for (int i = 0; i < ADDS; i++) {
        struct model add = {.v = number((enum metric)(random_small(&seed) % METRIC_COUNT),
                                        (place_id)(random_small(&seed) % 9),
                                        (place_id)(random_small(&seed) % 9), i)};
        add.v.source = (enum value_source)(random_small(&seed) % 3);
        if (random_small(&seed) % 8 == 0)
            add.v.value = NAN;
        if (random_small(&seed) % 2 == 0)
            snprintf(add.axes, sizeof add.axes, "bytes=%u", random_small(&seed) % 4);
        model_add(model, &count, &add);
        assert_true(values_add(values, &add.v, add.axes, "why"));
    }
    values_finish(values);

    assert_int_equal(values->count, count);
    size_t in_ranges = 0;
    for (int m = 0; m < METRIC_COUNT; m++) {
        const struct value *all, *some;
        size_t n = values_range(values, (enum metric)m, PLACE_NONE, &all), by_from = 0;
        for (place_id from = 0; from < 9; from++) {
            size_t k = values_range(values, (enum metric)m, from, &some);
            for (size_t i = 0; i < k; i++)
                assert_true(some[i].metric == (enum metric)m && some[i].from == from &&
                            &some[i] == &all[by_from + i]);
            by_from += k;
        }
        assert_int_equal(by_from, n);
        in_ranges += n;
    }
    assert_int_equal(in_ranges, count);
    for (size_t i = 0; i < count; i++) {
        const struct value *found =
            values_find(values, model[i].v.metric, model[i].v.from, model[i].v.to, model[i].axes);
        if (isnan(model[i].v.value)) {
            assert_null(found);
            continue;
        }
        assert_non_null(found);
        assert_true(found->value == model[i].v.value && found->source == model[i].v.source);
        assert_string_equal(values_axes(values, found), model[i].axes);
    }
    for (size_t i = 0; i < values->count; i++)
        assert_true(isnan(values->item[i].value) == (values->item[i].why_not != NULL));
    values_free(values);
    free(model);
}

static void agrees_with_a_naive_model(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 8; seed++)
        check_against_model(seed * 7919);
}

/* 288 cores measured pairwise, like the largest recorded nodes. Keys come in the worst order. */
static void a_big_matrix(void **state)
{
    (void)state;
    struct values *values = values_new();
    for (place_id from = 287; from >= 0; from--)
        for (place_id to = 287; to >= 0; to--) {
            struct value v = number(METRIC_CPU_PINGPONG, from, to, from * 1000.0 + to);
            assert_true(values_add(values, &v, "", NULL));
        }
    values_finish(values);
    assert_int_equal(values->count, 288 * 288);
    for (place_id from = 0; from < 288; from += 7)
        for (place_id to = 0; to < 288; to++)
            assert_true(values_find(values, METRIC_CPU_PINGPONG, from, to, "")->value ==
                        from * 1000.0 + to);
    assert_true(sizeof(struct value) <= 72);
    values_free(values);
}

static void source_names(void **state)
{
    (void)state;
    enum value_source source = VALUE_MEASURED;
    assert_true(value_source_parse("published", &source));
    assert_int_equal(source, VALUE_PUBLISHED);
    assert_string_equal(value_source_name(VALUE_NOMINAL), "nominal");
    assert_false(value_source_parse("guessed", &source));
    assert_int_equal(source, VALUE_PUBLISHED);
}

static void a_measured_value_keeps_the_nominal_one(void **state)
{
    (void)state;
    struct values *values = values_new();
    struct value nominal = number(METRIC_MEMORY_BANDWIDTH, 1, 2, 100),
                 seen = number(METRIC_MEMORY_BANDWIDTH, 1, 2, 80);
    nominal.source = VALUE_NOMINAL;
    for (int order = 0; order < 2; order++) {
        struct values *set = values_new();
        assert_true(values_add(set, order == 0 ? &nominal : &seen, "", NULL));
        assert_true(values_add(set, order == 0 ? &seen : &nominal, "", NULL));
        values_finish(set);
        assert_int_equal(set->count, 1);
        assert_true(set->item[0].source == VALUE_MEASURED && set->item[0].value == 80 &&
                    set->item[0].nominal == 100);
        assert_true(values_add_all(values, set));
        values_free(set);
    }
    seen.value = 81;
    assert_true(values_add(values, &seen, "", NULL));
    values_finish(values);
    assert_true(values->count == 1 && values->item[0].value == 81 &&
                values->item[0].nominal == 100);
    values_free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_are_canonical),
        cmocka_unit_test(bad_axes_are_refused),
        cmocka_unit_test(one_axis),
        cmocka_unit_test(empty_set),
        cmocka_unit_test(missing_values_say_why),
        cmocka_unit_test(later_replaces_earlier_but_nominal_never_measured),
        cmocka_unit_test(one_set_into_another),
        cmocka_unit_test(agrees_with_a_naive_model),
        cmocka_unit_test(a_big_matrix),
        cmocka_unit_test(source_names),
        cmocka_unit_test(a_measured_value_keeps_the_nominal_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
