#include "unit/plan/route/route_nodes.h"

#include "cost/policy.h"
#include "node/spread.h"

/* 25 GB/s after 2 us against 100 GB/s after 8 us: equal at 200 kB. */
static void the_winner_changes_where_the_times_cross(void **state)
{
    (void)state;
    struct fixture f = begin();
    rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "", 100);
    rate(&f, METRIC_GPU_GPU_KERNEL, gpu(&f, 0), gpu(&f, 1), "", 25);
    overheads(&f, gpu(&f, 0), gpu(&f, 1), METRIC_GPU_GPU_COPY_ENGINE, 8000, 1000);
    overheads(&f, gpu(&f, 0), gpu(&f, 1), METRIC_GPU_GPU_KERNEL, 2000, 1000);
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 64 * MIB)), BERTH_OK);
    assert_int_equal(f.answer.count, 2);
    assert_int_equal(f.answer.option[0].part[0].hop[0].by, MECHANISM_COPY_ENGINE);
    assert_within(f.answer.option[0].predicted.time_ns, 8000 + 64.0 * MIB / 100, 1e-9);
    /* the median of 9 was 98 to 102, and is all that is known of its kind */
    double queued_ns = 1000 + 64.0 * MIB / 100,
           spread =
               spread_cell_among(0.02, 9, spread_deviation(0.02, 9) * exp(0.5 / spread_freedom(9)));
    assert_within(f.answer.option[0].predicted.low_ns, 7000 + queued_ns * (1 - spread), 1e-9);
    assert_within(f.answer.option[0].predicted.high_ns, 7000 + queued_ns * (1 + spread), 1e-9);
    assert_int_equal(f.answer.crossover_count, 1);
    assert_within((double)f.answer.crossover[0].bytes, 200e3, 0.02);
    assert_int_equal(f.answer.crossover[0].below, 1);
    assert_int_equal(f.answer.crossover[0].above, 0);
    assert_within(f.answer.b80_bytes, 4 * 8e-6 * 100 * GB, 0.01); /* 4 T0 Wmax */
    assert_int_equal(f.answer.option[0].why_count, 2);
    assert_int_equal(f.answer.warnings.count, 0);

    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 100000)), BERTH_OK);
    assert_int_equal(f.answer.option[0].part[0].hop[0].by, MECHANISM_KERNEL);
    assert_int_equal(ask(&f, (struct route_request){.from = gpu(&f, 0),
                                                    .to = gpu(&f, 1),
                                                    .bytes = 100000,
                                                    .overlap = true}),
                     BERTH_OK);
    assert_int_equal(f.answer.count, 1);
    assert_int_equal(f.answer.option[0].part[0].hop[0].by, MECHANISM_COPY_ENGINE);
    end(&f);
}

static void sizes_that_were_measured_make_the_time(void **state)
{
    (void)state;
    struct fixture f = begin();
    const struct {
        const char *axes;
        double bytes, ns;
    } sizes[] = {{"bytes=4096", 4096, 2000},
                 {"bytes=65536", 65536, 3000},
                 {"bytes=1048576", 1048576, 20000},
                 {"bytes=16777216", 16777216, 300000}};
    for (size_t i = 0; i < 4; i++)
        rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), sizes[i].axes,
             sizes[i].bytes / sizes[i].ns);
    values_finish(f.values);
    assert_true(curve_fill_large(f.values, f.graph));
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), MIB)), BERTH_OK);
    const struct curve *curve = f.answer.option[0].part[0].hop[0].curve;
    assert_non_null(curve);
    assert_within(f.answer.option[0].predicted.time_ns, curve_time_ns(curve, 1048576), 1e-9);
    assert_within(f.answer.option[0].predicted.time_ns, 20000, 0.05);
    assert_true(f.answer.option[0].predicted.low_ns < 20000 &&
                f.answer.option[0].predicted.high_ns > 20000);
    assert_true(told(&f.answer.warnings, REASON_START_NOT_MEASURED) == 1 &&
                isnan(f.answer.b80_bytes));
    end(&f);
}

