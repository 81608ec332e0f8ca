/* Bind, Allocate and Route price the same transfer equally, also with few measurements: one rule
 * chooses the substitute (cost/matrix.h). */
#include "node/allowed.h"
#include "node/locality.h"
#include "unit/plan/route/route_nodes.h"

#include "node/reasons.h"
#include "plan/alloc/alloc.h"
#include "plan/bind/bind.h"

/* gpu0 and gpu1 have links of 200 GB/s, and each of numa3's gpus has one of 36 to it. Nothing is
 * known yet. */
static struct fixture linked(void)
{
    struct fixture f = begin();
    const struct {
        place_id a, b;
        double rate;
    } links[] = {{gpu(&f, 0), gpu(&f, 1), 200},
                 {numa(&f, 3), gpu(&f, 0), 36},
                 {numa(&f, 3), gpu(&f, 1), 36}};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        struct link *link = graph_add_link(f.graph, links[i].a, links[i].b, LINK_XGMI);
        assert_non_null(link);
        link->nominal_bytes_per_s = links[i].rate * GB;
    }
    return f;
}

static void published(struct fixture *f, enum metric metric, place_id from, place_id to,
                      double gb_per_s)
{
    nodes_value(f->values, metric, VALUE_PUBLISHED, from, to, "", gb_per_s * GB, NAN, NAN);
}

static double route_ns(struct fixture *f, place_id from, place_id to, bool both)
{
    assert_int_equal(
        ask(f, (struct route_request){.from = from, .to = to, .bytes = 64 * MIB, .both = both}),
        BERTH_OK);
    return f->answer.option[0].predicted.time_ns;
}

/* One task on gpu0, or two that send to each other, on gpu0 and gpu1; ret_reasons: what decided. */
static double bind_ns(struct fixture *f, struct traffic_request traffic, enum copy_by by,
                      struct reasons *ret_reasons)
{
    struct bind_answer answer = {0};
    struct traffic flows;
    assert_int_equal(plan_traffic(&traffic, &flows, &f->err), BERTH_OK);
    f->allowed.gpus = calloc(f->graph->place_count, sizeof *f->allowed.gpus);
    for (int g = 0; g < traffic.tasks; g++)
        f->allowed.gpus[gpu(f, g)] = true;
    locality_cpus(f->graph, &f->allowed.cpus);
    struct bind_request request = {.tasks = traffic.tasks,
                                   .gpus_per_task = 1,
                                   .cores_per_task = 1,
                                   .traffic = &flows,
                                   .by = by,
                                   .allowed = &f->allowed};
    assert_int_equal(plan_bind(f->snap, &request, &answer, &f->err), BERTH_OK);
    *ret_reasons = answer.reasons;
    double time_ns = answer.predicted.time_ns;
    plan_bind_done(&answer);
    plan_traffic_done(&flows);
    allowed_done(&f->allowed);
    f->allowed = (struct allowed){.given = true};
    return time_ns;
}

/* Of memory of numa3 that gpu0 writes once. */
static double alloc_ns(struct fixture *f)
{
    struct alloc_answer answer = {0};
    struct alloc_access access = {.by = gpu(f, 0), .writes_bytes = 64 * MIB};
    struct alloc_request request = {.bytes = 64 * MIB,
                                    .access = &access,
                                    .access_count = 1,
                                    .kinds = 1u << MEMKIND_PINNED,
                                    .allowed = &f->allowed};
    double time_ns = NAN;
    assert_int_equal(plan_alloc(f->snap, &request, &answer, &f->err), BERTH_OK);
    for (size_t i = 0; i < answer.count; i++)
        if (answer.option[i].place.memory == numa(f, 3))
            time_ns = answer.option[i].predicted.time_ns;
    assert_true(lines_with(&answer.warnings, "what links carry stands for it"));
    plan_alloc_done(&answer);
    return time_ns;
}

static void the_other_direction_stands_for_one_that_is_not_known(void **state)
{
    (void)state;
    struct fixture f = linked();
    struct reasons reasons;
    published(&f, METRIC_HOST_GPU_COPY_ENGINE, numa(&f, 3), gpu(&f, 0), 28);
    /* three quarters of what an xGMI link is said to carry */
    const double one_ns = 64 * MIB / 28.0, links_ns = 64 * MIB / 27.0;
    assert_within(route_ns(&f, gpu(&f, 0), numa(&f, 3), false), one_ns, 1e-9);
    assert_true(lines_with(&f.answer.reasons, "(the rate of the other direction)"));
    assert_int_equal(f.answer.option[0].why_count, 1);
    /* what one direction gets says nothing of both */
    assert_within(route_ns(&f, gpu(&f, 0), numa(&f, 3), true), one_ns, 1e-9);
    assert_within(bind_ns(&f,
                          (struct traffic_request){.tasks = 1, .bytes = -1, .host_bytes = 64 * MIB},
                          COPY_BEST, &reasons),
                  one_ns, 1e-9);
    /* Kernels go through the same port: what engines get stands where nothing of kernels is known.
     */
    assert_within(alloc_ns(&f), one_ns, 1e-9);
    /* At gpu1 nothing is known but at the other end. */
    assert_within(route_ns(&f, gpu(&f, 1), numa(&f, 3), false), one_ns, 1e-9);
    end(&f);
    /* That goes before the same direction of another pair. */
    f = linked();
    published(&f, METRIC_HOST_GPU_COPY_ENGINE, numa(&f, 3), gpu(&f, 0), 28);
    published(&f, METRIC_HOST_GPU_COPY_ENGINE, gpu(&f, 1), numa(&f, 3), 30);
    assert_within(route_ns(&f, gpu(&f, 0), numa(&f, 3), false), one_ns, 1e-9);
    end(&f);
    /* Where nothing at all is known, links it is. */
    f = linked();
    assert_within(route_ns(&f, gpu(&f, 0), numa(&f, 3), false), links_ns, 1e-9);
    assert_within(bind_ns(&f,
                          (struct traffic_request){.tasks = 1, .bytes = -1, .host_bytes = 64 * MIB},
                          COPY_BEST, &reasons),
                  links_ns, 1e-9);
    end(&f);
}

