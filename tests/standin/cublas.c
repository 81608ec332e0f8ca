/*
 * A stand-in for libcublas.so.13, for tests: the product of matrices of the host's memory, in
 * column order as the real one has them. BERTH_STANDIN_CUBLAS_FAIL names a call that fails.
 */
#include <stdlib.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))

enum { OK = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, PLAIN = 0 };

struct handle {
    void *stream;
};

PUBLIC const int berth_standin = 1;

static int fails(const char *call)
{
    const char *fail = getenv("BERTH_STANDIN_CUBLAS_FAIL");
    return fail != NULL && strcmp(fail, call) == 0;
}

PUBLIC int cublasCreate_v2(struct handle **ret_handle);
int cublasCreate_v2(struct handle **ret_handle)
{
    struct handle *handle = fails("create") ? NULL : calloc(1, sizeof *handle);
    if (handle == NULL)
        return NOT_INITIALIZED;
    *ret_handle = handle;
    return OK;
}

PUBLIC int cublasDestroy_v2(struct handle *handle);
int cublasDestroy_v2(struct handle *handle)
{
    free(handle);
    return OK;
}

PUBLIC int cublasSetStream_v2(struct handle *handle, void *stream);
int cublasSetStream_v2(struct handle *handle, void *stream)
{
    handle->stream = stream;
    return fails("stream") ? INVALID_VALUE : OK;
}

PUBLIC int cublasSgemm_v2(struct handle *handle, int a_how, int b_how, int m, int n, int k,
                          const float *alpha, const float *a, int a_step, const float *b,
                          int b_step, const float *beta, float *c, int c_step);
int cublasSgemm_v2(struct handle *handle, int a_how, int b_how, int m, int n, int k,
                   const float *alpha, const float *a, int a_step, const float *b, int b_step,
                   const float *beta, float *c, int c_step)
{
    if (handle->stream == NULL || a_how != PLAIN || b_how != PLAIN || a_step < m || b_step < k ||
        c_step < m)
        return INVALID_VALUE;
    for (int column = 0; column < n; column++)
        for (int row = 0; row < m; row++) {
            float sum = 0, *place = &c[column * c_step + row];
            for (int i = 0; i < k; i++)
                sum += a[i * a_step + row] * b[column * b_step + i];
            *place = *alpha * sum + (*beta == 0 ? 0 : *beta * *place);
        }
    return OK;
}
