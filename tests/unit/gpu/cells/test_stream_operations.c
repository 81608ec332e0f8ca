#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gpu/cells/cells.h"
#include "gpu/cells/stream_operations.h"

#define A UINT64_C(0x100000000)
#define B UINT64_C(0x900000000)

static struct gpu_memory memory(uint64_t address, size_t bytes)
{
    return (struct gpu_memory){.address = address, .bytes = bytes};
}

static bool lay(int test, uint64_t bytes, size_t room, struct gpu_bs *ret_bs)
{
    struct gpu_memory a = memory(A, room), b = memory(B, room);
    return gpu_bs_lay(test, GPU_BS_DEGREE, bytes, &a, &b, ret_bs);
}

/* Memory that an operation accesses. */
struct extent {
    uint64_t address, bytes;
};

static size_t extents_of(const struct gpu_bs *bs, struct extent *ret)
{
    uint64_t rows = bs->args.n, nodes = bs->args.entries;
    size_t count = 0;
    if (bs->test < 6) {
        uint64_t operands[] = {bs->args.x, bs->args.y, bs->args.z, bs->args.w};
        size_t used = bs->test == 3 ? 1 : bs->test == 5 ? 4 : 2;
        for (size_t i = 0; i < used; i++)
            ret[count++] = (struct extent){operands[i], rows * 8};
        ret[count++] = (struct extent){bs->args.partial, bs->grid * 8};
        ret[count++] = (struct extent){bs->args.result, 8};
        return count;
    }
    ret[count++] = (struct extent){bs->args.x, 8 * (bs->test == 6 ? nodes : rows)};
    ret[count++] = (struct extent){bs->args.y, 8 * (bs->test == 6 ? rows : nodes)};
    ret[count++] = (struct extent){bs->args.index, 4 * nodes};
    ret[count++] = (struct extent){bs->args.start, 4 * (rows + 1)};
    return count;
}

static void operands_lie_apart_inside_the_buffers(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {20000, 1 << 20, UINT64_C(100) << 20, UINT64_MAX};
    const size_t room = (size_t)64 << 20;
    for (int test = 1; test <= GPU_BS_TESTS; test++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct gpu_bs bs;
            struct extent extents[8];
            assert_true(lay(test, sizes[s], room, &bs));
            assert_true(bs.bytes <= sizes[s] && bs.bytes > 0);
            size_t count = extents_of(&bs, extents);
            for (size_t i = 0; i < count; i++) {
                const struct extent *e = &extents[i];
                assert_int_equal(e->address % 16 == 0 || e->bytes == 8, 1);
                assert_true((e->address >= A && e->address + e->bytes <= A + room) ||
                            (e->address >= B && e->address + e->bytes <= B + room));
                for (size_t j = 0; j < i; j++)
                    assert_true(e->address + e->bytes <= extents[j].address ||
                                extents[j].address + extents[j].bytes <= e->address);
            }
        }
}

static void the_largest_fills_the_buffers(void **state)
{
    (void)state;
    const size_t room = (size_t)64 << 20;
    for (int test = 1; test <= GPU_BS_TESTS; test++) {
        struct gpu_bs bs;
        struct extent extents[8];
        assert_true(lay(test, UINT64_MAX, room, &bs));
        uint64_t touched = 0;
        size_t count = extents_of(&bs, extents);
        for (size_t i = 0; i < count; i++)
            touched += extents[i].bytes;
        /* One buffer of BS3; of a mesh the one with the nodes, up to one layer of elements. */
        assert_true(touched > (test == 3 ? room / 100 * 99 : room / 100 * 170));
    }
}

/* Counted while doing it: every vector once for each element that is read, and once for each that
 * is written. */
static void vectors_count_what_is_read_and_written(void **state)
{
    (void)state;
    static const unsigned reads[] = {0, 1, 2, 1, 2, 4}, writes[] = {0, 1, 1, 0, 0, 2};
    for (int test = 1; test <= 5; test++) {
        struct gpu_bs bs;
        assert_true(lay(test, 1000000, (size_t)64 << 20, &bs));
        uint64_t all = 8 * (reads[test] + writes[test]);
        assert_int_equal(bs.bytes, all * bs.args.n);
        assert_true(bs.bytes + all > 1000000);
    }
}

