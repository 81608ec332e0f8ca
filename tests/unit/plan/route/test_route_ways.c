/* Indirect paths, splits, calls of a program, and properties that hold for all measurements. */
#include "node/allowed.h"
#include "unit/plan/route/route_nodes.h"

#include "cost/policy.h"
#include "node/sets.h"
#include "plan/route/call.h"
#include "unit/base/random.h"

/* Each way between two gpus, with what starting it costs. */
static void engine(struct fixture *f, int from, int to, double gb_per_s)
{
    rate(f, METRIC_GPU_GPU_COPY_ENGINE, gpu(f, from), gpu(f, to), "", gb_per_s);
    overheads(f, gpu(f, from), gpu(f, to), METRIC_GPU_GPU_COPY_ENGINE, 16000, 8000);
}

static void kernel(struct fixture *f, int from, int to, double gb_per_s)
{
    rate(f, METRIC_GPU_GPU_KERNEL, gpu(f, from), gpu(f, to), "", gb_per_s);
    overheads(f, gpu(f, from), gpu(f, to), METRIC_GPU_GPU_KERNEL, 14000, 6000);
}

/* 10 GB/s directly and through any one gpu; 100 GB/s through gpu2 and then gpu3. */
static void two_gpus_between_are_found_where_they_are_faster(void **state)
{
    (void)state;
    struct fixture f = begin();
    engine(&f, 0, 1, 10);
    engine(&f, 0, 2, 100);
    engine(&f, 2, 3, 100);
    engine(&f, 3, 1, 100);
    engine(&f, 2, 1, 10);
    in_run(&f, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, (int[]){0, 2, 3, 1}, 4);
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB)), BERTH_OK);
    const struct route_option *best = &f.answer.option[0];
    assert_int_equal(best->part[0].hop_count, 3);
    assert_int_equal(best->part[0].hop[1].from, gpu(&f, 2));
    assert_int_equal(best->part[0].hop[2].from, gpu(&f, 3));
    double least = INFINITY, chunk = 0;
    for (int64_t piece = 65536; piece < 1024 * MIB; piece *= 2) {
        /* three launches, two events */
        double c = (double)piece, each = c / 100 + 8000,
               time = 3 * (8000 + each) + (1024.0 * MIB / c - 1) * fmax(each, 5 * 8000);
        chunk = time < least ? c : chunk;
        least = fmin(least, time);
    }
    assert_within(best->predicted.time_ns, least, 1e-9);
    assert_within(best->part[0].chunk_bytes, chunk, 0);

    f.allowed.gpus = calloc(f.graph->place_count, sizeof *f.allowed.gpus);
    f.allowed.gpus[gpu(&f, 0)] = f.allowed.gpus[gpu(&f, 1)] = f.allowed.gpus[gpu(&f, 2)] = true;
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB)), BERTH_OK);
    for (size_t i = 0; i < f.answer.count; i++)
        assert_true(f.answer.option[i].part[0].hop_count < 3);
    end(&f);
}

/* Links 0-1, 0-2 and 2-1, 50 GB/s through each: half of the bytes each way, less what the longer
 * way takes more to begin. */
static void ways_without_a_common_lane_are_taken_at_once(void **state)
{
    (void)state;
    struct fixture f = begin();
    engine(&f, 0, 1, 50);
    engine(&f, 0, 2, 50);
    engine(&f, 2, 1, 50);
    join(&f, 0, 1, 100);
    join(&f, 0, 2, 100);
    join(&f, 2, 1, 100);
    together(&f, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT,
             (struct together[]){{gpu(&f, 0), gpu(&f, 1), 50},
                                 {gpu(&f, 0), gpu(&f, 2), 50},
                                 {gpu(&f, 2), gpu(&f, 1), 50}},
             3);
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 4096 * MIB)), BERTH_OK);
    const struct route_option *best = &f.answer.option[0];
    assert_int_equal(best->part_count, 2);
    assert_within(best->part[0].share + best->part[1].share, 1, 1e-12);
    assert_true(best->part[0].share > 0.5 && best->part[0].share < 0.52);
    assert_within(best->predicted.time_ns, 2048.0 * MIB / 50, 0.03);
    for (int w = 0; w < 2; w++)
        /* they end together, to within a piece */
        assert_within(best->part[w].share * 4096.0 * MIB / 50, best->predicted.time_ns, 0.03);
    /* A few bytes are not worth it. */
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 65536)), BERTH_OK);
    assert_int_equal(f.answer.option[0].part_count, 1);
    end(&f);
}

