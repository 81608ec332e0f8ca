/* One cause, one finding: facts about links, and the slow values of transfers over them. */
#include "assessment_rig.h"
#include "health/baseline.h"

static place_id gpu(const struct fixture *f, int n) { return nodes_place(f->graph, PLACE_GPU, n); }

static void detail(struct graph *graph, place_id id, const char *key, const char *value)
{
    assert_true(place_set_detail(&graph->places[id], key, value));
}

static void joined(struct graph *graph, place_id from, place_id to, enum link_kind kind,
                   enum link_state state)
{
    struct link *link = graph_add_link(graph, from, to, kind);
    assert_non_null(link);
    link->width = 4;
    link->nominal_bytes_per_s = 100 * GB;
    link->state = state;
    link->source = "facts";
}

/* Eight gpus of one model by PCIe, half of them at each of two packages with a NUMA node. */
static struct fixture eight(void)
{
    struct fixture f = begin(nodes_cpu(&(struct shape){2, 1, 1, 4, 1, INT64_C(64) << 30}));
    for (int n = 0; n < 8; n++) {
        place_id near = numa(&f, n / 4), id = nodes_add(f.graph, PLACE_GPU, n, near, near, NULL);
        assert_true(place_set_text(&f.graph->places[id].model, "NVIDIA X"));
        detail(f.graph, id, "pcie_width", "16");
        detail(f.graph, id, "pcie_width_max", "16");
        joined(f.graph, near, id, LINK_PCIE, LINK_UP);
    }
    return f;
}

static void add(struct fixture *f, enum metric metric, place_id from, place_id to, const char *axes,
                double value)
{
    nodes_value(f->values, metric, VALUE_MEASURED, from, to, axes, value, value * 0.999,
                value * 1.001);
}

/* Copies with the host, of which those of some gpus reach a share only. */
static void add_copies(struct fixture *f, const double share[8])
{
    for (int n = 0; n < 8; n++) {
        add(f, METRIC_HOST_GPU_COPY_ENGINE, numa(f, n / 4), gpu(f, n), "bytes=1048576",
            share[n] * 60 * GB);
        add(f, METRIC_HOST_GPU_COPY_ENGINE, gpu(f, n), numa(f, n / 4), "bytes=1048576",
            share[n] * 60 * GB);
    }
}

/* Copies between all gpus, of which those with gpu 2 reach a share only; assessed by their
 * baselines.
 */
static void add_peers(struct fixture *f, double share)
{
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 8; b++)
            if (a != b)
                add(f, METRIC_GPU_GPU_COPY_ENGINE, gpu(f, a), gpu(f, b), "",
                    (a == 2 || b == 2 ? share : 1) * 300 * GB);
}

static void expect(struct fixture *f, double peers, unsigned low_runs)
{
    f->snap = nodes_snapshot(f->graph, f->values);
    f->snap->baseline = calloc(f->snap->values->count, sizeof *f->snap->baseline);
    for (size_t i = 0; i < f->snap->values->count; i++) {
        const struct value *v = &f->snap->values->item[i];
        bool is_low = v->value < 0.8 * peers;
        f->snap->baseline[i] = (struct baseline){.median = peers,
                                                 .deviation = peers / 100,
                                                 .begun_s = 1790000000,
                                                 .count = 16,
                                                 .low_runs = is_low ? low_runs : 0,
                                                 .worse_runs = is_low};
    }
}

static const struct finding *shown(const struct fixture *f, const char *code)
{
    const struct finding *finding = found(f, code);
    return finding != NULL && !finding->is_unlisted ? finding : NULL;
}

static void a_narrow_link_stands_for_what_is_slow_over_it(void **state)
{
    (void)state;
    struct fixture f = eight();
    detail(f.graph, gpu(&f, 2), "pcie_width", "8");
    add_copies(&f, (const double[8]){1, 1, 0.5, 1, 1, 1, 1, 1});
    assess(&f, NULL);
    assert_int_equal(listed(&f), 1);
    const struct finding *fact = &f.assessment.finding[0];
    assert_string_equal(fact->code, "pcie-narrow");
    assert_int_equal(fact->explains, 2);
    assert_string_equal(fact->text, "its PCIe link is 8 lanes wide, of 16; it explains 2 slow "
                                    "values, the worst host_gpu_copy_engine from numa0 to gpu2"
                                    " with bytes=1 MiB: 30 GB/s, expected 60 GB/s");
    assert_string_equal(
        f.assessment.reason,
        "degraded: gpu2: its PCIe link is 8 lanes wide, of 16; it explains 2 slow values");
    end(&f);
}

