/* Judging values against their past. */
#include "assessment_rig.h"
#include "health/baseline.h"

/* Gives each of the measured rates a baseline of 100 GB/s and 16 values. */
static void with_baselines(struct fixture *f)
{
    f->snap = nodes_snapshot(f->graph, f->values);
    f->snap->baseline = calloc(f->snap->values->count, sizeof *f->snap->baseline);
    assert_non_null(f->snap->baseline);
    for (size_t i = 0; i < f->snap->values->count; i++)
        f->snap->baseline[i] = (struct baseline){
            .median = 100 * GB, .deviation = 1 * GB, .begun_s = 1790000000, .count = 16};
}

/* By their numbers, not by their words. */
static void the_headline_is_the_first_of_the_list(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&four_numas));
    for (int n = 0; n < 2; n++) {
        rate(&f, n, n, n == 0 ? 80 : 60, 0.5);
        nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_MEASURED, numa(&f, n), numa(&f, n),
                    "operation=write", (n == 0 ? 70 : 55) * GB, (n == 0 ? 69 : 54) * GB,
                    (n == 0 ? 71 : 56) * GB);
    }
    with_baselines(&f);
    assess(&f, NULL);
    assert_int_equal(f.assessment.count, 4);
    assert_true(f.assessment.finding[0].value == 55 * GB &&
                f.assessment.finding[1].value == 70 * GB);
    assert_true(!f.assessment.finding[1].is_unlisted && f.assessment.finding[2].is_unlisted);
    assert_non_null(strstr(f.assessment.reason,
                           "2 findings, the worst: numa1: memory_bandwidth "
                           "from numa1 to numa1 with operation=write is 55 GB/s"));
    end(&f);
}

static void what_is_worse_than_its_baseline_is_found(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&four_numas));
    const double rates[] = {100, 85, 99, 125};
    for (int n = 0; n < 4; n++)
        rate(&f, n, n, rates[n], 0.5);
    with_baselines(&f);
    assess(&f, NULL);
    assert_int_equal(f.assessment.verdict, VERDICT_DEGRADED);
    assert_false(f.assessment.drain);
    assert_int_equal(f.assessment.count, 2);
    const struct finding *worse = found(&f, "slower-than-baseline"),
                         *better = found(&f, "better-than-baseline");
    assert_int_equal(worse->severity, SEVERITY_WARNING);
    assert_string_equal(worse->place, "numa1");
    assert_string_equal(worse->subject, "memory_bandwidth numa1 numa1");
    assert_true(worse->value == 85 * GB && worse->expected == 100 * GB && worse->since_s == 0);
    assert_int_equal(better->severity, SEVERITY_INFO);
    assert_string_equal(better->place, "numa3");
    end(&f);
}

static void three_low_runs_drain(void **state)
{
    (void)state;
    for (uint8_t runs = 1; runs <= 4; runs++) {
        struct fixture f = begin(nodes_cpu(&four_numas));
        for (int n = 0; n < 4; n++)
            rate(&f, n, n, n == 2 ? 75 : 100, 0.5);
        with_baselines(&f);
        f.snap->baseline[2].worse_runs = 1;
        f.snap->baseline[2].low_runs = runs;
        assess(&f, NULL);
        assert_int_equal(f.assessment.drain, runs >= 3);
        assert_int_equal(f.assessment.verdict, runs >= 3 ? VERDICT_UNHEALTHY : VERDICT_DEGRADED);
        assert_int_equal(found(&f, "slower-than-baseline")->severity,
                         runs >= 3 ? SEVERITY_CRITICAL : SEVERITY_WARNING);
        end(&f);
    }
}

static void a_finding_stands_since_it_appeared(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&four_numas));
    for (int n = 0; n < 4; n++)
        rate(&f, n, n, n == 2 ? 60 : 100, 0.5);
    with_baselines(&f);
    f.snap->opened = calloc(2, sizeof *f.snap->opened);
    f.snap->opened[0] = (struct opened){.code = "slower-than-baseline",
                                        .place = "numa2",
                                        .subject = "memory_bandwidth numa2 numa2",
                                        .since_s = 1789900000};
    f.snap->opened[1] = (struct opened){.code = "slower-than-peers",
                                        .place = "numa1",
                                        .subject = "memory_bandwidth numa2 numa2",
                                        .since_s = 5};
    f.snap->opened_count = 2;
    assess(&f, NULL);
    /* the other is new, a day later */
    assert_int_equal(found(&f, "slower-than-baseline")->since_s, 1789900000);
    assert_int_equal(found(&f, "slower-than-peers")->since_s, 0);
    end(&f);
}