static bool is_any_split(const struct fixture *f)
{
    for (size_t i = 0; i < f->answer.count; i++)
        if (f->answer.option[i].part_count > 1)
            return true;
    return false;
}

/* Without links nothing says what ways share. And where both go over the same link they do: 0-2 is
 * linked only through 1. */
static void ways_that_share_a_lane_or_may_are_not(void **state)
{
    (void)state;
    struct fixture f = begin();
    engine(&f, 0, 1, 50);
    engine(&f, 0, 2, 50);
    engine(&f, 2, 1, 50);
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 4096 * MIB)), BERTH_OK);
    assert_false(is_any_split(&f));
    end(&f);
    f = begin();
    engine(&f, 0, 1, 50);
    engine(&f, 0, 2, 50);
    engine(&f, 2, 1, 50);
    join(&f, 0, 1, 100);
    join(&f, 1, 2, 100);
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 4096 * MIB)), BERTH_OK);
    assert_false(is_any_split(&f));
    /* Of both directions of a link only one is used. */
    end(&f);
}

/* Two gpus at once write to numa3, what each gets or 0, and what is said of that memory or 0. */
static void from_a_gpu_to_numa(struct fixture *f, double each, double stated)
{
    *f = begin();
    for (int g = 0; g < 8; g += 4) {
        rate(f, METRIC_HOST_GPU_COPY_ENGINE, gpu(f, g), numa(f, 3), "", 50);
        overheads(f, gpu(f, g), numa(f, 3), METRIC_HOST_GPU_COPY_ENGINE, 8000, 2000);
    }
    engine(f, 0, 4, 400);
    join(f, 0, 4, 400);
    if (stated > 0)
        nodes_value(f->values, METRIC_MEMORY_BANDWIDTH, VALUE_NOMINAL, numa(f, 3), numa(f, 3),
                    "operation=write", stated * GB, NAN, NAN);
    struct sets *sets = sets_new();
    assert_non_null(sets);
    const double rates[] = {50, 50, each};
    for (int i = 0; i < (each > 0 ? 3 : 0); i++) { /* each alone, then both */
        double got = rates[i] * GB;
        struct set_flow flow[] = {{.from = gpu(f, 0),
                                   .to = numa(f, 3),
                                   .axes = (char *)"",
                                   .bytes_per_s = got,
                                   .low = got * 0.99,
                                   .high = got * 1.01},
                                  {.from = gpu(f, 4),
                                   .to = numa(f, 3),
                                   .axes = (char *)"",
                                   .bytes_per_s = got,
                                   .low = got * 0.99,
                                   .high = got * 1.01}};
        struct set set = {.metric = METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT,
                          .flow = i == 1 ? &flow[1] : flow,
                          .flow_count = i == 2 ? 2 : 1};
        assert_true(sets_add(sets, &set));
    }
    f->snap = nodes_snapshot_of(f->graph, f->values, sets);
}

/* Half directly, half over another gpu's port, where it was seen that the memory takes both. Where
 * nobody saw that, however much the memory is said to take, that stands behind one transfer and is
 * worth measuring, unless it is said to take hardly more than one. */
