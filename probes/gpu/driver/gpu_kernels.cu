/*
 * All kernels of the probe, for nvcc, hipcc, nvrtc and hiprtc; gpu_kernels.h describes each.
 * Addresses come as integers and become pointers to global memory, because accesses through generic
 * pointers are slower.
 */
#if defined(__HIPCC__) && !defined(__HIPCC_RTC__)
#include <hip/hip_runtime.h>
#endif
#include "gpu_kernels.h"

#define KERNEL  extern "C" __global__ void
#define SPIN    64 /* polls between two reads of the clock */
#define TICK_NS 10 /* AMD's constant clock: 100 MHz */

#if defined(__HIPCC__) || defined(__HIPCC_RTC__)
typedef gpu_u64 pair_u64 __attribute__((ext_vector_type(2)));
typedef double pair_f64 __attribute__((ext_vector_type(2)));
template <class T> __device__ inline T *global(gpu_u64 address)
{
    return (T *)(__attribute__((address_space(1))) T *)address;
}
/* Stores past the caches: a stream larger than the caches only pushes out the lines of others. */
template <class T> __device__ inline void stream_out(T *to, T value)
{
    __builtin_nontemporal_store(value, to);
}
__device__ inline unsigned flag_read(const unsigned *flag)
{
    return __hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline void flag_write(unsigned *flag, unsigned value)
{
    __hip_atomic_store(flag, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline gpu_u64 now_ns() { return (gpu_u64)wall_clock64() * TICK_NS; }
#else
typedef ulonglong2 pair_u64;
typedef double2 pair_f64;
template <class T> __device__ inline T *global(gpu_u64 address)
{
    return (T *)__cvta_global_to_generic((size_t)address);
}
template <class T> __device__ inline void stream_out(T *to, T value) { *to = value; }
__device__ inline unsigned flag_read(const unsigned *flag)
{
    return *(const volatile unsigned *)flag;
}
__device__ inline void flag_write(unsigned *flag, unsigned value)
{
    *(volatile unsigned *)flag = value;
}
__device__ inline gpu_u64 now_ns()
{
    gpu_u64 ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}
#endif

__device__ inline gpu_u64 thread_number() { return (gpu_u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline gpu_u64 thread_count() { return (gpu_u64)gridDim.x * blockDim.x; }

/* Waits until the flag is at least value; false when that lasts until end_ns. */
__device__ inline bool flag_wait(const unsigned *flag, unsigned value, gpu_u64 end_ns)
{
    for (unsigned polls = 1; (int)(flag_read(flag) - value) < 0; polls++)
        if (polls % SPIN == 0 && (long long)(now_ns() - end_ns) > 0)
            return false;
    return true;
}

KERNEL berth_gate(gpu_gate_args args)
{
    if (thread_number() == 0)
        flag_wait(global<unsigned>(args.flag), (unsigned)args.value, now_ns() + args.limit_ns);
}

/* Iterates over n elements: whole steps have all their N accesses, the last may lack some. Accesses
 * of one step are a grid apart, so that small buffers are spread over all multiprocessors. */
template <int N, class Step> __device__ inline void grid_steps(gpu_u64 n, Step step)
{
    gpu_u64 threads = thread_count(), i = thread_number();
    for (; i + (N - 1) * threads < n; i += N * threads)
        step(i, threads, n, true);
    if (i < n)
        step(i, threads, n, false);
}

template <int N> __device__ inline void stream_read(const gpu_stream_args &args)
{
    const pair_u64 *from = global<const pair_u64>(args.from);
    gpu_u64 sum = 0;
    grid_steps<N>(args.bytes / 16, [&](gpu_u64 i, gpu_u64 threads, gpu_u64 n, bool whole) {
        pair_u64 value[N];
#pragma unroll
        for (int k = 0; k < N; k++)
            if (whole || i + k * threads < n)
                value[k] = from[i + k * threads];
#pragma unroll
        for (int k = 0; k < N; k++)
            if (whole || i + k * threads < n)
                sum += value[k].x ^ value[k].y;
    });
    if (sum == args.value && args.sink != 0)
        *global<gpu_u64>(args.sink) = sum;
}

template <int N> __device__ inline void stream_write(const gpu_stream_args &args)
{
    pair_u64 *to = global<pair_u64>(args.to);
    pair_u64 value;
    value.x = value.y = args.value;
    grid_steps<N>(args.bytes / 16, [&](gpu_u64 i, gpu_u64 threads, gpu_u64 n, bool whole) {
#pragma unroll
        for (int k = 0; k < N; k++)
            if (whole || i + k * threads < n)
                stream_out(to + i + k * threads, value);
    });
    __threadfence_system();
}

template <int N> __device__ inline void stream_copy(const gpu_stream_args &args)
{
    const pair_u64 *from = global<const pair_u64>(args.from);
    pair_u64 *to = global<pair_u64>(args.to);
    grid_steps<N>(args.bytes / 16, [&](gpu_u64 i, gpu_u64 threads, gpu_u64 n, bool whole) {
        pair_u64 value[N];
#pragma unroll
        for (int k = 0; k < N; k++)
            if (whole || i + k * threads < n)
                value[k] = from[i + k * threads];
#pragma unroll
        for (int k = 0; k < N; k++)
            if (whole || i + k * threads < n)
                stream_out(to + i + k * threads, value[k]);
    });
    __threadfence_system();
}

#define STREAM(N)                                                                                  \
    KERNEL __launch_bounds__(N <= 8 ? 1024 : 512) berth_read_u##N(gpu_stream_args args)            \
    {                                                                                              \
        stream_read<N>(args);                                                                      \
    }                                                                                              \
    KERNEL __launch_bounds__(N <= 8 ? 1024 : 512) berth_write_u##N(gpu_stream_args args)           \
    {                                                                                              \
        stream_write<N>(args);                                                                     \
    }                                                                                              \
    KERNEL __launch_bounds__(N <= 8 ? 1024 : 512) berth_copy_u##N(gpu_stream_args args)            \
    {                                                                                              \
        stream_copy<N>(args);                                                                      \
    }
STREAM(1)
STREAM(2)
STREAM(4)
STREAM(8)
STREAM(12)
STREAM(16)

KERNEL berth_fill(gpu_pattern_args args)
{
    gpu_u64 *words = global<gpu_u64>(args.address), n = args.bytes / 8;
    for (gpu_u64 i = thread_number(); i < n; i += thread_count())
        words[i] = gpu_pattern(args.seed, i);
    __threadfence_system();
}

KERNEL berth_stride(gpu_stride_args args)
{
    for (gpu_u64 at = thread_number() * args.stride; at < args.bytes;
         at += thread_count() * args.stride)
        *global<gpu_u64>(args.address + at) = args.value;
    __threadfence_system();
}

KERNEL berth_check(gpu_pattern_args args)
{
    const gpu_u64 *words = global<const gpu_u64>(args.address);
    gpu_u64 n = args.bytes / 8, wrong = 0, lowest = 0;
    for (gpu_u64 i = thread_number(); i < n; i += thread_count())
        if (words[i] != gpu_pattern(args.seed, i) && wrong++ == 0)
            lowest = i;
    if (wrong != 0) {
        atomicAdd(global<gpu_u64>(args.result), wrong);
        atomicMin(global<gpu_u64>(args.result) + 1, lowest);
    }
}

/* The test at the loop's end needs the pointer, which is never 0. So the clock is read after the
 * last load has returned. */
KERNEL berth_chase(gpu_chase_args args)
{
    if (thread_number() != 0)
        return;
    gpu_u64 p = args.start, left = args.loads;
    gpu_u64 began_ns = now_ns();
    long long began = clock64();
    for (; left >= GPU_CHASE_UNROLL && p != 0; left -= GPU_CHASE_UNROLL)
#pragma unroll
        for (int k = 0; k < GPU_CHASE_UNROLL; k++)
            p = *global<const gpu_u64>(p);
    for (; left != 0 && p != 0; left--)
        p = *global<const gpu_u64>(p);
    gpu_u64 cycles = (gpu_u64)(clock64() - began);
    gpu_u64 *result = global<gpu_u64>(args.result);
    result[0] = p;
    result[1] = now_ns() - began_ns;
    result[2] = cycles;
    __threadfence_system();
}

KERNEL berth_chase_build(gpu_chase_build_args args)
{
    for (gpu_u64 i = thread_number(); i < args.slots; i += thread_count()) {
        gpu_u64 next = i + 1 < args.slots ? i + 1 : 0;
        *global<gpu_u64>(gpu_chase_address(&args, i)) = gpu_chase_address(&args, next);
    }
    __threadfence_system();
}

KERNEL berth_pingpong(gpu_pingpong_args args)
{
    if (thread_number() != 0)
        return;
    unsigned *mine = global<unsigned>(args.mine), *theirs = global<unsigned>(args.theirs);
    gpu_u64 end_ns = now_ns() + args.limit_ns, began_ns = now_ns(), round = 0;
    long long began = clock64();
    for (; round < args.rounds; round++) {
        if (round == args.skip) {
            began_ns = now_ns();
            began = clock64();
        }
        unsigned number = (unsigned)round + 1;
        if (args.first != 0)
            flag_write(theirs, number);
        if (!flag_wait(mine, number, end_ns))
            break;
        if (args.first == 0)
            flag_write(theirs, number);
    }
    gpu_u64 *result = global<gpu_u64>(args.result);
    result[0] = round;
    result[1] = now_ns() - began_ns;
    result[2] = (gpu_u64)(clock64() - began);
    __threadfence_system();
}

/* The sum of the block's values, in its first thread. Blocks are of GPU_BS_BLOCK threads. */
__device__ inline double block_sum(double value)
{
    __shared__ double part[GPU_BS_BLOCK];
    part[threadIdx.x] = value;
    __syncthreads();
#pragma unroll
    for (unsigned half = GPU_BS_BLOCK / 2; half != 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    return part[0];
}

__device__ inline void leave_partial(const gpu_bs_args &args, double sum)
{
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        global<double>(args.partial)[blockIdx.x] = sum;
}

KERNEL __launch_bounds__(512) berth_bs1(gpu_bs_args args)
{
    const pair_f64 *x = global<const pair_f64>(args.x);
    pair_f64 *y = global<pair_f64>(args.y);
    grid_steps<GPU_BS_UNROLL>(args.n / 2, [&](gpu_u64 i, gpu_u64 threads, gpu_u64 n, bool whole) {
        pair_f64 value[GPU_BS_UNROLL];
#pragma unroll
        for (int k = 0; k < GPU_BS_UNROLL; k++)
            if (whole || i + k * threads < n)
                value[k] = x[i + k * threads];
#pragma unroll
        for (int k = 0; k < GPU_BS_UNROLL; k++)
            if (whole || i + k * threads < n)
                stream_out(y + i + k * threads, value[k]);
    });
    if (args.n % 2 != 0 && thread_number() == 0)
        global<double>(args.y)[args.n - 1] = global<const double>(args.x)[args.n - 1];
}

KERNEL __launch_bounds__(512) berth_bs2(gpu_bs_args args)
{
    const pair_f64 *x = global<const pair_f64>(args.x);
    pair_f64 *y = global<pair_f64>(args.y);
    grid_steps<GPU_BS_UNROLL>(args.n / 2, [&](gpu_u64 i, gpu_u64 threads, gpu_u64 n, bool whole) {
        pair_f64 a[GPU_BS_UNROLL], b[GPU_BS_UNROLL];
#pragma unroll
        for (int k = 0; k < GPU_BS_UNROLL; k++)
            if (whole || i + k * threads < n) {
                a[k] = x[i + k * threads];
                b[k] = y[i + k * threads];
            }
#pragma unroll
        for (int k = 0; k < GPU_BS_UNROLL; k++)
            if (whole || i + k * threads < n) {
                b[k].x = args.alpha * a[k].x + args.beta * b[k].x;
                b[k].y = args.alpha * a[k].y + args.beta * b[k].y;
                stream_out(y + i + k * threads, b[k]);
            }
    });
    if (args.n % 2 != 0 && thread_number() == 0) {
        double *last = global<double>(args.y) + args.n - 1;
        *last = args.alpha * global<const double>(args.x)[args.n - 1] + args.beta * *last;
    }
}

/* x . y by each thread: bs3 passes the same vector as both and reads it once. */
template <bool SAME>
__device__ inline double dot(gpu_u64 x_address, gpu_u64 y_address, gpu_u64 count)
{
    const pair_f64 *x = global<const pair_f64>(x_address), *y = global<const pair_f64>(y_address);
    double sum = 0;
    grid_steps<GPU_BS_UNROLL>(count / 2, [&](gpu_u64 i, gpu_u64 threads, gpu_u64 n, bool whole) {
        pair_f64 a[GPU_BS_UNROLL], b[GPU_BS_UNROLL];
#pragma unroll
        for (int k = 0; k < GPU_BS_UNROLL; k++)
            if (whole || i + k * threads < n) {
                a[k] = x[i + k * threads];
                b[k] = SAME ? a[k] : y[i + k * threads];
            }
#pragma unroll
        for (int k = 0; k < GPU_BS_UNROLL; k++)
            if (whole || i + k * threads < n)
                sum += a[k].x * b[k].x + a[k].y * b[k].y;
    });
    if (count % 2 != 0 && thread_number() == 0)
        sum +=
            global<const double>(x_address)[count - 1] * global<const double>(y_address)[count - 1];
    return sum;
}

KERNEL __launch_bounds__(GPU_BS_BLOCK) berth_bs3(gpu_bs_args args)
{
    leave_partial(args, dot<true>(args.x, args.x, args.n));
}
KERNEL __launch_bounds__(GPU_BS_BLOCK) berth_bs4(gpu_bs_args args)
{
    leave_partial(args, dot<false>(args.x, args.y, args.n));
}

KERNEL __launch_bounds__(GPU_BS_BLOCK) berth_bs5(gpu_bs_args args)
{
    pair_f64 *x = global<pair_f64>(args.x), *r = global<pair_f64>(args.y);
    const pair_f64 *p = global<const pair_f64>(args.z), *q = global<const pair_f64>(args.w);
    constexpr int N = GPU_BS_UNROLL / 2;
    double alpha = args.alpha, sum = 0;
    grid_steps<N>(args.n / 2, [&](gpu_u64 i, gpu_u64 threads, gpu_u64 n, bool whole) {
        pair_f64 xs[N], rs[N], ps[N], qs[N];
#pragma unroll
        for (int k = 0; k < N; k++)
            if (whole || i + k * threads < n) {
                xs[k] = x[i + k * threads];
                ps[k] = p[i + k * threads];
                rs[k] = r[i + k * threads];
                qs[k] = q[i + k * threads];
            }
#pragma unroll
        for (int k = 0; k < N; k++)
            if (whole || i + k * threads < n) {
                xs[k].x += alpha * ps[k].x;
                xs[k].y += alpha * ps[k].y;
                rs[k].x -= alpha * qs[k].x;
                rs[k].y -= alpha * qs[k].y;
                stream_out(x + i + k * threads, xs[k]);
                stream_out(r + i + k * threads, rs[k]);
                sum += rs[k].x * rs[k].x + rs[k].y * rs[k].y;
            }
    });
    if (args.n % 2 != 0 && thread_number() == 0) {
        gpu_u64 last = args.n - 1;
        double rest = global<double>(args.y)[last] - alpha * global<const double>(args.w)[last];
        global<double>(args.x)[last] += alpha * global<const double>(args.z)[last];
        global<double>(args.y)[last] = rest;
        sum += rest * rest;
    }
    leave_partial(args, sum);
}

/* The entries of GPU_BS_BLOCK rows, which are consecutive in index. They pass through shared
 * memory, so that neighbouring threads take neighbouring entries. Rows that are too long for it are
 * processed singly. */
#define ROWS_SLOTS (8 * GPU_BS_BLOCK)
struct rows {
    gpu_u64 mine;     /* this thread's row; not below n: none */
    int first, count; /* entries of all */
    int from, to;     /* entries of this thread's */
    bool fits;
};
__device__ inline rows rows_from(const gpu_bs_args &args, gpu_u64 row)
{
    const int *start = global<const int>(args.start);
    gpu_u64 mine = row + threadIdx.x,
            end = row + GPU_BS_BLOCK < args.n ? row + GPU_BS_BLOCK : args.n;
    int first = start[row], count = start[end] - first;
    return {mine,
            first,
            count,
            mine < args.n ? start[mine] : 0,
            mine < args.n ? start[mine + 1] : 0,
            count <= ROWS_SLOTS};
}

KERNEL __launch_bounds__(GPU_BS_BLOCK) berth_bs6(gpu_bs_args args)
{
    __shared__ double slot[ROWS_SLOTS];
    const double *x = global<const double>(args.x);
    const int *index = global<const int>(args.index);
    for (gpu_u64 row = (gpu_u64)blockIdx.x * GPU_BS_BLOCK; row < args.n;
         row += (gpu_u64)gridDim.x * GPU_BS_BLOCK) {
        rows r = rows_from(args, row);
        if (r.fits)
            for (int k = (int)threadIdx.x; k < r.count; k += GPU_BS_BLOCK)
                slot[k] = x[index[r.first + k]];
        __syncthreads();
        double sum = 0;
        for (int k = r.from; k < r.to; k++)
            sum += r.fits ? slot[k - r.first] : x[index[k]];
        if (r.mine < args.n)
            stream_out(global<double>(args.y) + r.mine, sum);
        __syncthreads();
    }
}

KERNEL __launch_bounds__(GPU_BS_BLOCK) berth_bs7(gpu_bs_args args)
{
    __shared__ double slot[ROWS_SLOTS];
    const int *index = global<const int>(args.index);
    double *y = global<double>(args.y);
    for (gpu_u64 row = (gpu_u64)blockIdx.x * GPU_BS_BLOCK; row < args.n;
         row += (gpu_u64)gridDim.x * GPU_BS_BLOCK) {
        rows r = rows_from(args, row);
        double value = r.mine < args.n ? global<const double>(args.x)[r.mine] : 0;
        for (int k = r.from; k < r.to; k++)
            if (r.fits)
                slot[k - r.first] = value;
            else
                y[index[k]] = value;
        __syncthreads();
        if (r.fits)
            for (int k = (int)threadIdx.x; k < r.count; k += GPU_BS_BLOCK)
                y[index[r.first + k]] = slot[k];
        __syncthreads();
    }
}

KERNEL berth_mesh(gpu_mesh_args args)
{
    int *start = global<int>(args.start), *index = global<int>(args.index);
    gpu_u64 nodes = gpu_mesh_nodes(&args);
    for (gpu_u64 node = thread_number(); node < nodes; node += thread_count()) {
        gpu_mesh_row row = gpu_mesh_at(&args, node);
        if (row.count > 0)
            start[row.row] = (int)row.start;
        for (int k = 0; k < row.count; k++)
            index[row.start + k] = (int)row.node[k];
    }
    if (thread_number() == 0)
        start[gpu_mesh_rows(&args)] = (int)nodes;
}

KERNEL __launch_bounds__(GPU_BS_BLOCK) berth_sum(gpu_bs_args args)
{
    double sum = 0;
    for (gpu_u64 i = threadIdx.x; i < args.blocks; i += GPU_BS_BLOCK)
        sum += global<const double>(args.partial)[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *global<double>(args.result) = sum;
}

/* Each thread keeps 4 x 4 of the tile in registers; slices of a and b, 16 deep, pass through shared
 * memory. */
#define SLICE 16
#define EACH  4
KERNEL __launch_bounds__(GPU_PRODUCT_BLOCK) berth_product(gpu_product_args args)
{
    __shared__ float a[SLICE][GPU_PRODUCT_TILE + 4], b[SLICE][GPU_PRODUCT_TILE];
    gpu_u64 n = args.n, tiles = n / GPU_PRODUCT_TILE;
    gpu_u64 top = blockIdx.x / tiles * GPU_PRODUCT_TILE,
            left = blockIdx.x % tiles * GPU_PRODUCT_TILE;
    unsigned thread = threadIdx.x, row = thread / SLICE * EACH, column = thread % SLICE * EACH;
    float sum[EACH][EACH] = {};
    for (gpu_u64 depth = 0; depth < n; depth += SLICE) {
#pragma unroll
        for (unsigned k = 0; k < EACH; k++) {
            unsigned i = thread + k * GPU_PRODUCT_BLOCK;
            a[i % SLICE][i / SLICE] =
                global<const float>(args.a)[(top + i / SLICE) * n + depth + i % SLICE];
            b[i / GPU_PRODUCT_TILE][i % GPU_PRODUCT_TILE] = global<const float>(
                args.b)[(depth + i / GPU_PRODUCT_TILE) * n + left + i % GPU_PRODUCT_TILE];
        }
        __syncthreads();
#pragma unroll
        for (unsigned k = 0; k < SLICE; k++)
#pragma unroll
            for (unsigned i = 0; i < EACH; i++)
#pragma unroll
                for (unsigned j = 0; j < EACH; j++)
                    sum[i][j] += a[k][row + i] * b[k][column + j];
        __syncthreads();
    }
#pragma unroll
    for (unsigned i = 0; i < EACH; i++)
#pragma unroll
        for (unsigned j = 0; j < EACH; j++)
            global<float>(args.c)[(top + row + i) * n + left + column + j] = sum[i][j];
    __threadfence_system();
}
