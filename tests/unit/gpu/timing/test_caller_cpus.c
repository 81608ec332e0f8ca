#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/timing/caller_cpus.h"

static void a_thread_moves_and_comes_back(void **state)
{
    (void)state;
    struct gpu_seats seats;
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    gpu_seats_find("", 0, &seats);
    assert_in_range(seats.count, 1, GPU_SEATS_MAX);
    for (unsigned turn = 0; turn < 2 * GPU_SEATS_MAX; turn++) {
        gpu_seats_take(&seats, turn);
        int cpu = seats.cpu[turn % (unsigned)seats.count];
        assert_int_equal(sched_getcpu(), cpu);
        assert_true(CPU_ISSET(cpu, &before)); /* never where it may not run */
    }
    gpu_seats_leave(&seats);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}

/* One seat for each core, no two the same. */
static void seats_are_spread(void **state)
{
    (void)state;
    struct gpu_seats seats;
    gpu_seats_find("", 0, &seats);
    for (int i = 1; i < seats.count; i++)
        assert_true(seats.cpu[i] > seats.cpu[i - 1]);
}

static void where_nothing_is_known_it_stays(void **state)
{
    (void)state;
    struct gpu_seats seats;
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    gpu_seats_find("/nonexistent", 0, &seats);
    assert_int_equal(seats.count, 0);
    gpu_seats_take(&seats, 1);
    gpu_seats_take(NULL, 1);
    gpu_seats_leave(&seats);
    gpu_seats_leave(NULL);
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