/* A second look awaits nothing that a fact explains. Without the fact it does. */
static void a_fact_confirms_what_it_explains(void **state)
{
    (void)state;
    limits.looks = 2;
    for (int is_narrow = 0; is_narrow < 2; is_narrow++) {
        struct fixture f = eight();
        if (is_narrow)
            detail(f.graph, gpu(&f, 2), "pcie_width", "8");
        add_copies(&f, (const double[8]){1, 1, 0.5, 1, 1, 1, 1, 1});
        expect(&f, 60 * GB, 3);
        assess(&f, NULL);
        for (size_t i = 0; i < f.assessment.count; i++)
            assert_int_equal(f.assessment.finding[i].is_unconfirmed, !is_narrow);
        assert_int_equal(f.assessment.verdict, is_narrow ? VERDICT_UNHEALTHY : VERDICT_HEALTHY);
        assert_int_equal(f.assessment.drain, is_narrow);
        end(&f);
    }
    limits.looks = 1;
}

static void what_it_does_not_explain_stays(void **state)
{
    (void)state;
    struct fixture f = eight();
    detail(f.graph, gpu(&f, 2), "pcie_width", "8");
    add_copies(&f, (const double[8]){1, 1, 0.5, 1, 1, 0.6, 1, 1}); /* gpu5 has no fact */
    for (int n = 0; n < 8; n++)
        add(&f, METRIC_COPY_LATENCY, numa(&f, n / 4), gpu(&f, n), "",
            n == 2 ? 4000 : 2000); /* lanes make no few bytes slow */
    assess(&f, NULL);
    assert_int_equal(listed(&f), 3);
    assert_int_equal(shown(&f, "pcie-narrow")->explains, 2);
    size_t of_gpu5 = 0;
    for (size_t i = 0; i < f.assessment.count; i++) {
        const struct finding *finding = &f.assessment.finding[i];
        of_gpu5 +=
            !finding->is_unlisted && finding->cause == gpu(&f, 5) && finding->represents == 1;
        assert_int_equal(finding->explained_by != 0,
                         finding->of != NULL && finding->cause == gpu(&f, 2) &&
                             strstr(finding->text, "copy_latency") == NULL);
    }
    assert_int_equal(of_gpu5, 1);
    end(&f);
    f = eight(); /* half of the lanes do not leave a tenth of the rate */
    detail(f.graph, gpu(&f, 2), "pcie_width", "8");
    add_copies(&f, (const double[8]){1, 1, 0.1, 1, 1, 1, 1, 1});
    assess(&f, NULL);
    assert_int_equal(listed(&f), 2);
    assert_int_equal(shown(&f, "pcie-narrow")->explains, 0);
    end(&f);
}

/* All are narrow, as a virtual machine may say: why one is slower than the others, that does not
 * tell. */
static void a_fact_of_all_explains_none(void **state)
{
    (void)state;
    struct fixture f = eight();
    for (int n = 0; n < 8; n++)
        detail(f.graph, gpu(&f, n), "pcie_width", "8");
    add_copies(&f, (const double[8]){1, 1, 0.5, 1, 1, 1, 1, 1});
    assess(&f, NULL);
    assert_int_equal(f.assessment.verdict, VERDICT_DEGRADED);
    assert_int_equal(listed(&f), 9);
    assert_non_null(shown(&f, "slower-than-peers"));
    end(&f);
}

/* Memory that is reached over C2C or xGMI, and peers by NVLink, do not need the PCIe link. */
static void what_goes_over_other_links_stays(void **state)
{
    (void)state;
    for (int has_c2c = 0; has_c2c < 2; has_c2c++) {
        struct fixture f = eight();
        place_id board = nodes_add(f.graph, PLACE_SWITCH, 0, 0, PLACE_NONE, NULL);
        for (int n = 0; n < 8; n++) {
            joined(f.graph, gpu(&f, n), board, LINK_NVLINK, LINK_UP);
            if (has_c2c)
                joined(f.graph, numa(&f, n / 4), gpu(&f, n), LINK_C2C, LINK_UP);
        }
        detail(f.graph, gpu(&f, 2), "pcie_width", "8");
        if (has_c2c)
            add_copies(&f, (const double[8]){1, 1, 0.5, 1, 1, 1, 1, 1});
        else
            add_peers(&f, 0.5);
        if (!has_c2c)
            expect(&f, 300 * GB, 0);
        assess(&f, NULL);
        assert_int_equal(listed(&f), 2);
        assert_int_equal(shown(&f, "pcie-narrow")->explains, 0);
        end(&f);
    }
}

