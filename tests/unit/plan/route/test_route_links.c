/* Paths priced by stated link rates, beside a direct one without a measurement: marked as such, and
 * never first. */
#include "unit/plan/route/route_nodes.h"

#include "cost/matrix.h"
#include "plan/route/price.h"

static void asked(struct fixture *f, struct route_request request)
{
    assert_int_equal(ask(f, request), BERTH_OK);
}

/* The option of so many ways, of which the last leads through that place; PLACE_NONE: directly. */
static const struct route_option *option(const struct fixture *f, size_t ways, enum mechanism by,
                                         place_id via)
{
    for (size_t i = 0; i < f->answer.count; i++) {
        const struct route_part *last = &f->answer.option[i].part[ways - 1];
        if (f->answer.option[i].part_count == ways && last->hop[0].by == by &&
            (via == PLACE_NONE ? last->hop_count == 1
                               : last->hop_count == 2 && last->hop[1].from == via))
            return &f->answer.option[i];
    }
    fail_msg("no such option");
    return NULL;
}

/* The hops of kernels' longer ways keep to what is published of both directions, as direct ones. */
static void kernels_hops_keep_to_what_both_directions_get(void **state)
{
    (void)state;
    struct fixture f = on("tests/nodes/mi250x");
    size_t hops = 0;
    for (unsigned from = 0; from < 4; from++)
        for (unsigned to = 0; to < 8; to++) {
            asked(&f, (struct route_request){.from = numa(&f, from),
                                             .to = gpu(&f, to),
                                             .bytes = 1024 * MIB,
                                             .both = true});
            for (size_t i = 0; i < f.answer.count; i++) {
                const struct route_part *way = &f.answer.option[i].part[0];
                const struct transfer *last = &way->hop[way->hop_count - 1];
                const struct value *bound = matrix_published_both(f.snap, last);
                if (way->hop_count == 1 || bound == NULL)
                    continue;
                assert_true(2 * last->bytes_per_s / last->slowdown <= bound->value * 1.001);
                hops++;
            }
        }
    assert_true(hops > 8);
    end(&f);
}

/* Each two of the four have links of 150 GB/s of their own, of which such reach 83 %, and the
 * processors 100 GB/s between them, by what cores get: 473.5 GB/s in all, once the first pieces are
 * there. */
static void four_gh200_have_three_ways_beside_the_direct_one(void **state)
{
    (void)state;
    struct fixture f = on("tests/nodes/gh200-quad");
    double bytes = 1024.0 * MIB, piece = 16.0 * MIB;
    asked(&f, of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB));
    const struct route_option *first = &f.answer.option[0];
    assert_true(route_is_direct(first) && first->part[0].hop[0].by == MECHANISM_COPY_ENGINE &&
                first->is_at_least && first->predicted.low_ns == first->predicted.time_ns &&
                isnan(first->predicted.high_ns));
    assert_within(first->predicted.time_ns, bytes / (0.83 * 150), 1e-6);
    assert_within(option(&f, 1, MECHANISM_COPY_ENGINE, gpu(&f, 2))->predicted.time_ns,
                  (bytes + piece) / (0.83 * 150), 1e-6);
    /* what is published as a bound of a kernel's accesses */
    assert_within(option(&f, 1, MECHANISM_KERNEL, gpu(&f, 2))->predicted.time_ns,
                  (bytes + piece) / 90, 1e-6);
    assert_within(option(&f, 1, MECHANISM_COPY_ENGINE, numa(&f, 1))->predicted.time_ns, bytes / 100,
                  0.05);
    const struct route_option *split = NULL;
    for (size_t i = 0; i < f.answer.count; i++)
        split = f.answer.option[i].part_count > 3 ? &f.answer.option[i] : split;
    assert_true(split != NULL && split->part_count == 4 && split->source == SOURCE_NOMINAL &&
                !split->may_lead_at_all);
    assert_true(split->predicted.time_ns > bytes / 473.5 &&
                split->predicted.time_ns < 1.06 * bytes / 473.5 && split->why_count >= 6);
    double sum = 0;
    for (size_t w = 0; w < split->part_count; w++) {
        sum += split->part[w].share;
        assert_true(split->part[w].chunk_bytes == (split->part[w].hop_count > 1 ? piece : 0));
    }
    assert_within(sum, 1, 1e-9);
    assert_true(told(&f.answer.reasons, REASON_NOT_MEASURED_TOGETHER) > 0 &&
                !told(&f.answer.reasons, REASON_NO_OTHER_PATH));
    end(&f);
}

