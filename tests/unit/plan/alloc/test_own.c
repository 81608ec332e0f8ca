#include "unit/plan/alloc/alloc_nodes.h"

/* A gpu's own memory of which nothing is known, and what stands for it. */

static void links_between_gpus(struct fixture *f, double gb)
{
    struct link *link = graph_add_link(f->graph, f->gpu[0], f->gpu[1], LINK_NVLINK);
    assert_non_null(link);
    link->nominal_bytes_per_s = gb * GB;
}

static void assert_first(const struct fixture *f, enum memkind kind, place_id memory)
{
    assert_int_equal(f->answer.option[0].place.kind, kind);
    assert_int_equal(f->answer.option[0].place.memory, memory);
}

/* Whatever is known of farther memory, and from whichever source: it is no faster. */
static void it_is_before_what_is_farther(void **state)
{
    (void)state;
    for (int by = 0; by < 2; by++) {
        struct fixture f = begin(DISCRETE);
        links_between_gpus(&f, 150);
        if (by == 0)
            measured(&f, METRIC_GPU_GPU_KERNEL, f.gpu[0], f.gpu[1], "operation=read", 300 * GB);
        measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[0], "operation=read", 50 * GB);
        assert_int_equal(ask_reads(&f, 0, f.gpu[0], 4 * GIB), BERTH_OK);
        assert_first(&f, MEMKIND_DEVICE, f.gpu[0]);
        assert_true(isnan(f.answer.option[0].predicted.time_ns)); /* but nobody guesses a time */
        assert_near(time_of(&f, MEMKIND_DEVICE, f.gpu[1]),
                    4 * GIB / (by == 0 ? 300.0 : 0.83 * 150));
        assert_true(warned(&f, REASON_BY_DISTANCE, "gpu0"));
        assert_non_null(reason_of(&f, REASON_OPTION_NEAREST));
        end(&f);
    }
}

/* Of most gpus the peak is published of reading alone: it stands for writing, as a streaming copy
 * does before it. */
static void reading_stands_for_writing(void **state)
{
    (void)state;
    for (int copies = 0; copies < 2; copies++) {
        struct fixture f = begin(DISCRETE);
        measured(&f, METRIC_MEMORY_BANDWIDTH, f.gpu[0], f.gpu[0], "", 4000 * GB);
        if (copies)
            measured(&f, METRIC_GPU_STREAM, f.gpu[0], f.gpu[0], "", 3000 * GB);
        struct alloc_access access = {.by = f.gpu[0], .writes_bytes = 64 * GIB};
        assert_int_equal(ask(&f, 0, 1, &access), BERTH_OK);
        assert_first(&f, MEMKIND_DEVICE, f.gpu[0]);
        assert_near(time_of(&f, MEMKIND_DEVICE, f.gpu[0]), 64 * GIB / (copies ? 3000.0 : 4000.0));
        assert_int_equal(f.answer.option[0].predicted.source,
                         copies ? SOURCE_SIMILAR_PAIR : SOURCE_REVERSE_DIRECTION);
        assert_true(warned(&f, REASON_SIMILAR_ACCESS, "gpu0"));
        assert_int_equal(isnan(f.answer.option[0].predicted.low_ns), !copies);
        end(&f);
    }
}

/* What is published of copy engines says nothing of kernels, which go by the links, as for Route;
 * what was measured goes before links. */
static void a_published_copy_engine_is_no_kernel(void **state)
{
    (void)state;
    for (int was_measured = 0; was_measured < 2; was_measured++) {
        struct fixture f = begin(DISCRETE);
        links_between_gpus(&f, 200);
        nodes_value(f.values, METRIC_GPU_GPU_COPY_ENGINE,
                    was_measured ? VALUE_MEASURED : VALUE_PUBLISHED, f.gpu[1], f.gpu[0], "",
                    50 * GB, NAN, NAN);
        assert_int_equal(ask_reads(&f, 0, f.gpu[0], 4 * GIB), BERTH_OK);
        assert_near(time_of(&f, MEMKIND_DEVICE, f.gpu[1]),
                    4 * GIB / (was_measured ? 50.0 : 0.83 * 200));
        assert_int_equal(doubts(&f, option(&f, MEMKIND_DEVICE, f.gpu[1]), REASON_SIMILAR_ACCESS),
                         was_measured);
        end(&f);
    }
}