/* Links that are known may not be all that join two gpus, as where nobody told of NVLink: what was
 * measured one way says more of the other than they do. */
static void what_was_measured_one_way_stands_for_the_other(void **state)
{
    (void)state;
    struct fixture f = linked();
    struct reasons reasons;
    rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "", 400);
    const double one_ns = 64 * MIB / 400.0;
    assert_within(route_ns(&f, gpu(&f, 1), gpu(&f, 0), false), one_ns, 1e-9);
    assert_true(lines_with(&f.answer.warnings,
                           "nothing was measured from gpu1 to gpu0 by copy engine: it counts "
                           "with the rate of the other direction"));
    assert_true(
        lines_with(&f.answer.reasons,
                   "gpu1 to gpu0 by copy engine gets 400 GB/s alone (the rate of the other "));
    assert_true(isnan(f.answer.option[0].predicted.low_ns) &&
                f.answer.option[0].predicted.source == SOURCE_REVERSE_DIRECTION);
    assert_within(route_ns(&f, gpu(&f, 0), gpu(&f, 1), false), one_ns, 1e-9);
    assert_int_equal(f.answer.option[0].predicted.source, SOURCE_MEASURED);
    assert_within(
        bind_ns(&f,
                (struct traffic_request){.tasks = 2, .pattern = TRAFFIC_PAIRS, .bytes = 64 * MIB},
                COPY_BY_ENGINE, &reasons),
        one_ns, 1e-9);
    end(&f);
    /* Less than links are said to carry, too; but not under a setting that the program would have
     * to be started with. */
    for (int setting = 0; setting < 2; setting++) {
        f = linked();
        rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), setting ? "sdma=off" : "",
             setting ? 400 : 20);
        assert_within(route_ns(&f, gpu(&f, 1), gpu(&f, 0), false),
                      64 * MIB / (setting ? 200.0 : 20.0), 1e-9);
        end(&f);
    }
    /* And where links say nothing it is all that there is, published or measured. */
    f = begin();
    published(&f, METRIC_HOST_GPU_COPY_ENGINE, numa(&f, 3), gpu(&f, 0), 28);
    assert_within(route_ns(&f, gpu(&f, 0), numa(&f, 3), false), 64 * MIB / 28.0, 1e-9);
    end(&f);
}

static const struct traffic_request exchange = {
    .tasks = 2, .pattern = TRAFFIC_PAIRS, .bytes = 64 * MIB};

static void kernels_by_links_stand_behind_published_engines(void **state)
{
    (void)state;
    struct fixture f = linked();
    struct reasons reasons;
    published(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), 50);
    published(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 1), gpu(&f, 0), 50);
    double time_ns = route_ns(&f, gpu(&f, 0), gpu(&f, 1), false);
    assert_within(time_ns, 64 * MIB / 50.0, 1e-9);
    assert_int_equal(f.answer.option[0].part[0].hop[0].by, MECHANISM_COPY_ENGINE);
    /* A kernel stands behind it, with three quarters of what its links are said to carry, and the
     * command that measures it. */
    assert_int_equal(f.answer.count, 2);
    assert_within(f.answer.option[1].predicted.time_ns, 64 * MIB / 150.0, 1e-9);
    assert_true(!f.answer.option[1].may_lead && isnan(f.answer.option[1].predicted.high_ns));
    assert_string_equal(f.answer.option[1].worth_measuring, "berth probe gpu_gpu_kernel");
    assert_true(lines_with(&f.answer.warnings,
                           "nothing was measured from gpu0 to gpu1 by kernel: it counts with "
                           "the stated rate of the links and the efficiency of such"));
    assert_within(bind_ns(&f, exchange, COPY_BEST, &reasons), time_ns, 1e-9);
    assert_true(lines_with(&reasons, "copies by copy engine"));
    /* Not where gpus must stay free. */
    assert_int_equal(ask(&f, (struct route_request){.from = gpu(&f, 0),
                                                    .to = gpu(&f, 1),
                                                    .bytes = 64 * MIB,
                                                    .overlap = true}),
                     BERTH_OK);
    assert_int_equal(f.answer.count, 1);
    assert_int_equal(f.answer.option[0].part[0].hop[0].by, MECHANISM_COPY_ENGINE);
    /* What moves concurrent goes that way, too. */
    struct route_transfer other = {gpu(&f, 1), gpu(&f, 0), 64 * MIB};
    assert_int_equal(ask(&f, (struct route_request){.from = gpu(&f, 0),
                                                    .to = gpu(&f, 1),
                                                    .bytes = 64 * MIB,
                                                    .concurrent = &other,
                                                    .concurrent_count = 1}),
                     BERTH_OK);
    assert_within(f.answer.option[0].predicted.time_ns, time_ns, 1e-9);
    end(&f);
}

