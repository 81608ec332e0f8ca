/*
 * What every kernel of probes/gpu/driver/gpu_kernels.cu must do, on whatever runs them. The
 * including file gives: void *memory(size_t bytes)                        seen by kernels and by
 * the host, zeroed, kept to the end void start(int stream, kernel, grid, block, args) stream 0 or 1
 *   void finish()                                     waits for both
 * main() prints TAP lines and is 1 when one is not ok.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <vector>

/* bytes: more than a step of the largest grid here, and not a multiple of a step */
#define BIG ((size_t)(1 << 17) + 48)

typedef void (*stream_kernel)(gpu_stream_args);
static const struct {
    stream_kernel read, write, copy;
    int unroll;
} STREAMS[] = {{berth_read_u1, berth_write_u1, berth_copy_u1, 1},
               {berth_read_u2, berth_write_u2, berth_copy_u2, 2},
               {berth_read_u4, berth_write_u4, berth_copy_u4, 4},
               {berth_read_u8, berth_write_u8, berth_copy_u8, 8},
               {berth_read_u12, berth_write_u12, berth_copy_u12, 12},
               {berth_read_u16, berth_write_u16, berth_copy_u16, 16}};
static const size_t SIZES[] = {16, 4096, 4112, BIG};
static const struct {
    unsigned grid, block;
} SHAPES[] = {{1, 32}, {3, 64}, {2, 512}};

static gpu_u64 address(const void *place) { return (gpu_u64)(uintptr_t)place; }

static double now_s()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static gpu_u64 *patterned(gpu_u64 seed)
{
    gpu_u64 *words = (gpu_u64 *)memory(BIG);
    start(0, berth_fill, 3, 64, gpu_pattern_args{address(words), BIG, seed, 0});
    finish();
    return words;
}

/* splitmix64, so that the test does not believe the header that it tests. */
static gpu_u64 scrambled(gpu_u64 x)
{
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    return x ^ x >> 31;
}

static bool fill_and_check()
{
    gpu_u64 *words = patterned(7), *other = patterned(8), *result = (gpu_u64 *)memory(64);
    size_t same = 0;
    for (size_t i = 0; i < BIG / 8; i++)
        same += words[i] == other[i] || (i > 0 && words[i] == words[i - 1]);
    result[0] = 0, result[1] = UINT64_MAX;
    start(0, berth_check, 2, 64, gpu_pattern_args{address(words), BIG, 7, address(result)});
    finish();
    bool clean = result[0] == 0 && result[1] == UINT64_MAX;
    words[BIG / 8 - 1] ^= 1, words[1000] ^= 1ULL << 63, words[777] = words[778];
    start(0, berth_check, 2, 64, gpu_pattern_args{address(words), BIG, 7, address(result)});
    finish();
    return same == 0 && clean && result[0] == 3 && result[1] == 777;
}

static bool strides()
{
    gpu_u64 *words = (gpu_u64 *)memory(BIG);
    memset(words, 0xee, BIG);
    start(0, berth_stride, 3, 32, gpu_stride_args{address(words), BIG - 8, 4096, 5});
    finish();
    for (size_t i = 0; i < BIG / 8; i++)
        if (words[i] != (i % 512 == 0 && i < BIG / 8 - 1 ? 5 : 0xeeeeeeeeeeeeeeeeULL))
            return false;
    return true;
}

static bool copies()
{
    gpu_u64 *from = (gpu_u64 *)memory(BIG), *to = (gpu_u64 *)memory(BIG);
    for (size_t i = 0; i < BIG / 8; i++)
        from[i] = scrambled(i);
    for (const auto &stream : STREAMS)
        for (size_t bytes : SIZES)
            for (const auto &shape : SHAPES) {
                memset(to, 0xee, BIG);
                start(0, stream.copy, shape.grid, shape.block,
                      gpu_stream_args{address(to), address(from), bytes, 0, 0});
                finish();
                for (size_t i = 0; i < BIG / 8; i++)
                    if (to[i] != (i < bytes / 8 ? from[i] : 0xeeeeeeeeeeeeeeeeULL)) {
                        printf("# u%d, %zu bytes, grid %u, block %u: word %zu\n", stream.unroll,
                               bytes, shape.grid, shape.block, i);
                        return false;
                    }
            }
    return true;
}

