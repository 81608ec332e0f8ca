/* Partly known times: a lower bound, ranked behind predictions, with a sentence about the missing
 * part. */
#include "unit/plan/alloc/alloc_nodes.h"

static size_t rank_of(const struct fixture *f, enum memkind kind, place_id memory)
{
    return (size_t)(option(f, kind, memory) - f->answer.option);
}

static void assert_floor(const struct fixture *f, enum memkind kind, place_id memory,
                         enum reason_code doubt, double time_ns)
{
    const struct alloc_option *found = option(f, kind, memory);
    assert_non_null(found);
    assert_true(doubts(f, found, doubt) && is_at_least(found));
    assert_int_equal(found->predicted.source, SOURCE_LOWER_BOUND);
    assert_near(found->predicted.time_ns, time_ns);
}

/* No random access is faster than a stream. */
static void a_latency_that_nobody_knows(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    measured(&f, METRIC_MEMORY_BANDWIDTH, f.gpu[0], f.gpu[0], "", 4000 * GB);
    measured(&f, METRIC_GPU_GPU_KERNEL, f.gpu[0], f.gpu[1], "operation=read", 300 * GB);
    measured(&f, METRIC_MEMORY_BANDWIDTH, f.numa[0], f.numa[0], "", 200 * GB);
    struct alloc_access access = {.by = f.gpu[0], .reads_bytes = GIB, .random = true};
    assert_int_equal(ask(&f, 1u << MEMKIND_DEVICE, 1, &access), BERTH_OK);
    assert_floor(&f, MEMKIND_DEVICE, f.gpu[0], REASON_RANDOM_AS_STREAM, GIB / 4000.0);
    assert_floor(&f, MEMKIND_DEVICE, f.gpu[1], REASON_RANDOM_AS_STREAM, GIB / 300.0);
    assert_int_equal(rank_of(&f, MEMKIND_DEVICE, f.gpu[0]), 0);
    assert_true(warned(&f, REASON_RANDOM_AS_STREAM, "gpu0") &&
                warned(&f, REASON_RANDOM_AS_STREAM, "gpu1"));
    access.by = f.numa[0];
    assert_int_equal(ask(&f, 1u << MEMKIND_SYSTEM, 1, &access), BERTH_OK);
    assert_floor(&f, MEMKIND_SYSTEM, f.numa[0], REASON_RANDOM_AS_STREAM, GIB / 200.0);
    end(&f);
}

/* No stream takes less than one access does, in whatever kind of allocation; where nothing is known
 * of that, bytes that take less than a microsecond at their rate have no time. */
static void a_stream_of_few_bytes(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&(struct shape){2, 1, 1, 4, 1, 256 * GIB});
    place_id numa[] = {nodes_place(f.graph, PLACE_NUMA, 0), nodes_place(f.graph, PLACE_NUMA, 1)};
    struct alloc_access access = {.by = numa[0], .reads_bytes = 64};
    for (int i = 0; i < 2; i++)
        measured(&f, METRIC_MEMORY_BANDWIDTH, numa[0], numa[i], "", (i == 0 ? 200 : 300) * GB);
    assert_int_equal(ask(&f, 0, 1, &access), BERTH_OK);
    for (size_t i = 0; i < f.answer.count; i++)
        assert_true(isnan(f.answer.option[i].predicted.time_ns) &&
                    isnan(f.answer.option[i].predicted.low_ns) &&
                    f.answer.option[i].why_count == 0);
    assert_true(f.answer.count == 2 && f.answer.option[0].place.memory == numa[0]);
    assert_true(warned(&f, REASON_START_NOT_COUNTED, "numa0"));
    access.reads_bytes = 400000; /* 2 us at 200 GB/s */
    assert_int_equal(ask(&f, 0, 1, &access), BERTH_OK);
    assert_near(option(&f, MEMKIND_SYSTEM, numa[0])->predicted.time_ns, 2000);
    end(&f);
    f = begin_cores(&(struct shape){2, 1, 1, 4, 1, 256 * GIB});
    for (int i = 0; i < 2; i++) {
        measured(&f, METRIC_MEMORY_BANDWIDTH, numa[0], numa[i], "", (i == 0 ? 200 : 300) * GB);
        measured(&f, METRIC_MEMORY_LATENCY, numa[0], numa[i], "", i == 0 ? 100 : 180);
    }
    double before_ns = 0;
    for (int64_t bytes = 1; bytes <= 4 * GIB; bytes *= 4) {
        access.reads_bytes = bytes;
        assert_int_equal(ask(&f, 0, 1, &access), BERTH_OK);
        const struct estimate *near = &option(&f, MEMKIND_SYSTEM, numa[0])->predicted,
                              *far = &option(&f, MEMKIND_SYSTEM, numa[1])->predicted;
        assert_near(near->time_ns, fmax(100, bytes / 200.0));
        assert_near(far->time_ns, fmax(180, bytes / 300.0));
        assert_true(near->time_ns >= before_ns && near->low_ns < near->time_ns &&
                    near->high_ns > near->time_ns && near->high_ns >= bytes / 200.0);
        assert_int_equal(f.answer.option[0].place.memory,
                         near->time_ns < far->time_ns ? numa[0] : numa[1]);
        before_ns = near->time_ns;
    }
    end(&f);
}

