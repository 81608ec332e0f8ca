#include "lib/task/merged_berth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const gpu0[] = {"gpu0"}, *const gpu1[] = {"gpu1"}, *const gpu2[] = {"gpu2"},
                         *const both[] = {"gpu3", "gpu4"};
static const char *const numa0[] = {"numa0"}, *const numa1[] = {"numa1"};

#define TEXTS(list)                                                                                \
    {                                                                                              \
        .item = (const char **)(uintptr_t)(list), .count = sizeof(list) / sizeof *(list)           \
    }

static const struct berth_task tasks[] = {
    {.task = 0, .gpus = TEXTS(gpu0), .cpus = "0-3,8-11", .memory = TEXTS(numa0)},
    {.task = 1,
     .gpus = TEXTS(gpu1),
     .cpus = "4-7",
     .memory = TEXTS(numa0),
     .memory_policy = BERTH_POLICY_PREFERRED},
    {.task = 2,
     .gpus = TEXTS(gpu2),
     .cpus = "16",
     .memory = TEXTS(numa1),
     .memory_policy = BERTH_POLICY_PREFERRED},
    {.task = 3, .gpus = TEXTS(both), .cpus = "20", .memory = TEXTS(numa1)},
};
static const struct berth_binding binding = {.tasks = tasks,
                                             .task_count = sizeof tasks / sizeof tasks[0]};

static void a_task_has_the_berths_of_all_of_its_gpus(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu2", "gpu1"};
    const struct berth_texts gpus = TEXTS(names);
    struct lib_merge merged;
    assert_true(lib_merge(&binding, &gpus, &merged));
    assert_string_equal(merged.task.cpus, "4-7,16");
    assert_int_equal(merged.task.memory.count, 2);
    assert_string_equal(merged.task.memory.item[0], "numa1");
    assert_string_equal(merged.task.memory.item[1], "numa0");
    assert_int_equal(merged.task.gpus.count, 2);
    assert_int_equal(merged.task.memory_policy, BERTH_POLICY_PREFERRED);
    lib_merge_done(&merged);
}

static void memory_is_named_once(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu0", "gpu1"};
    const struct berth_texts gpus = TEXTS(names);
    struct lib_merge merged;
    assert_true(lib_merge(&binding, &gpus, &merged));
    assert_string_equal(merged.task.cpus, "0-11");
    assert_int_equal(merged.task.memory.count, 1);
    lib_merge_done(&merged);
}

/* A nic of only one gpu is not chosen for all; common ones stay. */
static void variables_of_nics_are_those_of_all(void **state)
{
    (void)state;
    static const struct berth_pair of_one[] = {{"UCX_NET_DEVICES", "mlx5_0:1"},
                                               {"NCCL_IB_HCA", "=mlx5_0,mlx5_1"},
                                               {"HSA_ENABLE_SDMA", "1"}},
                                   of_other[] = {{"NCCL_IB_HCA", "=mlx5_0,mlx5_1"},
                                                 {"UCX_NET_DEVICES", "mlx5_1:1"}};
    static const char *const names[] = {"gpu0", "gpu1"};
    const struct berth_task pair[] = {
        {.gpus = TEXTS(gpu0), .cpus = "0", .environment = {of_one, 3}},
        {.gpus = TEXTS(gpu1), .cpus = "1", .environment = {of_other, 2}}};
    const struct berth_binding two = {.tasks = pair, .task_count = 2};
    struct berth_texts gpus = TEXTS(names);
    struct lib_merge merged;
    assert_true(lib_merge(&two, &gpus, &merged));
    assert_int_equal(merged.task.environment.count, 2);
    assert_string_equal(merged.task.environment.item[0].name, "NCCL_IB_HCA");
    assert_string_equal(merged.task.environment.item[1].name, "HSA_ENABLE_SDMA");
    lib_merge_done(&merged);
    gpus.count = 1;
    assert_true(lib_merge(&two, &gpus, &merged));
    assert_int_equal(merged.task.environment.count, 3);
    lib_merge_done(&merged);
}

static void a_gpu_without_a_berth_of_its_own_has_none(void **state)
{
    (void)state;
    static const char *const unknown[] = {"gpu0", "gpu9"}, *const shared[] = {"gpu3"};
    const struct berth_texts sets[] = {TEXTS(unknown), TEXTS(shared), {.count = 0}};
    struct lib_merge merged = {.cpus = NULL};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        assert_false(lib_merge(&binding, &sets[i], &merged));
        assert_null(merged.cpus);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_has_the_berths_of_all_of_its_gpus),
        cmocka_unit_test(memory_is_named_once),
        cmocka_unit_test(variables_of_nics_are_those_of_all),
        cmocka_unit_test(a_gpu_without_a_berth_of_its_own_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