/* Links between processors that have one memory with their gpus are stated as the gpus'. */
static void cores_use_the_links_of_their_gpus(void **state)
{
    (void)state;
    for (int linked = 0; linked < 2; linked++) {
        struct fixture f = begin(ONE_MEMORY);
        if (linked)
            links_between_gpus(&f, 128);
        for (int n = 0; n < 2; n++)
            nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_PUBLISHED, f.numa[n], f.numa[n],
                        "", 1000 * GB, NAN, NAN);
        assert_int_equal(ask_reads(&f, 0, f.numa[1], GIB), BERTH_OK);
        assert_near(time_of(&f, MEMKIND_SYSTEM, f.numa[1]), GIB / 1000.0);
        /* no faster than its own cores */
        assert_near(time_of(&f, MEMKIND_SYSTEM, f.numa[0]), GIB / (linked ? 0.83 * 128 : 1000.0));
        const struct alloc_option *other = option(&f, MEMKIND_SYSTEM, f.numa[0]);
        assert_int_equal(other->predicted.source, linked ? SOURCE_NOMINAL : SOURCE_LOWER_BOUND);
        assert_int_equal(doubts(&f, other, REASON_ACCESS_BY_LINKS), linked);
        /* half of it from each */
        struct alloc_access access = {.by = PLACE_NONE, .reads_bytes = GIB};
        assert_int_equal(ask(&f, 0, 1, &access), BERTH_OK);
        assert_near(time_of(&f, MEMKIND_SYSTEM, f.numa[0]),
                    GIB / (linked ? 2 * 0.83 * 128 : 1000.0));
        assert_int_equal(cites_nominal(&f, option(&f, MEMKIND_SYSTEM, f.numa[0]), 128 * GB),
                         linked);
        end(&f);
    }
}

/* The gpu's part alone would make its own memory first; what the cores pay there is not known, and
 * half a sum goes before no whole one. */
static void half_a_sum_goes_before_no_whole_one(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct fixture f = begin(kind == 0 ? ONE_MEMORY : DISCRETE);
        measured(&f, METRIC_MEMORY_BANDWIDTH, f.gpu[0], f.gpu[0], "", 4000 * GB);
        measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[0], "kind=migrating;operation=read",
                 40 * GB);
        measured(&f, METRIC_HOST_GPU_KERNEL, f.gpu[0], f.numa[0], "kind=migrating;operation=write",
                 40 * GB);
        measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[1], f.gpu[0], "operation=read", 30 * GB);
        measured(&f, METRIC_MEMORY_BANDWIDTH, f.numa[0], f.numa[1], "", 80 * GB);
        struct alloc_access access[] = {{.by = f.gpu[0], .reads_bytes = 64 * GIB},
                                        {.by = f.numa[0], .reads_bytes = GIB}};
        assert_int_equal(ask(&f, 0, 2, access), BERTH_OK);
        assert_int_equal(f.answer.option[0].place.memory, f.numa[1]);
        assert_near(f.answer.option[0].predicted.time_ns, 64 * GIB / 30.0 + GIB / 80.0);
        place_id own = kind == 0 ? f.numa[0] : f.gpu[0];
        for (size_t i = 0; i < f.answer.count; i++)
            assert_true(f.answer.option[i].place.memory != own ||
                        isnan(f.answer.option[i].predicted.time_ns));
        assert_non_null(option(&f, MEMKIND_MANAGED, own));
        assert_true(warned(&f, REASON_BY_DISTANCE, kind == 0 ? "numa0" : "gpu0"));
        end(&f);
    }
}

/* What is known of the others who use it is added, so that a memory that suits one of them only
 * does not go first. */
