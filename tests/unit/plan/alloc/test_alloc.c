#include "unit/plan/alloc/alloc_nodes.h"

#define BUFFER GIB

static const struct shape two_numas = {1, 2, 1, 4, 1, INT64_C(16) << 30};

static place_id numa(const struct fixture *f, int n)
{
    return nodes_place(f->graph, PLACE_NUMA, n);
}
static place_id llc(const struct fixture *f, int n) { return nodes_place(f->graph, PLACE_LLC, n); }

static void streamed(struct fixture *f, place_id from, place_id to, const char *axes,
                     double gb_per_s)
{
    measured(f, METRIC_MEMORY_BANDWIDTH, from, to, axes, gb_per_s * GB);
}

static void the_faster_memory_is_first(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&two_numas);
    streamed(&f, numa(&f, 0), numa(&f, 0), "", 10);
    /* the far one is faster: values decide, not structure */
    streamed(&f, numa(&f, 0), numa(&f, 1), "", 40);
    assert_int_equal(ask_from(&f, "0-3", (struct alloc_request){.bytes = BUFFER}), BERTH_OK);
    assert_int_equal(f.answer.count, 2);
    assert_int_equal(f.answer.option[0].place.memory, numa(&f, 1));
    assert_near(f.answer.option[0].predicted.time_ns, BUFFER / 40.0);
    assert_true(f.answer.option[0].predicted.low_ns < BUFFER / 40.4 &&
                f.answer.option[0].predicted.high_ns > BUFFER / 39.6);
    assert_near(f.answer.option[1].predicted.time_ns, BUFFER / 10.0);
    assert_int_equal(f.answer.option[0].why_count, 1);
    assert_int_equal(f.answer.evidence.item[f.answer.option[0].why]->to, numa(&f, 1));
    assert_int_equal(f.answer.warnings.count, 1); /* of first touch */
    end(&f);
}

static void a_rate_between_core_counts_is_interpolated(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&two_numas);
    streamed(&f, llc(&f, 0), numa(&f, 0), "threads=1", 10);
    streamed(&f, llc(&f, 0), numa(&f, 0), "threads=2", 18);
    streamed(&f, llc(&f, 0), numa(&f, 0), "", 24);
    f.allowed.memory = calloc(f.graph->place_count, sizeof *f.allowed.memory);
    f.allowed.memory[numa(&f, 0)] = true;
    const struct {
        const char *cpus;
        double gb_per_s;
        size_t why;
    } cases[] = {{"2", 10, 1}, {"1,3", 18, 1}, {"0-2", 21, 2}, {"0-3", 24, 1}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(ask_from(&f, cases[i].cpus, (struct alloc_request){.bytes = BUFFER}),
                         BERTH_OK);
        assert_int_equal(f.answer.count, 1);
        assert_near(f.answer.option[0].predicted.time_ns, BUFFER / cases[i].gb_per_s);
        assert_int_equal(f.answer.option[0].why_count, cases[i].why);
        assert_int_equal(f.answer.warnings.count, 1);
    }
    struct alloc_access three = {.by = numa(&f, 0), .reads_bytes = BUFFER, .cores = 3};
    assert_int_equal(
        ask_from(&f, "0",
                 (struct alloc_request){.bytes = BUFFER, .access = &three, .access_count = 1}),
        BERTH_OK);
    assert_near(f.answer.option[0].predicted.time_ns, BUFFER / 21.0);
    end(&f);
}

static void fewer_cores_than_measured_is_said(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&two_numas);
    streamed(&f, numa(&f, 0), numa(&f, 0), "", 20);
    streamed(&f, numa(&f, 0), numa(&f, 1), "", 10);
    assert_int_equal(ask_from(&f, "0", (struct alloc_request){.bytes = BUFFER}), BERTH_OK);
    assert_true(warned(&f, REASON_RATE_AT_MOST, "numa0"));
    assert_near(f.answer.option[0].predicted.time_ns, BUFFER / 20.0);
    assert_true(is_at_least(&f.answer.option[0]));
    end(&f);
}