/* 20 GB/s directly; 100 GB/s to gpu2 and 50 GB/s from there on, each piece 10 us behind: pieces of
 * c take c / 50 + 10 us each, one after the other, but no faster than one thread starts them (two
 * launches and an event of 10 us); the first one is c / 100 + 20 us ahead, and each hop is started
 * by a call (10 us more). */
static void pieces_follow_each_other_through_another_gpu(void **state)
{
    (void)state;
    struct fixture f = begin();
    rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "", 20);
    rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 2), "", 100);
    rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 2), gpu(&f, 1), "", 50);
    rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 3), "", 30);
    rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 3), gpu(&f, 1), "", 30);
    overheads(&f, gpu(&f, 0), gpu(&f, 1), METRIC_GPU_GPU_COPY_ENGINE, 20000, 10000);
    overheads(&f, gpu(&f, 0), gpu(&f, 2), METRIC_GPU_GPU_COPY_ENGINE, 20000, 10000);
    overheads(&f, gpu(&f, 2), gpu(&f, 1), METRIC_GPU_GPU_COPY_ENGINE, 20000, 10000);
    for (int g = 2; g < 4; g++)
        in_run(&f, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, (int[]){0, g, 1}, 3);
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB)), BERTH_OK);
    const struct route_option *best = &f.answer.option[0];
    assert_int_equal(best->part[0].hop_count, 2);
    assert_int_equal(best->part[0].hop[0].to, gpu(&f, 2));
    double least = INFINITY, chunk = 0;
    for (int64_t piece = 65536; piece < 1024 * MIB; piece *= 2) {
        double c = (double)piece;
        double time =
            c / 100 + 20000 + c / 50 + 20000 + (1024.0 * MIB / c - 1) * fmax(c / 50 + 10000, 30000);
        chunk = time < least ? c : chunk;
        least = fmin(time, least);
    }
    assert_within(best->part[0].chunk_bytes, chunk, 0);
    assert_within(best->predicted.time_ns, least, 1e-9);
    assert_int_equal(f.answer.option[1].part[0].hop_count, 1);

    /* Not through a gpu that is not allowed; and small transfers go directly. */
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 65536)), BERTH_OK);
    assert_int_equal(f.answer.option[0].part[0].hop_count, 1);
    f.allowed.gpus = calloc(f.graph->place_count, sizeof *f.allowed.gpus);
    f.allowed.gpus[gpu(&f, 0)] = f.allowed.gpus[gpu(&f, 1)] = f.allowed.gpus[gpu(&f, 3)] = true;
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB)), BERTH_OK);
    assert_int_equal(f.answer.option[0].part[0].hop[0].to, gpu(&f, 3));
    f.allowed.gpus[gpu(&f, 1)] = false;
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), MIB)), BERTH_NOTHING_ALLOWED);
    end(&f);
}

/* Where that was measured each piece takes 4 us more than in a queue, but a hop's first one, for
 * which it really waits, a call; each is started in 2.5 us, so that starting them holds nothing up.
 */
static void pieces_cost_what_waiting_for_events_was_measured_to(void **state)
{
    (void)state;
    struct fixture f = begin();
    rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "", 20);
    rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 2), "", 100);
    rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 2), gpu(&f, 1), "", 50);
    const int hops[][2] = {{0, 1}, {0, 2}, {2, 1}};
    for (int i = 0; i < 3; i++) {
        overheads(&f, gpu(&f, hops[i][0]), gpu(&f, hops[i][1]), METRIC_GPU_GPU_COPY_ENGINE, 9000,
                  2000);
        chains(&f, gpu(&f, hops[i][0]), gpu(&f, hops[i][1]), METRIC_GPU_GPU_COPY_ENGINE, 6000, 2500,
               1000);
    }
    in_run(&f, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, (int[]){0, 2, 1}, 3);
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 64 * MIB)), BERTH_OK);
    const struct route_option *best = &f.answer.option[0];
    assert_int_equal(best->part[0].hop_count, 2);
    double least = INFINITY, chunk = 0;
    for (int64_t piece = 65536; piece < 64 * MIB; piece *= 2) {
        double c = (double)piece, time = 7000 + c / 100 + 2000 + 7000 + c / 50 + 2000 +
                                         (64.0 * MIB / c - 1) * fmax(c / 50 + 6000, 5000);
        chunk = time < least ? c : chunk;
        least = fmin(time, least);
    }
    assert_within(best->part[0].chunk_bytes, chunk, 0);
    assert_within(best->predicted.time_ns, least, 1e-9);
    end(&f);
}

