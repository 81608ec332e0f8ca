/* Concurrent transfers: paths of a split, both directions, other transfers; and the width of the
 * interval of one call. */
#include "unit/plan/route/route_nodes.h"

#include "plan/route/call.h"

/* By both mechanisms, with links. */
static void pair(struct fixture *f, int a, int b, double engine, double kernel)
{
    for (int back = 0; back < 2; back++) {
        place_id from = gpu(f, back ? b : a), to = gpu(f, back ? a : b);
        rate(f, METRIC_GPU_GPU_COPY_ENGINE, from, to, "", engine);
        overheads(f, from, to, METRIC_GPU_GPU_COPY_ENGINE, 10000, 4000);
        if (kernel > 0) {
            rate(f, METRIC_GPU_GPU_KERNEL, from, to, "", kernel);
            overheads(f, from, to, METRIC_GPU_GPU_KERNEL, 10000, 4000);
        }
    }
    join(f, a, b, 100);
}

static void both(struct fixture *f, enum metric metric, int a, int b, double together)
{
    rate(f, metric, gpu(f, a), gpu(f, b), "direction=both", together);
}

static const struct route_option *first(struct fixture *f, struct route_request request)
{
    assert_int_equal(ask(f, request), BERTH_OK);
    return &f->answer.option[0];
}

static bool passes(const struct route_option *option, place_id via)
{
    for (size_t w = 0; w < option->part_count; w++)
        for (size_t h = 1; h < option->part[w].hop_count; h++)
            if (option->part[w].hop[h].from == via)
                return true;
    return false;
}

/* The hops from gpu0 to gpu1, directly and over gpu4. */
static void sent_together(struct fixture *f, enum metric metric, double gb_per_s)
{
    together(f, metric,
             (struct together[]){{gpu(f, 0), gpu(f, 1), gb_per_s},
                                 {gpu(f, 0), gpu(f, 4), gb_per_s},
                                 {gpu(f, 4), gpu(f, 1), gb_per_s}},
             3);
}

static void kernels_together(struct fixture *f)
{
    sent_together(f, METRIC_GPU_GPU_KERNEL_CONCURRENT, 90);
}

/* Kernels are twice as fast, and one program's share the gpu; each may get as little as half. */
static void kernels_of_a_split_share_a_gpu(void **state)
{
    (void)state;
    struct fixture f = begin();
    pair(&f, 0, 1, 50, 90);
    pair(&f, 0, 4, 50, 90);
    pair(&f, 4, 1, 50, 90);
    kernels_together(&f);
    const struct route_option *best = first(&f, of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB));
    assert_int_equal(best->part_count, 2);
    assert_int_equal(best->part[0].hop[0].by, MECHANISM_KERNEL);
    assert_int_equal(best->part[1].hop[0].by, MECHANISM_KERNEL);
    assert_true(best->part[0].kernels[0] == 2 && best->part[1].kernels[0] == 2 &&
                best->part[1].kernels[1] == 1);
    assert_within(best->predicted.time_ns, 1024 * MIB / 180.0, 0.06); /* pieces on their way */
    struct plan_call call;
    plan_call_make(f.graph, NULL, best, &call);
    assert_int_equal(call.variables.count, 0);
    assert_non_null(
        strstr(call.text, "a copy kernel with 1/2 of the blocks that fill the gpu on gpu0"));
    end(&f);
}

/* A kernel is faster, but only of engines it is known what both directions get at once: these have
 * their ways, and kernels theirs. */
static void kernels_have_ways_of_their_own_in_both_directions(void **state)
{
    (void)state;
    struct fixture f = begin();
    const int gpus[][2] = {{0, 1}, {0, 4}, {4, 1}};
    for (int i = 0; i < 3; i++) {
        pair(&f, gpus[i][0], gpus[i][1], 60, 90);
        both(&f, METRIC_GPU_GPU_COPY_ENGINE, gpus[i][0], gpus[i][1], 120);
    }
    kernels_together(&f);
    sent_together(&f, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, 60);
    const struct route_option *best =
        first(&f, (struct route_request){
                      .from = gpu(&f, 0), .to = gpu(&f, 1), .bytes = 1024 * MIB, .both = true});
    assert_int_equal(best->part_count, 2);
    assert_int_equal(best->part[0].hop[0].by, MECHANISM_KERNEL);
    assert_int_equal(best->part[1].hop[0].by, MECHANISM_KERNEL);
    assert_within(best->predicted.time_ns, 1024 * MIB / 180.0, 0.06);
    assert_true(!best->knows_both && isnan(best->predicted.high_ns));
    const struct route_option *engines = first(&f, (struct route_request){.from = gpu(&f, 0),
                                                                          .to = gpu(&f, 1),
                                                                          .bytes = 1024 * MIB,
                                                                          .both = true,
                                                                          .overlap = true});
    assert_int_equal(engines->part_count, 2);
    assert_within(engines->predicted.time_ns, 1024 * MIB / 120.0, 0.06);
    end(&f);
}

