#include "unit/gpu/gpu_fake.h"

#include "gpu/cells/cells.h"
#include "gpu/timing/curve.h"
#include "gpu/timing/path.h"

static struct gpu_run *run_of(struct fake *fake, enum gpu_profile profile)
{
    struct gpu_run *run = calloc(1, sizeof *run);
    assert_non_null(run);
    run->node = &fake->node;
    run->selection.profile = profile;
    run->selection.seed = 1;
    for (int i = 0; i < PROBE_METRIC_COUNT; i++)
        run->selection.metrics[i] = true;
    return run;
}

static size_t count(const struct gpu_cells *cells, enum probe_metric metric, enum gpu_phase phase,
                    int from, int to)
{
    size_t found = 0;
    for (size_t i = 0; i < cells->count; i++)
        found += cells->item[i].metric == metric && cells->item[i].phase == phase &&
                 cells->item[i].from == from && cells->item[i].to == to;
    return found;
}

/* Every ordered pair of two is measured in every way, without mirroring. */
static void both_directions_of_two_devices(void **state)
{
    (void)state;
    struct fake *fake = fake_new(2);
    struct gpu_run *run = run_of(fake, GPU_QUICK);
    struct gpu_cells cells = {0};
    assert_true(gpu_cells_peer(run, &cells));
    for (int a = 0; a < 2; a++) {
        assert_int_equal(count(&cells, PROBE_GPU_GPU_COPY_ENGINE, GPU_PHASE_RATES, a, !a), 4);
        assert_int_equal(count(&cells, PROBE_GPU_GPU_KERNEL, GPU_PHASE_RATES, a, !a), 8);
        assert_int_equal(count(&cells, PROBE_GPU_GPU_COPY_ENGINE, GPU_PHASE_CURVES, a, !a), 2);
        assert_int_equal(count(&cells, PROBE_GPU_GPU_KERNEL, GPU_PHASE_CURVES, a, !a), 3);
    }
    gpu_cells_done(&cells);
    assert_true(gpu_cells_host(run, &cells));
    for (int a = 0; a < 2; a++) {
        assert_int_equal(
            count(&cells, PROBE_HOST_GPU_KERNEL, GPU_PHASE_CURVES, a, GPU_PLACE_NUMA(0)), 2);
        assert_int_equal(
            count(&cells, PROBE_HOST_GPU_KERNEL, GPU_PHASE_CURVES, GPU_PLACE_NUMA(0), a), 2);
    }
    gpu_cells_done(&cells);
    free(run);
    free(fake);
}

/* Every ordered pair of four has a rate for every copy, read and write; both directions at once
 * have one for the pair. One pair represents the curves of the others. One device represents those
 * of kernels that only read or only write the host's memory. */
static void every_pair_of_few_devices(void **state)
{
    (void)state;
    struct fake *fake = fake_new(4);
    struct gpu_run *run = run_of(fake, GPU_QUICK);
    struct gpu_cells cells = {0};
    assert_true(gpu_cells_peer(run, &cells));
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            assert_int_equal(count(&cells, PROBE_GPU_GPU_COPY_ENGINE, GPU_PHASE_RATES, a, b),
                             a == b ? 0 : 2 + (a < b));
            assert_int_equal(count(&cells, PROBE_GPU_GPU_KERNEL, GPU_PHASE_RATES, a, b),
                             a == b ? 0 : 4 + 2 * (a < b));
            assert_int_equal(count(&cells, PROBE_GPU_GPU_COPY_ENGINE, GPU_PHASE_CURVES, a, b),
                             a == b             ? 0
                             : a == 0 && b == 1 ? 2
                                                : 1);
            assert_int_equal(count(&cells, PROBE_GPU_GPU_KERNEL, GPU_PHASE_CURVES, a, b),
                             a == b             ? 0
                             : a == 0 && b == 1 ? 3
                                                : 1);
            assert_int_equal(count(&cells, PROBE_COPY_LATENCY, GPU_PHASE_LATENCY, a, b), a != b);
            assert_int_equal(count(&cells, PROBE_MEMORY_BANDWIDTH, GPU_PHASE_RATES, a, b),
                             a == b ? 3 : 0);
        }
    gpu_cells_done(&cells);
    assert_true(gpu_cells_host(run, &cells));
    for (int a = 0; a < 4; a++) {
        int numa = GPU_PLACE_NUMA(0);
        assert_int_equal(count(&cells, PROBE_HOST_GPU_COPY_ENGINE, GPU_PHASE_RATES, a, numa), 2);
        assert_int_equal(count(&cells, PROBE_HOST_GPU_COPY_ENGINE, GPU_PHASE_RATES, numa, a), 2);
        /* pageable */
        assert_int_equal(count(&cells, PROBE_HOST_GPU_COPY_ENGINE, GPU_PHASE_DETAIL, a, numa), 1);
        assert_int_equal(count(&cells, PROBE_HOST_GPU_KERNEL, GPU_PHASE_RATES, a, numa), 2);
        assert_int_equal(count(&cells, PROBE_HOST_GPU_KERNEL, GPU_PHASE_RATES, numa, a), 2);
        assert_int_equal(count(&cells, PROBE_HOST_GPU_KERNEL, GPU_PHASE_CURVES, numa, a),
                         1 + (a == 0));
    }
    gpu_cells_done(&cells);
    free(run);
    free(fake);
}

