/* The tables of calls, filled from libraries with CUDA's and with HIP's names. Where there is an
 * NVIDIA GPU HIP's reach it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include "gpu/driver/api.h"
#include "gpu/driver/node.h"

/* A library that is loaded already is found by its name alone; loaded by a process of its own, it
 * is the only one. */
static void load(const char *library)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", STANDIN_DIR, library);
    assert_non_null(dlopen(path, RTLD_NOW | RTLD_LOCAL));
}

static bool is_complete(const struct gpu_api *api)
{
    for (size_t at = offsetof(struct gpu_api, text); at < sizeof *api;
         at += sizeof(void (*)(void))) {
        const void *call;
        memcpy(&call, (const char *)api + at, sizeof call);
        if (call == NULL)
            return false;
    }
    return true;
}

static void test_hip_is_complete(void **state)
{
    (void)state;
    struct probe_why why = {0};
    struct gpu_api *api = gpu_hip_new(&why);
    assert_non_null(api);
    assert_string_equal(api->name, "hip");
    assert_string_equal(api->library, "libamdhip64.so.7");
    assert_true(api->is_standin);
    assert_true(api->takes_cuda);
    assert_true(is_complete(api));
    gpu_api_free(api);
}

static void test_without_a_driver_it_says_so(void **state)
{
    (void)state;
    struct probe_why why = {0};
    struct gpu_node *node = test_malloc(sizeof *node);
    struct gpu_api *api = gpu_hip_new(&why);
    assert_non_null(api);
    int count = 0;
    if (api->init(api) == 0 && api->count(api, &count) == 0 && count > 0) {
        test_free(node);
        gpu_api_free(api);
        skip();
    }
    assert_false(gpu_node_open(api, "/nonexistent", NULL, NULL, node, &why));
    assert_string_equal(why.text, "libamdhip64.so.7: there is no GPU");
    assert_string_equal(api->text(api, GPU_MISSING), "the runtime has no such call");
    test_free(node);
    gpu_api_free(api);
}

/* Calls functions that an old library lacks. */
static int call_what_is_lacking(void)
{
    struct probe_why why = {0};
    load("lean/libamdhip64.so.7");
    struct gpu_api *api = gpu_hip_new(&why);
    if (api == NULL)
        return 1;
    char uuid[64] = "untouched";
    gpu_address address = 7;
    bool is_missing = api->device_uuid(api, 0, uuid, sizeof uuid) == GPU_MISSING &&
                      strcmp(uuid, "untouched") == 0 &&
                      api->managed_alloc(api, 4096, &address) == GPU_MISSING && address == 7 &&
                      api->managed_advise(api, address, 4096, GPU_ADVISE_HOST, 0) == GPU_MISSING &&
                      api->managed_prefetch(api, address, 4096, -1, NULL) == GPU_MISSING &&
                      api->copy_now(api, address, address, 16) == GPU_MISSING;
    gpu_api_free(api);
    return is_missing ? 0 : 2;
}

static int make_cuda(void)
{
    struct probe_why why = {0};
    load("cuda/libcuda.so.1");
    struct gpu_api *api = gpu_cuda_new(&why);
    bool is_right = api != NULL && strcmp(api->name, "cuda") == 0 &&
                    strcmp(api->library, "libcuda.so.1") == 0 && api->is_standin &&
                    api->takes_cuda && is_complete(api);
    gpu_api_free(api);
    return is_right ? 0 : 1;
}

/* Returns the exit status of the function in a child with its own libraries. */
static int status_of(int (*function)(void))
{
    int status = -1;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(function());
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_a_call_that_is_lacking(void **state)
{
    (void)state;
    assert_int_equal(status_of(call_what_is_lacking), 0);
}

static void test_cuda_is_complete(void **state)
{
    (void)state;
    assert_int_equal(status_of(make_cuda), 0);
}

static int load_forward(void **state)
{
    (void)state;
    load("forward/libamdhip64.so.7");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* before the other library with HIP's names is loaded */
        cmocka_unit_test(test_a_call_that_is_lacking),
        cmocka_unit_test(test_cuda_is_complete),
        cmocka_unit_test_setup(test_hip_is_complete, load_forward),
        cmocka_unit_test(test_without_a_driver_it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