/* The same by kernel, whose first piece, too, really waits 3 us more than in a queue, as was
 * measured: no call's time. */
static void a_kernels_first_piece_costs_what_waiting_was_measured_to(void **state)
{
    (void)state;
    struct fixture f = begin();
    rate(&f, METRIC_GPU_GPU_KERNEL, gpu(&f, 0), gpu(&f, 1), "", 20);
    rate(&f, METRIC_GPU_GPU_KERNEL, gpu(&f, 0), gpu(&f, 2), "", 100);
    rate(&f, METRIC_GPU_GPU_KERNEL, gpu(&f, 2), gpu(&f, 1), "", 100);
    const int hops[][2] = {{0, 1}, {0, 2}, {2, 1}};
    for (int i = 0; i < 3; i++) {
        char axes[TRANSFER_AXES_MAX];
        overheads(&f, gpu(&f, hops[i][0]), gpu(&f, hops[i][1]), METRIC_GPU_GPU_KERNEL, 12000, 4000);
        chains(&f, gpu(&f, hops[i][0]), gpu(&f, hops[i][1]), METRIC_GPU_GPU_KERNEL, 5000, 2500,
               1000);
        transfer_overhead_axes(METRIC_GPU_GPU_KERNEL, "", TRANSFER_BEHIND, axes, sizeof axes);
        starting(&f, gpu(&f, hops[i][0]), gpu(&f, hops[i][1]), axes, 7000);
    }
    in_run(&f, METRIC_GPU_GPU_KERNEL_CONCURRENT, (int[]){0, 2, 1}, 3);
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), MIB)), BERTH_OK);
    const struct route_option *best = &f.answer.option[0];
    assert_int_equal(best->part[0].hop_count, 2);
    double least = 12000 + MIB / 100.0 + 7000 + MIB / 100.0;
    for (int64_t piece = 65536; piece < MIB; piece *= 2) {
        double c = (double)piece;
        least = fmin(least, 12000 + c / 100 + 7000 + c / 100 +
                                ((double)MIB / c - 1) * fmax(c / 100 + 5000, 5000));
    }
    assert_within(best->predicted.time_ns, least, 1e-9);
    /* nothing is in doubt but what was measured */
    assert_true(best->predicted.low_ns > 0.9 * least && best->predicted.high_ns < 1.1 * least);
    end(&f);
}

/* By kernel somewhat faster, as far as is known of both directions at once, which nobody measured:
 * copy engines, which leave the gpus free, go first until it is clear. */
