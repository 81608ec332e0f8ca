/* Which berth of a plan is a task's, and taking it: affinity, memory policy and environment, all or
 * nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <numaif.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/berth.h"
#include "lib/cpus.h"

static const char *const gpu0[] = {"gpu0"}, *const gpu1[] = {"gpu1"}, *const numa0[] = {"numa0"},
                         *const numa9[] = {"numa999"}, *const nowhere[] = {"gpu0"};

static void the_berth_is_by_number_or_by_gpus(void **state)
{
    (void)state;
    const struct berth_task tasks[] = {{.task = 0, .gpus = {gpu1, 1}},
                                       {.task = 1, .gpus = {gpu0, 1}}};
    const struct berth_binding binding = {.tasks = tasks, .task_count = 2};
    struct berth_step step = {.gpus = {gpu0, 1}};
    unsigned parts = 0;
    assert_ptr_equal(berth_step_berth(&step, 0, &binding, &parts), &tasks[0]);
    assert_int_equal(parts, BERTH_PART_ALL);
    step.cpus_bound = 1;
    assert_ptr_equal(berth_step_berth(&step, 1, &binding, &parts), &tasks[1]);
    assert_int_equal(parts, BERTH_PART_GPUS | BERTH_PART_ENVIRONMENT);
    step = (struct berth_step){.gpus = {gpu0, 1}, .gpus_bound = 1};
    assert_ptr_equal(berth_step_berth(&step, 0, &binding, &parts), &tasks[1]);
    assert_int_equal(parts, BERTH_PART_CPUS | BERTH_PART_MEMORY | BERTH_PART_ENVIRONMENT);
    parts = 77;
    step.gpus.count = 0;
    assert_null(berth_step_berth(&step, 0, &binding, &parts));
    assert_int_equal(parts, 77);
}

/* A list of the first cpu that this thread may use. */
static void first_cpu(char text[16])
{
    struct lib_cpus cpus, one = {0};
    assert_true(lib_cpus_of(0, &cpus));
    for (unsigned n = 0; n < LIB_CPUS_MAX; n++)
        if (lib_cpus_has(&cpus, n)) {
            one.word[n / (8 * sizeof(long))] = 1ul << n % (8 * sizeof(long));
            break;
        }
    lib_cpus_format(&one, text, 16);
}

static int policy_here(void)
{
    int mode = -1;
    return get_mempolicy(&mode, NULL, 0, NULL, 0) == 0 ? mode : -1;
}

static bool has_affinity(const char *list)
{
    struct lib_cpus wanted, cpus;
    return lib_cpus_parse(list, &wanted) && lib_cpus_of(0, &cpus) &&
           memcmp(&wanted, &cpus, sizeof cpus) == 0;
}

/* Each of these changes its process, so it runs in one of its own; the exit status names the line
 * that is not as expected. */
static void expect(bool condition, int line)
{
    if (!condition)
        _exit(line % 250 + 1);
}
#define EXPECT(condition) expect(condition, __LINE__)

static void in_a_child(void (*run)(void))
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static const struct berth_pair pairs[] = {{"CUDA_VISIBLE_DEVICES", "GPU-1"}, {"BERTH_TEST", "new"}};
static const char *const unset[] = {"ROCR_VISIBLE_DEVICES", "BERTH_TEST_OLD"};

static bool is_set(const char *name, const char *value)
{
    const char *there = getenv(name);
    return there != NULL && strcmp(there, value) == 0;
}

static void take_all(void)
{
    char cpu[16];
    first_cpu(cpu);
    struct berth *berth = berth_new();
    struct berth_task task = {.cpus = cpu,
                              .memory = {numa0, 1},
                              .memory_policy = BERTH_POLICY_BIND,
                              .environment = {pairs, 2},
                              .unset = {unset, 2}};
    setenv("ROCR_VISIBLE_DEVICES", "0", 1);
    setenv("BERTH_TEST_OLD", "0", 1);
    EXPECT(berth_apply(berth, &task, BERTH_PART_ALL) == BERTH_DONE);
    EXPECT(has_affinity(cpu));
    EXPECT(policy_here() == MPOL_BIND);
    EXPECT(is_set("CUDA_VISIBLE_DEVICES", "GPU-1") && is_set("BERTH_TEST", "new"));
    EXPECT(getenv("ROCR_VISIBLE_DEVICES") == NULL && getenv("BERTH_TEST_OLD") == NULL);
    berth_free(berth);
}

static void take_parts(void)
{
    struct berth *berth = berth_new();
    struct lib_cpus before, after;
    struct berth_task task = {
        .cpus = "4095", .memory = {nowhere, 1}, .environment = {pairs, 2}, .unset = {unset, 2}};
    setenv("ROCR_VISIBLE_DEVICES", "0", 1);
    EXPECT(lib_cpus_of(0, &before));
    EXPECT(berth_apply(berth, &task, BERTH_PART_ENVIRONMENT) == BERTH_DONE);
    EXPECT(getenv("CUDA_VISIBLE_DEVICES") == NULL && is_set("BERTH_TEST", "new") &&
           getenv("ROCR_VISIBLE_DEVICES") != NULL);
    EXPECT(berth_apply(berth, &task, BERTH_PART_GPUS) == BERTH_DONE);
    EXPECT(getenv("CUDA_VISIBLE_DEVICES") != NULL && getenv("ROCR_VISIBLE_DEVICES") == NULL);
    EXPECT(lib_cpus_of(0, &after) && memcmp(&before, &after, sizeof after) == 0);
    berth_free(berth);
}

/* Variables that choose a nic are set where they are unset. Those of another berth, set for an
 * ancestor of this task, are replaced. */
