/**
 * The kernels' names and arguments, read by the host program in C, by the one kernel source (gpu_kernels.cu, for nvcc, hipcc, nvrtc and hiprtc), and
 * by the stand-in driver of the tests. Each kernel takes one of these structures by value. Addresses are device addresses, sizes are multiples of 16
 * and addresses aligned to 16 unless said otherwise. No includes, so that run-time compilers can read it.
 */
#ifndef GPU_KERNELS_H
#define GPU_KERNELS_H

typedef unsigned long long gpu_u64;

/* berth_gate, one thread: holds its stream until the 32-bit word at flag, in host memory, is at least value (as signed difference), at most
 * limit_ns of the device's clock. */
struct gpu_gate_args {
    gpu_u64 flag, value, limit_ns;
};

/* berth_read_uN, berth_write_uN, berth_copy_uN with N = 1, 2, 4, 8, 12, 16: N accesses of 16 bytes per thread before the next step, grid stride over the whole
 * buffer, any grid and block. read adds up what it reads and writes to sink only what never happens; write writes value. */
struct gpu_stream_args {
    gpu_u64 to, from, bytes, sink, value;
};

/* berth_fill: 64-bit word i of the buffer becomes gpu_pattern(seed, i). berth_check: adds the number of words that differ to the 64-bit word at result,
 * and the lowest index of one to the minimum at result + 8. */
struct gpu_pattern_args {
    gpu_u64 address, bytes, seed, result;
};
#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define GPU_INLINE static __device__ inline
#else
#define GPU_INLINE static inline
#endif
GPU_INLINE gpu_u64 gpu_pattern(gpu_u64 seed, gpu_u64 i)
{
    gpu_u64 x = (i + 1) * 0x9e3779b97f4a7c15ULL + seed;
    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9ULL;
    return x ^ (x >> 29);
}

/* berth_chase, one thread: follows `loads` pointers from start (each 8 bytes is the address of the next), then writes to the 64-bit words at result: the last
 * pointer, nanoseconds of the device's clock where it has one, else 0, and clock cycles. Timed by events as well.
 * berth_chase_build, any number of threads: writes the cycle of `slots` slots of stride bytes at address: a random cycle within groups of `group` slots, one group
 * after the other, closed at the end. */
struct gpu_chase_args {
    gpu_u64 start, loads, result;
};
struct gpu_chase_build_args {
    gpu_u64 address, slots, stride, group, seed;
};

/* berth_pingpong, one thread: `rounds` times writes a growing number to theirs and waits for it in mine (first = 1), or the other way round; 32-bit words, both
 * visible to all devices. Gives up after limit_ns. Writes to the 64-bit words at result: rounds done, clock cycles. */
struct gpu_pingpong_args {
    gpu_u64 mine, theirs, rounds, first, result, limit_ns;
};

/* berth_bs1 ... berth_bs7 [STR 1-7]: streaming operations on doubles; n elements. See gpu_kernels.cu for each one's operands. BS3, BS4 and BS5 leave one partial sum a
 * block at partial, and berth_sum adds those up into the double at result. BS6 gathers y[i] = x[index[i]], BS7 scatters by start and index (int32). */
struct gpu_bs_args {
    gpu_u64 x, y, z, w, index, start, partial, result, n, blocks;
    double alpha;
};

/* berth_product, block of 256 threads: c = a * b, single precision, n x n with n a multiple of 64, row order; grid (n/64)*(n/64) blocks. */
struct gpu_product_args {
    gpu_u64 a, b, c, n;
};

#endif
