#include "node/locality.h"
#include "node/spread.h"
#include "unit/plan/alloc/alloc_nodes.h"

static void assert_call(const struct fixture *f, enum memkind kind, place_id memory,
                        const char *expected)
{
    char call[256];
    const struct alloc_option *found = option(f, kind, memory);
    assert_non_null(found);
    memkind_call(f->graph, &found->place, GIB, found->xnack, call, sizeof call);
    assert_string_equal(call, expected);
}

static void a_gpus_own_memory_is_first_and_the_rest_is_priced(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    struct alloc_access access = {.by = f.gpu[0], .reads_bytes = 8 * GIB, .writes_bytes = GIB};
    assert_int_equal(ask(&f, 0, 1, &access), BERTH_OK);
    assert_int_equal(f.answer.option[0].place.memory, f.gpu[0]);
    assert_int_equal(f.answer.option[0].place.kind, MEMKIND_DEVICE);
    assert_near(f.answer.option[0].predicted.time_ns, 8 * GIB / 4000.0 + GIB / 3000.0);
    assert_int_equal(f.answer.option[0].why_count, 2);
    assert_near(time_of(&f, MEMKIND_DEVICE, f.gpu[1]), 8 * GIB / 300.0 + GIB / 250.0);
    assert_near(time_of(&f, MEMKIND_PINNED, f.numa[0]), 8 * GIB / 50.0 + GIB / 25.0);
    assert_near(time_of(&f, MEMKIND_PINNED, f.numa[1]), 8 * GIB / 40.0 + GIB / 20.0);
    assert_true(warned(&f, REASON_REACH_UNKNOWN, "gpu0"));
    assert_true(isnan(time_of(&f, MEMKIND_SYSTEM, f.numa[0])));
    assert_call(&f, MEMKIND_DEVICE, f.gpu[0], "cudaMalloc(&p, 1073741824) on gpu0");
    assert_call(&f, MEMKIND_PINNED, f.numa[1],
                "numa_set_preferred(1); cudaHostAlloc(&p, 1073741824, cudaHostAllocDefault)");
    end(&f);
}

static void what_cores_do_not_reach_is_left_out(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    struct alloc_access access[] = {{.by = f.gpu[0], .reads_bytes = 8 * GIB},
                                    {.by = f.numa[0], .writes_bytes = GIB}};
    assert_int_equal(ask(&f, 0, 2, access), BERTH_OK);
    assert_null(option(&f, MEMKIND_DEVICE, f.gpu[0]));
    assert_true(warned(&f, REASON_UNREACHED, "device") && warned(&f, REASON_UNREACHED, "cores"));
    assert_int_equal(f.answer.option[0].place.memory, f.numa[0]);
    assert_int_equal(f.answer.option[0].place.kind, MEMKIND_PINNED);
    assert_near(f.answer.option[0].predicted.time_ns, 8 * GIB / 50.0 + GIB / 100.0);
    /* asked for nothing else, that is an error which says why */
    assert_int_equal(ask(&f, 1u << MEMKIND_DEVICE, 2, access), BERTH_NOTHING_ALLOWED);
    assert_non_null(strstr(f.err.detail, "cores cannot reach it"));
    end(&f);
}

static void what_the_probe_found_out_of_reach_is_left_out(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    struct value never = {.metric = METRIC_HOST_GPU_KERNEL,
                          .from = f.numa[0],
                          .to = f.gpu[0],
                          .value = NAN,
                          .low = NAN,
                          .high = NAN};
    assert_true(values_add(f.values, &never, "kind=system;operation=read",
                           "the gpu does not reach memory of malloc"));
    assert_true(values_add(f.values, &never, "kind=managed;operation=read", "time budget"));
    assert_int_equal(ask_reads(&f, 0, f.gpu[0], GIB), BERTH_OK);
    assert_null(option(&f, MEMKIND_SYSTEM, f.numa[0]));
    assert_true(warned(&f, REASON_UNREACHED, "system") && warned(&f, REASON_UNREACHED, "gpu0"));
    assert_non_null(option(&f, MEMKIND_MANAGED, f.numa[0])); /* there was no time to look */
    end(&f);
}