static void a_kernel_goes_first_where_it_is_measured_or_clearly_faster(void **state)
{
    (void)state;
    const struct {
        double kernel;
        bool is_measured;
        enum mechanism first;
    } cases[] = {{102, false, MECHANISM_COPY_ENGINE},
                 {110, false, MECHANISM_KERNEL},
                 {102, true, MECHANISM_KERNEL},
                 {98, true, MECHANISM_COPY_ENGINE}};
    for (size_t i = 0; i < 4; i++) {
        struct fixture f = begin();
        rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "", 100);
        rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "direction=both", 200);
        rate(&f, METRIC_GPU_GPU_KERNEL, gpu(&f, 0), gpu(&f, 1), "", cases[i].kernel);
        if (cases[i].is_measured)
            rate(&f, METRIC_GPU_GPU_KERNEL, gpu(&f, 0), gpu(&f, 1), "direction=both",
                 2 * cases[i].kernel);
        overheads(&f, gpu(&f, 0), gpu(&f, 1), METRIC_GPU_GPU_COPY_ENGINE, 8000, 1000);
        overheads(&f, gpu(&f, 0), gpu(&f, 1), METRIC_GPU_GPU_KERNEL, 8000, 1000);
        assert_int_equal(ask(&f, (struct route_request){.from = gpu(&f, 0),
                                                        .to = gpu(&f, 1),
                                                        .bytes = 1024 * MIB,
                                                        .both = true}),
                         BERTH_OK);
        assert_int_equal(f.answer.option[0].part[0].hop[0].by, cases[i].first);
        /* of fewer bytes a tenth of the rate is nothing */
        assert_int_equal(f.answer.crossover_count, i == 1);
        assert_true(told(&f.answer.reasons, REASON_GAINS_LITTLE) == (i == 0));
        assert_true(f.answer.option[1].may_lead == (i != 0));
        end(&f);
    }
}

/* Sizes from 64 KiB on, and what a call costs: less is between the two. */
static void few_bytes_are_known_where_a_call_is(void **state)
{
    (void)state;
    for (int is_called = 0; is_called < 2; is_called++) {
        struct fixture f = begin();
        rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "bytes=65536", 65536 / 3000.0);
        rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "bytes=4194304",
             4194304 / 44000.0);
        rate(&f, METRIC_GPU_GPU_KERNEL, gpu(&f, 0), gpu(&f, 1), "", 100);
        overheads(&f, gpu(&f, 0), gpu(&f, 1), METRIC_GPU_GPU_KERNEL, 12000, 4000);
        if (is_called)
            overheads(&f, gpu(&f, 0), gpu(&f, 1), METRIC_GPU_GPU_COPY_ENGINE, 6000, 2000);
        values_finish(f.values);
        assert_true(curve_fill_large(f.values, f.graph));
        assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 8192)), BERTH_OK);
        assert_int_equal(f.answer.option[0].part[0].hop[0].by,
                         is_called ? MECHANISM_COPY_ENGINE : MECHANISM_KERNEL);
        assert_true(told(&f.answer.warnings, REASON_START_NOT_MEASURED) == !is_called);
        end(&f);
    }
}

static void both_directions_take_what_they_were_measured_to(void **state)
{
    (void)state;
    struct fixture f = begin();
    rate(&f, METRIC_HOST_GPU_COPY_ENGINE, numa(&f, 0), gpu(&f, 4), "", 50);
    rate(&f, METRIC_HOST_GPU_COPY_ENGINE, gpu(&f, 4), numa(&f, 0), "", 50);
    rate(&f, METRIC_HOST_GPU_COPY_ENGINE, numa(&f, 0), gpu(&f, 4), "direction=both", 80);
    rate(&f, METRIC_HOST_GPU_COPY_ENGINE, numa(&f, 1), gpu(&f, 4), "", 50);
    struct route_request request = of(gpu(&f, 4), numa(&f, 0), 64 * MIB);
    assert_int_equal(ask(&f, request), BERTH_OK);
    assert_within(f.answer.option[0].predicted.time_ns, 64.0 * MIB / 50, 1e-9);
    request.both = true;
    assert_int_equal(ask(&f, request), BERTH_OK);
    assert_within(f.answer.option[0].predicted.time_ns, 64.0 * MIB / 40, 1e-9);
    assert_false(told(&f.answer.warnings, REASON_BOTH_NOT_MEASURED));
    request.from = numa(&f, 1);
    request.to = gpu(&f, 4);
    assert_int_equal(ask(&f, request), BERTH_OK);
    assert_within(f.answer.option[0].predicted.time_ns, 64.0 * MIB / 40, 1e-9);
    assert_true(isnan(f.answer.option[0].predicted.low_ns) &&
                told(&f.answer.warnings, REASON_BOTH_NOT_MEASURED));
    end(&f);
}

