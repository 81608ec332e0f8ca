/* Bind's answers for tasks with cores in several L3s or NUMA nodes. */
#include "unit/plan/bind/bind_answer.h"

static struct fixture ask(const struct shape *shape, int64_t tasks, int64_t cores)
{
    return answer_over(
        nodes_cpu(shape), NULL,
        (struct bind_request){.tasks = tasks, .gpus_per_task = 0, .cores_per_task = cores});
}

static const struct shape two_packages = {2, 2, 2, 4, 1, INT64_C(64) << 30};

/* Also where berth itself chose the number of cores; no L3 has 10: of that nothing is said. */
static void cores_of_several_numa_nodes_are_told(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        struct fixture f = ask(&two_packages, 3, asked ? 10 : 0);
        assert_int_equal(f.answer.cores_per_task, 10);
        assert_int_equal(subjects_of(&f.answer.warnings, REASON_CORES_IN_NUMAS), 3);
        assert_int_equal(f.answer.warnings.count, 1);
        end(&f);
    }
    struct fixture f = ask(&two_packages, 1, 0);
    assert_int_equal(subjects_of(&f.answer.warnings, REASON_CORES_IN_NUMAS), 1);
    end(&f);
}

static void cores_of_several_l3s_are_told_where_they_were_asked_for(void **state)
{
    (void)state;
    struct fixture f = ask(&two_packages, 4, 6);
    assert_int_equal(subjects_of(&f.answer.warnings, REASON_CORES_IN_L3S), 4);
    assert_int_equal(f.answer.warnings.count, 1);
    end(&f);
    f = ask(&two_packages, 4, 0); /* 8, as a NUMA node has */
    assert_int_equal(f.answer.cores_per_task, 8);
    assert_int_equal(f.answer.warnings.count, 0);
    end(&f);
}

/* 3 tasks of 6 cores on two L3s of 10: the last to be given cores gets what is left, and others
 * come behind it. */
static void tasks_are_named_as_they_are_numbered(void **state)
{
    (void)state;
    struct fixture f = ask(&(struct shape){1, 1, 2, 10, 1, INT64_C(64) << 30}, 3, 0);
    char *cpus = cpuset_list_new(&f.answer.task[1].cpus);
    assert_string_equal(cpus, "6-9,16-17");
    free(cpus);
    assert_string_equal(reason_with(&f.answer.warnings, REASON_CORES_IN_L3S)->subject[0], "task 1");
    assert_int_equal(f.answer.warnings.count, 1);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_of_several_numa_nodes_are_told),
        cmocka_unit_test(cores_of_several_l3s_are_told_where_they_were_asked_for),
        cmocka_unit_test(tasks_are_named_as_they_are_numbered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