/* Each pair of many has its rates, and one represents those with the same structure and
 * measurements. */
static void many_devices_share_curves(void **state)
{
    (void)state;
    struct fake *fake = fake_new(8);
    struct gpu_run *run = run_of(fake, GPU_QUICK);
    struct gpu_cells quick = {0}, full = {0};
    assert_true(gpu_cells_peer(run, &quick));
    run->selection.profile = GPU_FULL;
    assert_true(gpu_cells_peer(run, &full));
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 8; b++) {
            if (a == b)
                continue;
            assert_int_equal(count(&quick, PROBE_GPU_GPU_COPY_ENGINE, GPU_PHASE_RATES, a, b),
                             2 + (a < b));
            assert_int_equal(count(&full, PROBE_GPU_GPU_COPY_ENGINE, GPU_PHASE_RATES, a, b), 4);
            assert_int_equal(count(&quick, PROBE_GPU_GPU_COPY_ENGINE, GPU_PHASE_CURVES, a, b),
                             a == 0 && b == 1 ? 2 : 1);
            assert_int_equal(count(&full, PROBE_GPU_GPU_COPY_ENGINE, GPU_PHASE_CURVES, a, b), 2);
        }
    assert_true(gpu_cells_peer_equivalent(run->node, 0, 1, 5, 3));
    fake->node.device[3].access[5] = false;
    assert_false(gpu_cells_peer_equivalent(run->node, 0, 1, 3, 5));
    snprintf(fake->node.device[7].model, sizeof fake->node.device[7].model, "Fake 2");
    assert_false(gpu_cells_peer_equivalent(run->node, 0, 1, 0, 7));
    gpu_cells_done(&quick);
    gpu_cells_done(&full);
    free(run);
    free(fake);
}

static void curves_have_sizes(void **state)
{
    (void)state;
    struct gpu_curve all = gpu_curve_of(UINT64_C(16) << 20, false);
    assert_true(all.count >= 6);
    assert_int_equal(all.samples[0].bytes, 4096);
    assert_int_equal(all.samples[all.count - 1].bytes, 16 << 20);
    for (size_t i = 1; i < all.count; i++)
        assert_true(all.samples[i].bytes > all.samples[i - 1].bytes);
    assert_int_equal(gpu_curve_of(UINT64_C(16) << 20, true).count, 2);
    struct gpu_curve few = gpu_curve_of(1 << 20, true);
    assert_int_equal(few.count, 2);
    assert_int_equal(few.samples[1].bytes, 1 << 20);
}

static void only_what_is_wanted(void **state)
{
    (void)state;
    struct fake *fake = fake_new(3);
    struct gpu_run *run = run_of(fake, GPU_QUICK);
    struct gpu_cells cells = {0};
    static const char *const places[] = {"GPU-2", "nowhere"};
    run->selection.places = places;
    run->selection.place_count = 2;
    run->selection.metrics[PROBE_GPU_GPU_KERNEL] = false;
    assert_true(gpu_cells_peer(run, &cells));
    assert_true(cells.count > 0);
    for (size_t i = 0; i < cells.count; i++) {
        assert_true(cells.item[i].from == 2 || cells.item[i].to == 2);
        assert_int_not_equal(cells.item[i].metric, PROBE_GPU_GPU_KERNEL);
    }
    assert_true(gpu_run_selects(run, PROBE_COPY_LATENCY, GPU_PLACE_NUMA(0), 2));
    assert_false(gpu_run_selects(run, PROBE_COPY_LATENCY, GPU_PLACE_NUMA(0), 1));
    gpu_cells_done(&cells);
    free(run);
    free(fake);
}

