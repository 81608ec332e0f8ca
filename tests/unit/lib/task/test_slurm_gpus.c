#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/task/slurm_gpus.h"

static void only_a_number_counts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        long count;
    } cases[] = {{NULL, 0},
                 {"", 0},
                 {"0", 0},
                 {"4", 4},
                 {"08", 8},
                 {"all", 0},
                 {"4x", 0},
                 {"-1", 0},
                 {" 4", 0},
                 {"4,5", 0},
                 {"999999999", 999999999},
                 {"9999999999", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(lib_slurm_gpus_count(cases[i].text), cases[i].count);
}

static void fewer_than_the_nodes_are_a_tasks_own(void **state)
{
    (void)state;
    static const struct {
        const char *all, *list;
        enum lib_slurm_binding binding;
    } cases[] = {
        {NULL, "0-3", LIB_SLURM_UNKNOWN},    {"many", "0", LIB_SLURM_UNKNOWN},
        {"0", "0", LIB_SLURM_UNKNOWN},       {"4", "0-3", LIB_SLURM_UNBOUND},
        {"4", "0,1,2,3", LIB_SLURM_UNBOUND}, {"4", "2", LIB_SLURM_BOUND},
        {"4", "0,0,0,0", LIB_SLURM_BOUND},   {"4", "1-2", LIB_SLURM_BOUND},
        {"1", "3", LIB_SLURM_UNBOUND},       {"4", NULL, LIB_SLURM_UNBOUND},
        {"4", "none", LIB_SLURM_UNBOUND},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(lib_slurm_gpus_binding(cases[i].all, cases[i].list), cases[i].binding);
}

static struct berth_bind_request shared(int tasks, int gpus)
{
    struct berth_bind_request request;
    berth_bind_request_init(&request);
    request.tasks = tasks;
    lib_slurm_gpus_distribute(gpus, &request);
    return request;
}

static void gpus_are_shared_out_and_none_is_lost(void **state)
{
    (void)state;
    static const struct {
        int tasks, gpus, each, sharing;
        enum berth_visible visible;
    } cases[] = {
        {8, 8, 1, -1, BERTH_VISIBLE_DEFAULT}, {2, 8, 4, -1, BERTH_VISIBLE_DEFAULT},
        {1, 3, 3, -1, BERTH_VISIBLE_DEFAULT}, {2, 3, 1, -1, BERTH_VISIBLE_ALL},
        {3, 8, 2, -1, BERTH_VISIBLE_ALL},     {4, 2, 1, 2, BERTH_VISIBLE_DEFAULT},
        {5, 2, 1, 3, BERTH_VISIBLE_DEFAULT},  {4, 0, 0, -1, BERTH_VISIBLE_DEFAULT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct berth_bind_request request = shared(cases[i].tasks, cases[i].gpus);
        assert_int_equal(request.gpus_per_task, cases[i].each);
        assert_int_equal(request.tasks_per_gpu, cases[i].sharing);
        assert_int_equal(request.visible, cases[i].visible);
    }
}

static void what_is_said_stays(void **state)
{
    (void)state;
    struct berth_bind_request request;
    berth_bind_request_init(&request);
    request.tasks = 2;
    request.gpus_per_task = 1;
    lib_slurm_gpus_distribute(8, &request);
    assert_int_equal(request.gpus_per_task, 1);
    assert_int_equal(request.visible, BERTH_VISIBLE_DEFAULT);
    request.gpus_per_task = -1;
    request.visible = BERTH_VISIBLE_OWN;
    lib_slurm_gpus_distribute(3, &request);
    assert_int_equal(request.visible, BERTH_VISIBLE_OWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_number_counts),
        cmocka_unit_test(fewer_than_the_nodes_are_a_tasks_own),
        cmocka_unit_test(gpus_are_shared_out_and_none_is_lost),
        cmocka_unit_test(what_is_said_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