static void a_memory_that_takes_more_than_a_port_gets_it_over_several(void **state)
{
    (void)state;
    static const double each[] = {50, 26, 0, 0, 0}, stated[] = {0, 0, 0, 60, 75};
    for (int i = 0; i < 5; i++) {
        struct fixture f;
        from_a_gpu_to_numa(&f, each[i], stated[i]);
        assert_int_equal(ask(&f, of(gpu(&f, 0), numa(&f, 3), 256 * MIB)), BERTH_OK);
        const struct route_option *best = &f.answer.option[0];
        const struct route_option *split = best->part_count == 2 ? best : NULL;
        for (size_t o = 1; o < f.answer.count && split == NULL; o++)
            split = f.answer.option[o].part_count == 2 ? &f.answer.option[o] : NULL;
        assert_int_equal(best->part_count, i == 0 ? 2 : 1);
        assert_true(best->worth_measuring[0] == '\0' &&
                    (best == split || best->part[0].hop_count == 1));
        if (i == 0 || i == 2 || i == 4) {
            assert_non_null(split);
            assert_within(split->part[0].share, 0.5, 0.05);
            assert_within(split->predicted.time_ns, 256.0 * MIB / (i == 4 ? 75 : 100), 0.05);
            assert_true((split->shared != NULL) == (i == 4));
            /* what is said of the memory is no measurement */
            assert_true(isnan(split->predicted.low_ns) == (i == 4));
            assert_string_equal(split->worth_measuring,
                                i == 0 ? "" : "berth probe --full host_gpu_copy_engine_concurrent");
            assert_true(i == 0 || told(&f.answer.reasons, REASON_NOT_MEASURED_TOGETHER));
            assert_true((split->predicted.source == SOURCE_MEASURED) == (i == 0));
        }
        end(&f);
    }
}

/* What engines and kernels get at once no run measures: all ways of a split go by one of them. */
static void engines_and_kernels_are_not_mixed(void **state)
{
    (void)state;
    for (int clear = 0; clear < 2; clear++) {
        struct fixture f = begin();
        engine(&f, 0, 1, 50);
        join(&f, 0, 1, 100);
        for (int hop = 0; hop < 2; hop++) {
            engine(&f, hop == 0 ? 0 : 2, hop == 0 ? 2 : 1, 50);
            kernel(&f, hop == 0 ? 0 : 2, hop == 0 ? 2 : 1, clear ? 160 : 51);
            join(&f, hop == 0 ? 0 : 2, hop == 0 ? 2 : 1, 100);
        }
        assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 4096 * MIB)), BERTH_OK);
        size_t splits = 0;
        for (size_t i = 0; i < f.answer.count; i++) {
            const struct route_option *its = &f.answer.option[i];
            splits += its->part_count > 1;
            for (size_t w = 1; w < its->part_count; w++)
                assert_int_equal(its->part[w].hop[0].by, its->part[0].hop[0].by);
        }
        assert_true(splits >= 1);
        end(&f);
    }
}

static const char *variable(const struct plan_call *call, const char *name)
{
    for (size_t i = 0; i < call->variables.count; i++)
        if (strcmp(call->variables.variable[i].name, name) == 0)
            return call->variables.variable[i].value;
    return "";
}

static struct plan_call call_of(const struct fixture *f, size_t option, const char *shapes)
{
    struct plan_call call;
    plan_call_make(f->graph, shapes, &f->answer.option[option], &call);
    return call;
}