static bool has_mask(const uint64_t *masks, size_t count, uint64_t mask)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += masks[i] == mask;
    assert_true(found <= 1);
    return found == 1;
}

static void sets_of_host_copies(void **state)
{
    (void)state;
    uint64_t masks[512];
    struct probe_random random = {3};
    assert_int_equal(gpu_cells_sets_host(1, 8, &random, 512, masks), 1);
    assert_int_equal(gpu_cells_sets_host(4, 8, &random, 512, masks), 4 + 6 + 4 + 1);
    for (uint64_t mask = 1; mask < 16; mask++)
        assert_true(has_mask(masks, 15, mask));
    size_t count = gpu_cells_sets_host(8, 8, &random, 512, masks), triples = 0;
    assert_int_equal(count, 8 + 28 + 8 + 1);
    for (size_t i = 0; i < count; i++) {
        assert_true(has_mask(masks, count, masks[i]));
        triples += __builtin_popcountll(masks[i]) == 3;
    }
    assert_int_equal(triples, 8);
    assert_true(has_mask(masks, count, 255));
    assert_int_equal(gpu_cells_sets_host(64, 8, &random, 100, masks), 100);
    assert_true(has_mask(masks, 100, UINT64_MAX));
}

static void sets_of_peer_copies(void **state)
{
    (void)state;
    struct probe_random random = {5};
    size_t count;
    int64_t *numbers = gpu_cells_sets_peer(4, 1000, &random, &count);
    assert_non_null(numbers);
    /* alone, all at once, two pairs that are not each other's opposite */
    assert_int_equal(count, 12 + 3 + (66 - 6));
    size_t disjoint = 0, fan_in = 0, fan_out = 0;
    for (size_t i = 0; i < count; i++) {
        struct gpu_cells_set set = gpu_cells_sets_flows(numbers[i], 4);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(numbers[i], numbers[j]);
        for (int j = 0; j < set.count; j++)
            assert_true(set.from[j] != set.to[j] && set.from[j] >= 0 && set.from[j] < 4 &&
                        set.to[j] >= 0 && set.to[j] < 4);
        if (set.count != 2)
            continue;
        assert_false(set.from[0] == set.to[1] && set.from[1] == set.to[0]);
        fan_in += set.to[0] == set.to[1];
        fan_out += set.from[0] == set.from[1];
        disjoint += set.to[0] != set.to[1] && set.from[0] != set.from[1] &&
                    set.from[0] != set.to[1] && set.from[1] != set.to[0];
    }
    assert_int_equal(fan_in, 12);
    assert_int_equal(fan_out, 12);
    assert_int_equal(disjoint, 12);
    free(numbers);
    numbers = gpu_cells_sets_peer(8, 64, &random, &count);
    assert_int_equal(count, 56 + 7 + 64);
    free(numbers);
    numbers = gpu_cells_sets_peer(1, 64, &random, &count);
    assert_int_equal(count, 0);
    free(numbers);
}

/* Each device is once the one that all others copy to, and once the one that copies to them; of two
 * it is a pair, which is no set of its own but for who drives it. */
