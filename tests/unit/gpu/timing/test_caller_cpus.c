#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/timing/caller_cpus.h"

static void a_thread_moves_and_comes_back(void **state)
{
    (void)state;
    struct gpu_caller_cpus caller_cpus;
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    gpu_caller_cpus_choose("", 0, &caller_cpus);
    assert_in_range(caller_cpus.count, 1, GPU_CALLER_CPUS_MAX);
    for (unsigned turn = 0; turn < 2 * GPU_CALLER_CPUS_MAX; turn++) {
        gpu_caller_cpus_pin(&caller_cpus, turn);
        int cpu = caller_cpus.cpu[turn % (unsigned)caller_cpus.count];
        assert_int_equal(sched_getcpu(), cpu);
        assert_true(CPU_ISSET(cpu, &before)); /* never where it may not run */
    }
    gpu_caller_cpus_restore(&caller_cpus);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}

/* One CPU for each core, no two the same. */
static void seats_are_spread(void **state)
{
    (void)state;
    struct gpu_caller_cpus caller_cpus;
    gpu_caller_cpus_choose("", 0, &caller_cpus);
    for (int i = 1; i < caller_cpus.count; i++)
        assert_true(caller_cpus.cpu[i] > caller_cpus.cpu[i - 1]);
}

static void where_nothing_is_known_it_stays(void **state)
{
    (void)state;
    struct gpu_caller_cpus caller_cpus;
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    gpu_caller_cpus_choose("/nonexistent", 0, &caller_cpus);
    assert_int_equal(caller_cpus.count, 0);
    gpu_caller_cpus_pin(&caller_cpus, 1);
    gpu_caller_cpus_pin(NULL, 1);
    gpu_caller_cpus_restore(&caller_cpus);
    gpu_caller_cpus_restore(NULL);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_moves_and_comes_back),
        cmocka_unit_test(seats_are_spread),
        cmocka_unit_test(where_nothing_is_known_it_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