static bool writes()
{
    gpu_u64 *to = (gpu_u64 *)memory(BIG), value = 0x0123456789abcdefULL;
    for (const auto &stream : STREAMS)
        for (size_t bytes : SIZES)
            for (const auto &shape : SHAPES) {
                memset(to, 0xee, BIG);
                start(0, stream.write, shape.grid, shape.block,
                      gpu_stream_args{address(to), 0, bytes, 0, value});
                finish();
                for (size_t i = 0; i < BIG / 8; i++)
                    if (to[i] != (i < bytes / 8 ? value : 0xeeeeeeeeeeeeeeeeULL)) {
                        printf("# u%d, %zu bytes, grid %u, block %u: word %zu\n", stream.unroll,
                               bytes, shape.grid, shape.block, i);
                        return false;
                    }
            }
    return true;
}

/* One thread's sum is known, so a read that leaves something out, or reads it twice, shows: the
 * sink is written only for the right sum. */
static bool reads()
{
    gpu_u64 *from = (gpu_u64 *)memory(BIG), *sink = (gpu_u64 *)memory(64);
    for (size_t i = 0; i < BIG / 8; i++)
        from[i] = scrambled(i);
    for (const auto &stream : STREAMS)
        for (size_t bytes : SIZES) {
            gpu_u64 sum = 0;
            for (size_t i = 0; i < bytes / 8; i += 2)
                sum += from[i] ^ from[i + 1];
            sink[0] = 0;
            start(0, stream.read, 1, 1,
                  gpu_stream_args{0, address(from), bytes, address(sink), sum + 1});
            finish();
            bool quiet = sink[0] == 0;
            start(0, stream.read, 1, 1,
                  gpu_stream_args{0, address(from), bytes, address(sink), sum});
            start(0, stream.read, 1, 1, gpu_stream_args{0, address(from), bytes, 0, sum});
            start(0, stream.read, 3, 64, gpu_stream_args{0, address(from), bytes, 0, 1});
            finish();
            if (!quiet || sink[0] != sum) {
                printf("# u%d, %zu bytes\n", stream.unroll, bytes);
                return false;
            }
        }
    return true;
}

/* The cycle goes through each slot once, group after group, and the chase ends where following it
 * by hand does. */
static bool chases()
{
    gpu_u64 *words = (gpu_u64 *)memory(BIG), *result = (gpu_u64 *)memory(64);
    char seen[512];
    for (gpu_u64 slots : {1, 2, 5, 200, 512})
        for (gpu_u64 group : {1, 7, 64, 1024}) {
            start(0, berth_chase_build, 3, 32,
                  gpu_chase_build_args{address(words), slots, 256, group, 5});
            finish();
            memset(seen, 0, sizeof seen);
            gpu_u64 at = address(words), count = 0, entered = 1;
            for (; count < slots && !seen[(at - address(words)) / 256]; count++) {
                gpu_u64 slot = (at - address(words)) / 256;
                seen[slot] = 1;
                at = words[(at - address(words)) / 8];
                entered += (at - address(words)) / 256 / group != slot / group;
            }
            gpu_u64 groups = (slots + group - 1) / group;
            if (count != slots || at != address(words) ||
                entered != (groups == 1 ? 1 : groups + 1)) {
                printf("# %llu slots in groups of %llu: %llu on the cycle, groups entered %llu "
                       "times\n",
                       slots, group, count, entered);
                return false;
            }
            for (gpu_u64 loads : {1, 199, 200, 401}) {
                start(0, berth_chase, 1, 1, gpu_chase_args{address(words), loads, address(result)});
                finish();
                gpu_u64 end = address(words);
                for (gpu_u64 i = 0; i < loads; i++)
                    end = words[(end - address(words)) / 8];
                if (result[0] != end || result[2] == 0) {
                    printf("# %llu loads of %llu slots in groups of %llu\n", loads, slots, group);
                    return false;
                }
            }
        }
    return true;
}

static bool pingpongs()
{
    unsigned *flags = (unsigned *)memory(1024);
    gpu_u64 *first = (gpu_u64 *)memory(64), *second = (gpu_u64 *)memory(64);
    start(0, berth_pingpong, 1, 1,
          gpu_pingpong_args{address(flags), address(flags + 64), 100, 10, 1, address(first),
                            20000000000});
    start(1, berth_pingpong, 1, 1,
          gpu_pingpong_args{address(flags + 64), address(flags), 100, 10, 0, address(second),
                            20000000000});
    finish();
    bool played = first[0] == 100 && second[0] == 100 && first[1] > 0 && first[2] > 0 &&
                  flags[0] == 100 && flags[64] == 100;
    flags[0] = flags[64] = 0;
    start(0, berth_pingpong, 1, 1,
          gpu_pingpong_args{address(flags), address(flags + 64), 100, 10, 1, address(first),
                            1000000});
    finish();
    return played && first[0] == 0 && flags[64] == 1;
}

