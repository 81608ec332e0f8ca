/*
 * A stand-in for libcublas.so.13 and librocblas.so.5, for tests. On a virtual node a product is a
 * kernel of the stand-in driver, which takes its time. Without one it is computed, in single
 * precision, in the host's memory and in column order as the real ones have it.
 * BERTH_STANDIN_CUBLAS_FAIL names a call that fails.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gemm.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define PUBLIC __attribute__((visibility("default")))

enum { OK = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum { CUBLAS_PLAIN = 0, ROCBLAS_PLAIN = 111 };

typedef int (*launch_call)(void *kernel, unsigned x, unsigned y, unsigned z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared, void *stream,
                           void **args, void **extra);

struct handle {
    void *stream, *kernel; /* NULL: there is no driver */
    launch_call launch;
};

/* Types by both libraries' numbers. Speeds are those of a GH200's advertised operations (L. Fusco
 * et al., Table III: 989, 494, 67 and 67 TFLOP/s). */
static const struct type {
    int matrix, sums;
    uint64_t bytes;
    double speed;
} types[] = {
    {0, 68, 4, 1},   {0, 77, 4, 494.0 / 67}, {2, 68, 2, 989.0 / 67},    {14, 68, 2, 989.0 / 67},
    {1, 70, 8, 1},   {151, 151, 4, 1},       {150, 151, 2, 989.0 / 67}, {168, 151, 2, 989.0 / 67},
    {152, 152, 8, 1}};

PUBLIC const int berth_standin = 1;

static int fails(const char *call)
{
    const char *fail = getenv("BERTH_STANDIN_CUBLAS_FAIL");
    return fail != NULL && strcmp(fail, call) == 0;
}

/* Finds the kernel in the stand-in driver of that name, if that is loaded. */
static void find_kernel(struct handle *handle, const char *library, const char *const calls[3])
{
    int (*load)(void **, const void *), (*find)(void **, void *, const char *);
    void *driver = dlopen(library, RTLD_NOW | RTLD_NOLOAD), *module;
    if (driver == NULL || handle->kernel != NULL)
        return;
    *(void **)&load = dlsym(driver, calls[0]);
    *(void **)&find = dlsym(driver, calls[1]);
    *(void **)&handle->launch = dlsym(driver, calls[2]);
    if (load == NULL || find == NULL || handle->launch == NULL || load(&module, "image") != 0 ||
        find(&handle->kernel, module, "standin_gemm") != 0)
        handle->kernel = NULL;
    dlclose(driver);
}

static int create(struct handle **ret_handle)
{
    static const char *const cuda[] = {"cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel"};
    static const char *const hip[] = {"hipModuleLoadData", "hipModuleGetFunction",
                                      "hipModuleLaunchKernel"};
    struct handle *handle = fails("create") ? NULL : calloc(1, sizeof *handle);
    if (handle == NULL)
        return NOT_INITIALIZED;
    find_kernel(handle, "libcuda.so.1", cuda);
    find_kernel(handle, "libamdhip64.so.7", hip);
    *ret_handle = handle;
    return OK;
}

static int destroy(struct handle *handle)
{
    free(handle);
    return OK;
}

static int set_stream(struct handle *handle, void *stream)
{
    handle->stream = stream;
    return fails("stream") ? INVALID_VALUE : OK;
}

/* A square product. */
struct product {
    int n, matrix, sums;
    const void *alpha, *a, *b, *beta;
    void *c;
};

static int multiply(const struct handle *handle, const struct product *product)
{
    const struct type *type = NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].matrix == product->matrix && types[i].sums == product->sums)
            type = &types[i];
    if (type == NULL || handle->stream == NULL)
        return INVALID_VALUE;
    double alpha = type->bytes == 8 ? *(const double *)product->alpha
                                    : (double)*(const float *)product->alpha,
           beta = type->bytes == 8 ? *(const double *)product->beta
                                   : (double)*(const float *)product->beta;
    if (alpha != 1 || beta != 0)
        return INVALID_VALUE;
    if (handle->kernel != NULL) {
        unsigned tiles = ((unsigned)product->n + 63) / 64;
        struct standin_gemm_args args = {(uintptr_t)product->a, (uintptr_t)product->b,
                                         (uintptr_t)product->c, (uint64_t)product->n,
                                         type->bytes,           type->speed};
        return handle->launch(handle->kernel, tiles * tiles, 1, 1, 256, 1, 1, 0, handle->stream,
                              (void *[]){&args}, NULL);
    }
    if (type->bytes != 4)
        return NOT_SUPPORTED;
    const float *a = product->a, *b = product->b;
    float *c = product->c;
    for (int column = 0; column < product->n; column++)
        for (int row = 0; row < product->n; row++) {
            float sum = 0;
            for (int i = 0; i < product->n; i++)
                sum += a[i * product->n + row] * b[column * product->n + i];
            c[column * product->n + row] = sum;
        }
    return OK;
}

PUBLIC int cublasCreate_v2(struct handle **ret_handle) { return create(ret_handle); }
PUBLIC int cublasDestroy_v2(struct handle *handle) { return destroy(handle); }
PUBLIC int cublasSetStream_v2(struct handle *handle, void *stream)
{
    return set_stream(handle, stream);
}
PUBLIC int cublasGemmEx(struct handle *handle, int a_how, int b_how, int m, int n, int k,
                        const void *alpha, const void *a, int a_type, int a_step, const void *b,
                        int b_type, int b_step, const void *beta, void *c, int c_type, int c_step,
                        int sums, int algorithm)
{
    if (a_how != CUBLAS_PLAIN || b_how != CUBLAS_PLAIN || m != n || k != n || a_step != n ||
        b_step != n || c_step != n || b_type != a_type || c_type != a_type || algorithm != -1)
        return INVALID_VALUE;
    return multiply(handle, &(struct product){n, a_type, sums, alpha, a, b, beta, c});
}

PUBLIC int rocblas_create_handle(struct handle **ret_handle) { return create(ret_handle); }
PUBLIC int rocblas_destroy_handle(struct handle *handle) { return destroy(handle); }
PUBLIC int rocblas_set_stream(struct handle *handle, void *stream)
{
    return set_stream(handle, stream);
}
PUBLIC int rocblas_gemm_ex(struct handle *handle, int a_how, int b_how, int m, int n, int k,
                           const void *alpha, const void *a, int a_type, int a_step, const void *b,
                           int b_type, int b_step, const void *beta, const void *c, int c_type,
                           int c_step, void *d, int d_type, int d_step, int sums, int algorithm,
                           int32_t solution, uint32_t flags)
{
    if (a_how != ROCBLAS_PLAIN || b_how != ROCBLAS_PLAIN || m != n || k != n || a_step != n ||
        b_step != n || c_step != n || d_step != n || b_type != a_type || c_type != a_type ||
        d_type != a_type || d != c || algorithm != 0 || solution != 0 || flags != 0)
        return INVALID_VALUE;
    return multiply(handle, &(struct product){n, a_type, sums, alpha, a, b, beta, d});
}