/* A touch for the first time costs what was measured of it, once around the buffer. */
static void first_touch_and_migration_are_paid_once(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[0], "kind=system;operation=read",
             20 * GB);
    measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[0], "kind=migrating;operation=read",
             10 * GB);
    measured(&f, METRIC_HOST_GPU_KERNEL, f.gpu[0], f.numa[0], "kind=migrating;operation=write",
             10 * GB);
    measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[0], "kind=managed;operation=read",
             45 * GB);
    measured(&f, METRIC_SHARED_WRITE, f.gpu[0], f.numa[0], "bytes=16777216", 16777216.0);
    assert_int_equal(ask_reads(&f, 0, f.gpu[0], 8 * GIB), BERTH_OK);
    assert_near(time_of(&f, MEMKIND_SYSTEM, f.numa[0]), GIB / 20.0 + 7 * GIB / 50.0);
    /* Farther memory is not touched for nothing, only because nobody measured it there. */
    assert_near(time_of(&f, MEMKIND_SYSTEM, f.numa[1]), GIB / 20.0 + 7 * GIB / 40.0);
    assert_true(isnan(option(&f, MEMKIND_SYSTEM, f.numa[1])->predicted.low_ns) &&
                !isnan(option(&f, MEMKIND_SYSTEM, f.numa[0])->predicted.low_ns));
    assert_true(warned(&f, REASON_SIMILAR_ACCESS, "numa1"));
    assert_near(time_of(&f, MEMKIND_MANAGED, f.numa[0]), 8 * GIB / 45.0);
    assert_near(time_of(&f, MEMKIND_MANAGED, f.gpu[0]), GIB / 10.0 + 7 * GIB / 4000.0);
    /* A round took a nanosecond a byte, of which a tenth was the way there: the rest is the way
     * back. */
    struct alloc_access access[] = {{.by = f.gpu[0], .reads_bytes = 8 * GIB},
                                    {.by = f.numa[0], .writes_bytes = GIB}};
    assert_int_equal(ask(&f, 0, 2, access), BERTH_OK);
    assert_near(time_of(&f, MEMKIND_MANAGED, f.gpu[0]),
                GIB / 100.0 + GIB / 10.0 + 7 * GIB / 4000.0 + GIB * 0.9);
    end(&f);
}

/* predicted is of one more time, which is farther off than the median. */
static void predictions_hold_one_more_time(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_DEVICE, f.gpu[0], GIB), BERTH_OK);
    const struct alloc_option *first = &f.answer.option[0];
    /* all that was measured of their own memory is alike */
    double half = log(1.01 / 0.99) / 2,
           alike = spread_deviation(0.01, 9) * exp(0.5 / spread_freedom(9)),
           spread = spread_cell_among(half, 9, alike);
    assert_true(fabs(first->predicted.high_ns / first->predicted.time_ns - exp(spread)) < 1e-9);
    assert_true(fabs(first->predicted.low_ns / first->predicted.time_ns - exp(-spread)) < 1e-9);
    /* Sixteen times around it even each other out. */
    double once = first->predicted.high_ns / first->predicted.time_ns;
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_DEVICE, f.gpu[0], 16 * GIB), BERTH_OK);
    assert_true(f.answer.option[0].predicted.high_ns / f.answer.option[0].predicted.time_ns - 1 <
                0.6 * (once - 1));
    end(&f);
}

/* Two kinds in one memory: the faster one, however uncertain what they have in common is; the one
 * that the gpu's figures are of where they are the same to 1 %, and where cores use it too the
 * plainer one. */