static void amds_runtime_is_told_at_its_start(void **state)
{
    (void)state;
    struct fixture f = begin();
    engine(&f, 0, 1, 50);
    kernel(&f, 0, 1, 174);
    rate(&f, METRIC_HOST_GPU_COPY_ENGINE, numa(&f, 3), gpu(&f, 0), "", 28);
    rate(&f, METRIC_HOST_GPU_KERNEL, numa(&f, 3), gpu(&f, 0), "", 25);
    rate(&f, METRIC_HOST_GPU_COPY_ENGINE, numa(&f, 3), gpu(&f, 0), "sdma=off", 27);
    rate(&f, METRIC_HOST_GPU_KERNEL, numa(&f, 2), gpu(&f, 0), "", 20);
    rate(&f, METRIC_HOST_GPU_KERNEL, numa(&f, 2), gpu(&f, 0), "xnack=on", 24);
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB)), BERTH_OK);
    const char *shapes = "NVIDIA H200/13000: peer-copy 512x132u12; AMD Instinct MI250X/507: copy "
                         "256x880u4 peer-copy 128x440u2 host-copy 64x220u1";
    struct plan_call by_kernel = call_of(&f, 0, shapes), by_engine = call_of(&f, 1, shapes);
    assert_string_equal(variable(&by_kernel, "HSA_ENABLE_PEER_SDMA"), "0");
    assert_true(by_kernel.variables.needs_restart);
    assert_non_null(strstr(by_kernel.text, "hipMemcpyPeerAsync on a stream of gpu0"));
    assert_non_null(
        strstr(by_kernel.text, "of 440 blocks of 128 threads, 2 accesses of 16 bytes each"));
    assert_string_equal(variable(&by_engine, "HSA_ENABLE_PEER_SDMA"), "1");
    assert_false(by_engine.variables.needs_restart); /* it is what the runtime does without */
    by_kernel = call_of(&f, 0, NULL);
    assert_null(strstr(by_kernel.text, "threads"));

    assert_int_equal(ask(&f, of(numa(&f, 3), gpu(&f, 0), 1024 * MIB)), BERTH_OK);
    assert_int_equal(f.answer.option[1].part[0].hop[0].by, MECHANISM_KERNEL);
    by_kernel = call_of(&f, 1, shapes);
    /* what was measured under it is more than 5 % faster than the program's own */
    assert_string_equal(variable(&by_kernel, "HSA_ENABLE_SDMA"), "0");
    assert_true(by_kernel.variables.needs_restart);
    by_engine = call_of(&f, 0, shapes);
    assert_string_equal(variable(&by_engine, "HSA_ENABLE_SDMA"), "1");
    assert_int_equal(ask(&f, of(numa(&f, 2), gpu(&f, 0), 1024 * MIB)), BERTH_OK);
    by_kernel = call_of(&f, 0, shapes);
    assert_string_equal(variable(&by_kernel, "HSA_XNACK"), "1");
    assert_true(by_kernel.variables.needs_restart);
    end(&f);
}

static void with_cuda_the_call_decides(void **state)
{
    (void)state;
    struct fixture f = begin();
    for (int g = 0; g < 8; g++) {
        assert_true(place_set_text(&f.graph->places[gpu(&f, g)].model, "NVIDIA H200"));
        assert_true(place_set_detail(&f.graph->places[gpu(&f, g)], "vendor", "nvidia"));
    }
    engine(&f, 0, 1, 50);
    kernel(&f, 0, 1, 174);
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB)), BERTH_OK);
    for (size_t i = 0; i < 2; i++) {
        struct plan_call call = call_of(&f, i, "NVIDIA H200/13000: peer-copy 512x132u12");
        assert_int_equal(call.variables.count, 0);
        assert_false(call.variables.needs_restart);
        assert_non_null(strstr(call.text, i == 0 ? "a copy kernel of 132 blocks of 512 threads"
                                                 : "cudaMemcpyPeerAsync on a stream of gpu0"));
    }
    end(&f);
}

/* gpu4's vendor is another: through host memory, one copy after the other, whatever somebody says
 * was measured. */
static void gpus_of_two_vendors_meet_in_host_memory(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        struct fixture f = begin();
        assert_true(place_set_text(&f.graph->places[gpu(&f, 4)].model, "NVIDIA H200"));
        assert_true(place_set_detail(&f.graph->places[gpu(&f, 4)], "vendor", "nvidia"));
        engine(&f, 0, 4, 50);
        kernel(&f, 0, 4, 174);
        engine(&f, 0, 1, 50);
        engine(&f, 1, 4, 50);
        join(&f, 0, 4, 200);
        for (int g = 0; g < 8 && !known; g += 4) {
            struct link *link = graph_add_link(f.graph, numa(&f, 2), gpu(&f, g), LINK_PCIE);
            assert_non_null(link);
            link->nominal_bytes_per_s = 50 * GB;
            link->state = LINK_UP;
        }
        if (known)
            for (int n = 0; n < 4; n++) {
                rate(&f, METRIC_HOST_GPU_COPY_ENGINE, gpu(&f, 0), numa(&f, n), "",
                     n == 2 ? 25 : 20);
                rate(&f, METRIC_HOST_GPU_COPY_ENGINE, numa(&f, n), gpu(&f, 4), "",
                     n == 2 ? 50 : 25);
            }
        assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 4), 64 * MIB)), BERTH_OK);
        assert_int_equal(f.answer.count, 1);
        const struct route_option *only = &f.answer.option[0];
        assert_int_equal(only->part[0].hop_count, 2);
        assert_int_equal(f.graph->places[only->part[0].hop[1].from].kind, PLACE_NUMA);
        assert_int_equal(only->part[0].chunk_bytes, 0);
        if (known) {
            assert_int_equal(only->part[0].hop[1].from, numa(&f, 2));
            assert_within(only->predicted.time_ns, 64.0 * MIB / 25 + 64.0 * MIB / 50, 1e-9);
        } else {
            assert_true(lines_with(&f.answer.warnings, "the efficiency of such"));
        }
        struct plan_call call = call_of(&f, 0, NULL);
        assert_non_null(
            strstr(call.text,
                   "hipMemcpyAsync on a stream of gpu0, then cudaMemcpyAsync on a stream of gpu4"));
        assert_non_null(strstr(call.text, "pinned by both (cudaHostRegister, hipHostRegister)"));
        end(&f);
    }
}

