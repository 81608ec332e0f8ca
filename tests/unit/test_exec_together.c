#include "exec_together.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const gpu0[] = {"gpu0"}, *const gpu1[] = {"gpu1"}, *const gpu2[] = {"gpu2"}, *const both[] = {"gpu3", "gpu4"};
static const char *const numa0[] = {"numa0"}, *const numa1[] = {"numa1"};

#define TEXTS(list) {.item = (const char **)(uintptr_t)(list), .count = sizeof(list) / sizeof *(list)}

static const struct berth_task tasks[] = {
    {.task = 0, .gpus = TEXTS(gpu0), .cpus = "0-3,8-11", .memory = TEXTS(numa0)},
    {.task = 1, .gpus = TEXTS(gpu1), .cpus = "4-7", .memory = TEXTS(numa0), .memory_policy = BERTH_POLICY_PREFERRED},
    {.task = 2, .gpus = TEXTS(gpu2), .cpus = "16", .memory = TEXTS(numa1), .memory_policy = BERTH_POLICY_PREFERRED},
    {.task = 3, .gpus = TEXTS(both), .cpus = "20", .memory = TEXTS(numa1)},
};
static const struct berth_binding binding = {.tasks = tasks, .task_count = sizeof tasks / sizeof tasks[0]};

static void a_task_has_the_berths_of_all_of_its_gpus(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu2", "gpu1"};
    const struct berth_texts gpus = TEXTS(names);
    struct exec_together together;
    assert_true(exec_together(&binding, &gpus, &together));
    assert_string_equal(together.task.cpus, "4-7,16");
    assert_int_equal(together.task.memory.count, 2);
    assert_string_equal(together.task.memory.item[0], "numa1");
    assert_string_equal(together.task.memory.item[1], "numa0");
    assert_int_equal(together.task.gpus.count, 2);
    assert_int_equal(together.task.memory_policy, BERTH_POLICY_PREFERRED);
    exec_together_done(&together);
}

static void memory_is_named_once(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu0", "gpu1"};
    const struct berth_texts gpus = TEXTS(names);
    struct exec_together together;
    assert_true(exec_together(&binding, &gpus, &together));
    assert_string_equal(together.task.cpus, "0-11");
    assert_int_equal(together.task.memory.count, 1);
    exec_together_done(&together);
}

static void a_gpu_without_a_berth_of_its_own_has_none(void **state)
{
    (void)state;
    static const char *const unknown[] = {"gpu0", "gpu9"}, *const shared[] = {"gpu3"};
    const struct berth_texts sets[] = {TEXTS(unknown), TEXTS(shared), {.count = 0}};
    struct exec_together together = {.cpus = NULL};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        assert_false(exec_together(&binding, &sets[i], &together));
        assert_null(together.cpus);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_has_the_berths_of_all_of_its_gpus),
        cmocka_unit_test(memory_is_named_once),
        cmocka_unit_test(a_gpu_without_a_berth_of_its_own_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