/* Whatever is asked for, what links are said to carry elsewhere does not go before the direct way,
 * and what leaves starting out says so. */
static void they_never_lead_and_small_ones_are_lower_bounds(void **state)
{
    (void)state;
    static const char *const nodes[] = {"tests/nodes/gh200-quad", "tests/nodes/mi300a"};
    size_t others = 0, bounds = 0;
    for (size_t n = 0; n < 2; n++) {
        struct fixture f = on(nodes[n]);
        for (int both = 0; both < 2; both++)
            for (int64_t bytes = 4096; bytes <= INT64_C(1) << 33; bytes *= 8)
                for (int target = 1; target < 4; target++) {
                    asked(&f, (struct route_request){.from = gpu(&f, 0),
                                                     .to = gpu(&f, target),
                                                     .bytes = bytes,
                                                     .both = both == 1});
                    for (size_t i = 0; i < f.answer.count; i++) {
                        const struct route_option *its = &f.answer.option[i];
                        assert_true(i == 0 ? route_is_direct(its) : true);
                        assert_true(!its->may_lead || route_is_direct(its));
                        assert_true(its->is_at_least
                                        ? its->predicted.low_ns == its->predicted.time_ns &&
                                              isnan(its->predicted.high_ns)
                                        : isnan(its->predicted.low_ns));
                        assert_true(its->is_at_least || bytes >= 16 * MIB);
                        others += !route_is_direct(its);
                        bounds += its->is_at_least;
                    }
                }
        end(&f);
    }
    assert_true(others > 100 && bounds > 100);
}

static void without_kernels_and_without_what_is_not_allowed(void **state)
{
    (void)state;
    struct fixture f = on("tests/nodes/gh200-quad");
    asked(&f, (struct route_request){
                  .from = gpu(&f, 0), .to = gpu(&f, 1), .bytes = 1024 * MIB, .overlap = true});
    for (size_t i = 0; i < f.answer.count; i++)
        for (size_t w = 0; w < f.answer.option[i].part_count; w++)
            assert_true(f.answer.option[i].part[w].hop[0].by == MECHANISM_COPY_ENGINE);
    assert_true(f.answer.count > 2);
    f.allowed.gpus = calloc(f.graph->place_count, sizeof *f.allowed.gpus);
    f.allowed.memory = calloc(f.graph->place_count, sizeof *f.allowed.memory);
    assert_true(f.allowed.gpus != NULL && f.allowed.memory != NULL);
    f.allowed.gpus[gpu(&f, 0)] = f.allowed.gpus[gpu(&f, 1)] = f.allowed.gpus[gpu(&f, 3)] = true;
    asked(&f, of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB));
    for (size_t i = 0; i < f.answer.count; i++)
        for (size_t w = 0; w < f.answer.option[i].part_count; w++)
            assert_true(f.answer.option[i].part[w].hop_count == 1 ||
                        f.answer.option[i].part[w].hop[1].from == gpu(&f, 3));
    assert_int_equal(option(&f, 2, MECHANISM_COPY_ENGINE, gpu(&f, 3))->part_count, 2);
    f.allowed.gpus[gpu(&f, 3)] = false;
    asked(&f, of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB));
    assert_int_equal(f.answer.count, 2);
    assert_true(told(&f.answer.reasons, REASON_NO_OTHER_PATH));
    end(&f);
}