static void others_who_use_it_count(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    measured(&f, METRIC_MEMORY_BANDWIDTH, f.gpu[1], f.gpu[1], "", 4000 * GB);
    assert_true(place_set_text(&f.graph->places[f.gpu[1]].model, "another"));
    measured(&f, METRIC_GPU_GPU_KERNEL, f.gpu[0], f.gpu[1], "operation=read", 300 * GB);
    measured(&f, METRIC_GPU_GPU_KERNEL, f.gpu[1], f.gpu[0], "operation=read", 10 * GB);
    struct alloc_access access[] = {{.by = f.gpu[0], .reads_bytes = 4 * GIB},
                                    {.by = f.gpu[1], .reads_bytes = 4 * GIB}};
    assert_int_equal(ask(&f, 1u << MEMKIND_DEVICE, 2, access), BERTH_OK);
    assert_first(&f, MEMKIND_DEVICE, f.gpu[1]);
    assert_near(f.answer.option[0].predicted.time_ns, 4 * GIB / 300.0 + 4 * GIB / 4000.0);
    assert_true(isnan(f.answer.option[1].predicted.time_ns));
    assert_near(f.answer.option[1].order.time_ns, 4 * GIB / 300.0 + 4 * GIB / 10.0);
    end(&f);
}

static void a_gpu_of_the_same_model_stands_for_it(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    measured(&f, METRIC_MEMORY_BANDWIDTH, f.gpu[1], f.gpu[1], "", 4000 * GB);
    measured(&f, METRIC_GPU_GPU_KERNEL, f.gpu[0], f.gpu[1], "operation=read", 300 * GB);
    assert_int_equal(ask_reads(&f, 0, f.gpu[0], 4 * GIB), BERTH_OK);
    assert_first(&f, MEMKIND_DEVICE, f.gpu[0]);
    assert_near(f.answer.option[0].predicted.time_ns, 4 * GIB / 4000.0);
    assert_true(isnan(f.answer.option[0].predicted.low_ns)); /* the interval is another gpu's */
    assert_true(warned(&f, REASON_SIMILAR_ACCESS, "gpu0"));
    assert_near(time_of(&f, MEMKIND_DEVICE, f.gpu[1]), 4 * GIB / 300.0);
    end(&f);
}

static void measured_of_its_like_goes_before_published_of_its_own(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    nodes_value(f.values, METRIC_GPU_STREAM, VALUE_PUBLISHED, f.gpu[0], f.gpu[0], "", 1400 * GB,
                NAN, NAN);
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_DEVICE, f.gpu[0], 4 * GIB), BERTH_OK);
    assert_near(f.answer.option[0].predicted.time_ns, 4 * GIB / 1400.0);
    assert_true(warned(&f, REASON_SIMILAR_ACCESS, "gpu0"));
    assert_int_equal(f.answer.option[0].predicted.source, SOURCE_PUBLISHED);
    end(&f);
    f = begin(DISCRETE);
    nodes_value(f.values, METRIC_GPU_STREAM, VALUE_PUBLISHED, f.gpu[0], f.gpu[0], "", 1400 * GB,
                NAN, NAN);
    measured(&f, METRIC_MEMORY_BANDWIDTH, f.gpu[1], f.gpu[1], "", 1300 * GB);
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_DEVICE, f.gpu[0], 4 * GIB), BERTH_OK);
    assert_near(f.answer.option[0].predicted.time_ns, 4 * GIB / 1300.0);
    end(&f);
}

/* What firmware says of a memory that both have is true for the gpu; what it says of cores and a
 * gpu's memory is of the way there. */
static void firmware_speaks_of_one_memory(void **state)
{
    (void)state;
    struct fixture f = begin(ONE_MEMORY);
    links_between_gpus(&f, 128);
    nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_NOMINAL, f.numa[0], f.numa[0], "",
                5300 * GB, NAN, NAN);
    assert_int_equal(ask_reads(&f, 0, f.gpu[0], 4 * GIB), BERTH_OK);
    assert_int_equal(f.answer.option[0].place.memory, f.numa[0]);
    assert_near(time_of(&f, MEMKIND_DEVICE, f.numa[0]), 4 * GIB / 5300.0);
    assert_near(time_of(&f, MEMKIND_SYSTEM, f.numa[0]), 4 * GIB / 5300.0);
    assert_int_equal(option(&f, MEMKIND_DEVICE, f.numa[0])->predicted.source, SOURCE_NOMINAL);
    /* The other's memory is reached over the links between them, by whatever call it was got. */
    for (enum memkind kind = 0; kind < MEMKIND_COUNT; kind++)
        assert_near(time_of(&f, kind, f.numa[1]), 4 * GIB / (0.83 * 128));
    end(&f);
    f = begin(SUPERCHIP);
    nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_NOMINAL, f.hbm[0], f.hbm[0], "", 450 * GB,
                NAN, NAN);
    assert_int_equal(ask_reads(&f, 0, f.gpu[0], 4 * GIB), BERTH_OK);
    assert_first(&f, MEMKIND_SYSTEM, f.hbm[0]);
    assert_true(isnan(f.answer.option[0].predicted.time_ns));
    end(&f);
}