/* What moves concurrent has a kernel there, too: three share the gpu, and each may get as little as
 * a third as long as that lasts. */
static void a_kernel_that_moves_concurrent_counts_with_those_of_a_split(void **state)
{
    (void)state;
    struct fixture f = begin();
    pair(&f, 0, 1, 50, 90);
    pair(&f, 0, 4, 50, 90);
    pair(&f, 4, 1, 50, 90);
    pair(&f, 0, 5, 50, 90);
    kernels_together(&f);
    struct route_transfer others[] = {{gpu(&f, 0), gpu(&f, 5), 1024 * MIB},
                                      {gpu(&f, 0), gpu(&f, 5), 1024 * MIB},
                                      {gpu(&f, 0), gpu(&f, 5), 1024 * MIB}};
    struct route_request request = of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB);
    double alone_ns = first(&f, request)->predicted.time_ns,
           alone_high_ns = f.answer.option[0].predicted.high_ns;
    request.concurrent = others;
    request.concurrent_count = 1;
    const struct route_option *best = first(&f, request);
    assert_true(best->part_count == 2 && best->part[0].hop[0].by == MECHANISM_KERNEL &&
                best->part[1].hop[0].by == MECHANISM_KERNEL);
    assert_within(best->predicted.time_ns, alone_ns, 1e-9);
    assert_true(!isnan(alone_high_ns) && isnan(best->predicted.high_ns)); /* never measured */
    assert_int_equal(best->part[0].kernels[0], 3);
    struct plan_call call;
    plan_call_make(f.graph, NULL, best, &call);
    assert_non_null(
        strstr(call.text, "a copy kernel with 1/3 of the blocks that fill the gpu on gpu0"));
    /* Four at most. */
    request.concurrent_count = 3;
    best = first(&f, request);
    for (size_t w = 1; w < best->part_count; w++)
        assert_int_equal(best->part[w].hop[0].by, MECHANISM_COPY_ENGINE);
    end(&f);
}

/* No run has the hops: one transfer leads, unless the request allows more. Once the run is there,
 * the split leads. */
static void a_split_leads_once_it_is_measured_or_where_that_is_allowed(void **state)
{
    (void)state;
    struct fixture f = begin();
    pair(&f, 0, 1, 50, 0);
    pair(&f, 0, 4, 50, 0);
    pair(&f, 4, 1, 50, 0);
    struct route_request request = of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB);
    assert_int_equal(first(&f, request)->part_count, 1);
    assert_true(told(&f.answer.reasons, REASON_NOT_MEASURED_TOGETHER) > 0);
    request.allow_unmeasured = true;
    assert_true(first(&f, request)->part_count == 2 &&
                f.answer.option[0].worth_measuring[0] == '\0');
    end(&f);
    f = begin();
    pair(&f, 0, 1, 50, 0);
    pair(&f, 0, 4, 50, 0);
    pair(&f, 4, 1, 50, 0);
    sent_together(&f, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, 50);
    request = of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB);
    assert_int_equal(first(&f, request)->part_count, 2);
    end(&f);
}

/* A run of more transfers has the hops: at the rates that they got there the split leads, or not.
 */
static void a_larger_run_is_a_bound_of_what_a_split_gets(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        struct fixture f = begin();
        pair(&f, 0, 1, 50, 0);
        pair(&f, 0, 4, 50, 0);
        pair(&f, 4, 1, 50, 0);
        pair(&f, 2, 3, 50, 0);
        double got = slow ? 25 : 45;
        together(&f, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT,
                 (struct together[]){{gpu(&f, 0), gpu(&f, 1), got},
                                     {gpu(&f, 0), gpu(&f, 4), got},
                                     {gpu(&f, 4), gpu(&f, 1), got},
                                     {gpu(&f, 2), gpu(&f, 3), got}},
                 4);
        const struct route_option *best = first(&f, of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB));
        assert_int_equal(best->part_count, slow ? 1 : 2);
        end(&f);
    }
}