/* The peak of a memory says what one core takes at least. */
static void a_published_peak_bounds_what_fewer_cores_take(void **state)
{
    (void)state;
    for (int cores = 1; cores <= 4; cores += 3) {
        struct fixture f = begin_cores(&two_numas);
        nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_PUBLISHED, numa(&f, 0), numa(&f, 0),
                    "", 200 * GB, NAN, NAN);
        nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_PUBLISHED, numa(&f, 0), numa(&f, 1),
                    "", 100 * GB, NAN, NAN);
        struct alloc_access access = {.by = numa(&f, 0), .reads_bytes = BUFFER, .cores = cores};
        assert_int_equal(
            ask_from(&f, "0-3",
                     (struct alloc_request){.bytes = BUFFER, .access = &access, .access_count = 1}),
            BERTH_OK);
        const struct alloc_option *first = &f.answer.option[0];
        assert_near(first->predicted.time_ns, BUFFER / 200.0);
        assert_true(isnan(first->predicted.high_ns) &&
                    isnan(first->predicted.low_ns) == (cores == 4));
        assert_true(cores == 4 || first->predicted.low_ns == first->predicted.time_ns);
        assert_int_equal(warned(&f, REASON_RATE_AT_MOST, "numa0"), cores == 1);
        end(&f);
    }
}

/* Times that differ by less than 1 % are equal: the nearest goes first. */
static void equal_is_what_is_not_far_apart(void **state)
{
    (void)state;
    static const struct {
        double far;
        int first;
    } cases[] = {{100.9, 0}, {102, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f = begin_cores(&two_numas);
        streamed(&f, numa(&f, 0), numa(&f, 0), "", 100);
        streamed(&f, numa(&f, 0), numa(&f, 1), "", cases[i].far);
        assert_int_equal(ask_from(&f, "0-3", (struct alloc_request){.bytes = BUFFER}), BERTH_OK);
        assert_int_equal(f.answer.option[0].place.memory, numa(&f, cases[i].first));
        assert_int_equal(reason_of(&f, REASON_OPTION_BEHIND) != NULL, i == 0);
        end(&f);
    }
}

static void several_initiators_do_not_add_up_without_limit(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&two_numas);
    streamed(&f, numa(&f, 0), numa(&f, 0), "", 40);
    streamed(&f, numa(&f, 1), numa(&f, 0), "", 25);
    streamed(&f, numa(&f, 1), numa(&f, 1), "", 41);
    streamed(&f, numa(&f, 0), numa(&f, 1), "", 24);
    assert_int_equal(ask_from(&f, "0-7", (struct alloc_request){.bytes = BUFFER}), BERTH_OK);
    assert_true(warned(&f, REASON_RATE_AT_MOST, "numa0"));
    /* half of the bytes at 24 would finish in time, but nobody has seen more than 41 from that
     * memory */
    assert_int_equal(f.answer.option[0].place.memory, numa(&f, 1));
    assert_near(f.answer.option[0].predicted.time_ns, BUFFER / 41.0);
    assert_near(f.answer.option[1].predicted.time_ns, BUFFER / 40.0);
    assert_true(f.answer.option[0].predicted.low_ns < BUFFER / (2 * 24 * 1.01));
    end(&f);
}