/* Evidence decides order: a stated rate of links is never exceeded, a measured one is reached. */
static void a_nominal_time_goes_behind_a_measured_one(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    links_between_gpus(&f, 150);
    measured(&f, METRIC_MEMORY_BANDWIDTH, f.gpu[0], f.gpu[0], "", 4000 * GB);
    measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[0], "operation=read", 50 * GB);
    assert_int_equal(ask_reads(&f, 1u << MEMKIND_DEVICE | 1u << MEMKIND_PINNED, f.gpu[0], 4 * GIB),
                     BERTH_OK);
    assert_first(&f, MEMKIND_DEVICE, f.gpu[0]);
    assert_int_equal(f.answer.option[1].place.memory, f.numa[0]);
    assert_int_equal(f.answer.option[2].place.memory, f.gpu[1]);
    assert_int_equal(f.answer.option[2].predicted.source, SOURCE_NOMINAL);
    assert_true(f.answer.option[2].predicted.time_ns < f.answer.option[1].predicted.time_ns);
    end(&f);
}

static void random_accesses_by_its_like(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    measured(&f, METRIC_MEMORY_BANDWIDTH, f.gpu[1], f.gpu[1], "", 4000 * GB);
    measured(&f, METRIC_MEMORY_LATENCY, f.gpu[1], f.gpu[1], "", 600);
    struct alloc_access access = {.by = f.gpu[0], .reads_bytes = GIB, .random = true};
    assert_int_equal(ask(&f, 1u << MEMKIND_DEVICE, 1, &access), BERTH_OK);
    assert_first(&f, MEMKIND_DEVICE, f.gpu[0]);
    assert_near(f.answer.option[0].predicted.time_ns, GIB / 4000.0);
    end(&f);
}

static void it_is_first_where_nothing_is_known_at_all(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fixture f = begin(i == 0 ? DISCRETE : SUPERCHIP);
        assert_int_equal(ask_reads(&f, 0, f.gpu[1], GIB), BERTH_OK);
        assert_first(&f, i == 0 ? MEMKIND_DEVICE : MEMKIND_SYSTEM, i == 0 ? f.gpu[1] : f.hbm[1]);
        end(&f);
    }
}

/* Whoever is named first: where nothing has a price who uses it most decides, the first of equals
 * by number, and what one gpu uses is one amount. */
static void the_heaviest_user_decides_in_any_order(void **state)
{
    (void)state;
    static const struct {
        int64_t gib[3]; /* of gpu0, of gpu1, and of gpu1 again */
        int first;
    } cases[] = {{{2, 8, 0}, 1}, {{8, 2, 0}, 0}, {{5, 5, 0}, 0}, {{5, 3, 4}, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (size_t turn = 0; turn < 3; turn++) {
            struct fixture f = begin(DISCRETE);
            size_t count = cases[c].gib[2] > 0 ? 3 : 2;
            struct alloc_access access[3];
            for (size_t i = 0; i < count; i++)
                access[(i + turn) % count] =
                    (struct alloc_access){.by = f.gpu[i > 0], .reads_bytes = cases[c].gib[i] * GIB};
            assert_int_equal(ask(&f, 0, count, access), BERTH_OK);
            assert_first(&f, MEMKIND_DEVICE, f.gpu[cases[c].first]);
            const struct reason *nearest = reason_of(&f, REASON_OPTION_NEAREST);
            assert_non_null(nearest);
            assert_string_equal(nearest->subject[2], cases[c].first == 0 ? "gpu0" : "gpu1");
            assert_int_equal(option(&f, MEMKIND_PINNED, f.numa[0])->place.gpu,
                             f.gpu[cases[c].first]);
            end(&f);
        }
}

/* Nor does it where something is known: one gpu's own memory of which nothing is known is no bound
 * where nothing is known of the other's there either. */
static void a_bound_is_one_in_any_order(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        struct fixture f = begin(DISCRETE);
        measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[0], "operation=read", 50 * GB);
        measured(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[1], "operation=read", 50 * GB);
        struct alloc_access access[2];
        for (int i = 0; i < 2; i++)
            access[(i + turn) % 2] =
                (struct alloc_access){.by = f.gpu[i], .reads_bytes = (i + 1) * GIB};
        assert_int_equal(ask(&f, 0, 2, access), BERTH_OK);
        assert_int_equal(f.answer.option[0].place.memory, f.numa[0]);
        for (int i = 0; i < 2; i++)
            assert_true(isnan(option(&f, MEMKIND_DEVICE, f.gpu[i])->order.time_ns));
        end(&f);
    }
}