/* Two packages with a gpu each, and a third gpu beside the first. Across goes less, once; but over
 * the gpu of the memory's own package more. */
static void ways_of_two_packages_are_taken_together_but_for_what_crosses(void **state)
{
    (void)state;
    struct fixture f = {.graph = nodes_cpu(&(struct shape){2, 1, 1, 2, 1, INT64_C(64) << 30}),
                        .values = values_new(),
                        .allowed = {.given = true}};
    assert_non_null(f.values);
    for (int g = 0; g < 4; g++) {
        nodes_add(f.graph, PLACE_GPU, g, 0, nodes_place(f.graph, PLACE_NUMA, g / 2), NULL);
        graph_add_link(f.graph, gpu(&f, g), numa(&f, g / 2), LINK_PCIE)->nominal_bytes_per_s =
            60 * GB;
    }
    graph_add_link(f.graph, numa(&f, 0), numa(&f, 1), LINK_SMP);
    static const double gb_per_s[] = {50, 50, 20, 20}; /* from numa0 */
    for (int g = 0; g < 4; g++) {
        rate(&f, METRIC_HOST_GPU_COPY_ENGINE, numa(&f, 0), gpu(&f, g), "", gb_per_s[g]);
        overheads(&f, numa(&f, 0), gpu(&f, g), METRIC_HOST_GPU_COPY_ENGINE, 10000, 4000);
        for (int h = 0; h < g; h++)
            pair(&f, h, g, 90, 0);
    }
    together(&f, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT,
             (struct together[]){{numa(&f, 0), gpu(&f, 0), 50},
                                 {numa(&f, 0), gpu(&f, 1), 50},
                                 {numa(&f, 0), gpu(&f, 2), 20}},
             3);
    together(&f, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT,
             (struct together[]){{gpu(&f, 0), gpu(&f, 2), 90}, {gpu(&f, 1), gpu(&f, 2), 90}}, 2);
    const struct route_option *best = first(&f, of(numa(&f, 0), gpu(&f, 2), 1024 * MIB));
    assert_int_equal(best->part_count, 3);
    assert_true(passes(best, gpu(&f, 0)) && passes(best, gpu(&f, 1)) && !passes(best, gpu(&f, 3)));
    assert_within(best->predicted.time_ns, 1024 * MIB / 120.0, 0.06); /* pieces on their way */
    end(&f);
}

/* Over three ways, each of which was measured in both directions at once. */
static void both_directions_take_as_many_ways_as_were_measured(void **state)
{
    (void)state;
    struct fixture f = begin();
    static const int pairs[][2] = {{0, 1}, {0, 4}, {4, 1}, {0, 6}, {6, 1}};
    for (size_t i = 0; i < 5; i++) {
        pair(&f, pairs[i][0], pairs[i][1], 50, 0);
        both(&f, METRIC_GPU_GPU_COPY_ENGINE, pairs[i][0], pairs[i][1], 100);
    }
    together(&f, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT,
             (struct together[]){{gpu(&f, 0), gpu(&f, 1), 50},
                                 {gpu(&f, 0), gpu(&f, 4), 50},
                                 {gpu(&f, 0), gpu(&f, 6), 50},
                                 {gpu(&f, 4), gpu(&f, 1), 50},
                                 {gpu(&f, 6), gpu(&f, 1), 50}},
             5);
    struct route_request request = of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB);
    request.both = true;
    const struct route_option *best = first(&f, request);
    assert_int_equal(best->part_count, 3);
    assert_within(best->predicted.time_ns, 1024 * MIB / 150.0, 0.06);
    end(&f);
}

/* From host memory over three modules' ports, but over two of them while as many bytes come back:
 * what three get then nobody measured. */