/* The kernel would be faster if the other direction did not disturb it, which nobody measured. */
static void what_is_not_known_of_both_directions_is_as_structure_has_it(void **state)
{
    (void)state;
    struct fixture f = begin();
    rate(&f, METRIC_HOST_GPU_COPY_ENGINE, numa(&f, 0), gpu(&f, 4), "", 50);
    rate(&f, METRIC_HOST_GPU_COPY_ENGINE, gpu(&f, 4), numa(&f, 0), "", 50);
    rate(&f, METRIC_HOST_GPU_COPY_ENGINE, numa(&f, 0), gpu(&f, 4), "direction=both", 80);
    rate(&f, METRIC_HOST_GPU_KERNEL, gpu(&f, 4), numa(&f, 0), "", 52);
    struct route_request request = of(gpu(&f, 4), numa(&f, 0), 256 * MIB);
    assert_int_equal(ask(&f, request), BERTH_OK);
    assert_int_equal(f.answer.option[0].part[0].hop[0].by, MECHANISM_KERNEL);
    request.both = true;
    assert_int_equal(ask(&f, request), BERTH_OK);
    assert_int_equal(f.answer.count, 2);
    assert_int_equal(f.answer.option[0].part[0].hop[0].by, MECHANISM_COPY_ENGINE);
    assert_within(f.answer.option[0].predicted.time_ns, 256.0 * MIB / 40, 1e-9);
    assert_true(told(&f.answer.warnings, REASON_BOTH_NOT_MEASURED));
    assert_int_equal(f.answer.crossover_count, 0);
    /* they meet in the module's port: it loses as much as the engine does */
    assert_within(f.answer.option[1].predicted.time_ns, 256.0 * MIB / 52 * 1.25, 1e-9);
    assert_true(isnan(f.answer.option[1].predicted.high_ns));
    end(&f);
    /* One direction after the other it is still faster than the engine in both at once. */
    f = begin();
    rate(&f, METRIC_HOST_GPU_COPY_ENGINE, gpu(&f, 4), numa(&f, 0), "", 50);
    rate(&f, METRIC_HOST_GPU_COPY_ENGINE, gpu(&f, 4), numa(&f, 0), "direction=both", 80);
    rate(&f, METRIC_HOST_GPU_KERNEL, gpu(&f, 4), numa(&f, 0), "", 90);
    request.from = gpu(&f, 4);
    request.to = numa(&f, 0);
    assert_int_equal(ask(&f, request), BERTH_OK);
    assert_int_equal(f.answer.option[0].part[0].hop[0].by, MECHANISM_KERNEL);
    assert_true(told(&f.answer.warnings, REASON_BOTH_NOT_MEASURED));
    end(&f);
}

/* The receiver's engine has 0.5 % more and starts later; then it has 10 % more. */
static void the_senders_engine_is_taken_unless_the_receivers_is_better(void **state)
{
    (void)state;
    for (int much = 0; much < 2; much++) {
        struct fixture f = begin();
        char axes[TRANSFER_AXES_MAX];
        rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "", 400);
        rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "direction=read",
             much ? 440 : 402);
        overheads(&f, gpu(&f, 0), gpu(&f, 1), METRIC_GPU_GPU_COPY_ENGINE, 8000, 2000);
        transfer_overhead_axes(METRIC_GPU_GPU_COPY_ENGINE, "direction=read", TRANSFER_CALL, axes,
                               sizeof axes);
        starting(&f, gpu(&f, 0), gpu(&f, 1), axes, 11000);
        transfer_overhead_axes(METRIC_GPU_GPU_COPY_ENGINE, "direction=read", TRANSFER_QUEUE, axes,
                               sizeof axes);
        starting(&f, gpu(&f, 0), gpu(&f, 1), axes, 2000);
        assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 4096)), BERTH_OK);
        assert_int_equal(f.answer.option[0].part[0].hop[0].driver, gpu(&f, much ? 1 : 0));
        assert_within(f.answer.option[0].predicted.time_ns,
                      (much ? 11000 : 8000) + 4096.0 / (much ? 440 : 400), 1e-9);
        end(&f);
    }
}