static void of_kinds_in_one_memory_the_faster_is_first(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fixture f = begin(ONE_MEMORY);
        measured(&f, METRIC_MEMORY_BANDWIDTH, f.gpu[0], f.gpu[0], "", 3600 * GB);
        nodes_value(f.values, METRIC_HOST_GPU_KERNEL, VALUE_MEASURED, f.numa[0], f.gpu[0],
                    "operation=read", (i == 0 ? 3400 : 3580) * GB, 2000 * GB, 4000 * GB);
        assert_int_equal(ask_reads(&f, 1u << MEMKIND_DEVICE | 1u << MEMKIND_PINNED, f.gpu[0], GIB),
                         BERTH_OK);
        assert_int_equal(f.answer.option[0].place.kind, MEMKIND_DEVICE);
        assert_int_equal(f.answer.option[1].place.kind, MEMKIND_PINNED);
        end(&f);
        f = begin(ONE_MEMORY);
        measured(&f, METRIC_MEMORY_BANDWIDTH, f.gpu[0], f.gpu[0], "", 3600 * GB);
        measured(&f, METRIC_MEMORY_BANDWIDTH, f.numa[0], f.numa[0], "", 3600 * GB);
        nodes_value(f.values, METRIC_HOST_GPU_KERNEL, VALUE_MEASURED, f.numa[0], f.gpu[0],
                    "operation=read", (i == 0 ? 3400 : 3580) * GB, 2000 * GB, 4000 * GB);
        struct alloc_access both[] = {{.by = f.gpu[0], .reads_bytes = 64 * GIB},
                                      {.by = f.numa[0], .reads_bytes = GIB}};
        assert_int_equal(ask(&f, 1u << MEMKIND_DEVICE | 1u << MEMKIND_PINNED, 2, both), BERTH_OK);
        assert_int_equal(f.answer.option[0].place.kind, i == 0 ? MEMKIND_DEVICE : MEMKIND_PINNED);
        end(&f);
    }
}

/* A device in MIG mode holds nothing and runs nothing: its slices do, if there are any. */
static void devices_in_slices_are_left_out(void **state)
{
    (void)state;
    for (int slices = 0; slices < 2; slices++) {
        struct fixture f = begin(DISCRETE);
        place_id device = f.gpu[1], slice = PLACE_NONE;
        assert_true(place_set_text(&f.graph->places[device].pci, "0000:11:00.0") &&
                    place_set_detail(&f.graph->places[device], "mig", "on"));
        if (slices) {
            struct cpuset cpus = *graph_place(f.graph, device)->cpus;
            slice = nodes_add(f.graph, PLACE_GPU, 2, f.numa[1], f.numa[1], &cpus);
            assert_true(place_set_text(&f.graph->places[slice].pci, "0000:11:00.0") &&
                        place_set_detail(&f.graph->places[slice], "partition", "mig"));
            f.graph->places[slice].capacity_bytes = 40 * GIB;
        }
        assert_int_equal(ask_reads(&f, 0, f.gpu[0], GIB), BERTH_OK);
        assert_null(option(&f, MEMKIND_DEVICE, device));
        assert_non_null(option(&f, MEMKIND_DEVICE, f.gpu[0]));
        assert_true(warned(&f, REASON_GPU_LEFT_OUT, "gpu1"));
        assert_int_equal(ask_reads(&f, 0, device, GIB), BERTH_UNAVAILABLE);
        assert_non_null(
            strstr(f.err.detail, slices ? "gpu1 is cut into slices" : "gpu1 is in MIG mode"));
        assert_non_null(strstr(f.err.detail, slices ? "gpu0, gpu2" : "gpu0"));
        if (slices) {
            assert_int_equal(ask_reads(&f, 0, slice, GIB), BERTH_OK);
            assert_int_equal(f.answer.option[0].place.memory, slice);
        }
        end(&f);
    }
}

static void random_accesses_of_a_gpu(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    struct alloc_access access = {.by = f.gpu[0], .reads_bytes = GIB, .random = true};
    assert_int_equal(ask(&f, 1u << MEMKIND_DEVICE, 1, &access), BERTH_OK);
    assert_near(time_of(&f, MEMKIND_DEVICE, f.gpu[0]), GIB / 4000.0);
    /* a hundred times the latency, as many under way */
    assert_near(time_of(&f, MEMKIND_DEVICE, f.gpu[1]), GIB / 4000.0 * 100);
    assert_true(isnan(f.answer.option[0].predicted.high_ns));
    assert_true(warned(&f, REASON_RANDOM_IN_FLIGHT, "gpu0"));
    end(&f);
}