/* Nor has what a gpu's kernel moves: what starting one costs is not known. */
static void few_bytes_of_a_gpu_without_a_latency(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    measured(&f, METRIC_MEMORY_BANDWIDTH, f.gpu[0], f.gpu[0], "", 4000 * GB);
    measured(&f, METRIC_GPU_GPU_KERNEL, f.gpu[0], f.gpu[1], "operation=read", 300 * GB);
    struct alloc_access access = {.by = f.gpu[0], .reads_bytes = 64};
    assert_int_equal(ask(&f, 1u << MEMKIND_DEVICE, 1, &access), BERTH_OK);
    for (size_t i = 0; i < f.answer.count; i++)
        assert_true(isnan(f.answer.option[i].predicted.time_ns));
    assert_int_equal(f.answer.option[0].place.memory, f.gpu[0]);
    assert_true(warned(&f, REASON_START_NOT_COUNTED, "gpu0"));
    end(&f);
}

/* A latency that is known, however long, goes before one that is not. */
static void what_is_predicted_goes_first(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&(struct shape){2, 1, 1, 4, 1, 256 * GIB});
    place_id numa[] = {nodes_place(f.graph, PLACE_NUMA, 0), nodes_place(f.graph, PLACE_NUMA, 1)};
    measured(&f, METRIC_MEMORY_BANDWIDTH, numa[0], numa[0], "", 200 * GB);
    measured(&f, METRIC_MEMORY_LATENCY, numa[0], numa[1], "", 500);
    struct alloc_access access = {.by = numa[0], .reads_bytes = GIB, .random = true};
    assert_int_equal(ask(&f, 0, 1, &access), BERTH_OK);
    assert_int_equal(f.answer.option[0].place.memory, numa[1]);
    assert_true(!is_at_least(&f.answer.option[0]) && f.answer.option[0].predicted.time_ns > 1e9);
    assert_floor(&f, MEMKIND_SYSTEM, numa[0], REASON_RANDOM_AS_STREAM, GIB / 200.0);
    end(&f);
}

/* Managed memory moves at a cost that nobody measured: what it takes as the gpu's own is what it
 * takes at least. */
static void moving_that_nobody_measured(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    assert_int_equal(ask_reads(&f, 0, f.gpu[0], 8 * GIB), BERTH_OK);
    assert_floor(&f, MEMKIND_MANAGED, f.gpu[0], REASON_MIGRATION_NOT_COUNTED, 8 * GIB / 4000.0);
    assert_true(rank_of(&f, MEMKIND_MANAGED, f.gpu[0]) > rank_of(&f, MEMKIND_PINNED, f.numa[1]));
    assert_true(warned(&f, REASON_MIGRATION_NOT_COUNTED, "gpu0"));
    /* there is known, back is not */
    end(&f);
    f = begin(DISCRETE);
    all_known(&f, 50, 40);
    measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[0], "kind=migrating;operation=read",
             10 * GB);
    assert_int_equal(ask_reads(&f, 0, f.gpu[0], 8 * GIB), BERTH_OK);
    assert_false(is_at_least(option(&f, MEMKIND_MANAGED, f.gpu[0])));
    struct alloc_access with_cores[] = {{.by = f.gpu[0], .reads_bytes = 8 * GIB},
                                        {.by = f.numa[0], .reads_bytes = GIB}};
    assert_int_equal(ask(&f, 0, 2, with_cores), BERTH_OK);
    assert_floor(&f, MEMKIND_MANAGED, f.gpu[0], REASON_MIGRATION_NOT_COUNTED,
                 GIB / 10.0 + 7 * GIB / 4000.0 + GIB / 200.0);
    end(&f);
}