/* Without links of their own gpus reach each other over PCIe. */
static void peers_behind_a_narrow_link_are_explained(void **state)
{
    (void)state;
    struct fixture f = eight();
    detail(f.graph, gpu(&f, 2), "pcie_width", "8");
    add_peers(&f, 0.5);
    expect(&f, 300 * GB, 0);
    assess(&f, NULL);
    assert_int_equal(listed(&f), 1);
    assert_int_equal(shown(&f, "pcie-narrow")->explains, 14);
    end(&f);
}

/* A reason to drain is not lost behind a fact that is none. */
static void a_fact_is_as_grave_as_what_it_stands_for(void **state)
{
    (void)state;
    struct fixture f = eight();
    place_id board = nodes_add(f.graph, PLACE_SWITCH, 0, 0, PLACE_NONE, NULL);
    for (int n = 0; n < 8; n++) {
        joined(f.graph, gpu(&f, n), board, LINK_NVLINK, LINK_UP);
        detail(f.graph, gpu(&f, n), "nvlinks", "18");
        detail(f.graph, gpu(&f, n), "nvlinks_up", n == 2 ? "9" : "18");
    }
    add_peers(&f, 0.5);
    add(&f, METRIC_COLLECTIVE_BANDWIDTH, gpu(&f, 0), gpu(&f, 7), "members=8", 150 * GB);
    add(&f, METRIC_COLLECTIVE_BANDWIDTH, gpu(&f, 4), gpu(&f, 7), "members=4", 300 * GB);
    expect(&f, 300 * GB, 3);
    assess(&f, NULL);
    assert_int_equal(listed(&f), 1);
    const struct finding *fact = shown(&f, "link-degraded");
    assert_int_equal(fact->explains, 15);
    assert_int_equal(fact->severity, SEVERITY_CRITICAL);
    assert_true(fact->drain && f.assessment.drain && f.assessment.verdict == VERDICT_UNHEALTHY);
    assert_true(fact->at_s == 1790000000); /* when it became so grave */
    end(&f);
}

/* Values between the ends of a link, or within them; a value found by two rules counts once. */
static void a_degraded_link_between_packages(void **state)
{
    (void)state;
    for (int is_down = 0; is_down < 2; is_down++) {
        struct fixture f = begin(nodes_cpu(&four_numas));
        place_id first = nodes_place(f.graph, PLACE_PACKAGE, 0),
                 last = nodes_place(f.graph, PLACE_PACKAGE, 1);
        joined(f.graph, first, last, LINK_SMP, is_down ? LINK_DOWN : LINK_DEGRADED);
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++)
                rate(&f, a, b, a / 2 != b / 2 ? 20 : a == 3 ? 40 : 100, 0.1);
        nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_NOMINAL, numa(&f, 0), numa(&f, 2), "",
                    100 * GB, NAN, NAN);
        expect(&f, 100 * GB, 0);
        assess(&f, NULL);
        const struct finding *fact = shown(&f, is_down ? "link-down" : "link-degraded");
        assert_non_null(fact);
        assert_int_equal(fact->explains, 8);
        assert_int_equal(listed(&f), 2); /* and the slow values within a package */
        end(&f);
    }
}

/* On POWER9 NVLinks lead to the host as well. */
static void lost_nvlinks_to_the_host(void **state)
{
    (void)state;
    for (int has_host = 0; has_host < 2; has_host++) {
        struct fixture f = eight();
        for (int n = 0; n < 8; n++) {
            if (has_host)
                joined(f.graph, numa(&f, n / 4), gpu(&f, n), LINK_NVLINK, LINK_UP);
            detail(f.graph, gpu(&f, n), "nvlinks", "6");
            detail(f.graph, gpu(&f, n), "nvlinks_up", n == 2 ? "3" : "6");
        }
        add_copies(&f, (const double[8]){1, 1, 0.5, 1, 1, 1, 1, 1});
        assess(&f, NULL);
        assert_int_equal(shown(&f, "link-degraded")->explains, has_host ? 2 : 0);
        assert_int_equal(listed(&f), has_host ? 1 : 2);
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_narrow_link_stands_for_what_is_slow_over_it),
        cmocka_unit_test(a_fact_confirms_what_it_explains),
        cmocka_unit_test(what_it_does_not_explain_stays),
        cmocka_unit_test(a_fact_of_all_explains_none),
        cmocka_unit_test(what_goes_over_other_links_stays),
        cmocka_unit_test(peers_behind_a_narrow_link_are_explained),
        cmocka_unit_test(a_fact_is_as_grave_as_what_it_stands_for),
        cmocka_unit_test(a_degraded_link_between_packages),
        cmocka_unit_test(lost_nvlinks_to_the_host),
    };
    return cmocka_run_group_tests(tests, begin_judging, NULL);
}