static void what_stands_for_a_kernels_rate_is_said(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    measured(&f, METRIC_HOST_GPU_COPY_ENGINE, f.numa[0], f.gpu[0], "", 55 * GB);
    nodes_value(f.values, METRIC_HOST_GPU_KERNEL, VALUE_PUBLISHED, f.numa[0], f.gpu[0],
                "operation=read", 60 * GB, NAN, NAN);
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_PINNED, f.gpu[0], GIB), BERTH_OK);
    /* what was measured, not what was published */
    assert_near(f.answer.option[0].predicted.time_ns, GIB / 55.0);
    assert_true(warned(&f, REASON_SIMILAR_ACCESS, "numa0"));
    assert_int_equal(f.answer.option[0].predicted.source, SOURCE_SIMILAR_PAIR);
    assert_true(isnan(f.answer.option[1].predicted.time_ns));
    end(&f);
}

static void links_are_the_last_resort(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    struct link *link = graph_add_link(f.graph, f.numa[1], f.gpu[1], LINK_PCIE);
    assert_non_null(link);
    link->nominal_bytes_per_s = 63 * GB;
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_PINNED, f.gpu[1], GIB), BERTH_OK);
    assert_int_equal(f.answer.option[0].place.memory, f.numa[1]);
    /* what such links reach of what they are said to carry */
    assert_near(f.answer.option[0].predicted.time_ns, GIB / (0.88 * 63));
    assert_true(is_at_least(&f.answer.option[0]) && warned(&f, REASON_ACCESS_BY_LINKS, "numa1"));
    end(&f);
}

static struct link *link_of(struct fixture *f, place_id a, place_id b, double gb)
{
    struct link *link = graph_add_link(f->graph, a, b, LINK_PCIE);
    assert_non_null(link);
    link->nominal_bytes_per_s = gb * GB;
    return link;
}

/* What is known of the nearest is less than what links to the other are said to carry. */
static void links_are_not_faster_than_what_is_known(void **state)
{
    (void)state;
    for (int near = 1; near >= 0; near--) {
        struct fixture f = begin(DISCRETE);
        link_of(&f, f.numa[0], f.gpu[1], 50);
        link_of(&f, f.numa[1], f.gpu[1], 50);
        nodes_value(f.values, METRIC_HOST_GPU_KERNEL, VALUE_PUBLISHED, f.numa[near], f.gpu[1], "",
                    25 * GB, NAN, NAN);
        assert_int_equal(ask_reads(&f, 1u << MEMKIND_PINNED, f.gpu[1], 8 * GIB), BERTH_OK);
        assert_int_equal(f.answer.option[0].place.memory, f.numa[1]);
        for (size_t i = 0; i < 2; i++) {
            assert_near(f.answer.option[i].predicted.time_ns, 8 * GIB / 25.0);
            assert_true(isnan(f.answer.option[i].predicted.high_ns));
            assert_int_equal(f.answer.option[i].why_count, 1);
        }
        assert_true(warned(&f, REASON_ACCESS_BY_LINKS, near == 1 ? "numa0" : "numa1"));
        end(&f);
    }
}

/* A limit by what is known is none where links carry less, and none by what is measured of just
 * that memory. */
static void what_is_known_limits_nothing_slower_or_measured(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    link_of(&f, f.numa[0], f.gpu[1], 10);
    measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[1], f.gpu[1], "operation=read", 25 * GB);
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_PINNED, f.gpu[1], GIB), BERTH_OK);
    assert_near(time_of(&f, MEMKIND_PINNED, f.numa[0]), GIB / 8.8);
    assert_true(warned(&f, REASON_ACCESS_BY_LINKS, "numa0") &&
                !warned(&f, REASON_ACCESS_BY_LINKS, "numa1"));
    end(&f);
    f = begin(DISCRETE);
    measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[1], f.gpu[1], "operation=read", 25 * GB);
    measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[1], "operation=read", 30 * GB);
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_PINNED, f.gpu[1], GIB), BERTH_OK);
    assert_int_equal(f.answer.option[0].place.memory, f.numa[0]);
    assert_near(f.answer.option[0].predicted.time_ns, GIB / 30.0);
    end(&f);
}

/* Nothing is known but links, of which the farther ones are wider. */
static void by_links_alone_the_nearest_is_first(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    link_of(&f, f.numa[1], f.gpu[1], 30);
    link_of(&f, f.numa[0], f.gpu[1], 60);
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_PINNED, f.gpu[1], GIB), BERTH_OK);
    assert_int_equal(f.answer.option[0].place.memory, f.numa[1]);
    assert_near(time_of(&f, MEMKIND_PINNED, f.numa[0]), GIB / (0.88 * 60));
    assert_non_null(reason_of(&f, REASON_OPTION_BEHIND));
    end(&f);
}