static void take_nics(void)
{
    static const struct berth_pair first[] = {{"UCX_NET_DEVICES", "mlx5_0:1"},
                                              {"NCCL_IB_HCA", "=mlx5_0"},
                                              {"BERTH_TEST", "new"}},
                                   second[] = {{"UCX_NET_DEVICES", "mlx5_1:1"},
                                               {"NCCL_IB_HCA", "=mlx5_1"}};
    struct berth *berth = berth_new();
    struct berth_task task = {.environment = {first, 3}}, inner = {.environment = {second, 2}};
    setenv("NCCL_IB_HCA", "mlx5_7", 1);
    EXPECT(berth_apply(berth, &task, BERTH_PART_ENVIRONMENT) == BERTH_DONE);
    EXPECT(is_set("UCX_NET_DEVICES", "mlx5_0:1") && is_set("BERTH_UCX_NET_DEVICES", "mlx5_0:1") &&
           is_set("BERTH_TEST", "new"));
    EXPECT(is_set("NCCL_IB_HCA", "mlx5_7") && getenv("BERTH_NCCL_IB_HCA") == NULL);
    EXPECT(berth_apply(berth, &inner, BERTH_PART_ENVIRONMENT) == BERTH_DONE);
    EXPECT(is_set("UCX_NET_DEVICES", "mlx5_1:1") && is_set("BERTH_UCX_NET_DEVICES", "mlx5_1:1") &&
           is_set("NCCL_IB_HCA", "mlx5_7"));
    setenv("UCX_NET_DEVICES", "all", 1); /* by the program that was started so */
    EXPECT(berth_apply(berth, &task, BERTH_PART_ENVIRONMENT) == BERTH_DONE);
    EXPECT(is_set("UCX_NET_DEVICES", "all") && is_set("BERTH_UCX_NET_DEVICES", "mlx5_1:1"));
    EXPECT(berth_apply(berth, &task, BERTH_PART_GPUS) == BERTH_DONE &&
           is_set("UCX_NET_DEVICES", "all"));
    berth_free(berth);
}

/* Whatever is refused, nothing of the berth is taken. */
static void take_nothing(void)
{
    static const struct berth_pair bad_name[] = {{"BERTH_TEST", "new"}, {"a=b", "1"}};
    char cpu[16];
    first_cpu(cpu);
    struct berth *berth = berth_new();
    struct lib_cpus before, after;
    const struct {
        struct berth_task task;
        int status;
        const char *says;
    } cases[] = {
        {{.cpus = "4095",
          .memory = {numa0, 1},
          .memory_policy = BERTH_POLICY_BIND,
          .environment = {pairs, 2}},
         BERTH_ERROR_SYSTEM,
         "4095"},
        {{.cpus = "0,4095",
          .memory = {numa0, 1},
          .memory_policy = BERTH_POLICY_BIND,
          .environment = {pairs, 2}},
         BERTH_ERROR_SYSTEM,
         "4095"},
        {{.cpus = "", .environment = {pairs, 2}}, BERTH_ERROR_BAD_ARGUMENT, "no list"},
        {{.cpus = "1-", .environment = {pairs, 2}}, BERTH_ERROR_BAD_ARGUMENT, "no list"},
        {{.cpus = cpu,
          .memory = {nowhere, 1},
          .memory_policy = BERTH_POLICY_BIND,
          .environment = {pairs, 2}},
         BERTH_ERROR_BAD_ARGUMENT,
         "gpu0 is no NUMA node"},
        {{.cpus = cpu,
          .memory = {numa9, 1},
          .memory_policy = BERTH_POLICY_BIND,
          .environment = {pairs, 2}},
         BERTH_ERROR_SYSTEM,
         "memory policy"},
        {{.cpus = cpu, .memory = {numa0, 1}, .environment = {pairs, 2}},
         BERTH_ERROR_BAD_ARGUMENT,
         "policy"},
        {{.cpus = cpu, .environment = {bad_name, 2}}, BERTH_ERROR_BAD_ARGUMENT, "a=b"},
    };
    EXPECT(lib_cpus_of(0, &before));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        EXPECT(berth_apply(berth, &cases[i].task, BERTH_PART_ALL) == cases[i].status);
        EXPECT(strstr(berth_error_detail(berth), cases[i].says) != NULL);
        EXPECT(lib_cpus_of(0, &after) && memcmp(&before, &after, sizeof after) == 0);
        EXPECT(policy_here() == MPOL_DEFAULT || policy_here() == -1);
        EXPECT(getenv("CUDA_VISIBLE_DEVICES") == NULL && getenv("BERTH_TEST") == NULL);
    }
    berth_free(berth);
}

static void a_berth_is_taken(void **state)
{
    (void)state;
    if (policy_here() < 0)
        skip(); /* the kernel, or who runs this, has no memory policies */
    in_a_child(take_all);
}

static void parts_are_taken_alone(void **state)
{
    (void)state;
    in_a_child(take_parts);
}

static void nics_that_somebody_has_chosen_stay(void **state)
{
    (void)state;
    in_a_child(take_nics);
}

static void all_or_nothing_is_taken(void **state)
{
    (void)state;
    if (policy_here() < 0)
        skip();
    in_a_child(take_nothing);
}

int main(void)
{
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("ROCR_VISIBLE_DEVICES");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_berth_is_by_number_or_by_gpus),
        cmocka_unit_test(a_berth_is_taken),
        cmocka_unit_test(parts_are_taken_alone),
        cmocka_unit_test(nics_that_somebody_has_chosen_stay),
        cmocka_unit_test(all_or_nothing_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
