#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gpu/cells/cells.h"

/* Every slot once, all of a group before the next, and in each the half that its number says. */
static void the_cycle_visits_each_slot_once(void **state)
{
    (void)state;
    static const uint64_t slots[] = {1, 2, 3, 100, 1000, 4097},
                          groups[] = {1, 2, 64, 1000, 1 << 20};
    for (size_t s = 0; s < sizeof slots / sizeof *slots; s++)
        for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
            struct gpu_chase_build_args args = {.address = 1 << 20,
                                                .slots = slots[s],
                                                .stride = GPU_CHASE_STRIDE,
                                                .group = groups[g],
                                                .seed = 42 + s};
            unsigned char *seen = calloc(slots[s], 1);
            for (uint64_t position = 0; position < slots[s]; position++) {
                uint64_t offset = gpu_chase_address(&args, position) - args.address,
                         slot = offset / GPU_CHASE_STRIDE;
                assert_true(slot < slots[s]);
                assert_int_equal(offset % GPU_CHASE_STRIDE,
                                 __builtin_parityll(slot) ? GPU_CHASE_LINE : 0);
                assert_int_equal(slot / groups[g], position / groups[g]);
                assert_int_equal(seen[slot]++, 0);
            }
            free(seen);
        }
}

/* Steps from slot to slot are unpredictable for a prefetcher: of 1000 hardly any two are equal, and
 * seeds differ. */
static void the_order_is_random(void **state)
{
    (void)state;
    enum { SLOTS = 1024 };
    struct gpu_chase_build_args args = {.slots = SLOTS,
                                        .stride = GPU_CHASE_STRIDE,
                                        .group = SLOTS,
                                        .seed = 7},
                                other = args;
    unsigned steps[2 * SLOTS] = {0}, most = 0, same = 0;
    other.seed = 8;
    for (uint64_t i = 0; i + 1 < SLOTS; i++) {
        int64_t step = (int64_t)(gpu_chase_address(&args, i + 1) / GPU_CHASE_STRIDE) -
                       (int64_t)(gpu_chase_address(&args, i) / GPU_CHASE_STRIDE);
        unsigned count = ++steps[step + SLOTS];
        most = count > most ? count : most;
        same += gpu_chase_address(&args, i) == gpu_chase_address(&other, i);
    }
    assert_true(most < 10);
    assert_true(same < 20);
}

static void sizes_lie_inside_and_beyond_each_cache(void **state)
{
    (void)state;
    uint64_t sizes[GPU_CELLS_CHASE_SIZES];
    static const uint64_t caches[] = {16 << 10, 128 << 10, 8 << 20, 50 << 20};
    size_t count = gpu_cells_chase_sizes(UINT64_C(200) << 20, false, sizes);
    for (size_t c = 0; c < sizeof caches / sizeof *caches; c++) {
        unsigned inside = 0, beyond = 0;
        for (size_t i = 0; i < count; i++) {
            assert_true(i == 0 || sizes[i] > sizes[i - 1]);
            inside += sizes[i] <= caches[c] && 3 * sizes[i] > caches[c];
            beyond += sizes[i] > caches[c] && sizes[i] <= 3 * caches[c];
        }
        assert_true(inside >= 2 && beyond >= 2);
    }
    assert_true(sizes[count - 1] <= UINT64_C(200) << 20);
    count = gpu_cells_chase_sizes(UINT64_C(64) << 20, true, sizes);
    assert_int_equal(count, 6);
    assert_int_equal(sizes[0], 32 << 10);
    assert_int_equal(sizes[3], 2 << 20);
    assert_int_equal(sizes[5], 32 << 20);
    assert_true(gpu_cells_chase_sizes(UINT64_MAX / 4, false, sizes) <= GPU_CELLS_CHASE_SIZES);
}

static void memory_is_far_beyond_the_cache_or_not_measured(void **state)
{
    (void)state;
    const uint64_t mib = 1 << 20;
    assert_int_equal(gpu_cells_chase_beyond(50 * mib, 1024 * mib), 200 * mib);
    assert_int_equal(gpu_cells_chase_beyond(8 * mib, 1024 * mib), 64 * mib);
    assert_int_equal(gpu_cells_chase_beyond(50 * mib, 300 * mib), 150 * mib);
    assert_int_equal(gpu_cells_chase_beyond(50 * mib, 199 * mib), 0);
    assert_int_equal(gpu_cells_chase_beyond(0, 32 * mib), 16 * mib);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cycle_visits_each_slot_once),
        cmocka_unit_test(the_order_is_random),
        cmocka_unit_test(sizes_lie_inside_and_beyond_each_cache),
        cmocka_unit_test(memory_is_far_beyond_the_cache_or_not_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
