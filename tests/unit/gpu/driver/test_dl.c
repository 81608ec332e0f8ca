/* Libraries loaded at run time, and formats of their drivers' texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/driver/api.h"
#include "gpu/driver/dl.h"

struct calls {
    double (*cos)(double);
    double (*none)(double);
};

static void test_absent_is_one_sentence(void **state)
{
    (void)state;
    static const char *const names[] = {"libberth-none.so.2", "libberth-none.so.1", NULL};
    struct calls calls = {0};
    struct gpu_dl_found found = {.library = "untouched"};
    struct probe_why why = {0};
    assert_false(gpu_dl_open(names, NULL, 0, &calls, &found, &why));
    assert_string_equal(why.text, "libberth-none.so.2 is not on this machine");
    assert_string_equal(found.library, "untouched");
}

static void test_the_first_that_is_there(void **state)
{
    (void)state;
    static const char *const names[] = {"libberth-none.so.2", "libm.so.6", NULL};
    static const struct gpu_dl_call wanted[] = {
        {"cos", offsetof(struct calls, cos), true},
        {"no_such_call", offsetof(struct calls, none), false}};
    struct calls calls = {.none = (double (*)(double))1};
    struct gpu_dl_found found;
    struct probe_why why = {0};
    assert_true(gpu_dl_open(names, wanted, 2, &calls, &found, &why));
    assert_string_equal(found.library, "libm.so.6");
    assert_string_equal(why.text, "");
    assert_true(calls.cos(0) == 1);
    assert_null(calls.none);
    assert_true(gpu_dl_has(&found, "sin"));
    assert_false(gpu_dl_has(&found, "berth_standin"));
}

static void test_a_library_that_lacks_a_call(void **state)
{
    (void)state;
    static const char *const names[] = {"libm.so.6", NULL};
    static const struct gpu_dl_call wanted[] = {
        {"cos", offsetof(struct calls, cos), true},
        {"no_such_call", offsetof(struct calls, none), true}};
    struct calls calls;
    struct gpu_dl_found found;
    struct probe_why why = {0};
    assert_false(gpu_dl_open(names, wanted, 2, &calls, &found, &why));
    assert_string_equal(why.text, "libm.so.6 has no no_such_call, which a measurement needs");
}

static void test_pci_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *address;
    } cases[] = {{"00000000:C1:00.0", "0000:c1:00.0"},
                 {"0000:c1:00.0", "0000:c1:00.0"},
                 {"10000:01:1f.7", "10000:01:1f.7"},
                 {"", NULL},
                 {"c1:00.0", NULL},
                 {"0000:c1:00.0x", NULL},
                 {"numa0", NULL},
                 {"0000:c1:00", NULL},
                 {"fffffffff:00:00.0", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char address[16] = "untouched";
        assert_int_equal(gpu_dl_pci(cases[i].text, address, sizeof address),
                         cases[i].address != NULL);
        assert_string_equal(address, cases[i].address != NULL ? cases[i].address : "untouched");
    }
    char little[12];
    assert_false(gpu_dl_pci("0000:c1:00.0", little, sizeof little));
}

static void test_uuids(void **state)
{
    (void)state;
    static const unsigned char nvidia[16] = {0x5a, 0x13, 0xff, 0x00, 0x12, 0x34, 0x56, 0x78,
                                             0x9a, 0xbc, 0xde, 0xf0, 1,    2,    3,    4};
    unsigned char amd[16];
    char text[64];
    memcpy(amd, "7d4d17fe91a2c0b3", 16);
    assert_true(gpu_dl_uuid(nvidia, text, sizeof text));
    assert_string_equal(text, "GPU-5a13ff00-1234-5678-9abc-def001020304");
    assert_true(gpu_dl_uuid(amd, text, sizeof text));
    assert_string_equal(text, "GPU-7d4d17fe91a2c0b3");
    assert_false(gpu_dl_uuid(nvidia, text, 40));
    assert_true(gpu_dl_uuid(nvidia, text, 41));
}

static void test_kinds_of_failure(void **state)
{
    (void)state;
    assert_int_equal(gpu_api_fault(0), GPU_FAULT_NONE);
    assert_int_equal(gpu_api_fault(2), GPU_FAULT_MEMORY);
    assert_int_equal(gpu_api_fault(801), GPU_FAULT_UNSUPPORTED);
    assert_int_equal(gpu_api_fault(GPU_MISSING), GPU_FAULT_UNSUPPORTED);
    assert_int_equal(gpu_api_fault(217), GPU_FAULT_PEER);
    assert_int_equal(gpu_api_fault(700), GPU_FAULT_LOST);
    assert_int_equal(gpu_api_fault(1), GPU_FAULT_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absent_is_one_sentence),
        cmocka_unit_test(test_the_first_that_is_there),
        cmocka_unit_test(test_a_library_that_lacks_a_call),
        cmocka_unit_test(test_pci_addresses),
        cmocka_unit_test(test_uuids),
        cmocka_unit_test(test_kinds_of_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