static bool gates()
{
    volatile unsigned *flag = (unsigned *)memory(64);
    *flag = 0xffffffff;
    double began = now_s();
    start(0, berth_gate, 1, 1, gpu_gate_args{address((void *)flag), 1, 30000000});
    finish();
    bool gave_up = now_s() - began >= 0.029;
    began = now_s();
    start(0, berth_gate, 1, 1, gpu_gate_args{address((void *)flag), 0xffffffff, 20000000000});
    start(0, berth_gate, 1, 1, gpu_gate_args{address((void *)flag), 0xfffffff0, 20000000000});
    finish();
    return gave_up && now_s() - began < 10;
}

#define N 4099
struct vectors {
    double *x, *y, *z, *w, *partial, *result;
    gpu_bs_args args;
};
static vectors fresh_vectors(unsigned blocks)
{
    vectors v;
    for (double **place : {&v.x, &v.y, &v.z, &v.w})
        *place = (double *)memory(N * sizeof(double));
    v.partial = (double *)memory(64 * sizeof(double));
    v.result = (double *)memory(64);
    for (int i = 0; i < N; i++)
        v.x[i] = 1 + i % 17, v.y[i] = 2 + i % 13, v.z[i] = 3 + i % 11, v.w[i] = 4 + i % 7;
    v.args = {address(v.x),
              address(v.y),
              address(v.z),
              address(v.w),
              0,
              0,
              0,
              address(v.partial),
              address(v.result),
              N,
              blocks,
              0.5,
              2.0};
    return v;
}

/* All values are small multiples of a quarter, so sums are exact in any order. */
static bool vector_operations()
{
    for (unsigned grid : {1u, 3u}) {
        vectors was = fresh_vectors(grid), v = fresh_vectors(grid);
        double xx = 0, xy = 0, rr = 0;
        size_t wrong = 0;
        start(0, berth_bs1, grid, 64, v.args);
        finish();
        for (int i = 0; i < N; i++)
            wrong += v.y[i] != was.x[i];
        v = fresh_vectors(grid);
        start(0, berth_bs2, grid, 64, v.args);
        finish();
        for (int i = 0; i < N; i++) {
            double r = was.y[i] - 0.5 * was.w[i];
            wrong += v.y[i] != 0.5 * was.x[i] + 2 * was.y[i];
            xx += was.x[i] * was.x[i], xy += was.x[i] * was.y[i], rr += r * r;
        }
        v = fresh_vectors(grid);
        start(0, berth_bs3, grid, GPU_BS_BLOCK, v.args);
        start(0, berth_sum, 1, GPU_BS_BLOCK, v.args);
        finish();
        wrong += *v.result != xx;
        start(0, berth_bs4, grid, GPU_BS_BLOCK, v.args);
        start(0, berth_sum, 1, GPU_BS_BLOCK, v.args);
        finish();
        wrong += *v.result != xy;
        start(0, berth_bs5, grid, GPU_BS_BLOCK, v.args);
        start(0, berth_sum, 1, GPU_BS_BLOCK, v.args);
        finish();
        wrong += *v.result != rr;
        for (int i = 0; i < N; i++)
            wrong += v.x[i] != was.x[i] + 0.5 * was.z[i] || v.y[i] != was.y[i] - 0.5 * was.w[i];
        if (wrong > 0)
            return false;
    }
    return true;
}

/* Short rows, which pass through shared memory, and rows too long for that; empty ones, too. Each
 * local place belongs to one row.
 */
static bool gather_and_scatter()
{
    for (int longest : {8, 30}) {
        vectors v = fresh_vectors(2);
        int *row_start = (int *)memory((N + 1) * sizeof(int)),
            *index = (int *)memory(N * sizeof(int)), rows = 0, used = 0;
        for (int i = 0; i < N; i++)
            index[i] = (int)((long)i * 1021 % N); /* N is prime to it */
        while (used < N) {
            used += (int)(scrambled((gpu_u64)rows) % (unsigned)(longest + 1));
            row_start[++rows] = used < N ? used : N;
            used = row_start[rows];
        }
        v.args.start = address(row_start), v.args.index = address(index), v.args.n = (gpu_u64)rows,
        v.args.entries = N;
        start(0, berth_bs6, 2, GPU_BS_BLOCK, v.args);
        finish();
        for (int row = 0; row < rows; row++) {
            double sum = 0;
            for (int k = row_start[row]; k < row_start[row + 1]; k++)
                sum += v.x[index[k]];
            if (v.y[row] != sum)
                return false;
        }
        memset(v.y, 0, N * sizeof(double));
        start(0, berth_bs7, 2, GPU_BS_BLOCK, v.args);
        finish();
        for (int row = 0; row < rows; row++)
            for (int k = row_start[row]; k < row_start[row + 1]; k++)
                if (v.y[index[k]] != v.x[row])
                    return false;
    }
    return true;
}

