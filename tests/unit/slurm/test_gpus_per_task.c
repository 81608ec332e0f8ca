#include "slurm/gpus_per_task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static struct berth_bind_request shared(int tasks, int gpus)
{
    struct berth_bind_request request;
    berth_bind_request_init(&request);
    request.tasks = tasks;
    slurm_share_gpus(gpus, &request);
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
    slurm_share_gpus(8, &request);
    assert_int_equal(request.gpus_per_task, 1);
    assert_int_equal(request.visible, BERTH_VISIBLE_DEFAULT);
    request.gpus_per_task = -1;
    request.visible = BERTH_VISIBLE_OWN;
    slurm_share_gpus(3, &request);
    assert_int_equal(request.visible, BERTH_VISIBLE_OWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_are_shared_out_and_none_is_lost),
        cmocka_unit_test(what_is_said_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