/* The gpu's memory is a NUMA node: cores reach it, and the right one is worth a factor of ten. */
static void a_superchip(void **state)
{
    (void)state;
    struct fixture f = begin(SUPERCHIP);
    all_known(&f, 340, 88);
    measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[0], "kind=system;operation=read",
             330 * GB);
    measured(&f, METRIC_MEMORY_BANDWIDTH, f.numa[0], f.hbm[0], "", 150 * GB);
    assert_int_equal(ask_reads(&f, 0, f.gpu[0], 8 * GIB), BERTH_OK);
    assert_int_equal(f.answer.option[0].place.memory, f.hbm[0]);
    assert_int_equal(f.answer.option[0].place.kind, MEMKIND_SYSTEM);
    assert_near(f.answer.option[0].predicted.time_ns, 8 * GIB / 4000.0);
    assert_call(&f, MEMKIND_SYSTEM, f.hbm[0], "numa_alloc_onnode(1073741824, 4)");
    assert_true(time_of(&f, MEMKIND_SYSTEM, f.numa[0]) > 10 * f.answer.option[0].predicted.time_ns);
    assert_near(time_of(&f, MEMKIND_SYSTEM, f.hbm[1]), 8 * GIB / 300.0);
    assert_near(time_of(&f, MEMKIND_DEVICE, f.gpu[0]), 8 * GIB / 4000.0);
    assert_null(option(&f, MEMKIND_PINNED, f.hbm[0])); /* what a driver pins is the processor's */
    struct alloc_access access[] = {{.by = f.gpu[0], .reads_bytes = 8 * GIB},
                                    {.by = f.numa[0], .reads_bytes = GIB}};
    assert_int_equal(ask(&f, 0, 2, access), BERTH_OK);
    assert_near(f.answer.option[0].predicted.time_ns, 8 * GIB / 4000.0 + GIB / 150.0);
    assert_int_equal(f.answer.option[0].place.memory, f.hbm[0]);
    end(&f);
}

/* Processor and gpu have one memory, by the NUMA node's name, and cores reach all of it. */
static void one_memory(void **state)
{
    (void)state;
    struct fixture f = begin(ONE_MEMORY);
    all_known(&f, 3200, 100);
    measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[0], "kind=system;operation=read",
             3200 * GB);
    struct alloc_access access[] = {{.by = f.gpu[0], .reads_bytes = 8 * GIB},
                                    {.by = f.numa[0], .reads_bytes = GIB}};
    assert_int_equal(ask(&f, 0, 2, access), BERTH_OK);
    for (size_t i = 0; i < f.answer.count; i++)
        assert_int_equal(graph_place(f.graph, f.answer.option[i].place.memory)->kind, PLACE_NUMA);
    assert_int_equal(f.answer.option[0].place.memory, f.numa[0]);
    assert_int_equal(f.answer.option[0].place.kind, MEMKIND_DEVICE);
    assert_near(f.answer.option[0].predicted.time_ns, 8 * GIB / 4000.0 + GIB / 200.0);
    assert_near(time_of(&f, MEMKIND_PINNED, f.numa[0]), 8 * GIB / 3200.0 + GIB / 200.0);
    /* pinned memory is nearer to managed than the gpu's own is */
    assert_near(time_of(&f, MEMKIND_MANAGED, f.numa[0]), 8 * GIB / 3200.0 + GIB / 200.0);
    assert_call(&f, MEMKIND_DEVICE, f.numa[0], "hipMalloc(&p, 1073741824) on gpu0");
    assert_call(&f, MEMKIND_PINNED, f.numa[0],
                "hipHostMalloc(&p, 1073741824, hipHostMallocDefault) on gpu0");
    assert_call(&f, MEMKIND_PINNED, f.numa[1],
                "numa_set_preferred(1); hipHostMalloc(&p, 1073741824, hipHostMallocNumaUser)");
    end(&f);
}