static void memory_that_several_gpus_touch(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    struct alloc_access both[] = {{.by = f.gpu[0], .reads_bytes = 8 * GIB},
                                  {.by = f.gpu[1], .writes_bytes = GIB}};
    assert_int_equal(ask(&f, 0, 2, both), BERTH_OK);
    assert_floor(&f, MEMKIND_MANAGED, f.gpu[0], REASON_MIGRATION_NOT_COUNTED,
                 8 * GIB / 4000.0 + GIB / 3000.0);
    assert_null(option(&f, MEMKIND_MANAGED, f.gpu[1])); /* it moves, whoever had it first */
    assert_false(is_at_least(&f.answer.option[0]));
    assert_true(warned(&f, REASON_MIGRATION_NOT_COUNTED, "gpu0"));
    end(&f);
}

/* What all cores of a package are said to get is as far off for one memory as for another: such
 * bounds keep their order among each other, and go before those that lack a part. */
static void bounds_that_lack_a_part_go_behind_those_of_few_cores(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    place_id package = graph_place(f.graph, f.numa[0])->parent;
    for (int n = 0; n < 2; n++) {
        nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_PUBLISHED, package, f.numa[n], "",
                    (n == 0 ? 200 : 100) * GB, 0, 0);
        measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[n], f.gpu[0], "operation=read", 10 * GB);
    }
    measured(&f, METRIC_MEMORY_BANDWIDTH, f.gpu[0], f.gpu[0], "", 4000 * GB);
    struct alloc_access users[] = {{.by = f.gpu[0], .reads_bytes = 8 * GIB},
                                   {.by = f.numa[0], .reads_bytes = GIB, .cores = 1}};
    assert_int_equal(ask(&f, 1u << MEMKIND_PINNED | 1u << MEMKIND_MANAGED, 2, users), BERTH_OK);
    size_t near = rank_of(&f, MEMKIND_PINNED, f.numa[0]),
           far = rank_of(&f, MEMKIND_PINNED, f.numa[1]),
           moves = rank_of(&f, MEMKIND_MANAGED, f.gpu[0]);
    const struct alloc_option *its = f.answer.option;
    assert_true(its[near].predicted.source == SOURCE_NOMINAL && is_at_least(&its[near]) &&
                its[far].predicted.source == SOURCE_NOMINAL && is_at_least(&its[far]));
    assert_floor(&f, MEMKIND_MANAGED, f.gpu[0], REASON_MIGRATION_NOT_COUNTED,
                 8 * GIB / 4000.0 + GIB / 200.0);
    assert_true(its[moves].predicted.time_ns < its[near].predicted.time_ns &&
                its[near].predicted.time_ns < its[far].predicted.time_ns);
    assert_true(near == 0 && near < far && far < moves);
    const struct reason *behind = reason_of(&f, REASON_OPTION_BEHIND);
    assert_non_null(behind);
    assert_string_equal(behind->subject[0], "gpu0");
    assert_near(behind->number[0], 8 * GIB / 4000.0 + GIB / 200.0);
    end(&f);
}

/* What is predicted goes before what is bounded in either way, though it takes longer, unless what
 * is bounded is nearest. */
static void bounds_of_few_cores_go_behind_what_is_predicted(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    place_id package = graph_place(f.graph, f.numa[0])->parent;
    nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_PUBLISHED, package, f.numa[1], "",
                200 * GB, 0, 0);
    measured(&f, METRIC_MEMORY_BANDWIDTH, f.numa[0], f.numa[0], "", 50 * GB);
    struct alloc_access access = {.by = f.numa[0], .reads_bytes = GIB, .cores = 1};
    assert_int_equal(ask(&f, 1u << MEMKIND_SYSTEM, 1, &access), BERTH_OK);
    assert_int_equal(option(&f, MEMKIND_SYSTEM, f.numa[1])->predicted.source, SOURCE_NOMINAL);
    assert_int_equal(rank_of(&f, MEMKIND_SYSTEM, f.numa[0]), 0);
    const struct reason *behind = reason_of(&f, REASON_OPTION_BEHIND);
    assert_non_null(behind);
    assert_string_equal(behind->subject[0], "numa1");
    end(&f);
}