static void all_and_one(void **state)
{
    (void)state;
    int64_t numbers[2 * GPU_DEVICES_MAX];
    for (int devices = 3; devices <= 64; devices += 61) {
        for (int pulled = 0; pulled < 2; pulled++) {
            int seen[2][64] = {0};
            assert_int_equal(gpu_cells_sets_fans(devices, pulled, numbers), 2 * devices);
            for (int i = 0; i < 2 * devices; i++) {
                struct gpu_cells_set set = gpu_cells_sets_flows(numbers[i], devices);
                bool to_one = set.to[0] == set.to[1];
                int one = to_one ? set.to[0] : set.from[0];
                uint64_t others = 0;
                assert_int_equal(set.count, devices - 1);
                seen[to_one][one]++;
                for (int j = 0; j < set.count; j++) {
                    assert_int_equal(to_one ? set.to[j] : set.from[j], one);
                    others |= UINT64_C(1) << (to_one ? set.from[j] : set.to[j]);
                }
                assert_int_equal(others | UINT64_C(1) << one,
                                 devices == 64 ? UINT64_MAX : (UINT64_C(1) << devices) - 1);
            }
            for (int i = 0; i < devices; i++)
                assert_true(seen[0][i] == 1 && seen[1][i] == 1);
        }
    }
    assert_int_equal(gpu_cells_sets_fans(2, false, numbers), 0);
    assert_int_equal(gpu_cells_sets_fans(2, true, numbers), 2);
    assert_int_equal(gpu_cells_sets_flows(numbers[1], 2).from[0], 0);
    assert_int_equal(gpu_cells_sets_fans(1, true, numbers), 0);
}

static void shapes_as_text(void **state)
{
    (void)state;
    struct fake *fake = fake_new(2);
    char text[1024];
    gpu_tune_print(&fake->node, 13000, text, sizeof text);
    assert_string_equal(text, ""); /* nothing was measured */
    static const char good[] =
        "Fake 1/12000: read 32x1u1 write 32x1u1 copy 32x1u1; Fake 1/13000: read 512x100u12 write "
        "256x200u4 copy 1024x0u1 "
        "host-read 256x100u2 host-write 256x100u2 host-copy 256x100u16 peer-read 256x100u2";
    gpu_tune_parse(&fake->node, 13000, good, false);
    assert_int_equal(fake->node.device[0].read.unroll, 12);
    assert_int_equal(fake->node.device[1].copy.block, 1024);
    assert_int_equal(fake->node.device[1].copy.grid, 0);
    assert_int_equal(fake->node.device[1].host[GPU_OPERATION_COPY].unroll, 16);
    /* not all three: not tuned */
    assert_int_equal(fake->node.device[0].peer[GPU_OPERATION_READ].unroll, 4);
    assert_int_equal(fake->node.device[0].tuned, 1U << GPU_TUNE_OWN | 1U << GPU_TUNE_HOST);
    gpu_tune_print(&fake->node, 13000, text, sizeof text);
    assert_true(gpu_tune_is_text(text));
    assert_string_equal(text, "Fake 1/13000: read 512x100u12 write 256x200u4 copy 1024x0u1; "
                              "Fake 1/13000: host-read 256x100u2 host-write 256x100u2 "
                              "host-copy 256x100u16");
    /* Pulling belongs to a peer's memory: without it, in records of an older probe, the memory is
     * not tuned. */
    static const char peer[] =
        "Fake 1/13000: peer-read 512x100u12 peer-write 256x0u4 peer-copy 256x0u4";
    gpu_tune_default(&fake->node);
    assert_false(gpu_tune_is_text(peer));
    gpu_tune_parse(&fake->node, 13000, peer, false);
    assert_int_equal(fake->node.device[0].tuned, 0);
    snprintf(text, sizeof text, "%s peer-pull 512x800u8", peer);
    gpu_tune_parse(&fake->node, 13000, text, false);
    assert_int_equal(fake->node.device[0].tuned, 1U << GPU_TUNE_PEER);
    assert_int_equal(fake->node.device[1].peer[GPU_TUNE_PULL].grid, 800);
    assert_int_equal(fake->node.device[1].peer[GPU_OPERATION_READ].grid, 100);
    char again[1024];
    gpu_tune_print(&fake->node, 13000, again, sizeof again);
    assert_string_equal(again, text);
    assert_true(gpu_tune_is_text(text));
    gpu_tune_default(&fake->node);
    static const char *const bad[] = {
        "",
        "Fake 1/13000: ",
        "Fake 1/13000: read 512x100u3 write 256x200u4 copy 1024x100u1",
        "Fake 1/13000: read 2048x100u4 write 256x200u4 copy 1024x100u1",
        "Fake 1/13000: read x write y copy z",
        "Not Fake 1/13000: read 512x100u1 write 256x200u4 copy 1024x100u1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_true(i == 5 || !gpu_tune_is_text(bad[i])); /* another model's is well-formed */
        gpu_tune_parse(&fake->node, 13000, bad[i], false);
        assert_int_equal(fake->node.device[0].tuned, 0);
        assert_int_equal(fake->node.device[0].read.block, 256);
    }
    free(fake);
}

