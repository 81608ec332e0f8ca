/* Gpus that PyTorch's workers see: the one with a worker's number is its own. */
#include "lib/task/local_ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 4

/* A binding whose tasks have one gpu each and this variable with these values. */
struct bed {
    struct berth_task tasks[MOST];
    struct berth_pair pairs[MOST][2];
    const char *gpus[2];
    struct berth_binding binding;
};

static void make(struct bed *bed, const char *name, const char *const *values)
{
    *bed = (struct bed){.gpus = {"gpu0", "gpu1"}};
    size_t count = 0;
    for (; count < MOST && values[count] != NULL; count++) {
        bed->pairs[count][0] = (struct berth_pair){.name = "OTHER", .value = "7"};
        bed->pairs[count][1] = (struct berth_pair){.name = name, .value = values[count]};
        bed->tasks[count] =
            (struct berth_task){.task = (int)count,
                                .gpus = {.item = bed->gpus, .count = 1},
                                .environment = {.item = bed->pairs[count], .count = 2}};
    }
    bed->binding = (struct berth_binding){.tasks = bed->tasks, .task_count = count};
}

#define MAKE(bed, name, ...) make(bed, name, (const char *const[]){__VA_ARGS__, NULL})

static const struct berth_launcher torchrun = {.name = "torchrun"},
                                   deepspeed = {.name = "deepspeed"}, hydra = {.name = "hydra"},
                                   nobody = {.name = NULL};

static void expect(const struct bed *bed, const struct berth_launcher *launcher, size_t task,
                   const char *value)
{
    struct lib_local_ranks ranks;
    const struct berth_task *its = &bed->tasks[task];
    if (value == NULL) {
        assert_false(lib_local_ranks(launcher, &bed->binding, its, &ranks));
        return;
    }
    assert_true(lib_local_ranks(launcher, &bed->binding, its, &ranks));
    assert_int_equal(ranks.task.environment.count, 2);
    assert_string_equal(ranks.task.environment.item[0].value, "7");
    assert_string_equal(ranks.task.environment.item[1].name, its->environment.item[1].name);
    assert_string_equal(ranks.task.environment.item[1].value, value);
    assert_ptr_equal(ranks.task.gpus.item, its->gpus.item);
    lib_local_ranks_done(&ranks);
}

static void a_worker_sees_all_in_order(void **state)
{
    (void)state;
    struct bed bed;
    MAKE(&bed, "CUDA_VISIBLE_DEVICES", "GPU-b", "GPU-a", "GPU-ab");
    for (size_t task = 0; task < 3; task++)
        expect(&bed, &torchrun, task, "GPU-b,GPU-a,GPU-ab");
    expect(&bed, &deepspeed, 1, "GPU-b,GPU-a,GPU-ab");
    MAKE(&bed, "ROCR_VISIBLE_DEVICES", "3");
    expect(&bed, &torchrun, 0, "3");
}

static void those_left_over_are_last(void **state)
{
    (void)state;
    struct bed bed;
    MAKE(&bed, "ROCR_VISIBLE_DEVICES", "10,1,0", "1,10,0");
    expect(&bed, &torchrun, 0, "10,1,0");
    expect(&bed, &torchrun, 1, "10,1,0");
}

static void other_launchers_tasks_see_their_own(void **state)
{
    (void)state;
    struct bed bed;
    MAKE(&bed, "CUDA_VISIBLE_DEVICES", "0", "1");
    expect(&bed, &hydra, 0, NULL);
    expect(&bed, &nobody, 0, NULL);
}

static void so_do_workers_without_one_gpu_each(void **state)
{
    (void)state;
    struct bed bed;
    MAKE(&bed, "CUDA_VISIBLE_DEVICES", "0", "1", "0"); /* two share one */
    expect(&bed, &torchrun, 1, NULL);
    MAKE(&bed, "CUDA_VISIBLE_DEVICES", "0", "");
    expect(&bed, &torchrun, 0, NULL);
    MAKE(&bed, "CUDA_DEVICE_ORDER", "0", "1");
    expect(&bed, &torchrun, 0, NULL);
    MAKE(&bed, "CUDA_VISIBLE_DEVICES", "0", "1");
    bed.pairs[1][1].name = "ROCR_VISIBLE_DEVICES"; /* another vendor's */
    expect(&bed, &torchrun, 0, NULL);
    expect(&bed, &torchrun, 1, NULL);
    MAKE(&bed, "CUDA_VISIBLE_DEVICES", "0", "1,2");
    bed.tasks[1].gpus.count = 2;
    expect(&bed, &torchrun, 0, NULL);
    MAKE(&bed, "CUDA_VISIBLE_DEVICES", "0", "1");
    bed.tasks[0].task = 1; /* in another order */
    expect(&bed, &torchrun, 0, NULL);
    bed.tasks[0].environment.count = 0;
    expect(&bed, &torchrun, 0, NULL);
}

/* A list as no node has it is left as it is, and takes no time. */
static void endless_lists_are_left(void **state)
{
    (void)state;
    enum { ITEMS = 2000000, ITEM = 8 };
    struct bed bed;
    char *text = malloc((size_t)ITEMS * ITEM + 1);
    assert_non_null(text);
    for (size_t i = 0; i < ITEMS; i++)
        snprintf(text + i * ITEM, ITEM + 1, "%07zu,", i);
    MAKE(&bed, "ROCR_VISIBLE_DEVICES", text, "1,0");
    expect(&bed, &torchrun, 0, NULL);
    text[(1 << 14) + 1] = '\0';
    expect(&bed, &torchrun, 0, NULL);
    text[1 << 14] = '\0';
    expect(&bed, &deepspeed, 1, "0000000,1,0");
    struct lib_local_ranks ranks;
    assert_true(lib_local_ranks(&torchrun, &bed.binding, &bed.tasks[0], &ranks));
    lib_local_ranks_done(&ranks);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_sees_all_in_order),
        cmocka_unit_test(those_left_over_are_last),
        cmocka_unit_test(endless_lists_are_left),
        cmocka_unit_test(other_launchers_tasks_see_their_own),
        cmocka_unit_test(so_do_workers_without_one_gpu_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
