/**
 * The kernels' names and arguments. Its readers are the host program in C, the one kernel source
 * (gpu_kernels.cu, for nvcc, hipcc, nvrtc and hiprtc), and the tests' stand-in driver. Each kernel
 * takes one of these structures by value. Addresses are device addresses. Sizes are multiples of 16
 * and addresses aligned to 16 unless stated otherwise. A kernel without a note on its launch takes
 * any grid and any block up to 512 threads. Includes nothing, so that run-time compilers can read
 * it.
 */
#ifndef GPU_KERNELS_H
#define GPU_KERNELS_H

typedef unsigned long long gpu_u64;

#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define GPU_INLINE static __device__ inline
#else
#define GPU_INLINE static inline
#endif

/* berth_gate, one thread: holds its stream until the 32-bit word at flag is at least value (as
 * signed difference). flag is in host memory. Waits at most limit_ns of the device's clock. */
struct gpu_gate_args {
    gpu_u64 flag, value, limit_ns;
};

/* berth_read_uN, berth_write_uN and berth_copy_uN with N = 1, 2, 4, 8, 12, 16. A grid-stride loop
 * over the whole buffer, N accesses of 16 bytes per thread and iteration. read adds up the words
 * that it reads. It stores 8 bytes at sink (0: nowhere) only when the sum is value, which a random
 * value never is. write stores value in each 8 bytes. copy reads N before it writes N. Writes are
 * visible to the whole system when the kernel ends. */
struct gpu_stream_args {
    gpu_u64 to, from, bytes, sink, value;
};

/* berth_fill: 64-bit word i of the buffer becomes gpu_pattern(seed, i). berth_check: adds the
 * number of words that differ to the 64-bit word at result. The word at result + 8 becomes its
 * minimum with the lowest index of a differing word. The result is in the device's own memory.
 * bytes is a multiple of 8. */
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

/* berth_stride: stores value at each multiple of stride below bytes from address, 8 bytes each.
 * stride is a multiple of 8. */
struct gpu_stride_args {
    gpu_u64 address, bytes, stride, value;
};

/* berth_chase, one thread: follows `loads` pointers from start (each 8 bytes is the address of the
 * next). Then it writes 64-bit words at result: the last pointer, nanoseconds of the device's clock
 * (0 where it has none), and clock cycles. `loads` is best a multiple of GPU_CHASE_UNROLL.
 *
 * berth_chase_build: writes a cycle through one place in each of `slots` slots of stride bytes (a
 * multiple of 16) from address. The cycle is random within groups of `group` slots, takes one group
 * after the other, and closes at the end. The place is in the slot's first or second half, by the
 * parity of its number's bits. So all sets of a cache get equally many. The address itself is on
 * the cycle. group is at most 2^31. */
#define GPU_CHASE_UNROLL 200
/* the probe's values: a slot is two lines, of which one is visited */
#define GPU_CHASE_STRIDE 256
#define GPU_CHASE_LINE   128
struct gpu_chase_args {
    gpu_u64 start, loads, result;
};
struct gpu_chase_build_args {
    gpu_u64 address, slots, stride, group, seed;
};

/* Image of i in a permutation of 0 ... size - 1, size at most 2^31; each seed gives another one. A
 * Feistel network over the next even power of two, walked until it is back in range. Source: Black
 * and Rogaway, Ciphers with Arbitrary Finite Domains. Each i is computed alone, so that any number
 * of threads can build a cycle. */
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

/* Address at number `position`, 0 ... slots - 1, of the cycle. */
GPU_INLINE gpu_u64 gpu_chase_address(const struct gpu_chase_build_args *args, gpu_u64 position)
{
    gpu_u64 first = position / args->group * args->group, left = args->slots - first, odd = 0;
    gpu_u64 slot = first + gpu_permute(args->seed + first, left < args->group ? left : args->group,
                                       position - first);
    for (gpu_u64 bits = slot; bits != 0; bits &= bits - 1)
        odd ^= 1;
    return args->address + slot * args->stride + odd * (args->stride / 2);
}

/* berth_pingpong, one thread, `rounds` times: writes a growing number, from 1, to theirs and waits
 * for it in mine. This is the order of first = 1; otherwise it waits first. Both are 32-bit words,
 * 0 before and visible to all devices. Gives up after limit_ns.
 *
 * Writes 64-bit words at result. The first is the number of rounds done. The others are times from
 * the end of round `skip` to the end: nanoseconds of the device's clock (0 where it has none), then
 * clock cycles. */
struct gpu_pingpong_args {
    gpu_u64 mine, theirs, rounds, skip, first, result, limit_ns;
};