/* A processor that gathers and scatters over the same index, and counts its accesses. */
static void a_mesh_counts_what_is_read_and_written(void **state)
{
    (void)state;
    struct gpu_bs bs;
    assert_true(lay(6, 300000, (size_t)64 << 20, &bs));
    uint64_t rows = bs.args.n, nodes = bs.args.entries, gathered = 0, scattered = 0;
    assert_int_equal(nodes, bs.mesh.side[0] * bs.mesh.side[1] * bs.mesh.side[2] * 512);
    assert_true(nodes / 512 > 20);
    int32_t *start = calloc(rows + 1, sizeof *start), *index = calloc(nodes, sizeof *index);
    double *local = calloc(nodes, sizeof *local), *global = calloc(rows, sizeof *global);
    for (uint64_t node = 0; node < nodes; node++) {
        struct gpu_mesh_row row = gpu_mesh_at(&bs.mesh, node);
        local[node] = 1;
        if (row.count > 0)
            start[row.row] = (int32_t)row.start;
        for (int k = 0; k < row.count; k++)
            index[row.start + (uint64_t)k] = (int32_t)row.node[k];
    }
    start[rows] = (int32_t)nodes;
    double sum = 0;
    for (uint64_t row = 0; row < rows; row++) {
        gathered += 4; /* its start; the next one's is read as that row's */
        for (int32_t k = start[row]; k < start[row + 1]; k++) {
            global[row] += local[index[k]];
            gathered += 4 + 8;
        }
        gathered += 8;
        sum += global[row];
        assert_true(global[row] == 1 || global[row] == 2 || global[row] == 4 || global[row] == 8);
    }
    gathered += 4;
    assert_true(sum == (double)nodes);
    assert_int_equal(gathered, bs.bytes);
    assert_true(lay(7, 300000, (size_t)64 << 20, &bs));
    for (uint64_t row = 0; row < rows; row++) {
        scattered += 4 + 8;
        for (int32_t k = start[row]; k < start[row + 1]; k++) {
            local[index[k]] = -1;
            scattered += 4 + 8;
        }
    }
    scattered += 4;
    for (uint64_t node = 0; node < nodes; node++)
        assert_true(local[node] == -1);
    assert_int_equal(scattered, bs.bytes);
    free(start);
    free(index);
    free(local);
    free(global);
}

static void what_does_not_fit_is_not_laid(void **state)
{
    (void)state;
    struct gpu_bs bs;
    assert_false(lay(1, 15, (size_t)64 << 20, &bs));
    assert_false(lay(6, 4096, (size_t)64 << 20, &bs));
    assert_false(lay(1, 1 << 20, 4096, &bs));
    assert_true(lay(1, 16, (size_t)64 << 20, &bs));
    assert_int_equal(bs.args.n, 1);
    assert_int_equal(bs.grid, 1);
}

static void sizes_reach_from_small_to_far_beyond_the_cache(void **state)
{
    (void)state;
    const uint64_t cache = UINT64_C(50) << 20;
    struct gpu_memory a = memory(A, (size_t)1 << 30), b = memory(B, (size_t)1 << 30);
    for (int test = 1; test <= GPU_BS_TESTS; test++) {
        struct gpu_bs sizes[GPU_WORKS_MAX];
        size_t count = gpu_cells_stream_sizes(test, GPU_BS_DEGREE, &a, &b, sizes), large = 0;
        assert_true(count >= 8);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(sizes[i].test, test);
            assert_true(i == 0 || sizes[i].bytes > sizes[i - 1].bytes);
            large += sizes[i].bytes >= 4 * cache;
        }
        assert_true(sizes[0].bytes <= 16 << 10);
        assert_true(large >= 3);
    }
}

/* A device with little memory still has a curve. */
static void sizes_of_small_buffers(void **state)
{
    (void)state;
    struct gpu_memory a = memory(A, (size_t)4 << 20), b = memory(B, (size_t)4 << 20);
    for (int test = 1; test <= GPU_BS_TESTS; test++) {
        struct gpu_bs sizes[GPU_WORKS_MAX];
        size_t count = gpu_cells_stream_sizes(test, GPU_BS_DEGREE, &a, &b, sizes);
        assert_true(count >= 4);
        assert_true(sizes[count - 1].bytes > 3 << 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_lie_apart_inside_the_buffers),
        cmocka_unit_test(the_largest_fills_the_buffers),
        cmocka_unit_test(vectors_count_what_is_read_and_written),
        cmocka_unit_test(a_mesh_counts_what_is_read_and_written),
        cmocka_unit_test(what_does_not_fit_is_not_laid),
        cmocka_unit_test(sizes_reach_from_small_to_far_beyond_the_cache),
        cmocka_unit_test(sizes_of_small_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