/* A tuned target comes back with its rates and time, unless the limits or the driver are others. */
static void shapes_are_of_their_limits(void **state)
{
    (void)state;
    struct fake *fake = fake_new(2);
    struct gpu_device *device = &fake->node.device[0];
    static const char good[] =
        "Fake 1/13000@1790000000,600W,580.95.05,0:0>1:0: read 512x100u12 4e+12 3.9e+12 "
        "4.1e+12 3.8e+12 write 256x0u4 2e+12 2e+12 2e+12 1.5e+12 copy "
        "256x0u4 1e+12 1e+12 1e+12 9e+11";
    char text[1024];
    fake->node.device[0].power_cap_w = fake->node.device[1].power_cap_w = 600;
    fake->node.device[0].clock_max_mhz = fake->node.device[1].clock_max_mhz = -1;
    snprintf(fake->node.version, sizeof fake->node.version, "580.95.05");
    assert_true(gpu_tune_is_text(good));
    gpu_tune_parse(&fake->node, 13000, good, false);
    assert_int_equal(device->tuned, 1U << GPU_TUNE_OWN);
    assert_int_equal(device->tuned_at_s[GPU_TUNE_OWN], 1790000000);
    assert_true(device->rate[GPU_TUNE_OWN][GPU_OPERATION_READ].low == 3.9e12);
    assert_true(device->rate[GPU_TUNE_OWN][GPU_OPERATION_COPY].next == 9e11);
    assert_string_equal(device->tuned_ends[GPU_TUNE_OWN], "0:0>1:0");
    gpu_tune_print(&fake->node, 13000, text, sizeof text);
    assert_string_equal(text, good);
    for (int other = 0; other < 3; other++) {
        gpu_tune_default(&fake->node);
        device->power_cap_w = other == 0 ? 500 : 600;
        device->clock_max_mhz = other == 1 ? 1980 : -1;
        snprintf(fake->node.version, sizeof fake->node.version, other == 2 ? "590.1" : "580.95.05");
        gpu_tune_parse(&fake->node, 13000, good, false);
        assert_int_equal(device->tuned, 0);
        assert_int_equal(fake->node.device[1].tuned, 0); /* the first of a model tunes for it */
        assert_int_equal(device->read.unroll, 12);       /* best known until it is tuned */
    }
    gpu_tune_default(&fake->node);
    gpu_tune_parse(&fake->node, 13010, good, false);
    assert_int_equal(device->tuned, 0);
    assert_int_equal(device->known, 1U << GPU_TUNE_OWN);
    /* of two sections that which holds counts, in any order */
    snprintf(fake->node.version, sizeof fake->node.version, "580.95.05");
    for (int first = 0; first < 2; first++) {
        static const char old[] = "Fake 1/12000@9: read 32x1u1 write 32x1u1 copy 32x1u1";
        char both[1024];
        snprintf(both, sizeof both, "%s; %s", first ? good : old, first ? old : good);
        gpu_tune_default(&fake->node);
        gpu_tune_parse(&fake->node, 13000, both, false);
        assert_int_equal(device->read.unroll, 12);
        assert_int_equal(device->tuned, 1U << GPU_TUNE_OWN);
        gpu_tune_default(&fake->node);
        gpu_tune_parse(&fake->node, 13000, both, true);
        assert_int_equal(device->read.unroll, 12);
        assert_int_equal(device->tuned, 0);
    }
    free(fake);
}

static void drift_is_beyond_both_ranges(void **state)
{
    (void)state;
    const struct gpu_tuned then = {100, 99, 101, 90}, unknown = {0};
    assert_false(gpu_cells_tune_drifted(&then, &then));
    assert_false(gpu_cells_tune_drifted(&then, &(struct gpu_tuned){94, 90, 99, 0})); /* overlap */
    assert_false(gpu_cells_tune_drifted(&then, &(struct gpu_tuned){101.1, 101.05, 101.2, 0}));
    assert_false(gpu_cells_tune_drifted(&then, &(struct gpu_tuned){97, 96, 98, 0}));
    assert_true(gpu_cells_tune_drifted(&then, &(struct gpu_tuned){94, 93, 95, 0}));
    assert_true(gpu_cells_tune_drifted(&then, &(struct gpu_tuned){106, 105, 107, 0}));
    assert_false(gpu_cells_tune_drifted(&unknown, &then));
}