static void reads_writes_and_random_accesses_add_up(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&two_numas);
    streamed(&f, numa(&f, 0), numa(&f, 0), "", 20);
    streamed(&f, numa(&f, 0), numa(&f, 0), "operation=write", 10);
    nodes_value(f.values, METRIC_MEMORY_LATENCY, VALUE_MEASURED, llc(&f, 0), numa(&f, 0), "", 100,
                98, 103);
    f.allowed.memory = calloc(f.graph->place_count, sizeof *f.allowed.memory);
    f.allowed.memory[numa(&f, 0)] = true;
    struct alloc_access access[] = {
        {.by = numa(&f, 0), .reads_bytes = BUFFER, .writes_bytes = BUFFER},
        {.by = nodes_place(f.graph, PLACE_CORE, 1), .reads_bytes = 64 * 1000, .random = true}};
    assert_int_equal(
        ask_from(&f, "0-3",
                 (struct alloc_request){.bytes = BUFFER, .access = access, .access_count = 2}),
        BERTH_OK);
    assert_near(f.answer.option[0].predicted.time_ns, BUFFER / 20.0 + BUFFER / 10.0 + 1000 * 100.0);
    assert_int_equal(f.answer.option[0].why_count, 3);
    assert_true(warned(&f, REASON_RANDOM_IN_FLIGHT, "numa0"));
    end(&f);
}

static void nominal_values_are_second_and_named(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&two_numas);
    nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_NOMINAL, numa(&f, 0), numa(&f, 0), "",
                100 * GB, NAN, NAN);
    nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_NOMINAL, numa(&f, 0), numa(&f, 1), "",
                50 * GB, NAN, NAN);
    streamed(&f, llc(&f, 0), numa(&f, 0), "", 30);
    assert_int_equal(ask_from(&f, "0-3", (struct alloc_request){.bytes = BUFFER}), BERTH_OK);
    /* The measured 30, not the nominal 100; a peak of 50 says what it takes at least. */
    assert_int_equal(f.answer.option[0].place.memory, numa(&f, 0));
    assert_near(f.answer.option[0].predicted.time_ns, BUFFER / 30.0);
    assert_near(f.answer.option[1].predicted.time_ns, BUFFER / 50.0);
    assert_true(f.answer.option[1].predicted.low_ns == f.answer.option[1].predicted.time_ns &&
                isnan(f.answer.option[1].predicted.high_ns));
    assert_true(warned(&f, REASON_RATE_AT_MOST, "numa1") &&
                !warned(&f, REASON_RATE_AT_MOST, "numa0"));
    end(&f);
}

static void what_is_unknown_stands_last_by_distance(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&(struct shape){2, 2, 1, 2, 1, INT64_C(16) << 30});
    streamed(&f, numa(&f, 1), numa(&f, 3), "", 5);
    nodes_value(f.values, METRIC_NUMA_DISTANCE, VALUE_NOMINAL, numa(&f, 1), numa(&f, 2), "", 31,
                NAN, NAN);
    assert_int_equal(ask_from(&f, "2-3", (struct alloc_request){.bytes = BUFFER}), BERTH_OK);
    const int expected[] = {3, 1, 0, 2};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(f.answer.option[i].place.memory, numa(&f, expected[i]));
    for (size_t i = 1; i < 4; i++)
        assert_true(isnan(f.answer.option[i].predicted.time_ns));
    assert_true(warned(&f, REASON_BY_DISTANCE, "numa1") &&
                !warned(&f, REASON_BY_DISTANCE, "numa3"));
    assert_int_equal(f.answer.option[3].why_count, 1);
    end(&f);
}

/* Half of the cores have a nominal rate, the others none: it takes at least as long as that
 * memory's own cores would. Of the other memory nothing is known. */
static void half_a_prediction_is_a_lower_bound(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&two_numas);
    nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_NOMINAL, numa(&f, 0), numa(&f, 0), "",
                100 * GB, NAN, NAN);
    assert_int_equal(ask_from(&f, "0-7", (struct alloc_request){.bytes = BUFFER}), BERTH_OK);
    assert_near(f.answer.option[0].predicted.time_ns, BUFFER / 100.0);
    assert_true(is_at_least(&f.answer.option[0]) &&
                f.answer.option[0].predicted.source == SOURCE_LOWER_BOUND);
    assert_int_equal(f.answer.option[0].why_count, 1);
    assert_true(warned(&f, REASON_RATE_AT_MOST, "numa0"));
    assert_true(isnan(f.answer.option[1].predicted.time_ns) && f.answer.option[1].why_count == 0);
    end(&f);
}