/* Axes of one pair are findings of their own. Those that appeared within a day are shown together,
 * since the first of them. */
static void axes_of_a_pair_are_told_apart(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&four_numas));
    const char *const ops[] = {"", "operation=write", "operation=copy"};
    for (int i = 0; i < 3; i++)
        nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_MEASURED, numa(&f, 0), numa(&f, 0),
                    ops[i], (60 + i) * GB, (59 + i) * GB, (61 + i) * GB);
    with_baselines(&f);
    assess(&f, NULL);
    assert_int_equal(f.assessment.count, 3);
    assert_int_equal(listed(&f), 1);
    assert_int_equal(f.assessment.finding[0].represents, 2);
    assert_true(f.assessment.finding[0].value == 60 * GB);
    f.snap->opened = calloc(2, sizeof *f.snap->opened);
    f.snap->opened[0] = (struct opened){.code = "slower-than-baseline",
                                        .place = "numa0",
                                        .subject = "memory_bandwidth numa0 numa0 operation=write",
                                        .since_s = 1789900000};
    f.snap->opened[1] = (struct opened){.code = "slower-than-baseline",
                                        .place = "numa0",
                                        .subject = "memory_bandwidth numa0 numa0",
                                        .since_s = 1789986400};
    f.snap->opened_count = 2;
    assess(&f, NULL);
    assert_int_equal(listed(&f), 2);
    const struct finding *plain = &f.assessment.finding[0], *copy = &f.assessment.finding[1];
    assert_string_equal(plain->subject, "memory_bandwidth numa0 numa0");
    assert_true(plain->since_s == 1789900000 && plain->represents == 1);
    assert_true(strstr(copy->subject, "copy") != NULL && copy->since_s == 0);
    f.snap->opened[1].since_s = 1789986401;
    assess(&f, NULL);
    assert_int_equal(listed(&f), 2); /* the new one is with the second */
    f.snap->opened[0].since_s = f.snap->opened[1].since_s = 1790000000 - 86400;
    assess(&f, NULL);
    assert_int_equal(listed(&f), 1);
    assert_int_equal(f.assessment.finding[0].since_s, 1790000000 - 86400);
    end(&f);
}

/* A fixture whose numa1 has lost 8 %, measured at that time. */
static struct fixture lossy(int64_t measured_at_s)
{
    struct fixture f = begin(nodes_cpu(&four_numas));
    for (int n = 0; n < 4; n++)
        rate(&f, n, n, n == 1 ? 92 : 100, 0.5);
    for (size_t i = 0; i < f.values->count; i++)
        f.values->item[i].measured_at_s = measured_at_s;
    with_baselines(&f);
    return f;
}

static void open_unconfirmed(struct fixture *f, int64_t since_s)
{
    f->snap->opened = calloc(1, sizeof *f->snap->opened);
    f->snap->opened[0] = (struct opened){.code = "slower-than-baseline",
                                         .place = "numa1",
                                         .subject = "memory_bandwidth numa1 numa1",
                                         .since_s = since_s,
                                         .is_unconfirmed = true};
    f->snap->opened_count = 1;
}

static void the_second_look_confirms_some_minutes_later(void **state)
{
    (void)state;
    const int64_t first_s = 1790000000;
    limits.looks = 2;
    struct fixture f = lossy(first_s);
    assess(&f, NULL);
    assert_int_equal(f.assessment.verdict, VERDICT_HEALTHY);
    assert_non_null(strstr(f.assessment.reason, "a second measurement is due at 1 place"));
    assert_true(found(&f, "slower-than-baseline")->is_unconfirmed);
    open_unconfirmed(&f, first_s);
    assess(&f, NULL); /* the same value again */
    assert_true(found(&f, "slower-than-baseline")->is_unconfirmed);
    end(&f);
    for (int i = 0; i < 4; i++) {
        /* also by a clock that was set back meanwhile */
        int late = i % 2, away_s = ASSESSMENT_SECOND_LOOK_S - 1 + late;
        f = lossy(i < 2 ? first_s + away_s : first_s - away_s);
        open_unconfirmed(&f, first_s);
        assess(&f, NULL);
        assert_int_equal(found(&f, "slower-than-baseline")->is_unconfirmed, late == 0);
        assert_int_equal(f.assessment.verdict, late == 0 ? VERDICT_HEALTHY : VERDICT_DEGRADED);
        assert_int_equal(found(&f, "slower-than-baseline")->since_s, first_s);
        end(&f);
    }
    limits.looks = 1;
}