/* Through gpu2 at 62 GB/s instead of 60: less than what two transfers must be better by. At 80 it
 * is. */
static void ways_around_are_advised_only_where_they_are_clearly_better(void **state)
{
    (void)state;
    for (int clear = 0; clear < 2; clear++) {
        struct fixture f = begin();
        double around = clear ? 80 : 62;
        rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "", 60);
        rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 2), "", around);
        rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 2), gpu(&f, 1), "", around);
        overheads(&f, gpu(&f, 0), gpu(&f, 1), METRIC_GPU_GPU_COPY_ENGINE, 8000, 2000);
        overheads(&f, gpu(&f, 0), gpu(&f, 2), METRIC_GPU_GPU_COPY_ENGINE, 7000, 2000);
        overheads(&f, gpu(&f, 2), gpu(&f, 1), METRIC_GPU_GPU_COPY_ENGINE, 7000, 2000);
        in_run(&f, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, (int[]){0, 2, 1}, 3);
        assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 4096 * MIB)), BERTH_OK);
        assert_int_equal(f.answer.count, 2);
        assert_int_equal(f.answer.option[0].part[0].hop_count, clear ? 2 : 1);
        assert_true(clear ||
                    f.answer.option[1].predicted.time_ns < f.answer.option[0].predicted.time_ns);
        /* In one piece: a call for each hop. */
        assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 4096)), BERTH_OK);
        assert_int_equal(f.answer.option[1].part[0].hop_count, 2);
        assert_within(f.answer.option[1].predicted.time_ns, 14000 + 2 * 4096 / around, 1e-9);
        end(&f);
    }
}

/* 0 and 1 share a narrow link; 0-2 and 2-1 are wide. */
static void without_measurements_the_widest_path_of_links_counts(void **state)
{
    (void)state;
    struct fixture f = begin();
    const struct {
        int a, b;
        double gb_per_s;
        enum link_state state;
    } links[] = {{0, 1, 50, LINK_UP},
                 {0, 2, 100, LINK_UP},
                 {2, 1, 200, LINK_UP},
                 {0, 3, 400, LINK_UP},
                 {3, 1, 400, LINK_DOWN}};
    f.graph->link_count = 0; /* instead of the node's own */
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        struct link *link =
            graph_add_link(f.graph, gpu(&f, links[i].a), gpu(&f, links[i].b), LINK_XGMI);
        link->nominal_bytes_per_s = links[i].gb_per_s * GB;
        link->state = links[i].state;
    }
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 64 * MIB)), BERTH_OK);
    assert_int_equal(f.answer.count, 4); /* directly and over gpu2, by either mechanism */
    /* AMD's engines may not fill links, which is all that tells of either */
    assert_int_equal(f.answer.option[0].part[0].hop[0].by, MECHANISM_KERNEL);
    /* three quarters of what they are said to carry */
    assert_within(f.answer.option[0].predicted.time_ns, 64.0 * MIB / 75, 1e-9);
    assert_within(f.answer.option[1].predicted.time_ns, 64.0 * MIB / 75, 1e-9);
    assert_true(f.answer.option[0].predicted.low_ns == f.answer.option[0].predicted.time_ns &&
                isnan(f.answer.option[0].predicted.high_ns));
    assert_int_equal(f.answer.option[0].why_count, 1);
    const struct value *stated = f.answer.evidence.item[f.answer.option[0].why];
    assert_true(stated->metric == METRIC_GPU_GPU_KERNEL && stated->source == VALUE_NOMINAL &&
                stated->from == gpu(&f, 0) && stated->to == gpu(&f, 1));
    assert_within(stated->value, 100 * GB, 1e-9);
    assert_false(told(&f.answer.warnings, REASON_START_NOT_MEASURED));
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 4096)), BERTH_OK);
    assert_true(told(&f.answer.warnings, REASON_START_NOT_MEASURED));
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 64 * MIB)), BERTH_OK);
    assert_true(
        lines_with(&f.answer.warnings,
                   "it counts with the stated rate of the links and the efficiency of such"));
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 7), MIB)), BERTH_NOT_MEASURED);
    assert_string_equal(f.err.arg[2].text, "gpu7");
    end(&f);
}