static void overlap_says_where_copy_engines_end(void **state)
{
    (void)state;
    struct fixture f = begin();
    engine(&f, 0, 1, 50);
    engine(&f, 0, 2, 37.5);
    kernel(&f, 0, 1, 174);
    struct route_request request = of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB);
    assert_int_equal(ask(&f, request), BERTH_OK);
    assert_false(lines_with(&f.answer.warnings, "stop at"));
    request.overlap = true;
    assert_int_equal(ask(&f, request), BERTH_OK);
    assert_true(
        lines_with(&f.answer.warnings, "get 50 GB/s from gpu0 to gpu1; a kernel gets 174 GB/s"));
    bool cites = false;
    for (size_t i = 0; i < f.answer.option[0].why_count; i++)
        cites = cites ||
                f.answer.evidence.item[f.answer.option[0].why + i]->metric == METRIC_GPU_GPU_KERNEL;
    assert_true(cites);
    for (size_t i = 0; i < f.answer.count; i++)
        assert_int_equal(f.answer.option[i].part[0].hop[0].by, MECHANISM_COPY_ENGINE);
    end(&f);
}

static void ends_that_cannot_be_are_refused_by_name(void **state)
{
    (void)state;
    struct fixture f = begin();
    engine(&f, 0, 1, 50);
    engine(&f, 0, 2, 100);
    engine(&f, 2, 1, 100);
    engine(&f, 2, 3, 100);
    assert_true(place_set_detail(&f.graph->places[gpu(&f, 2)], "state", "lost"));
    assert_int_equal(ask(&f, of(gpu(&f, 2), gpu(&f, 3), MIB)), BERTH_UNAVAILABLE);
    assert_non_null(strstr(f.err.detail, "gpu2 is lost"));
    assert_non_null(strstr(f.err.detail, "gpu0, gpu1, gpu3"));
    /* nor does a way lead through it */
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB)), BERTH_OK);
    assert_int_equal(f.answer.count, 1);
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), INT64_MAX)), BERTH_NOT_ENOUGH);
    assert_int_equal(f.err.arg[2].number, INT64_C(64) << 30);
    f.allowed.gpus = calloc(f.graph->place_count, sizeof *f.allowed.gpus);
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), MIB)), BERTH_NOTHING_ALLOWED);
    assert_non_null(strstr(f.err.detail, "none"));
    f.allowed.gpus[gpu(&f, 0)] = true;
    assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), MIB)), BERTH_NOTHING_ALLOWED);
    assert_non_null(strstr(f.err.detail, "gpu0"));
    f.allowed.memory = calloc(f.graph->place_count, sizeof *f.allowed.memory);
    f.allowed.memory[numa(&f, 1)] = true;
    assert_int_equal(ask(&f, of(gpu(&f, 0), numa(&f, 0), MIB)), BERTH_NOTHING_ALLOWED);
    assert_non_null(strstr(f.err.detail, "numa1"));
    end(&f);
}

/* The same node with its gpus named in another order: gpu i is called name[i]. */
static struct fixture random_node(uint32_t seed, const int *name)
{
    struct fixture f = begin();
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 8; b++) {
            double by_engine = 10 + random_small(&seed) % 90,
                   by_kernel = 10 + random_small(&seed) % 190;
            bool linked = a < b && random_small(&seed) % 2 == 0;
            if (a == b)
                continue;
            engine(&f, name[a], name[b], by_engine);
            kernel(&f, name[a], name[b], by_kernel);
            if (linked)
                join(&f, name[a], name[b], 50 * (1 + random_small(&seed) % 4));
        }
    return f;
}