/* A cell that a later run at the same places leaves out, as the quick profile does, gets no second
 * look. */
static void a_cell_that_later_runs_leave_out_is_found_by_one_look(void **state)
{
    (void)state;
    const int64_t first_s = 1790000000;
    limits.looks = 2;
    for (int late = 0; late < 4; late++) {
        bool is_other = late > 1, is_late = late % 2 != 0; /* another metric; an hour later */
        struct fixture f = begin(nodes_cpu(&four_numas));
        if (is_other)
            nodes_value(f.values, METRIC_MEMORY_LATENCY, VALUE_MEASURED, numa(&f, 1), numa(&f, 1),
                        "", 100 * GB, 100 * GB, 100 * GB);
        else
            rate(&f, 1, 1, 100, 0.5);
        nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_MEASURED, numa(&f, 1), numa(&f, 1),
                    "operation=write", 92 * GB, 91.5 * GB, 92.5 * GB);
        for (size_t i = 0; i < f.values->count; i++)
            f.values->item[i].measured_at_s = f.values->item[i].value > 99 * GB
                                                  ? first_s + ASSESSMENT_LEFT_OUT_S - 1 + is_late
                                                  : first_s;
        with_baselines(&f);
        assess(&f, NULL);
        assert_int_equal(f.assessment.count, 1);
        assert_int_equal(f.assessment.finding[0].is_unconfirmed, !is_late);
        end(&f);
    }
    limits.looks = 1;
}

/* On a node's first day a value far from its equals is a finding at once. */
static void the_first_day_has_two_looks_too(void **state)
{
    (void)state;
    limits.looks = 2;
    for (int past = 0; past < 4; past++) { /* nothing; one value; an accepted one; two */
        struct fixture f = begin(nodes_cpu(&four_numas));
        for (int n = 0; n < 4; n++)
            rate(&f, n, n, n == 1 ? 60 : 100, 0.5);
        with_baselines(&f);
        for (size_t i = 0; i < f.snap->values->count; i++) {
            f.snap->baseline[i].median = f.snap->values->item[i].value;
            f.snap->baseline[i].count = past == 0 ? 0 : past == 3 ? 2 : 1;
            f.snap->baseline[i].accepted = past == 2;
        }
        assess(&f, NULL);
        assert_int_equal(f.assessment.count, 1);
        assert_string_equal(f.assessment.finding[0].code, "slower-than-peers");
        assert_true(f.assessment.finding[0].is_unconfirmed);
        assert_int_equal(f.assessment.verdict, VERDICT_HEALTHY);
        end(&f);
    }
    limits.looks = 1;
}

/* The verdict and the reason to drain are those of confirmed findings. */
static void an_unconfirmed_finding_drains_nothing_and_stands_last(void **state)
{
    (void)state;
    limits.looks = 2;
    struct fixture f = begin(nodes_cpu(&four_numas));
    for (int n = 0; n < 4; n++)
        rate(&f, n, n, n == 1 ? 50 : n == 2 ? 92 : 100, 0.5);
    with_baselines(&f);
    f.snap->baseline[1].low_runs = 3;
    f.snap->opened = calloc(1, sizeof *f.snap->opened);
    f.snap->opened[0] = (struct opened){.code = "slower-than-baseline",
                                        .place = "numa2",
                                        .subject = "memory_bandwidth numa2 numa2",
                                        .since_s = 1790000000};
    f.snap->opened_count = 1;
    assess(&f, NULL);
    assert_int_equal(f.assessment.verdict, VERDICT_DEGRADED);
    assert_false(f.assessment.drain);
    assert_string_equal(f.assessment.finding[0].place, "numa2");
    assert_true(f.assessment.finding[f.assessment.count - 1].is_unconfirmed);
    end(&f);
    limits.looks = 1;
}