/* Of several parts the one that makes the difference is named, with its own figures. */
static void the_part_that_decides_is_named(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    struct alloc_access access[] = {{.by = f.gpu[0], .reads_bytes = 16 * GIB},
                                    {.by = f.gpu[1], .reads_bytes = 8 * GIB}};
    assert_int_equal(ask(&f, 0, 2, access), BERTH_OK);
    const struct reason *part = reason_of(&f, REASON_OPTION_PART);
    assert_non_null(part);
    assert_string_equal(part->subject[0], "gpu0");
    assert_string_equal(part->subject[1], "gpu1");
    assert_near(part->number[0], 16 * GIB / 4000.0);
    assert_near(part->number[1], 16 * GIB / 300.0);
    assert_true(warned(&f, REASON_SETUP_NOT_COUNTED, "numa0"));
    end(&f);
}

/* As the drivers said when they were asked: that is not now, so nothing is put last for it. */
static void what_is_free_is_as_the_driver_said(void **state)
{
    (void)state;
    static const struct {
        enum origin origin;
        const char *used;
        int64_t free_bytes;
    } cases[] = {{ORIGIN_LIVE, "1073741824", 95 * GIB},
                 {ORIGIN_LIVE, "102542344192", GIB / 2},
                 {ORIGIN_RECORDED, "1073741824", -1},
                 {ORIGIN_LIVE, NULL, -1},
                 {ORIGIN_LIVE, "999999999999", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f = begin(DISCRETE);
        all_known(&f, 50, 40);
        f.graph->origin = cases[i].origin;
        assert_true(place_set_detail(&f.graph->places[0], "facts_at_s", "1790000000"));
        assert_true(cases[i].used == NULL ||
                    place_set_detail(&f.graph->places[f.gpu[0]], "bytes_used", cases[i].used));
        assert_int_equal(ask_reads(&f, 0, f.gpu[0], GIB), BERTH_OK);
        assert_first(&f, MEMKIND_DEVICE, f.gpu[0]);
        assert_int_equal(f.answer.option[0].free_bytes, cases[i].free_bytes);
        assert_int_equal(f.answer.option[0].free_at_s, cases[i].free_bytes >= 0 ? 1790000000 : -1);
        assert_int_equal(warned(&f, REASON_NO_ROOM, "gpu0"), i == 1);
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_before_what_is_farther),
        cmocka_unit_test(reading_stands_for_writing),
        cmocka_unit_test(a_published_copy_engine_is_no_kernel),
        cmocka_unit_test(cores_use_the_links_of_their_gpus),
        cmocka_unit_test(half_a_sum_goes_before_no_whole_one),
        cmocka_unit_test(others_who_use_it_count),
        cmocka_unit_test(a_gpu_of_the_same_model_stands_for_it),
        cmocka_unit_test(measured_of_its_like_goes_before_published_of_its_own),
        cmocka_unit_test(firmware_speaks_of_one_memory),
        cmocka_unit_test(a_nominal_time_goes_behind_a_measured_one),
        cmocka_unit_test(random_accesses_by_its_like),
        cmocka_unit_test(it_is_first_where_nothing_is_known_at_all),
        cmocka_unit_test(the_heaviest_user_decides_in_any_order),
        cmocka_unit_test(a_bound_is_one_in_any_order),
        cmocka_unit_test(the_part_that_decides_is_named),
        cmocka_unit_test(what_is_free_is_as_the_driver_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