/* An engine of gfx90a stops at 50 GB/s, whatever links carry, which is published and goes before
 * what links say of a kernel; between gpus of NVIDIA both are as links say, and the engine goes
 * first. */
static void what_is_published_of_engines_bounds_what_links_are_said_to_carry(void **state)
{
    (void)state;
    for (int amd = 0; amd < 2; amd++) {
        struct fixture f = begin();
        for (int g = 0; g < 2; g++) {
            struct place *place = &f.graph->places[gpu(&f, g)];
            assert_true(place_set_detail(place, "vendor", amd ? "amd" : "nvidia") &&
                        place_set_detail(place, "gfx", "gfx90a"));
        }
        f.graph->link_count = 0;
        graph_add_link(f.graph, gpu(&f, 0), gpu(&f, 1), LINK_XGMI)->nominal_bytes_per_s = 200 * GB;
        assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 64 * MIB)), BERTH_OK);
        assert_int_equal(f.answer.count, 2);
        const struct route_option *first = &f.answer.option[0], *second = &f.answer.option[1];
        const struct value *stated = f.answer.evidence.item[first->why];
        assert_int_equal(first->part[0].hop[0].by, MECHANISM_COPY_ENGINE);
        assert_within(first->predicted.time_ns, 64.0 * MIB / (amd ? 50 : 150), 1e-9);
        assert_within(second->predicted.time_ns, 64.0 * MIB / 150, 1e-9);
        assert_string_equal(second->worth_measuring, amd ? "berth probe gpu_gpu_kernel" : "");
        assert_int_equal(stated->source, amd ? VALUE_PUBLISHED : VALUE_NOMINAL);
        assert_within(stated->value, (amd ? 50 : 200) * GB, 1e-9);
        assert_int_equal(lines_with(&f.answer.warnings, "the published limit of such copy engines"),
                         amd);
        end(&f);
    }
}

static void what_makes_no_sense_is_refused_by_name(void **state)
{
    (void)state;
    struct fixture f = begin();
    place_id core = nodes_place(f.graph, PLACE_CORE, 0);
    assert_int_equal(ask(&f, of(core, gpu(&f, 0), 1)), BERTH_INVALID_PARAMETER);
    assert_string_equal(f.err.arg[0].text, "from");
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 0), 1)), BERTH_INVALID_PARAMETER);
    assert_string_equal(f.err.arg[0].text, "to");
    assert_int_equal(ask(&f, of(numa(&f, 0), numa(&f, 1), 1)), BERTH_INVALID_PARAMETER);
    assert_int_equal(ask(&f, of(numa(&f, 0), gpu(&f, 1), 0)), BERTH_INVALID_PARAMETER);
    assert_string_equal(f.err.arg[0].text, "bytes");
    end(&f);
}

/* Of starting in 10 us each and 60 GB/s, or 100 through gpu2: where the two cross, what takes two
 * transfers goes first only from where it is clearly better. */