static void the_best_shape(void **state)
{
    (void)state;
    struct gpu_cells_try tries[GPU_CELLS_TRIES_MAX];
    size_t count = gpu_cells_tune_shapes(132, GPU_CELLS_GRID_STAYS, tries);
    assert_int_equal(tries[0].shape.grid, 132);
    assert_int_equal(gpu_cells_tune_shapes(132, GPU_CELLS_GRID_WAVES, tries), count);
    assert_int_equal(tries[0].shape.grid, 8 * 132);
    assert_int_equal(gpu_cells_tune_shapes(132, GPU_CELLS_GRID_NEEDED, tries), count);
    assert_int_equal(tries[0].shape.grid, 0);
    assert_true(count > 40 && count <= GPU_CELLS_TRIES_MAX);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(tries[i].count, 0);
    struct gpu_cells_try few[] = {{{1024, 264, 4}, 7, {100, 300, 101}, 3},
                                  {{256, 132, 8}, 3, {100.3, 100.2, 100.4}, 3},
                                  {{256, 0, 4}, 0, {90, 130, 140}, 3},
                                  {{32, 1, 1}, 1, {0}, 0}};
    /* as fast as the first by median, and before it in the list */
    assert_int_equal(gpu_cells_tune_best(few, 4), 1);
    few[1].count = 0;
    assert_int_equal(gpu_cells_tune_best(few, 4), 0);
}

static struct gpu_flow kernel_of(int device, unsigned block, unsigned grid, unsigned unroll)
{
    return (struct gpu_flow){.op = {.device = device,
                                    .mechanism = GPU_BY_KERNEL,
                                    .operation = GPU_OPERATION_COPY,
                                    .shape = {block, grid, unroll}}};
}

/* Kernels that run at once on one device fill it together, not each. */
static void kernels_share_their_device(void **state)
{
    (void)state;
    struct fake *fake = fake_new(3);
    for (int i = 0; i < 3; i++)
        fake->node.device[i].attribute[GPU_ATTRIBUTE_MULTIPROCESSORS] = 132;
    /* of 100 registers each: one block of 512 on a multiprocessor */
    fake->node.device[0].threads[GPU_KERNEL_COPY + 4] = 640;
    struct gpu_flow flows[] = {kernel_of(0, 512, 132, 12),  kernel_of(0, 512, 1056, 12),
                               kernel_of(1, 512, 1056, 12), kernel_of(2, 256, 0, 4),
                               kernel_of(2, 256, 1, 4),     kernel_of(2, 1024, 40, 4),
                               kernel_of(1, 512, 7, 1)};
    flows[6].op.mechanism = GPU_BY_ENGINE;
    gpu_path_divide(&fake->node, flows, 7);
    static const unsigned grids[] = {66, 66, 1056, 132 * 4 / 3, 1, 13, 7};
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(flows[i].op.shape.grid, grids[i]);
    flows[2] = kernel_of(1, 512, 0, 12);
    gpu_path_divide(&fake->node, &flows[2], 1);
    assert_int_equal(flows[2].op.shape.grid, 0);
    free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_directions_of_two_devices),
        cmocka_unit_test(every_pair_of_few_devices),
        cmocka_unit_test(many_devices_share_curves),
        cmocka_unit_test(curves_have_sizes),
        cmocka_unit_test(only_what_is_wanted),
        cmocka_unit_test(sets_of_host_copies),
        cmocka_unit_test(sets_of_peer_copies),
        cmocka_unit_test(all_and_one),
        cmocka_unit_test(shapes_as_text),
        cmocka_unit_test(shapes_are_of_their_limits),
        cmocka_unit_test(drift_is_beyond_both_ranges),
        cmocka_unit_test(the_best_shape),
        cmocka_unit_test(kernels_share_their_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