static void with_nothing_known_structure_decides(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&two_numas);
    assert_int_equal(ask_from(&f, "5", (struct alloc_request){.bytes = BUFFER}), BERTH_OK);
    assert_int_equal(f.answer.option[0].place.memory, numa(&f, 1));
    assert_true(isnan(f.answer.option[0].predicted.time_ns));
    assert_true(warned(&f, REASON_BY_DISTANCE, "numa0") && warned(&f, REASON_BY_DISTANCE, "numa1"));
    assert_non_null(reason_of(&f, REASON_OPTION_NEAREST));
    end(&f);
}

static void without_even_structure_it_is_not_measured(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&two_numas);
    struct alloc_access by_gpu = {.by = nodes_add(f.graph, PLACE_GPU, 0, 0, PLACE_NONE, NULL),
                                  .reads_bytes = BUFFER};
    struct alloc_request request = {
        .bytes = BUFFER, .access = &by_gpu, .access_count = 1, .kinds = 1u << MEMKIND_SYSTEM};
    assert_int_equal(ask_from(&f, "0", request), BERTH_NOT_MEASURED);
    assert_string_equal(f.err.arg[0].text, "host_gpu_kernel");
    assert_string_equal(f.err.arg[1].text, "gpu0");
    request.kinds = 0; /* wherever the gpu is, its own memory is with it */
    assert_int_equal(ask_from(&f, "0", request), BERTH_OK);
    assert_int_equal(f.answer.option[0].place.memory, by_gpu.by);
    end(&f);
}

static void a_gpu_by_structure_and_by_values(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&two_numas);
    struct alloc_access by_gpu = {
        .by = nodes_add(f.graph, PLACE_GPU, 0, numa(&f, 1), numa(&f, 1), NULL),
        .reads_bytes = BUFFER};
    streamed(&f, by_gpu.by, numa(&f, 0), "", 8);
    struct alloc_request request = {
        .bytes = BUFFER, .access = &by_gpu, .access_count = 1, .kinds = 1u << MEMKIND_SYSTEM};
    assert_int_equal(ask_from(&f, "0", request), BERTH_OK);
    assert_near(f.answer.option[0].predicted.time_ns, BUFFER / 8.0);
    assert_int_equal(f.answer.option[1].place.memory, numa(&f, 1));
    assert_true(isnan(f.answer.option[1].predicted.time_ns));
    end(&f);
}

static void memory_without_room_is_last(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&two_numas);
    streamed(&f, numa(&f, 0), numa(&f, 0), "", 40);
    streamed(&f, numa(&f, 0), numa(&f, 1), "", 10);
    const struct free_memory_node nodes[] = {{0, BUFFER - 1}, {1, BUFFER}};
    struct alloc_request request = {.bytes = BUFFER, .free = {1790000000, nodes, 2}};
    assert_int_equal(ask_from(&f, "0-3", request), BERTH_OK);
    assert_int_equal(f.answer.option[0].place.memory, numa(&f, 1));
    assert_int_equal(f.answer.option[0].free_bytes, BUFFER);
    assert_true(warned(&f, REASON_NO_ROOM, "numa0") && !warned(&f, REASON_NO_ROOM, "numa1"));
    request.free.count = 0;
    assert_int_equal(ask_from(&f, "0-3", request), BERTH_OK);
    assert_int_equal(f.answer.option[0].place.memory, numa(&f, 0));
    assert_int_equal(f.answer.option[0].free_bytes, -1);
    end(&f);
}