static void page_faults_of_amd_gpus(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[0], "kind=system;operation=read;xnack=on",
             25 * GB);
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_SYSTEM, f.gpu[0], GIB), BERTH_OK);
    assert_near(time_of(&f, MEMKIND_SYSTEM, f.numa[0]), GIB / 25.0);
    assert_call(&f, MEMKIND_SYSTEM, f.numa[0],
                "numa_alloc_onnode(1073741824, 0) with HSA_XNACK=1 in the environment");
    end(&f);
}

static void only_what_is_allowed(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    f.allowed.gpus = calloc(f.graph->place_count, sizeof *f.allowed.gpus);
    f.allowed.gpus[f.gpu[1]] = true;
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_DEVICE, f.gpu[1], GIB), BERTH_OK);
    assert_int_equal(f.answer.count, 1);
    assert_int_equal(f.answer.option[0].place.memory, f.gpu[1]);
    assert_int_equal(ask_reads(&f, 0, f.gpu[0], GIB), BERTH_NOTHING_ALLOWED);
    assert_non_null(strstr(f.err.detail, "gpu0 is not among the gpus that are allowed: gpu1"));
    f.allowed.gpus[f.gpu[1]] = false;
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_DEVICE, f.numa[0], GIB), BERTH_NOTHING_ALLOWED);
    assert_non_null(strstr(f.err.detail, "no gpu is allowed"));
    assert_string_equal(f.err.arg[0].text, "allowed.gpus");
    struct alloc_access access = {.by = f.gpu[0], .reads_bytes = 1, .cores = 2};
    assert_int_equal(ask(&f, 0, 1, &access), BERTH_INVALID_PARAMETER);
    struct alloc_request large = {
        .bytes = INT64_MAX, .allowed = &f.allowed, .kinds = 1u << MEMKIND_SYSTEM};
    plan_alloc_done(&f.answer);
    f.err = (struct berth_err){0};
    assert_int_equal(plan_alloc(f.snap, &large, &f.answer, &f.err), BERTH_NOT_ENOUGH);
    end(&f);
}

static void a_gpu_that_stopped_answering(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    struct note note = {.code = "gpu-lost", .place = "gpu1", .severity = NOTE_CRITICAL};
    nodes_finish(f.graph);
    values_finish(f.values);
    f.snap = snapshot_new(f.graph, f.values, &note, 1, 0, 1);
    assert_true(f.snap != NULL && derive_costs(f.snap));
    graph_unref(f.graph);
    locality_cpus(f.graph, &f.allowed.cpus);
    assert_int_equal(ask_reads(&f, 0, f.gpu[0], GIB), BERTH_OK);
    assert_null(option(&f, MEMKIND_DEVICE, f.gpu[1]));
    assert_true(warned(&f, REASON_GPU_LEFT_OUT, "gpu1"));
    assert_int_equal(ask_reads(&f, 0, f.gpu[1], GIB), BERTH_UNAVAILABLE);
    assert_non_null(strstr(f.err.detail, "gpu1 is lost"));
    end(&f);
}

/* Host memory is touched or pinned once; what is not known of pinning is at least that. */
static void getting_the_memory_is_paid_once(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    measured(&f, METRIC_ALLOCATION, f.gpu[0], f.numa[0], "", 4 * GB);
    measured(&f, METRIC_ALLOCATION, f.gpu[0], f.numa[0], "kind=pinned", 2 * GB);
    measured(&f, METRIC_ALLOCATION, f.gpu[1], f.numa[1], "", 5 * GB);
    assert_int_equal(ask_reads(&f, 0, f.gpu[0], 8 * GIB), BERTH_OK);
    assert_near(time_of(&f, MEMKIND_PINNED, f.numa[0]), 8 * GIB / 50.0 + GIB / 2.0);
    assert_near(time_of(&f, MEMKIND_PINNED, f.numa[1]), 8 * GIB / 40.0 + GIB / 5.0);
    assert_near(time_of(&f, MEMKIND_DEVICE, f.gpu[0]), 8 * GIB / 4000.0);
    assert_true(doubts(&f, option(&f, MEMKIND_PINNED, f.numa[1]), REASON_SIMILAR_ACCESS) &&
                !doubts(&f, option(&f, MEMKIND_PINNED, f.numa[0]), REASON_SIMILAR_ACCESS));
    assert_false(warned(&f, REASON_SETUP_NOT_COUNTED, NULL));
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_SYSTEM, f.numa[0], GIB), BERTH_OK);
    assert_near(time_of(&f, MEMKIND_SYSTEM, f.numa[0]), GIB / 200.0 + GIB / 4.0);
    end(&f);
}