/* Where a node of an element lies on the grid of all nodes. */
static int grid_place(const int *side, int degree, int node)
{
    int nodes = (degree + 1) * (degree + 1) * (degree + 1);
    int element = node / nodes, inner = node % nodes, place = 0, step = 1;
    for (int d = 0; d < 3; d++) {
        place += step * (element % side[d] * degree + inner % (degree + 1));
        step *= side[d] * degree + 1;
        element /= side[d];
        inner /= degree + 1;
    }
    return place;
}

/* By the definition: a row for each place of the grid, in the order of first nodes, with all its
 * nodes in ascending order. */
static bool mesh()
{
    static const int SIDES[][3] = {{1, 1, 1}, {3, 1, 1}, {1, 2, 1},
                                   {1, 1, 4}, {2, 3, 4}, {3, 3, 3}};
    static const int DEGREES[] = {7, 1, 2, 15};
    for (int number = 0; number < 4 * 6; number++) {
        const int *side = SIDES[number % 6], degree = DEGREES[number / 6];
        int nodes = side[0] * side[1] * side[2] * (degree + 1) * (degree + 1) * (degree + 1),
            rows = 0;
        int *row_start = (int *)memory((size_t)(nodes + 2) * sizeof(int)),
            *index = (int *)memory((size_t)nodes * sizeof(int));
        gpu_mesh_args args = {address(row_start),
                              address(index),
                              {(gpu_u64)side[0], (gpu_u64)side[1], (gpu_u64)side[2]},
                              (gpu_u64)degree};
        start(0, berth_mesh, 3, 32, args);
        finish();
        std::vector<std::vector<int>> want(nodes); /* by row */
        std::vector<int> row_of((size_t)grid_place(side, degree, nodes - 1) + 1, -1);
        for (int node = 0; node < nodes; node++) {
            int &row = row_of[grid_place(side, degree, node)];
            if (row < 0)
                row = rows++;
            want[row].push_back(node);
        }
        if (row_of.size() != (size_t)rows || row_start[rows] != nodes)
            return false;
        for (int row = 0; row < rows; row++)
            for (size_t k = 0; k < want[row].size(); k++)
                if (row_start[row + 1] - row_start[row] != (int)want[row].size() ||
                    index[row_start[row] + (int)k] != want[row][k]) {
                    printf("# degree %d, %d x %d x %d: row %d\n", degree, side[0], side[1], side[2],
                           row);
                    return false;
                }
    }
    return true;
}

static bool product()
{
    enum { SIDE = 2 * GPU_PRODUCT_TILE };
    float *a = (float *)memory(SIDE * SIDE * sizeof(float)),
          *b = (float *)memory(SIDE * SIDE * sizeof(float));
    float *c = (float *)memory(SIDE * SIDE * sizeof(float));
    for (int i = 0; i < SIDE * SIDE; i++)
        a[i] = (float)(i % 7), b[i] = (float)(i % 5);
    start(0, berth_product, 4, GPU_PRODUCT_BLOCK,
          gpu_product_args{address(a), address(b), address(c), SIDE});
    finish();
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            float sum = 0;
            for (int k = 0; k < SIDE; k++)
                sum += a[i * SIDE + k] * b[k * SIDE + j];
            if (c[i * SIDE + j] != sum)
                return false;
        }
    return true;
}

int main()
{
    static const struct {
        const char *name;
        bool (*check)();
    } CHECKS[] = {{"fill and check find each wrong word", fill_and_check},
                  {"a stride writes one word in each", strides},
                  {"copies of all sizes and shapes copy that and nothing else", copies},
                  {"writes of all sizes and shapes write that and nothing else", writes},
                  {"reads read each byte once", reads},
                  {"a chase goes through each slot once, group after group", chases},
                  {"a ping-pong is played to its end, or given up", pingpongs},
                  {"a gate opens for its value or later, or after its limit", gates},
                  {"BS1 to BS5 give what their formulas say", vector_operations},
                  {"BS6 and BS7 gather and scatter short and long rows", gather_and_scatter},
                  {"the nodes that elements of a mesh share are one row", mesh},
                  {"the product of two matrices", product}};
    int number = 0, wrong = 0;
    for (const auto &check : CHECKS) {
        bool ok = check.check();
        wrong += !ok;
        printf("%sok %d - %s\n", ok ? "" : "not ", ++number, check.name);
        fflush(stdout);
    }
    printf("1..%d\n", number);
    return wrong > 0;
}
