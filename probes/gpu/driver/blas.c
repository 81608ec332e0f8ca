#include "gpu/driver/blas.h"

#include <stdlib.h>

#include "gpu/driver/dl.h"
#include "gpu/driver/node.h"

/* The common interface of cuBLAS and rocBLAS; only names differ. Matrices are in column order. */
struct gpu_blas {
    const struct gpu_node *node;
    int device;
    const char *library;
    int plain; /* constant for a matrix that is not transposed */
    void *handle;
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
    int (*sgemm)(void *handle, int a_how, int b_how, int m, int n, int k, const float *alpha,
                 const float *a, int a_step, const float *b, int b_step, const float *beta,
                 float *c, int c_step);
};

static bool find(const struct gpu_api *api, struct gpu_blas *blas, struct probe_why *why)
{
    static const struct gpu_dl_call cuda[] = {
        {"cublasCreate_v2", offsetof(struct gpu_blas, create), true},
        {"cublasDestroy_v2", offsetof(struct gpu_blas, destroy), true},
        {"cublasSetStream_v2", offsetof(struct gpu_blas, set_stream), true},
        {"cublasSgemm_v2", offsetof(struct gpu_blas, sgemm), true}};
    static const struct gpu_dl_call hip[] = {
        {"rocblas_create_handle", offsetof(struct gpu_blas, create), true},
        {"rocblas_destroy_handle", offsetof(struct gpu_blas, destroy), true},
        {"rocblas_set_stream", offsetof(struct gpu_blas, set_stream), true},
        {"rocblas_sgemm", offsetof(struct gpu_blas, sgemm), true}};
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

/* A matrix in row order is its transpose in column order, and the transpose of a b is that of b
 * times that of a. */
int gpu_blas_product(struct gpu_blas *blas, gpu_address a, gpu_address b, gpu_address c, uint64_t n,
                     gpu_stream stream)
{
    static const float one = 1, zero = 0;
    int side = (int)n, code = blas->set_stream(blas->handle, stream);
    if (code != 0)
        return code;
    return blas->sgemm(blas->handle, blas->plain, blas->plain, side, side, side, &one,
                       (const float *)(uintptr_t)b, side, (const float *)(uintptr_t)a, side, &zero,
                       (float *)(uintptr_t)c, side);
}