static void memory_without_cores_and_cores_without_memory(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&two_numas);
    place_id package = nodes_place(f.graph, PLACE_PACKAGE, 0);
    place_id far = nodes_add(f.graph, PLACE_NUMA, 4, package, PLACE_NONE, NULL);
    f.graph->places[far].capacity_bytes = INT64_C(1) << 40;
    f.graph->places[numa(&f, 1)].capacity_bytes = 0;
    streamed(&f, numa(&f, 1), numa(&f, 0), "", 10);
    streamed(&f, numa(&f, 1), far, "", 12);
    assert_int_equal(ask_from(&f, "4-7", (struct alloc_request){.bytes = BUFFER}), BERTH_OK);
    assert_int_equal(f.answer.count, 2);
    assert_int_equal(f.answer.option[0].place.memory, far);
    /* too large for one of them */
    assert_int_equal(ask_from(&f, "4-7", (struct alloc_request){.bytes = INT64_C(17) << 30}),
                     BERTH_OK);
    assert_int_equal(f.answer.count, 1);
    assert_true(warned(&f, REASON_TOO_SMALL, "numa0"));
    end(&f);
}

static void errors_name_what_is_wrong(void **state)
{
    (void)state;
    struct fixture f = begin_cores(&two_numas);
    assert_int_equal(ask_from(&f, "0", (struct alloc_request){.bytes = INT64_C(1) << 50}),
                     BERTH_NOT_ENOUGH);
    assert_string_equal(f.err.arg[0].text, "bytes of memory");
    assert_int_equal(f.err.arg[1].number, INT64_C(1) << 50);
    assert_int_equal(f.err.arg[2].number, INT64_C(16) << 30);
    assert_int_equal(ask_from(&f, "0", (struct alloc_request){.bytes = 0}),
                     BERTH_INVALID_PARAMETER);
    assert_string_equal(f.err.arg[0].text, "bytes");
    assert_int_equal(ask_from(&f, "", (struct alloc_request){.bytes = 1}), BERTH_NOTHING_ALLOWED);
    struct alloc_access access = {.by = numa(&f, 0), .reads_bytes = 1, .cores = 5};
    assert_int_equal(
        ask_from(&f, "0", (struct alloc_request){.bytes = 1, .access = &access, .access_count = 1}),
        BERTH_NOT_ENOUGH);
    assert_int_equal(f.err.arg[2].number, 4);
    access = (struct alloc_access){.by = numa(&f, 0), .reads_bytes = -1};
    assert_int_equal(
        ask_from(&f, "0", (struct alloc_request){.bytes = 1, .access = &access, .access_count = 1}),
        BERTH_INVALID_PARAMETER);
    access.reads_bytes = 0;
    assert_int_equal(
        ask_from(&f, "0", (struct alloc_request){.bytes = 1, .access = &access, .access_count = 1}),
        BERTH_INVALID_PARAMETER);
    f.allowed.memory = calloc(f.graph->place_count, sizeof *f.allowed.memory);
    assert_int_equal(ask_from(&f, "0", (struct alloc_request){.bytes = 1}), BERTH_NOTHING_ALLOWED);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_faster_memory_is_first),
        cmocka_unit_test(a_rate_between_core_counts_is_interpolated),
        cmocka_unit_test(fewer_cores_than_measured_is_said),
        cmocka_unit_test(a_published_peak_bounds_what_fewer_cores_take),
        cmocka_unit_test(equal_is_what_is_not_far_apart),
        cmocka_unit_test(several_initiators_do_not_add_up_without_limit),
        cmocka_unit_test(reads_writes_and_random_accesses_add_up),
        cmocka_unit_test(nominal_values_are_second_and_named),
        cmocka_unit_test(what_is_unknown_stands_last_by_distance),
        cmocka_unit_test(half_a_prediction_is_a_lower_bound),
        cmocka_unit_test(with_nothing_known_structure_decides),
        cmocka_unit_test(without_even_structure_it_is_not_measured),
        cmocka_unit_test(a_gpu_by_structure_and_by_values),
        cmocka_unit_test(memory_without_room_is_last),
        cmocka_unit_test(memory_without_cores_and_cores_without_memory),
        cmocka_unit_test(errors_name_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