static void one_transfer_leads_where_others_are_not_clearly_better(void **state)
{
    (void)state;
    struct fixture f = begin();
    rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "", 60);
    overheads(&f, gpu(&f, 0), gpu(&f, 1), METRIC_GPU_GPU_COPY_ENGINE, 10000, 2000);
    for (int hop = 0; hop < 2; hop++) {
        rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, hop == 0 ? 0 : 2), gpu(&f, hop == 0 ? 2 : 1),
             "", 100);
        overheads(&f, gpu(&f, hop == 0 ? 0 : 2), gpu(&f, hop == 0 ? 2 : 1),
                  METRIC_GPU_GPU_COPY_ENGINE, 10000, 2000);
    }
    in_run(&f, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, (int[]){0, 2, 1}, 3);
    size_t passed = 0, led = 0;
    for (int64_t bytes = MIB / 4; bytes <= 64 * MIB; bytes += bytes / 16) {
        assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), bytes)), BERTH_OK);
        const struct route_option *first = &f.answer.option[0], *next = &f.answer.option[1];
        bool is_direct = route_is_direct(first);
        double gain = next->predicted.time_ns / first->predicted.time_ns - 1;
        assert_true(is_direct ? gain >= -POLICY_SIMILAR - 1e-9 : gain > POLICY_SIMILAR);
        assert_true(told(&f.answer.reasons, REASON_GAINS_LITTLE) == (is_direct && gain < 0));
        assert_true(led == 0 || !is_direct); /* once it leads, it does for more bytes */
        assert_int_equal(f.answer.crossover_count, 1);
        /* it is given away there, too: as much as at the size asked for */
        double at = (double)f.answer.crossover[0].bytes, asked = (double)bytes;
        assert_true(f.answer.crossover[0].below == (is_direct ? 0 : 1) &&
                    (is_direct ? asked < at * 1.02 : asked > at * 0.98));
        passed += is_direct && gain < 0;
        led += !is_direct;
    }
    assert_true(passed > 0 && led > 0);
    end(&f);
}

/* Twice the bytes, the same choice; and renaming devices leaves the time. */
static void large_sizes_scale(void **state)
{
    (void)state;
    struct fixture f = begin();
    rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "", 40);
    rate(&f, METRIC_GPU_GPU_KERNEL, gpu(&f, 0), gpu(&f, 1), "", 80);
    rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 5), gpu(&f, 6), "", 40);
    rate(&f, METRIC_GPU_GPU_KERNEL, gpu(&f, 5), gpu(&f, 6), "", 80);
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), INT64_C(1) << 30)), BERTH_OK);
    double once = f.answer.option[0].predicted.time_ns;
    assert_int_equal(f.answer.option[0].part[0].hop[0].by, MECHANISM_KERNEL);
    assert_int_equal(ask(&f, of(gpu(&f, 5), gpu(&f, 6), INT64_C(1) << 31)), BERTH_OK);
    assert_int_equal(f.answer.option[0].part[0].hop[0].by, MECHANISM_KERNEL);
    assert_within(f.answer.option[0].predicted.time_ns, 2 * once, 1e-9);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_winner_changes_where_the_times_cross),
        cmocka_unit_test(sizes_that_were_measured_make_the_time),
        cmocka_unit_test(pieces_follow_each_other_through_another_gpu),
        cmocka_unit_test(pieces_cost_what_waiting_for_events_was_measured_to),
        cmocka_unit_test(a_kernels_first_piece_costs_what_waiting_was_measured_to),
        cmocka_unit_test(a_kernel_goes_first_where_it_is_measured_or_clearly_faster),
        cmocka_unit_test(few_bytes_are_known_where_a_call_is),
        cmocka_unit_test(both_directions_take_what_they_were_measured_to),
        cmocka_unit_test(what_is_not_known_of_both_directions_is_as_structure_has_it),
        cmocka_unit_test(the_senders_engine_is_taken_unless_the_receivers_is_better),
        cmocka_unit_test(ways_around_are_advised_only_where_they_are_clearly_better),
        cmocka_unit_test(one_transfer_leads_where_others_are_not_clearly_better),
        cmocka_unit_test(without_measurements_the_widest_path_of_links_counts),
        cmocka_unit_test(what_is_published_of_engines_bounds_what_links_are_said_to_carry),
        cmocka_unit_test(what_makes_no_sense_is_refused_by_name),
        cmocka_unit_test(large_sizes_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