/* With what was not measured together. */
static struct route_request any_of(place_id from, place_id to, int64_t bytes)
{
    return (struct route_request){.from = from, .to = to, .bytes = bytes, .allow_unmeasured = true};
}

static void properties_hold_on_random_nodes(void **state)
{
    (void)state;
    static const int same[] = {0, 1, 2, 3, 4, 5, 6, 7}, other[] = {3, 6, 0, 7, 2, 1, 5, 4};
    size_t splits = 0, twos = 0;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        struct fixture f = random_node(seed, same), g = random_node(seed, other);
        double before_ns = 0;
        for (int64_t bytes = 4096; bytes <= INT64_C(1) << 34; bytes *= 4) {
            assert_int_equal(ask(&f, any_of(gpu(&f, 0), gpu(&f, 1), bytes)), BERTH_OK);
            assert_int_equal(ask(&g, any_of(gpu(&g, other[0]), gpu(&g, other[1]), bytes)),
                             BERTH_OK);
            double best_ns = f.answer.option[0].predicted.time_ns;
            /* names change nothing */
            assert_within(g.answer.option[0].predicted.time_ns, best_ns, 1e-9);
            /* more bytes take no less */
            assert_true(best_ns >= before_ns);
            before_ns = best_ns;
            /* never slower than a direct way, nor than others that may lead by more than is known
             */
            for (size_t i = 0; i < f.answer.count; i++) {
                const struct route_option *option = &f.answer.option[i];
                assert_true(option->may_lead_at_all || !route_is_direct(option));
                bool is_direct = route_is_direct(option),
                     is_first_direct = route_is_direct(&f.answer.option[0]);
                assert_true(option->predicted.time_ns *
                                    (1 + (is_first_direct && !is_direct ? POLICY_SIMILAR : 0)) >=
                                best_ns * (1 - POLICY_SAME) ||
                            !option->may_lead_at_all);
                assert_true(i < 2 ||
                            option->predicted.time_ns >= f.answer.option[i - 1].predicted.time_ns);
                splits += option->part_count > 1;
                twos += option->part[0].hop_count == 3;
                double sum = 0;
                for (size_t w = 0; w < option->part_count; w++)
                    sum += option->part[w].share;
                assert_within(sum, 1, 1e-9);
            }
            f.allowed.gpus = calloc(f.graph->place_count, sizeof *f.allowed.gpus);
            for (int n = 0; n < 8; n++)
                f.allowed.gpus[gpu(&f, n)] = true;
            /* one gpu more is no loss */
            for (int n = 7; n > 1; n--) {
                f.allowed.gpus[gpu(&f, n)] = false;
                assert_int_equal(ask(&f, any_of(gpu(&f, 0), gpu(&f, 1), bytes)), BERTH_OK);
                double fewer_ns = f.answer.option[0].predicted.time_ns;
                assert_true(fewer_ns >= best_ns * (1 - 1e-9));
            }
            allowed_done(&f.allowed);
        }
        end(&f);
        end(&g);
    }
    assert_true(splits > 50 && twos > 10); /* there was something to see */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_gpus_between_are_found_where_they_are_faster),
        cmocka_unit_test(ways_without_a_common_lane_are_taken_at_once),
        cmocka_unit_test(ways_that_share_a_lane_or_may_are_not),
        cmocka_unit_test(a_memory_that_takes_more_than_a_port_gets_it_over_several),
        cmocka_unit_test(engines_and_kernels_are_not_mixed),
        cmocka_unit_test(amds_runtime_is_told_at_its_start),
        cmocka_unit_test(with_cuda_the_call_decides),
        cmocka_unit_test(gpus_of_two_vendors_meet_in_host_memory),
        cmocka_unit_test(overlap_says_where_copy_engines_end),
        cmocka_unit_test(ends_that_cannot_be_are_refused_by_name),
        cmocka_unit_test(properties_hold_on_random_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
