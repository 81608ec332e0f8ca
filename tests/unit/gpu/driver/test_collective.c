/* Calls of NCCL by gpu_collective, with their order and arguments. The library is
 * tests/standin/nccl.c in place of libnccl.so.2: loaded first, it is found by its name. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpu/driver/collective.h"

static const struct gpu_api cuda_standin = {
    .name = "cuda", .library = "libcuda.so.1", .is_standin = true};

struct rig {
    char log[64];
    void *library;
    struct gpu_collective *collective;
};

static int set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    rig->library = dlopen(STANDIN_DIR "/libnccl.so.2", RTLD_NOW);
    if (rig->library == NULL)
        print_error("%s\n", dlerror());
    snprintf(rig->log, sizeof rig->log, "/tmp/berth-nccl-XXXXXX");
    close(mkstemp(rig->log));
    setenv("BERTH_STANDIN_NCCL_LOG", rig->log, 1);
    unsetenv("BERTH_STANDIN_NCCL_FAIL");
    gpu_collective_environment();
    struct probe_why why;
    if (rig->library != NULL && !gpu_collective_new(&cuda_standin, &rig->collective, &why))
        print_error("%s\n", why.text);
    *state = rig;
    return rig->collective == NULL;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;
    gpu_collective_free(rig->collective);
    unlink(rig->log);
    dlclose(rig->library);
    free(rig);
    return 0;
}

/* Asserts the calls of the library since the last time. */
static void assert_calls(const struct rig *rig, const char *expected)
{
    char text[4096];
    FILE *file = fopen(rig->log, "r+");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_int_equal(ftruncate(fileno(file), 0), 0);
    fclose(file);
    assert_string_equal(text, expected);
}

static const gpu_address sources[] = {0x1000, 0x2000, 0x3000}, targets[] = {0x9000, 0xa000, 0xb000};
static void *const streams[] = {(void *)0x11, (void *)0x12, (void *)0x13};

static void joins_and_leaves(void **state)
{
    struct rig *rig = *state;
    struct gpu_collective_group *group;
    struct probe_why why;
    assert_true(gpu_collective_join(rig->collective, (int[]){4, 0, 7}, 3, &group, &why));
    gpu_collective_leave(group);
    assert_calls(
        rig, "ncclCommInitAll 4 0 7\nncclCommDestroy 0\nncclCommDestroy 1\nncclCommDestroy 2\n");
}

/* One group for all members, each with its own buffers and stream, and floats counted from bytes.
 */
static void calls_each_member_in_one_group(void **state)
{
    static const struct {
        enum gpu_collective_operation operation;
        const char *call;
        uint64_t bytes;
        int count;
    } cases[] = {
        {GPU_COLLECTIVE_ALLREDUCE, "ncclAllReduce", 4096, 1024},
        {GPU_COLLECTIVE_ALLGATHER, "ncclAllGather", 12, 1},
        {GPU_COLLECTIVE_REDUCESCATTER, "ncclReduceScatter", 24, 2},
        {GPU_COLLECTIVE_BROADCAST, "ncclBroadcast", 8, 2},
        {GPU_COLLECTIVE_REDUCE, "ncclReduce", 16, 4},
    };
    struct rig *rig = *state;
    struct gpu_collective_group *group;
    struct probe_why why;
    assert_true(gpu_collective_join(rig->collective, (int[]){0, 1, 2}, 3, &group, &why));
    assert_calls(rig, "ncclCommInitAll 0 1 2\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[1024];
        assert_true(gpu_collective_enqueue(group, cases[i].operation, sources, targets,
                                           cases[i].bytes, streams, &why));
        snprintf(expected, sizeof expected,
                 "ncclGroupStart\n%s 0 of 3 from 0x1000 to 0x9000 count %d stream 0x11\n%s 1 of 3 "
                 "from 0x2000 to 0xa000 count %d stream 0x12\n"
                 "%s 2 of 3 from 0x3000 to 0xb000 count %d stream 0x13\nncclGroupEnd\n",
                 cases[i].call, cases[i].count, cases[i].call, cases[i].count, cases[i].call,
                 cases[i].count);
        assert_calls(rig, expected);
    }
    gpu_collective_leave(group);
}

static void sizes_go_up_to_what_divides(void **state)
{
    (void)state;
    assert_int_equal(gpu_collective_bytes(GPU_COLLECTIVE_ALLREDUCE, 8, 3), 8);
    assert_int_equal(gpu_collective_bytes(GPU_COLLECTIVE_ALLREDUCE, 9, 3), 12);
    assert_int_equal(gpu_collective_bytes(GPU_COLLECTIVE_ALLGATHER, 8, 3), 12);
    assert_int_equal(gpu_collective_bytes(GPU_COLLECTIVE_REDUCESCATTER, 4096, 4), 4096);
    assert_int_equal(gpu_collective_bytes(GPU_COLLECTIVE_BROADCAST, 4096, 7), 4096);
}