static void ways_that_are_left_out_in_both_directions_are_told(void **state)
{
    (void)state;
    struct fixture f = begin();
    for (int g = 0; g <= 4; g += 2) {
        rate(&f, METRIC_HOST_GPU_COPY_ENGINE, numa(&f, 3), gpu(&f, g), "", 25);
        rate(&f, METRIC_HOST_GPU_COPY_ENGINE, numa(&f, 3), gpu(&f, g), "direction=both", 50);
        overheads(&f, numa(&f, 3), gpu(&f, g), METRIC_HOST_GPU_COPY_ENGINE, 10000, 4000);
        if (g > 0) {
            pair(&f, g, 0, 90, 0);
            both(&f, METRIC_GPU_GPU_COPY_ENGINE, g, 0, 180);
        }
    }
    together(&f, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT,
             (struct together[]){{numa(&f, 3), gpu(&f, 0), 25},
                                 {numa(&f, 3), gpu(&f, 2), 25},
                                 {numa(&f, 3), gpu(&f, 4), 25}},
             3);
    together(&f, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT,
             (struct together[]){{gpu(&f, 2), gpu(&f, 0), 90}, {gpu(&f, 4), gpu(&f, 0), 90}}, 2);
    struct route_request request = of(numa(&f, 3), gpu(&f, 0), 1024 * MIB);
    assert_int_equal(first(&f, request)->part_count, 3);
    request.both = true;
    assert_int_equal(first(&f, request)->part_count, 2);
    assert_true(told(&f.answer.reasons, REASON_NOT_MEASURED_TOGETHER) == 1);
    end(&f);
}

static void what_starts_a_transfer_takes_no_longer_for_the_other_direction(void **state)
{
    (void)state;
    struct fixture f = begin();
    pair(&f, 0, 1, 50, 0);
    both(&f, METRIC_GPU_GPU_COPY_ENGINE, 0, 1, 50);
    struct route_request request = of(gpu(&f, 0), gpu(&f, 1), 65536);
    double alone_ns = first(&f, request)->predicted.time_ns;
    request.both = true;
    assert_within(first(&f, request)->predicted.time_ns - alone_ns, 65536 / 50.0, 0.01);
    end(&f);
}

/* What else goes over gpu0's link to gpu4 leaves half of it: that is worth having of 60 GB/s, and
 * of 10, too, because the best of all is taken that may lead. */
static void a_split_shares_with_what_moves_concurrent(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct fixture f = begin();
        static const int pairs[][2] = {{0, 1}, {0, 4}, {4, 1}, {0, 6}, {6, 1}};
        for (size_t i = 0; i < 5; i++)
            pair(&f, pairs[i][0], pairs[i][1], i == 1 ? (wide ? 60 : 10) : 50, 0);
        together(&f, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT,
                 (struct together[]){{gpu(&f, 0), gpu(&f, 1), 50},
                                     {gpu(&f, 0), gpu(&f, 4), wide ? 60 : 10},
                                     {gpu(&f, 0), gpu(&f, 6), 50},
                                     {gpu(&f, 4), gpu(&f, 1), 50},
                                     {gpu(&f, 6), gpu(&f, 1), 50}},
                 5);
        struct route_request request = of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB);
        struct route_transfer other = {gpu(&f, 0), gpu(&f, 4), 1024 * MIB};
        assert_true(passes(first(&f, request), gpu(&f, 4)));
        request.concurrent = &other;
        request.concurrent_count = 1;
        const struct route_option *best = first(&f, request);
        assert_true(best->part_count == 3 && passes(best, gpu(&f, 6)) && passes(best, gpu(&f, 4)));
        assert_within(best->predicted.time_ns, 1024 * MIB / (wide ? 130.0 : 105.0), 0.05);
        size_t splits = 0;
        for (size_t i = 0; i < f.answer.count; i++)
            splits += f.answer.option[i].part_count > 1;
        assert_true(splits >= 1);
        end(&f);
    }
}

/* Over gpu4 it is faster alone, and over gpu6 while something else goes to gpu4; the one through
 * one gpu is the better of them. */
static void the_way_through_a_gpu_is_the_best_beside_what_moves_concurrent(void **state)
{
    (void)state;
    struct fixture f = begin();
    static const int pairs[][2] = {{0, 1}, {0, 4}, {4, 1}, {0, 6}, {6, 1}};
    static const double gb_per_s[] = {10, 60, 60, 50, 50};
    for (size_t i = 0; i < 5; i++)
        pair(&f, pairs[i][0], pairs[i][1], gb_per_s[i], 0);
    struct route_transfer other = {gpu(&f, 0), gpu(&f, 4), 1024 * MIB};
    struct route_request request = of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB);
    for (size_t beside = 0; beside < 2; beside++) {
        size_t found = 0;
        request.concurrent = &other;
        request.concurrent_count = beside;
        (void)first(&f, request);
        for (size_t i = 0; i < f.answer.count; i++) {
            const struct route_option *option = &f.answer.option[i];
            if (option->part_count > 1 || option->part[0].hop_count != 2)
                continue;
            found++;
            assert_int_equal(option->part[0].hop[1].from, gpu(&f, beside ? 6 : 4));
            assert_within(option->predicted.time_ns, 1024 * MIB / (beside ? 50.0 : 60.0), 0.05);
        }
        assert_int_equal(found, 1);
    }
    end(&f);
}