/* Four MI300A: two links of 64 GB/s between each two, of which such reach three quarters, and one
 * memory for a gpu and its cores, of which a copy gets half. */
static void mi300a_has_ways_through_the_others_and_none_within_one_memory(void **state)
{
    (void)state;
    struct fixture f = on("tests/nodes/mi300a");
    double bytes = 1024.0 * MIB;
    asked(&f, of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB));
    const struct route_option *split = option(&f, 3, MECHANISM_COPY_ENGINE, gpu(&f, 3));
    assert_true(split->predicted.time_ns > bytes / 288 &&
                split->predicted.time_ns < 1.06 * bytes / 288);
    assert_within(f.answer.option[0].predicted.time_ns, bytes / 96, 1e-6);
    for (int back = 0; back < 2; back++) {
        place_id from = back ? gpu(&f, 0) : numa(&f, 0), to = back ? numa(&f, 0) : gpu(&f, 0);
        asked(&f, of(from, to, 1024 * MIB));
        const struct route_option *kernel = option(&f, 1, MECHANISM_KERNEL, PLACE_NONE);
        assert_ptr_equal(kernel, &f.answer.option[0]);
        assert_within(kernel->predicted.time_ns, bytes / (5300.0 / 2), 1e-6);
        assert_true(kernel->part[0].hop[0].basis == BASIS_MEMORY && kernel->why_count == 1);
        assert_true(lines_with(&f.answer.reasons, "half of the rate of that memory") &&
                    told(&f.answer.reasons, REASON_NO_OTHER_PATH));
        asked(&f,
              (struct route_request){.from = from, .to = to, .bytes = 1024 * MIB, .both = true});
        assert_within(option(&f, 1, MECHANISM_KERNEL, PLACE_NONE)->predicted.time_ns,
                      2 * bytes / (5300.0 / 2), 1e-6);
    }
    end(&f);
}

/* Nothing is known of the gpus, or of one of them alone, but firmware states what their memories
 * carry: copies within one get half of that, and not what a link to the cores is said to carry;
 * what cores get of it says nothing. */
static void what_tells_of_one_memory_has_a_copy_get_half_of_that(void **state)
{
    (void)state;
    /* nothing; what cores get; what another gpu of the model streams */
    for (int measured = 0; measured < 3; measured++) {
        struct discovery found = {0};
        struct fixture f = {.allowed.given = true};
        assert_int_equal(discover_folder("tests/nodes/mi300a", &found, &f.err), BERTH_OK);
        struct values *values = values_new();
        assert_non_null(values);
        for (int n = 0; n < 4; n++) {
            place_id numa = nodes_place(found.graph, PLACE_NUMA, n);
            nodes_value(values, METRIC_MEMORY_BANDWIDTH,
                        measured == 1 ? VALUE_MEASURED : VALUE_NOMINAL, numa, numa, "", 4000 * GB,
                        NAN, NAN);
        }
        place_id gpu2 = nodes_place(found.graph, PLACE_GPU, 2);
        if (measured == 2)
            nodes_value(values, METRIC_GPU_STREAM, VALUE_MEASURED, gpu2, gpu2, "", 3600 * GB, NAN,
                        NAN);
        values_finish(values);
        values_free(found.values);
        f.snap = snapshot_new(found.graph, values, NULL, 0, 0, 1);
        assert_non_null(f.snap);
        f.snap->sets = found.sets;
        assert_true(derive_costs(f.snap));
        f.graph = (struct graph *)f.snap->graph;
        graph_unref(found.graph);
        asked(&f, of(numa(&f, 0), gpu(&f, 0), 1024 * MIB));
        const struct route_option *best = &f.answer.option[0],
                                  *kernel = option(&f, 1, MECHANISM_KERNEL, PLACE_NONE);
        if (measured == 2) {
            assert_ptr_equal(best, kernel);
            assert_within(best->predicted.time_ns, 1024 * MIB / 1800.0, 1e-6);
            assert_true(f.answer.evidence.item[best->why]->from == gpu2 &&
                        f.answer.evidence.item[best->why]->metric == METRIC_GPU_STREAM);
            assert_true(lines_with(&f.answer.reasons, "half of the rate of that memory"));
        } else if (measured == 1) {
            assert_true(kernel->part[0].hop[0].basis != BASIS_MEMORY &&
                        kernel->predicted.time_ns > 1024 * MIB / 1000.0);
        } else {
            assert_ptr_equal(best, kernel);
            assert_within(best->predicted.time_ns, 1024 * MIB / 2000.0, 1e-6);
            assert_int_equal(best->why_count, 1);
            assert_true(f.answer.evidence.item[best->why]->from == numa(&f, 0) &&
                        f.answer.evidence.item[best->why]->to == numa(&f, 0));
            assert_true(lines_with(&f.answer.warnings, "half of the rate of that memory"));
            asked(&f,
                  (struct route_request){
                      .from = numa(&f, 0), .to = gpu(&f, 0), .bytes = 1024 * MIB, .both = true});
            assert_within(option(&f, 1, MECHANISM_KERNEL, PLACE_NONE)->predicted.time_ns,
                          2 * 1024 * MIB / 2000.0, 1e-6);
        }
        end(&f);
    }
}