/* One thread's first touch was measured: that the driver pins faster than one thread touches makes
 * pinned memory no better for a buffer that cores alone use. */
static void pinning_gains_nothing_for_cores_alone(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    measured(&f, METRIC_ALLOCATION, f.gpu[0], f.numa[0], "", 2 * GB);
    measured(&f, METRIC_ALLOCATION, f.gpu[0], f.numa[0], "kind=pinned", 4 * GB);
    assert_int_equal(ask_reads(&f, 0, f.numa[0], GIB), BERTH_OK);
    assert_int_equal(f.answer.option[0].place.kind, MEMKIND_SYSTEM);
    assert_near(time_of(&f, MEMKIND_PINNED, f.numa[0]), GIB / 200.0 + GIB / 2.0);
    assert_true(warned(&f, REASON_TOUCHED_BY_ONE_THREAD, "numa0"));
    assert_int_equal(ask_reads(&f, 0, f.gpu[0], GIB), BERTH_OK);
    assert_near(time_of(&f, MEMKIND_PINNED, f.numa[0]), GIB / 50.0 + GIB / 4.0);
    assert_false(warned(&f, REASON_TOUCHED_BY_ONE_THREAD, NULL));
    end(&f);
}

/* What allocating takes is known less exactly than what the use takes, but it is wrong for both
 * alike. */
static void the_error_of_allocating_hides_no_difference(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 40, 50);
    for (int n = 0; n < 2; n++)
        nodes_value(f.values, METRIC_ALLOCATION, VALUE_MEASURED, f.gpu[n], f.numa[n], "kind=pinned",
                    2 * GB, GB, 3 * GB);
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_PINNED, f.gpu[0], 8 * GIB), BERTH_OK);
    assert_int_equal(f.answer.option[0].place.memory, f.numa[1]);
    assert_true(f.answer.option[1].predicted.low_ns < f.answer.option[0].predicted.high_ns);
    end(&f);
}

/* Times that differ by less than 1 %: the nearest, and the answer says so. */
static void equal_within_a_hundredth(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 50.3);
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_PINNED, f.gpu[0], GIB), BERTH_OK);
    assert_int_equal(f.answer.option[0].place.memory, f.numa[0]);
    assert_true(f.answer.option[1].predicted.time_ns < f.answer.option[0].predicted.time_ns);
    assert_non_null(reason_of(&f, REASON_OPTION_BEHIND));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpus_own_memory_is_first_and_the_rest_is_priced),
        cmocka_unit_test(what_cores_do_not_reach_is_left_out),
        cmocka_unit_test(what_the_probe_found_out_of_reach_is_left_out),
        cmocka_unit_test(first_touch_and_migration_are_paid_once),
        cmocka_unit_test(predictions_hold_one_more_time),
        cmocka_unit_test(of_kinds_in_one_memory_the_faster_is_first),
        cmocka_unit_test(devices_in_slices_are_left_out),
        cmocka_unit_test(random_accesses_of_a_gpu),
        cmocka_unit_test(what_stands_for_a_kernels_rate_is_said),
        cmocka_unit_test(links_are_the_last_resort),
        cmocka_unit_test(links_are_not_faster_than_what_is_known),
        cmocka_unit_test(what_is_known_limits_nothing_slower_or_measured),
        cmocka_unit_test(by_links_alone_the_nearest_is_first),
        cmocka_unit_test(a_superchip),
        cmocka_unit_test(one_memory),
        cmocka_unit_test(page_faults_of_amd_gpus),
        cmocka_unit_test(only_what_is_allowed),
        cmocka_unit_test(a_gpu_that_stopped_answering),
        cmocka_unit_test(getting_the_memory_is_paid_once),
        cmocka_unit_test(pinning_gains_nothing_for_cores_alone),
        cmocka_unit_test(the_error_of_allocating_hides_no_difference),
        cmocka_unit_test(equal_within_a_hundredth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