static void failures_are_said(void **state)
{
    struct rig *rig = *state;
    struct gpu_collective_group *group;
    struct probe_why why;
    setenv("BERTH_STANDIN_NCCL_FAIL", "ncclCommInitAll", 1);
    assert_false(gpu_collective_join(rig->collective, (int[]){0, 1, 2}, 3, &group, &why));
    assert_string_equal(why.text, "libnccl.so.2: join: unhandled system error");
    unsetenv("BERTH_STANDIN_NCCL_FAIL");
    assert_true(gpu_collective_join(rig->collective, (int[]){0, 1, 2}, 3, &group, &why));
    assert_calls(rig, "ncclCommInitAll 0 1 2\nncclCommInitAll 0 1 2\n");

    /* A member that fails is the last one that is asked, and the group is ended nevertheless. */
    setenv("BERTH_STANDIN_NCCL_FAIL", "ncclBroadcast", 1);
    assert_false(gpu_collective_enqueue(group, GPU_COLLECTIVE_BROADCAST, sources, targets, 8,
                                        streams, &why));
    assert_string_equal(why.text, "libnccl.so.2: broadcast: unhandled system error");
    assert_calls(rig, "ncclGroupStart\nncclBroadcast 0 of 3 from 0x1000 to 0x9000 count 2 stream "
                      "0x11\nncclGroupEnd\n");
    unsetenv("BERTH_STANDIN_NCCL_FAIL");
    gpu_collective_leave(group); /* others may wait for that member for ever */
    assert_calls(rig, "ncclCommAbort 0\nncclCommAbort 1\nncclCommAbort 2\n");
}

static void multicast_is_off_or_nothing_runs(void **state)
{
    struct gpu_collective *collective = NULL;
    struct probe_why why;
    (void)state;
    assert_string_equal(getenv("NCCL_NVLS_ENABLE"), "0");
    setenv("NCCL_NVLS_ENABLE", "1", 1);
    assert_false(gpu_collective_new(&cuda_standin, &collective, &why));
    assert_non_null(strstr(why.text, "multicast"));
    unsetenv("NCCL_NVLS_ENABLE");
    assert_false(gpu_collective_new(&cuda_standin, &collective, &why));
    setenv("NCCL_NVLS_ENABLE", "1", 1);
    setenv("NCCL_SOCKET_IFNAME", "eth0", 1);
    gpu_collective_environment();
    assert_string_equal(getenv("NCCL_SOCKET_IFNAME"), "lo");
    assert_true(gpu_collective_new(&cuda_standin, &collective, &why));
    gpu_collective_free(collective);
}

/* A real driver's buffers are never given to a stand-in, nor the other way round; and each runtime
 * has its own library. */
static void libraries_that_do_not_fit(void **state)
{
    struct gpu_collective *collective = NULL;
    struct probe_why why;
    struct gpu_api api = cuda_standin;
    (void)state;
    api.is_standin = false;
    assert_false(gpu_collective_new(&api, &collective, &why));
    assert_string_equal(
        why.text, "libnccl.so.2 and libcuda.so.1: one is a stand-in for tests, the other is not");
    api.name = "hip";
    assert_false(gpu_collective_new(&api, &collective, &why));
    assert_string_equal(why.text, "librccl.so.1 is not on this machine");
    assert_null(collective);
}

/* RCCL has NCCL's calls under a name of its own, and goes with HIP. */
static void rccl_is_of_hip(void **state)
{
    const struct rig *rig = *state;
    const struct gpu_api hip = {.name = "hip", .library = "libamdhip64.so.6", .is_standin = true};
    struct gpu_collective *collective = NULL;
    struct gpu_collective_group *group;
    struct probe_why why;
    void *library = dlopen(STANDIN_DIR "/librccl.so.1", RTLD_NOW);
    assert_non_null(library);
    assert_true(gpu_collective_new(&hip, &collective, &why));
    assert_true(gpu_collective_join(collective, (int[]){1, 0}, 2, &group, &why));
    assert_true(gpu_collective_enqueue(group, GPU_COLLECTIVE_ALLREDUCE, sources, targets, 4096,
                                       streams, &why));
    gpu_collective_leave(group);
    assert_calls(rig, "ncclCommInitAll 1 0\nncclGroupStart\n"
                      "ncclAllReduce 0 of 2 from 0x1000 to 0x9000 count 1024 stream 0x11\n"
                      "ncclAllReduce 1 of 2 from 0x2000 to 0xa000 count 1024 stream 0x12\n"
                      "ncclGroupEnd\nncclCommDestroy 0\nncclCommDestroy 1\n");
    setenv("BERTH_STANDIN_NCCL_FAIL", "ncclCommInitAll", 1);
    assert_false(gpu_collective_join(collective, (int[]){0, 1}, 2, &group, &why));
    assert_string_equal(why.text, "librccl.so.1: join: unhandled system error");
    gpu_collective_free(collective);
    dlclose(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(joins_and_leaves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_each_member_in_one_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sizes_go_up_to_what_divides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failures_are_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(multicast_is_off_or_nothing_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(libraries_that_do_not_fit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rccl_is_of_hip, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("gpu_collective", tests, NULL, NULL);
}
