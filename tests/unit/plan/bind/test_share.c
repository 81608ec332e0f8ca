/* Default number of cores of each task: brute force finds no more, one more each is too many, and
 * tasks with fewer are reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/bind/share.h"
#include "unit/base/random.h"

#define GROUPS_MAX 5
#define TASKS_MAX  5

/* Hall's condition for so many each: of each set of tasks those together next to enough cores. */
static bool fits(const struct bind_share_request *request, size_t groups, int64_t each)
{
    for (unsigned set = 1; set < 1U << request->tasks; set++) {
        int64_t wanted = 0, cores = 0;
        for (size_t t = 0; t < request->tasks; t++)
            wanted += set >> t & 1 ? each : 0;
        for (size_t g = 0; g < groups; g++) {
            bool near = false;
            for (size_t t = 0; t < request->tasks; t++)
                near = near || ((set >> t & 1) && request->near[t * groups + g]);
            cores += near ? request->cores->group[g].cores : 0;
        }
        if (wanted > cores)
            return false;
    }
    return true;
}

static void as_many_as_all_find(void **state)
{
    (void)state;
    uint64_t seed = 5;
    unsigned unequal = 0;
    for (int round = 0; round < 20000; round++) {
        struct bind_group group[GROUPS_MAX] = {{0}};
        struct bind_cores cores = {.group = group,
                                   .group_count = 1 + random_next(&seed) % GROUPS_MAX};
        bool near[TASKS_MAX * GROUPS_MAX] = {false};
        struct bind_share_request request = {
            .cores = &cores, .tasks = 1 + random_next(&seed) % TASKS_MAX, .near = near};
        for (size_t g = 0; g < cores.group_count; g++)
            cores.count += group[g].cores = 1 + (unsigned)(random_next(&seed) % 8);
        if (cores.count < request.tasks)
            continue;
        for (size_t i = 0; i < request.tasks * cores.group_count; i++)
            near[i] = random_next(&seed) % 2 == 0;
        for (size_t t = 0; t < request.tasks; t++)
            near[t * cores.group_count + random_next(&seed) % cores.group_count] = true;
        struct bind_share share;
        struct berth_err err = {0};
        assert_int_equal(plan_bind_share(&request, &share, &err), BERTH_OK);
        assert_true(share.each == 1 || fits(&request, cores.group_count, share.each));
        assert_false(fits(&request, cores.group_count, share.each + 1));
        assert_true(share.short_count >= 1 && share.short_count <= request.tasks &&
                    share.short_task < request.tasks);
        assert_true(share.short_cores < (share.each + 1) * (int64_t)share.short_count);
        assert_true(share.others >= share.each &&
                    (share.others == share.each || share.short_count < request.tasks));
        unequal += share.others > share.each;
    }
    assert_true(unequal > 500);
}

static void who_is_short_is_named(void **state)
{
    (void)state;
    struct bind_group group[] = {{.cores = 2}, {.cores = 8}, {.cores = 8}};
    struct bind_cores cores = {.group = group, .group_count = 3, .count = 18};
    /* Tasks 0 and 2 have a group for each; task 1 has the small one alone. */
    const bool near[] = {false, true, false, true, false, false, false, false, true};
    struct bind_share share;
    struct berth_err err = {0};
    assert_int_equal(plan_bind_share(&(struct bind_share_request){&cores, 3, near}, &share, &err),
                     BERTH_OK);
    assert_true(share.each == 2 && share.short_task == 1 && share.short_count == 1 &&
                share.short_cores == 2 && share.others == 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_all_find),
        cmocka_unit_test(who_is_short_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
