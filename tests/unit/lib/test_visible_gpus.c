#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lib/visible_gpus.h"

/* Which of four equal gpus (uuids GPU-aa.., GPU-ab.., GPU-b.., none) are left, as text. */
static const char *left(bool is_nvidia, const long *orders, bool is_mixed,
                        const struct lib_visible *visible, char text[8])
{
    struct lib_gpu gpus[4] = {
        {.uuid = "GPU-aa01"}, {.uuid = "GPU-ab02"}, {.uuid = "GPU-b003"}, {.uuid = "GPU-c004"}};
    for (int i = 0; i < 4; i++) {
        gpus[i].name = "gpu";
        gpus[i].model = is_mixed && i == 3 ? "Big" : "Small";
        gpus[i].is_nvidia = is_nvidia;
        gpus[i].driver_order = orders != NULL ? orders[i] : -1;
        gpus[i].usable = true;
    }
    lib_visible_apply(visible, gpus, 4);
    size_t n = 0;
    for (int i = 0; i < 4; i++)
        if (gpus[i].usable)
            text[n++] = (char)('0' + i);
    text[n] = '\0';
    return text;
}

static void cuda_lists(void **state)
{
    (void)state;
    static const struct {
        const char *list, *left;
    } rows[] = {
        {NULL, "0123"},
        {"", ""},
        {"-1", ""},
        {"NoDevFiles", ""},
        {"0", "0"},
        {"2,1", "12"},
        {" 3 , 0 ", "03"},
        {"0,9,1", "0"},
        {"0,-1,1", "0"},
        {"1,1", "1"},
        {"GPU-b", "2"},
        {"GPU-aa01,GPU-ab", "01"},
        {"GPU-ffff", ""},
        {"MIG-123", "0123"},
        {"0x1", ""},
        {"99999999999999999999", ""},
        {"0,0,0,0,0,0,0,0,0,0,0,0", "0"},
    };
    char text[8];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lib_visible visible = {.cuda = rows[i].list};
        assert_string_equal(left(true, NULL, false, &visible, text), rows[i].left);
    }
}

static void one_list_for_all_runtimes_counts_once(void **state)
{
    (void)state;
    static const long orders[] = {1, 2, 3, 4};
    char text[8];
    const struct lib_visible one = {.rocr = "1,2", .cuda = "1,2"},
                             other = {.rocr = "1,2", .cuda = "1"},
                             hip = {.rocr = "1,2", .cuda = "1,2", .hip = "0"};
    assert_string_equal(left(false, orders, false, &one, text), "12");
    assert_string_equal(left(false, orders, false, &other, text), "2");
    assert_string_equal(left(false, orders, false, &hip, text), "1");
}

static void numbers_count_only_in_a_known_order(void **state)
{
    (void)state;
    char text[8];
    struct lib_visible visible = {.cuda = "1"};
    /* fastest first: which is 1 is not known here */
    assert_string_equal(left(true, NULL, true, &visible, text), "0123");
    visible.cuda_order = "PCI_BUS_ID";
    assert_string_equal(left(true, NULL, true, &visible, text), "1");
    struct lib_visible rocr = {.rocr = "1"};
    assert_string_equal(left(false, NULL, false, &rocr, text), "0123");
}

static void rocm_lists_stack(void **state)
{
    (void)state;
    static const long orders[4] = {7, 6, 5, 4};
    static const struct {
        const char *rocr, *hip, *cuda, *left;
    } rows[] = {
        {"0", NULL, NULL, "3"},  {"0,3", NULL, NULL, "03"}, {"0,3", "1", NULL, "0"},
        {"0,3", NULL, "1", "0"}, {"3,0", "0", "1", "0"},    {"GPU-B003", NULL, NULL, "2"},
        {NULL, "", NULL, ""},
    };
    char text[8];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lib_visible visible = {
            .rocr = rows[i].rocr, .hip = rows[i].hip, .cuda = rows[i].cuda};
        assert_string_equal(left(false, orders, false, &visible, text), rows[i].left);
    }
}

static void a_closed_device_is_not_counted(void **state)
{
    (void)state;
    struct lib_gpu gpus[3] = {{.model = "M", .is_nvidia = true},
                              {.model = "M", .is_nvidia = true, .usable = true},
                              {.model = "M", .is_nvidia = true, .usable = true}};
    struct lib_visible visible = {.cuda = "0"};
    lib_visible_apply(&visible, gpus, 3);
    assert_false(gpus[0].usable);
    assert_true(gpus[1].usable);
    assert_false(gpus[2].usable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuda_lists),
        cmocka_unit_test(one_list_for_all_runtimes_counts_once),
        cmocka_unit_test(numbers_count_only_in_a_known_order),
        cmocka_unit_test(rocm_lists_stack),
        cmocka_unit_test(a_closed_device_is_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
