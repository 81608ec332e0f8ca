#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gpu/cells/cells.h"
#include "gpu/driver/blas.h"

#define N 5

static int enter(const struct gpu_api *api, int device, gpu_context context)
{
    (void)api, (void)device, (void)context;
    return 0;
}

static const struct gpu_api standin = {.name = "cuda",
                                       .library = "libcuda.so.1",
                                       .is_standin = true,
                                       .takes_cuda = true,
                                       .enter = enter};

static struct gpu_node *node_of(const struct gpu_api *api)
{
    struct gpu_node *node = calloc(1, sizeof *node);
    assert_non_null(node);
    node->api = api;
    node->device_count = 1;
    node->device[0].usable = true;
    return node;
}

/* The stand-in is found by its name because one of that name is loaded already. */
static int load(void **state)
{
    (void)state;
    return dlopen(STANDIN_DIR "/libcublas.so.13", RTLD_NOW | RTLD_GLOBAL) != NULL ? 0 : -1;
}

/* Each factor has another shape of numbers, so that neither their order nor a transpose goes
 * unseen. */
static void products_are_in_row_order(void **state)
{
    (void)state;
    struct gpu_node *node = node_of(&standin);
    struct gpu_blas *blas = NULL;
    struct probe_why why = {0};
    float a[N][N], b[N][N], c[N][N] = {0};
    int stream;
    if (!gpu_blas_new(node, 0, &blas, &why))
        fail_msg("%s", why.text);
    assert_string_equal(gpu_blas_library(blas), "libcublas.so.13");
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = (float)(10 * i + j);
            b[i][j] = (float)(i == j ? 2 : i < j ? 1 : 0);
        }
    assert_int_equal(gpu_blas_product(blas, GPU_FP32, (gpu_address)(uintptr_t)a,
                                      (gpu_address)(uintptr_t)b, (gpu_address)(uintptr_t)c, N,
                                      &stream),
                     0);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[i][k] * b[k][j];
            assert_true(c[i][j] == sum);
        }
    gpu_blas_free(blas);
    free(node);
}

static void failures_have_words(void **state)
{
    (void)state;
    struct gpu_node *node = node_of(&standin);
    struct gpu_blas *blas = NULL;
    struct probe_why why = {0};
    setenv("BERTH_STANDIN_CUBLAS_FAIL", "create", 1);
    assert_false(gpu_blas_new(node, 0, &blas, &why));
    assert_string_equal(why.text, "libcublas.so.13: does not start, error 1");
    setenv("BERTH_STANDIN_CUBLAS_FAIL", "stream", 1);
    assert_true(gpu_blas_new(node, 0, &blas, &why));
    assert_int_equal(gpu_blas_product(blas, GPU_FP32, 0, 0, 0, N, NULL), 7);
    gpu_blas_free(blas);
    unsetenv("BERTH_STANDIN_CUBLAS_FAIL");
    gpu_blas_free(NULL);
    free(node);
}

/* Real drivers and stand-ins are never combined. */
static void real_drivers_and_stand_ins_do_not_mix(void **state)
{
    (void)state;
    struct gpu_api real = standin;
    real.is_standin = false;
    struct gpu_node *node = node_of(&real);
    struct gpu_blas *blas = NULL;
    struct probe_why why = {0};
    assert_false(gpu_blas_new(node, 0, &blas, &why));
    assert_string_equal(
        why.text,
        "libcublas.so.13 and libcuda.so.1: one is a stand-in for tests, the other is not");
    assert_null(blas);
    free(node);
}

static void matrices_fit_their_buffers(void **state)
{
    (void)state;
    assert_int_equal(gpu_cells_product_side((uint64_t)128 << 20, 4), 4096);
    assert_int_equal(gpu_cells_product_side(UINT64_MAX, 4), 4096);
    assert_int_equal(gpu_cells_product_side(((uint64_t)128 << 20) - 1, 4), 2048);
    assert_int_equal(gpu_cells_product_side(64 * 64 * 4 * 2, 4), 64);
    assert_int_equal(gpu_cells_product_side(64 * 64 * 4 * 2 - 1, 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_in_row_order),
        cmocka_unit_test(failures_have_words),
        cmocka_unit_test(real_drivers_and_stand_ins_do_not_mix),
        cmocka_unit_test(matrices_fit_their_buffers),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
