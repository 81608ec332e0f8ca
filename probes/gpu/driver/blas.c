#include "gpu/driver/blas.h"

#include <stdlib.h>

#include "gpu/driver/dl.h"
#include "gpu/driver/node.h"

/* The interfaces of cuBLAS and rocBLAS. Matrices are in column order. */
struct gpu_blas {
    const struct gpu_node *node;
    int device;
    const char *library;
    int plain; /* constant for a matrix that is not transposed */
    void *handle;
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
    /* one of them */
    int (*cublas)(void *handle, int a_how, int b_how, int m, int n, int k, const void *alpha,
                  const void *a, int a_type, int a_step, const void *b, int b_type, int b_step,
                  const void *beta, void *c, int c_type, int c_step, int sums, int algorithm);
    int (*rocblas)(void *handle, int a_how, int b_how, int m, int n, int k, const void *alpha,
                   const void *a, int a_type, int a_step, const void *b, int b_type, int b_step,
                   const void *beta, const void *c, int c_type, int c_step, void *d, int d_type,
                   int d_step, int sums, int algorithm, int32_t solution, uint32_t flags);
};

/* Constants of the libraries' enumerations: the matrices' type, and that of the sums. */
enum { NONE = -1 };
static const struct {
    const char *name;
    size_t bytes;
    struct {
        int matrix, sums;
    } cublas, rocblas;
} types[GPU_BLAS_TYPES] = {[GPU_FP32] = {"fp32", 4, {0, 68}, {151, 151}},
                           [GPU_TF32] = {"tf32", 4, {0, 77}, {NONE, NONE}},
                           [GPU_FP16] = {"fp16", 2, {2, 68}, {150, 151}},
                           [GPU_BF16] = {"bf16", 2, {14, 68}, {168, 151}},
                           [GPU_FP64] = {"fp64", 8, {1, 70}, {152, 152}}};

const char *gpu_blas_type_name(enum gpu_blas_type type) { return types[type].name; }
size_t gpu_blas_type_bytes(enum gpu_blas_type type) { return types[type].bytes; }

static bool find(const struct gpu_api *api, struct gpu_blas *blas, struct probe_why *why)
{
    static const struct gpu_dl_call cuda[] = {
        {"cublasCreate_v2", offsetof(struct gpu_blas, create), true},
        {"cublasDestroy_v2", offsetof(struct gpu_blas, destroy), true},
        {"cublasSetStream_v2", offsetof(struct gpu_blas, set_stream), true},
        {"cublasGemmEx", offsetof(struct gpu_blas, cublas), true}};
    static const struct gpu_dl_call hip[] = {
        {"rocblas_create_handle", offsetof(struct gpu_blas, create), true},
        {"rocblas_destroy_handle", offsetof(struct gpu_blas, destroy), true},
        {"rocblas_set_stream", offsetof(struct gpu_blas, set_stream), true},
        {"rocblas_gemm_ex", offsetof(struct gpu_blas, rocblas), true}};
    static const char *const cublas[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                         NULL};
    static const char *const rocblas[] = {"librocblas.so.5", "librocblas.so.4", "librocblas.so.3",
                                          "librocblas.so.0", NULL};
    struct gpu_dl_found found;
    bool is_cuda = api->takes_cuda;
    if (!gpu_dl_open(is_cuda ? cublas : rocblas, is_cuda ? cuda : hip, sizeof cuda / sizeof *cuda,
                     blas, &found, why))
        return false;
    if (gpu_dl_has(&found, "berth_standin") != api->is_standin)
        return probe_why_set(why, "%s and %s: one is a stand-in for tests, the other is not",
                             found.library, api->library);
    blas->library = found.library;
    blas->plain = is_cuda ? 0 : 111;
    return true;
}

bool gpu_blas_new(const struct gpu_node *node, int device, struct gpu_blas **ret_blas,
                  struct probe_why *why)
{
    struct gpu_blas *blas = calloc(1, sizeof *blas);
    if (blas == NULL)
        return probe_why_set(why, "out of memory");
    blas->node = node;
    blas->device = device;
    struct gpu_err err;
    bool ok = find(node->api, blas, why) &&
              (gpu_node_enter(node, device, &err) || probe_why_set(why, "%.199s", err.why.text));
    if (ok) {
        int code = blas->create(&blas->handle);
        ok = code == 0 || probe_why_set(why, "%s: does not start, error %d", blas->library, code);
    }
    if (!ok) {
        free(blas);
        return false;
    }
    *ret_blas = blas;
    return true;
}

void gpu_blas_free(struct gpu_blas *blas)
{
    if (blas != NULL && gpu_node_enter(blas->node, blas->device, NULL))
        blas->destroy(blas->handle);
    free(blas);
}

const char *gpu_blas_library(const struct gpu_blas *blas) { return blas->library; }

bool gpu_blas_has(const struct gpu_blas *blas, enum gpu_blas_type type, struct probe_why *why)
{
    return blas->cublas != NULL || types[type].rocblas.matrix != NONE ||
           probe_why_set(why, "%s has no products of %s", blas->library, types[type].name);
}

/* A matrix in row order is its transpose in column order, and the transpose of a b is that of b
 * times that of a. */
int gpu_blas_product(struct gpu_blas *blas, enum gpu_blas_type type, gpu_address a, gpu_address b,
                     gpu_address c, uint64_t n, gpu_stream stream)
{
    static const float one = 1, zero = 0;
    static const double one_64 = 1, zero_64 = 0;
    enum { CUBLAS_DEFAULT = -1, ROCBLAS_STANDARD = 0 };
    const void *alpha = type == GPU_FP64 ? (const void *)&one_64 : &one,
               *beta = type == GPU_FP64 ? (const void *)&zero_64 : &zero;
    const void *first = (const void *)(uintptr_t)b, *second = (const void *)(uintptr_t)a;
    void *product = (void *)(uintptr_t)c;
    int side = (int)n, how = blas->plain, code = blas->set_stream(blas->handle, stream);
    if (code != 0)
        return code;
    if (blas->cublas != NULL) {
        int matrix = types[type].cublas.matrix;
        return blas->cublas(blas->handle, how, how, side, side, side, alpha, first, matrix, side,
                            second, matrix, side, beta, product, matrix, side,
                            types[type].cublas.sums, CUBLAS_DEFAULT);
    }
    int matrix = types[type].rocblas.matrix;
    return blas->rocblas(blas->handle, how, how, side, side, side, alpha, first, matrix, side,
                         second, matrix, side, beta, product, matrix, side, product, matrix, side,
                         types[type].rocblas.sums, ROCBLAS_STANDARD, 0, 0);
}