/* Of its own memory nothing is known at all, of another's a lower bound: nothing farther is faster
 * than its own. */
static void a_gpus_own_memory_goes_before_bounds(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    measured(&f, METRIC_GPU_GPU_KERNEL, f.gpu[0], f.gpu[1], "operation=read", 300 * GB);
    struct alloc_access access = {.by = f.gpu[0], .reads_bytes = GIB, .random = true};
    assert_int_equal(ask(&f, 1u << MEMKIND_DEVICE, 1, &access), BERTH_OK);
    assert_int_equal(f.answer.option[0].place.memory, f.gpu[0]);
    assert_true(isnan(f.answer.option[0].predicted.time_ns));
    assert_floor(&f, MEMKIND_DEVICE, f.gpu[1], REASON_RANDOM_AS_STREAM, GIB / 300.0);
    end(&f);
}

/* What is known of a way may be from before its link went down: that is said, of that memory alone.
 */
static void a_link_that_is_down_is_told(void **state)
{
    (void)state;
    for (int down = 0; down < 2; down++) {
        struct fixture f = begin(DISCRETE);
        all_known(&f, 50, 40);
        struct link *link = graph_add_link(f.graph, f.gpu[0], f.gpu[1], LINK_NVLINK);
        assert_non_null(link);
        link->nominal_bytes_per_s = 300 * GB;
        link->state = down ? LINK_DOWN : LINK_UP;
        assert_int_equal(ask_reads(&f, 0, f.gpu[0], GIB), BERTH_OK);
        assert_int_equal(warned(&f, REASON_LINK_DOWN, "the link between gpu0 and gpu1 is down"),
                         down);
        assert_int_equal(ask_reads(&f, 1u << MEMKIND_PINNED, f.gpu[0], GIB), BERTH_OK);
        assert_false(warned(&f, REASON_LINK_DOWN, NULL));
        end(&f);
    }
}

/* No time is below the latency of one access: also of cores of several packages, of which only
 * those next to a memory were measured. */
static void few_bytes_of_many_cores_take_no_less_than_one_access(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    for (int n = 0; n < 2; n++) {
        measured(&f, METRIC_MEMORY_LATENCY, f.numa[n], f.numa[n], "", n == 0 ? 96 : 99);
        nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_NOMINAL, f.numa[n], f.numa[n], "",
                    51.2 * GB, 0, 0);
    }
    struct alloc_access users[] = {{.by = f.numa[0], .reads_bytes = 64},
                                   {.by = 0, .reads_bytes = 64}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ask(&f, 1u << MEMKIND_SYSTEM, 1, &users[i]), BERTH_OK);
        for (size_t o = 0; o < f.answer.count; o++)
            assert_true(isnan(f.answer.option[o].predicted.time_ns) ||
                        f.answer.option[o].predicted.time_ns >= 96);
        assert_true(i == 1 || option(&f, MEMKIND_SYSTEM, f.numa[0])->predicted.time_ns >= 96);
    }
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_latency_that_nobody_knows),
        cmocka_unit_test(a_stream_of_few_bytes),
        cmocka_unit_test(few_bytes_of_a_gpu_without_a_latency),
        cmocka_unit_test(what_is_predicted_goes_first),
        cmocka_unit_test(moving_that_nobody_measured),
        cmocka_unit_test(memory_that_several_gpus_touch),
        cmocka_unit_test(bounds_that_lack_a_part_go_behind_those_of_few_cores),
        cmocka_unit_test(bounds_of_few_cores_go_behind_what_is_predicted),
        cmocka_unit_test(a_gpus_own_memory_goes_before_bounds),
        cmocka_unit_test(few_bytes_of_many_cores_take_no_less_than_one_access),
        cmocka_unit_test(a_link_that_is_down_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