/* numa3 takes 90 GB/s, and each port 50: a third way is worth nothing alone. The other gpu of its
 * module leaves gpu0 half of their port, and then two ways through other modules carry all of it.
 */
static void two_ways_do_without_the_direct_one_that_is_slowed(void **state)
{
    (void)state;
    struct fixture f = begin();
    static const int with_host[] = {0, 1, 4, 6};
    for (size_t i = 0; i < 4; i++) {
        rate(&f, METRIC_HOST_GPU_COPY_ENGINE, gpu(&f, with_host[i]), numa(&f, i == 1 ? 2 : 3), "",
             50);
        overheads(&f, gpu(&f, with_host[i]), numa(&f, i == 1 ? 2 : 3), METRIC_HOST_GPU_COPY_ENGINE,
                  8000, 2000);
    }
    pair(&f, 0, 4, 100, 0);
    pair(&f, 0, 6, 100, 0);
    static const int runs[][3] = {{0, 4, 6}, {0, 4}, {0, 6}, {4, 6}};
    for (size_t r = 0; r < 4; r++) {
        struct together run[3];
        size_t count = r == 0 ? 3 : 2;
        for (size_t i = 0; i < count; i++)
            run[i] = (struct together){gpu(&f, runs[r][i]), numa(&f, 3), 90.0 / (double)count};
        together(&f, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, run, count);
    }
    together(&f, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT,
             (struct together[]){{gpu(&f, 0), gpu(&f, 4), 100}, {gpu(&f, 0), gpu(&f, 6), 100}}, 2);
    struct route_request request = of(gpu(&f, 0), numa(&f, 3), 1024 * MIB);
    const struct route_option *best = first(&f, request);
    assert_true(best->part_count == 2 && best->part[0].hop_count == 1);
    struct route_transfer other = {gpu(&f, 1), numa(&f, 2), 1024 * MIB};
    request.concurrent = &other;
    request.concurrent_count = 1;
    best = first(&f, request);
    assert_true(passes(best, gpu(&f, 4)) && passes(best, gpu(&f, 6)));
    assert_within(best->predicted.time_ns, 1024 * MIB / 90.0, 0.05);
    for (size_t w = 0; w < best->part_count; w++) /* little is left to the direct one */
        assert_true(best->part[w].hop_count == 2 || best->part[w].share < 0.4);
    end(&f);
}

/* Each with its part of the blocks gets what it gets alone, as far as links carry it; at most it
 * takes as long as at half of the gpu while the other lasts. */
static void kernels_on_one_gpu_share_it(void **state)
{
    (void)state;
    struct fixture f = begin();
    pair(&f, 0, 1, 50, 90);
    pair(&f, 0, 4, 20, 90);
    struct route_request request = of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB);
    struct route_transfer others[] = {{gpu(&f, 0), gpu(&f, 4), 4096 * MIB},
                                      {gpu(&f, 0), gpu(&f, 4), 256 * MIB}};
    double alone_ns = first(&f, request)->predicted.time_ns,
           alone_high_ns = f.answer.option[0].predicted.high_ns;
    assert_int_equal(f.answer.option[0].part[0].hop[0].by, MECHANISM_KERNEL);
    request.concurrent = others;
    request.concurrent_count = 1;
    const struct route_option *best = first(&f, request);
    assert_int_equal(best->part[0].hop[0].by, MECHANISM_KERNEL);
    assert_within(best->predicted.time_ns, alone_ns, 1e-9);
    assert_true(!isnan(alone_high_ns) && isnan(best->predicted.high_ns)); /* never measured */
    assert_null(best->shared);
    assert_int_equal(best->part[0].kernels[0], 2);
    struct plan_call call;
    plan_call_make(f.graph, NULL, best, &call);
    assert_non_null(strstr(call.text, "with 1/2 of the blocks that fill the gpu on gpu0"));
    request.concurrent_count = 0;
    best = first(&f, request);
    assert_int_equal(best->part[0].kernels[0], 1);
    end(&f);
}