/* One noisy run slows more places than are listed. The finding that counts the rest is as doubtful
 * as they are. */
static void the_rest_is_as_doubtful_as_its_values(void **state)
{
    (void)state;
    limits.looks = 2;
    struct fixture f = begin(nodes_cpu(&(struct shape){1, 1, 1, 100, 1, INT64_C(64) << 30}));
    for (int c = 0; c < 100; c++) {
        double ns = c < 70 ? 150 + c : 100;
        nodes_value(f.values, METRIC_MEMORY_LATENCY, VALUE_MEASURED,
                    nodes_place(f.graph, PLACE_CORE, c), numa(&f, 0), "", ns, ns, ns);
    }
    with_baselines(&f);
    for (size_t i = 0; i < f.snap->values->count; i++)
        f.snap->baseline[i].median = 100, f.snap->baseline[i].deviation = 1;
    assess(&f, NULL);
    assert_non_null(found(&f, "more"));
    assert_int_equal(f.assessment.verdict, VERDICT_HEALTHY);
    for (size_t i = 0; i < f.assessment.count; i++)
        assert_false(assessment_lists(&f.assessment.finding[i]));
    /* one of the rest is confirmed */
    const struct finding *rest = NULL;
    for (size_t i = 0; i < f.assessment.count; i++)
        if (f.assessment.finding[i].is_unlisted && f.assessment.finding[i].cause != PLACE_NONE)
            rest = &f.assessment.finding[i];
    assert_non_null(rest);
    f.snap->opened = calloc(1, sizeof *f.snap->opened);
    f.snap->opened_count = 1;
    f.snap->opened[0].since_s = 1790000000;
    snprintf(f.snap->opened[0].code, sizeof f.snap->opened[0].code, "%s", rest->code);
    snprintf(f.snap->opened[0].place, sizeof f.snap->opened[0].place, "%s", rest->place);
    snprintf(f.snap->opened[0].subject, sizeof f.snap->opened[0].subject, "%s", rest->subject);
    assess(&f, NULL);
    assert_int_equal(f.assessment.verdict, VERDICT_DEGRADED);
    end(&f);
    limits.looks = 1;
}

static void improvements_degrade_nothing(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&(struct shape){1, 1, 1, 12, 1, INT64_C(64) << 30}));
    for (int a = 0; a < 12; a++)
        for (int b = 0; b < 12; b++)
            if (a != b)
                nodes_value(f.values, METRIC_CPU_PINGPONG, VALUE_MEASURED,
                            nodes_place(f.graph, PLACE_CORE, a),
                            nodes_place(f.graph, PLACE_CORE, b), "", 50, 50, 50);
    with_baselines(&f);
    for (size_t i = 0; i < f.snap->values->count; i++)
        f.snap->baseline[i].median = 100, f.snap->baseline[i].deviation = 1;
    assess(&f, NULL);
    assert_int_equal(f.assessment.verdict, VERDICT_HEALTHY);
    assert_int_equal(listed(&f), 1); /* all of them are better: the machine is */
    assert_int_equal(f.assessment.finding[0].severity, SEVERITY_INFO);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_headline_is_the_first_of_the_list),
        cmocka_unit_test(what_is_worse_than_its_baseline_is_found),
        cmocka_unit_test(three_low_runs_drain),
        cmocka_unit_test(a_finding_stands_since_it_appeared),
        cmocka_unit_test(axes_of_a_pair_are_told_apart),
        cmocka_unit_test(the_second_look_confirms_some_minutes_later),
        cmocka_unit_test(a_cell_that_later_runs_leave_out_is_found_by_one_look),
        cmocka_unit_test(the_first_day_has_two_looks_too),
        cmocka_unit_test(an_unconfirmed_finding_drains_nothing_and_stands_last),
        cmocka_unit_test(the_rest_is_as_doubtful_as_its_values),
        cmocka_unit_test(improvements_degrade_nothing),
    };
    return cmocka_run_group_tests(tests, begin_judging, NULL);
}