/* berth_bs1 ... berth_bs7, the streaming operations of Chalmers and Warburton, on n doubles; n may
 * be odd.
 * - bs1: y = x
 * - bs2: y = alpha x + beta y
 * - bs3: partial sums of x . x
 * - bs4: partial sums of x . y
 * - bs5: x += alpha z, y -= alpha w, partial sums of y . y
 * - bs6: gather, y[i] = sum of x[index[k]], k = start[i] ... start[i + 1] - 1
 * - bs7: scatter, y[index[k]] = x[i], for the same k
 *
 * index and start are int32. There are n + 1 starts; the last of them is `entries`, the length of
 * index. bs3, bs4 and bs5 take blocks of GPU_BS_BLOCK threads and leave one sum for each block at
 * partial. berth_sum, one block of GPU_BS_BLOCK threads, adds up `blocks` of those into the double
 * at result. bs6 and bs7 take n rows, and blocks of GPU_BS_BLOCK threads too. */
#define GPU_BS_BLOCK 256
/* pairs of elements in a thread's step; half of that in bs5's, which has more vectors */
#define GPU_BS_UNROLL 4
struct gpu_bs_args {
    gpu_u64 x, y, z, w, index, start, entries, partial, result, n, blocks;
    double alpha, beta;
};

/* berth_mesh: makes start and index of bs6 and bs7 for a box of side[0] x side[1] x side[2]
 * hexahedra of a degree from 1 on. An element has degree + 1 nodes in each direction. Nodes are
 * numbered element after element, first direction fastest. Nodes that elements share are one row.
 * Rows are numbered in the order in which their first node comes. There are fewer than 2^31
 * nodes. */
struct gpu_mesh_args {
    gpu_u64 start, index, side[3], degree;
};

/* Nodes of an element, and of all. */
GPU_INLINE gpu_u64 gpu_mesh_element(const struct gpu_mesh_args *mesh)
{
    return (mesh->degree + 1) * (mesh->degree + 1) * (mesh->degree + 1);
}
GPU_INLINE gpu_u64 gpu_mesh_nodes(const struct gpu_mesh_args *mesh)
{
    return mesh->side[0] * mesh->side[1] * mesh->side[2] * gpu_mesh_element(mesh);
}

GPU_INLINE gpu_u64 gpu_mesh_rows(const struct gpu_mesh_args *mesh)
{
    return (mesh->degree * mesh->side[0] + 1) * (mesh->degree * mesh->side[1] + 1) *
           (mesh->degree * mesh->side[2] + 1);
}

/* The row that begins with a node: its number, where its entries start, and which they are. */
struct gpu_mesh_row {
    gpu_u64 row, start, node[8];
    int count; /* number of nodes; 0: this node is not the first of its row */
};

/* In each direction, an element shares one plane of nodes with the element before and the last with
 * the next. It is the first to have all its other planes. So the count before a node, of rows and
 * of entries, is a sum over directions. The terms are the elements before this one, and the planes
 * before the node's in it. */
GPU_INLINE struct gpu_mesh_row gpu_mesh_at(const struct gpu_mesh_args *mesh, gpu_u64 node)
{
    struct gpu_mesh_row found = {0, 0, {0}, 0};
    gpu_u64 nodes = gpu_mesh_element(mesh), degree = mesh->degree;
    gpu_u64 element = node / nodes, inner = node % nodes, rows = 0, entries = 0;
    /* products over the directions so far: of the box, and of this element */
    gpu_u64 all_rows = 1, all_entries = 1, own_rows = 1, own_entries = 1;
    gpu_u64 element_step = 1, node_step = 1;
    int count = 1;
    found.node[0] = node;
    for (int d = 0; d < 3; d++) {
        gpu_u64 e = element % mesh->side[d], i = inner % (degree + 1), begun = e > 0,
                goes_on = e + 1 < mesh->side[d];
        if (begun && i == 0)
            return found;
        gpu_u64 planes = degree + 1 - begun, shared = goes_on && i == degree;
        found.row = (degree * e + begun) * all_rows + planes * found.row;
        found.start = ((degree + 1) * e + begun) * all_entries + (planes + goes_on) * found.start;
        rows += (i - begun) * own_rows;
        entries = (i - begun) * own_entries + (1 + shared) * entries;
        /* Distance to the same node in the first plane of the next element in this direction. */
        gpu_u64 to_next = element_step * nodes - degree * node_step;
        for (int k = 0; shared && k < count; k++)
            found.node[count + k] = found.node[k] + to_next;
        count *= (int)(1 + shared);
        all_rows *= degree * mesh->side[d] + 1;
        all_entries *= (degree + 1) * mesh->side[d];
        own_rows *= planes;
        own_entries *= planes + goes_on;
        element_step *= mesh->side[d];
        node_step *= degree + 1;
        element /= mesh->side[d];
        inner /= degree + 1;
    }
    found.row += rows;
    found.start += entries;
    found.count = count;
    return found;
}

/* berth_product: c = a * b, single precision, n x n with n a multiple of GPU_PRODUCT_TILE, row
 * order; (n / GPU_PRODUCT_TILE)^2 blocks of GPU_PRODUCT_BLOCK threads. */
#define GPU_PRODUCT_TILE  64
#define GPU_PRODUCT_BLOCK 256
struct gpu_product_args {
    gpu_u64 a, b, c, n;
};

#endif
