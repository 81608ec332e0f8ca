/**
 * The kernels' names and arguments, read by the host program in C, by the one kernel source (gpu_kernels.cu, for nvcc, hipcc, nvrtc and hiprtc), and
 * by the stand-in driver of the tests. Each kernel takes one of these structures by value. Addresses are device addresses, sizes are multiples of 16
 * and addresses aligned to 16 unless said otherwise. A kernel without a word on its launch takes any grid and any block up to 512 threads.
 * No includes, so that run-time compilers can read it.
 */
#ifndef GPU_KERNELS_H
#define GPU_KERNELS_H

typedef unsigned long long gpu_u64;

#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define GPU_INLINE static __device__ inline
#else
#define GPU_INLINE static inline
#endif

/* berth_gate, one thread: holds its stream until the 32-bit word at flag, in host memory, is at least value (as signed difference), at most
 * limit_ns of the device's clock. */
struct gpu_gate_args {
    gpu_u64 flag, value, limit_ns;
};

/* berth_read_uN, berth_write_uN, berth_copy_uN with N = 1, 2, 4, 8, 12, 16: N accesses of 16 bytes per thread before the next step, grid stride over the whole
 * buffer. read adds up what it reads and stores 8 bytes at sink (0: nowhere) only when the sum is value, which a random value never is; write stores
 * value in each 8 bytes; copy reads N before it writes N. Writes are visible to the whole system when the kernel ends. */
struct gpu_stream_args {
    gpu_u64 to, from, bytes, sink, value;
};

/* berth_fill: 64-bit word i of the buffer becomes gpu_pattern(seed, i). berth_check: adds the number of words that differ to the 64-bit word at result,
 * and the lowest index of one to the minimum at result + 8; result is in the device's own memory. bytes is a multiple of 8. */
struct gpu_pattern_args {
    gpu_u64 address, bytes, seed, result;
};
GPU_INLINE gpu_u64 gpu_pattern(gpu_u64 seed, gpu_u64 i)
{
    gpu_u64 x = (i + 1) * 0x9e3779b97f4a7c15ULL + seed;
    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9ULL;
    return x ^ (x >> 29);
}

/* berth_chase, one thread: follows `loads` pointers from start (each 8 bytes is the address of the next), then writes to the 64-bit words at result: the last
 * pointer, nanoseconds of the device's clock where it has one, else 0, and clock cycles. Best a multiple of GPU_CHASE_UNROLL.
 * berth_chase_build: writes a cycle through one place in each of `slots` slots of stride bytes (a multiple of 16) from address: a random cycle within groups of
 * `group` slots, one group after the other, closed at the end. The place is in the slot's first or second half, by the parity of its number's bits, so that all sets of a
 * cache get equally many. The address itself is on the cycle. group is at most 2^31. */
#define GPU_CHASE_UNROLL 200
struct gpu_chase_args {
    gpu_u64 start, loads, result;
};
struct gpu_chase_build_args {
    gpu_u64 address, slots, stride, group, seed;
};

/* Where i goes in a permutation of 0 ... size - 1, size at most 2^31; each seed is another one. A Feistel network over the next even power of two, walked until
 * it is back in range (Black and Rogaway, Ciphers with Arbitrary Finite Domains): each i is computed alone, so that any number of threads can build a cycle. */
GPU_INLINE gpu_u64 gpu_permute(gpu_u64 seed, gpu_u64 size, gpu_u64 i)
{
    unsigned half = 1;
    while ((1ULL << (2 * half)) < size)
        half++;
    gpu_u64 mask = (1ULL << half) - 1;
    do {
        gpu_u64 left = i >> half, right = i & mask;
        for (unsigned round = 0; round < 4; round++) {
            gpu_u64 next = left ^ (gpu_pattern(seed + round, right) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= size);
    return i;
}

/* The address that is visited as number `position`, 0 ... slots - 1, of the cycle. */
GPU_INLINE gpu_u64 gpu_chase_address(const struct gpu_chase_build_args *args, gpu_u64 position)
{
    gpu_u64 first = position / args->group * args->group, left = args->slots - first, odd = 0;
    gpu_u64 slot = first + gpu_permute(args->seed + first, left < args->group ? left : args->group, position - first);
    for (gpu_u64 bits = slot; bits != 0; bits &= bits - 1)
        odd ^= 1;
    return args->address + slot * args->stride + odd * (args->stride / 2);
}

/* berth_pingpong, one thread: `rounds` times writes a growing number, from 1, to theirs and waits for it in mine (first = 1), or the other way round; 32-bit words,
 * both 0 before and visible to all devices. Gives up after limit_ns. Writes to the 64-bit words at result: rounds done, then nanoseconds of the device's clock (0
 * where it has none) and clock cycles from the end of round `skip` to the end. */
struct gpu_pingpong_args {
    gpu_u64 mine, theirs, rounds, skip, first, result, limit_ns;
};

/* berth_bs1 ... berth_bs7, the streaming operations of Chalmers and Warburton, on n doubles; n may be odd.
 *   bs1  y = x                                      bs5  x += alpha z, y -= alpha w, partial sums of y . y
 *   bs2  y = alpha x + beta y                       bs6  gather:  y[i] = sum of x[index[k]], k = start[i] ... start[i + 1] - 1
 *   bs3  partial sums of x . x                      bs7  scatter: y[index[k]] = x[i], for the same k
 *   bs4  partial sums of x . y
 * index and start are int32. bs3, bs4 and bs5 take blocks of GPU_BS_BLOCK threads and leave one sum for each block at partial; berth_sum, one block of
 * GPU_BS_BLOCK threads, adds up `blocks` of those into the double at result. bs6 and bs7 take n rows, and blocks of GPU_BS_BLOCK threads too. */
#define GPU_BS_BLOCK 256
struct gpu_bs_args {
    gpu_u64 x, y, z, w, index, start, partial, result, n, blocks;
    double alpha, beta;
};

/* berth_product: c = a * b, single precision, n x n with n a multiple of GPU_PRODUCT_TILE, row order; (n / GPU_PRODUCT_TILE)^2 blocks of GPU_PRODUCT_BLOCK threads. */
#define GPU_PRODUCT_TILE  64
#define GPU_PRODUCT_BLOCK 256
struct gpu_product_args {
    gpu_u64 a, b, c, n;
};

#endif