/* The run has a copy over each port, but not the one that moves concurrently over the second. */
static void a_split_beside_a_copy_over_its_port_needs_a_run_of_both(void **state)
{
    (void)state;
    struct fixture f = begin();
    for (int g = 0; g < 8; g += 4) {
        rate(&f, METRIC_HOST_GPU_COPY_ENGINE, numa(&f, 3), gpu(&f, g), "", 25);
        overheads(&f, numa(&f, 3), gpu(&f, g), METRIC_HOST_GPU_COPY_ENGINE, 8000, 2000);
    }
    pair(&f, 4, 0, 100, 0);
    together(&f, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT,
             (struct together[]){{numa(&f, 3), gpu(&f, 0), 25}, {numa(&f, 3), gpu(&f, 4), 25}}, 2);
    struct route_request request = of(numa(&f, 3), gpu(&f, 0), 1024 * MIB);
    assert_int_equal(first(&f, request)->part_count, 2);
    struct route_transfer other = {numa(&f, 3), gpu(&f, 4), 1024 * MIB};
    request.concurrent = &other;
    request.concurrent_count = 1;
    assert_int_equal(first(&f, request)->part_count, 1);
    request.allow_unmeasured = true;
    const struct route_option *best = first(&f, request);
    assert_int_equal(best->part_count, 2);
    /* half of the second port, and all of it once the other copy has ended */
    assert_true(best->predicted.time_ns > 1024 * MIB / 50.0 &&
                best->predicted.time_ns < 1024 * MIB / 35.0);
    end(&f);
}

static void the_interval_of_a_call_has_what_calls_differ_by(void **state)
{
    (void)state;
    double half_ns[2];
    for (int i = 0; i < 2; i++) {
        struct fixture f = begin();
        char axes[TRANSFER_AXES_MAX];
        rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "", 50);
        transfer_overhead_axes(METRIC_GPU_GPU_COPY_ENGINE, "", TRANSFER_QUEUE, axes, sizeof axes);
        starting(&f, gpu(&f, 0), gpu(&f, 1), axes, 4000);
        transfer_overhead_axes(METRIC_GPU_GPU_COPY_ENGINE, "", TRANSFER_CALL, axes, sizeof axes);
        nodes_value(f.values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, gpu(&f, 0), gpu(&f, 1),
                    axes, 10000, i == 0 ? NAN : 9000, i == 0 ? NAN : 11000);
        const struct estimate *time = &first(&f, of(gpu(&f, 0), gpu(&f, 1), 4096))->predicted;
        half_ns[i] = time->high_ns - time->time_ns;
        assert_within(time->time_ns - time->low_ns, half_ns[i], 1e-9);
        end(&f);
    }
    assert_true(half_ns[0] > 0 && half_ns[0] < 1000);
    assert_true(half_ns[1] > 1000); /* one more is farther off than their median */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_a_split_share_a_gpu),
        cmocka_unit_test(a_split_beside_a_copy_over_its_port_needs_a_run_of_both),
        cmocka_unit_test(kernels_have_ways_of_their_own_in_both_directions),
        cmocka_unit_test(a_split_leads_once_it_is_measured_or_where_that_is_allowed),
        cmocka_unit_test(a_larger_run_is_a_bound_of_what_a_split_gets),
        cmocka_unit_test(a_kernel_that_moves_concurrent_counts_with_those_of_a_split),
        cmocka_unit_test(ways_of_two_packages_are_taken_together_but_for_what_crosses),
        cmocka_unit_test(both_directions_take_as_many_ways_as_were_measured),
        cmocka_unit_test(ways_that_are_left_out_in_both_directions_are_told),
        cmocka_unit_test(what_starts_a_transfer_takes_no_longer_for_the_other_direction),
        cmocka_unit_test(a_split_shares_with_what_moves_concurrent),
        cmocka_unit_test(the_way_through_a_gpu_is_the_best_beside_what_moves_concurrent),
        cmocka_unit_test(two_ways_do_without_the_direct_one_that_is_slowed),
        cmocka_unit_test(kernels_on_one_gpu_share_it),
        cmocka_unit_test(the_interval_of_a_call_has_what_calls_differ_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