/* A measured way that is not better by a quarter stays behind a published rate: what is worth
 * measuring is the first. */
static void what_the_first_lacks_is_worth_measuring(void **state)
{
    (void)state;
    for (int is_measured = 0; is_measured < 2; is_measured++) {
        struct fixture f = begin();
        if (is_measured)
            rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "", 50);
        else
            published(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), 50);
        rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 2), "", 60);
        rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 2), gpu(&f, 1), "", 60);
        in_run(&f, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, (int[]){0, 2, 1}, 3);
        assert_int_equal(ask(&f, of(gpu(&f, 0), gpu(&f, 1), 1024 * MIB)), BERTH_OK);
        assert_true(route_is_direct(&f.answer.option[0]));
        assert_int_equal(f.answer.count, 2);
        assert_true(!f.answer.option[1].may_lead_at_all);
        assert_true(f.answer.option[1].predicted.time_ns < f.answer.option[0].predicted.time_ns);
        assert_string_equal(f.answer.option[1].worth_measuring,
                            is_measured ? "" : "berth probe gpu_gpu_copy_engine");
        end(&f);
    }
}

static void links_never_lead_before_what_was_measured(void **state)
{
    (void)state;
    struct fixture f = linked();
    struct reasons reasons;
    rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), "", 50);
    rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 1), gpu(&f, 0), "", 50);
    double time_ns = route_ns(&f, gpu(&f, 0), gpu(&f, 1), false);
    assert_within(time_ns, 64 * MIB / 50.0, 1e-9);
    assert_int_equal(f.answer.option[0].part[0].hop[0].by, MECHANISM_COPY_ENGINE);
    assert_int_equal(f.answer.count, 2); /* it is there, behind it */
    assert_int_equal(f.answer.option[1].part[0].hop[0].by, MECHANISM_KERNEL);
    assert_true(told(&f.answer.reasons, REASON_NOT_MEASURED_TOGETHER) == 1);
    assert_int_equal(f.answer.crossover_count, 0);
    assert_within(bind_ns(&f, exchange, COPY_BEST, &reasons), time_ns, 1e-9);
    assert_true(lines_with(&reasons, "copies by copy engine"));
    /* Who asks for kernels gets their price. */
    assert_within(bind_ns(&f, exchange, COPY_BY_KERNEL, &reasons), 64 * MIB / 150.0, 1e-9);
    end(&f);
}

static void a_gpu_that_is_cut_into_slices_is_no_end(void **state)
{
    (void)state;
    struct fixture f = linked();
    for (int g = 1; g < 3; g++) { /* gpu1 and gpu2 are slices of gpu0 */
        assert_true(place_set_text(&f.graph->places[gpu(&f, g)].pci,
                                   graph_place(f.graph, gpu(&f, 0))->pci));
        assert_true(place_set_text(&f.graph->places[gpu(&f, g)].uuid, g == 1 ? "MIG-1" : "MIG-2"));
    }
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < 5; b++)
            if (a != b)
                rate(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, a), gpu(&f, b), "",
                     a == 0 || b == 0 ? 200 : 20);
    for (int back = 0; back < 2; back++) {
        assert_int_equal(ask(&f, of(gpu(&f, back ? 3 : 0), gpu(&f, back ? 0 : 3), 64 * MIB)),
                         BERTH_UNAVAILABLE);
        assert_non_null(
            strstr(f.err.detail,
                   "gpu0 is cut into slices, which are gpus of their own; there are: gpu1, gpu2"));
    }
    /* Nor do bytes go through it, however fast that was once. */
    assert_within(route_ns(&f, gpu(&f, 3), gpu(&f, 4), false), 64 * MIB / 20.0, 1e-9);
    for (size_t i = 0; i < f.answer.count; i++)
        for (size_t w = 0; w < f.answer.option[i].part_count; w++)
            for (size_t h = 1; h < f.answer.option[i].part[w].hop_count; h++)
                assert_int_not_equal(f.answer.option[i].part[w].hop[h].from, gpu(&f, 0));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_other_direction_stands_for_one_that_is_not_known),
        cmocka_unit_test(what_was_measured_one_way_stands_for_the_other),
        cmocka_unit_test(kernels_by_links_stand_behind_published_engines),
        cmocka_unit_test(what_the_first_lacks_is_worth_measuring),
        cmocka_unit_test(links_never_lead_before_what_was_measured),
        cmocka_unit_test(a_gpu_that_is_cut_into_slices_is_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