/* As many bytes back over the same: no split gets more than memory that all go through carries of
 * both directions. */
static void both_directions_of_a_split_share_memory(void **state)
{
    (void)state;
    struct fixture f = on("tests/nodes/mi250x");
    size_t splits = 0;
    for (int both = 0; both < 2; both++) {
        asked(&f,
              (struct route_request){
                  .from = numa(&f, 0), .to = gpu(&f, 1), .bytes = 1024 * MIB, .both = both == 1});
        for (size_t i = 0; i < f.answer.count; i++) {
            const struct route_option *its = &f.answer.option[i];
            splits += its->part_count > 1;
            /* a quarter of what the processor's memory carries */
            assert_true(its->predicted.time_ns >= 1024 * MIB * (1.0 + both) / 51.2 * 0.99);
        }
    }
    assert_true(splits >= 1);
    end(&f);
}

/* Fewer than 64 KiB are not worth a way of their own, whatever is shared on the way. */
static void no_way_of_a_split_gets_less_than_64_kib(void **state)
{
    (void)state;
    static const char *const nodes[] = {"tests/nodes/gh200-quad", "tests/nodes/mi250x"};
    size_t small = 0, large = 0;
    for (size_t n = 0; n < 2; n++) {
        struct fixture f = on(nodes[n]);
        for (int64_t bytes = 4096; bytes <= 64 * MIB; bytes *= 2) {
            asked(&f, of(gpu(&f, 0), numa(&f, 0), bytes));
            for (size_t i = 0; i < f.answer.count; i++) {
                const struct route_option *its = &f.answer.option[i];
                small += its->part_count > 1 && bytes < 128 * 1024;
                large += its->part_count > 1;
                for (size_t w = 0; w < its->part_count; w++)
                    assert_true(its->part_count == 1 ||
                                its->part[w].share * (double)bytes >= PRICE_LEAST_PART);
            }
        }
        end(&f);
    }
    assert_true(small == 0 && large > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_hops_keep_to_what_both_directions_get),
        cmocka_unit_test(four_gh200_have_three_ways_beside_the_direct_one),
        cmocka_unit_test(they_never_lead_and_small_ones_are_lower_bounds),
        cmocka_unit_test(without_kernels_and_without_what_is_not_allowed),
        cmocka_unit_test(mi300a_has_ways_through_the_others_and_none_within_one_memory),
        cmocka_unit_test(what_tells_of_one_memory_has_a_copy_get_half_of_that),
        cmocka_unit_test(both_directions_of_a_split_share_memory),
        cmocka_unit_test(no_way_of_a_split_gets_less_than_64_kib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
