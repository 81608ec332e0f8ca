/* Judging values alone: peers, stated values, notes and links. */
#include "assessment_rig.h"
#include "health/baseline.h"

static void nothing_measured_is_unknown(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&four_numas));
    nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_NOMINAL, numa(&f, 0), numa(&f, 0), "",
                100 * GB, NAN, NAN);
    nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_PUBLISHED, numa(&f, 1), numa(&f, 1), "",
                100 * GB, NAN, NAN);
    assess(&f, NULL);
    assert_int_equal(f.assessment.verdict, VERDICT_UNKNOWN);
    assert_false(f.assessment.drain);
    assert_string_equal(f.assessment.reason, "unknown: nothing has been measured");
    end(&f);
}

static void peers_that_agree_are_healthy(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&four_numas));
    for (int n = 0; n < 4; n++) {
        rate(&f, n, n, 80 + n, 0.5);
        rate(&f, n, (n + 1) % 4, 30, 0.5); /* far ones are no peers of near ones */
    }
    assess(&f, NULL);
    assert_int_equal(f.assessment.verdict, VERDICT_HEALTHY);
    assert_int_equal(f.assessment.count, 0);
    assert_string_equal(f.assessment.reason, "healthy: 8 measured values, none out of line");
    end(&f);
}

static void a_slow_one_among_its_likes_is_found(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&four_numas));
    for (int n = 0; n < 4; n++)
        rate(&f, n, n, n == 2 ? 60 : 80 + n, 0.5);
    assess(&f, NULL);
    assert_int_equal(f.assessment.verdict, VERDICT_DEGRADED);
    assert_false(f.assessment.drain);
    assert_int_equal(f.assessment.count, 1);
    const struct finding *finding = found(&f, "slower-than-peers");
    assert_non_null(finding);
    assert_int_equal(finding->severity, SEVERITY_WARNING);
    assert_string_equal(finding->place, "numa2");
    assert_true(finding->value == 60 * GB && finding->expected == 81 * GB);
    assert_non_null(strstr(f.assessment.reason, "degraded: numa2: memory_bandwidth"));
    end(&f);
}

/* Values that vary by themselves have wide intervals: pageable copies of four gpus of one virtual
 * machine, as measured. */
static void peers_that_are_not_known_well_accuse_nobody(void **state)
{
    (void)state;
    static const double rates[4][3] = {
        {4.74, 6.96, 7.99}, {8.04, 10.59, 12.12}, {4.82, 6.16, 9.48}, {9.37, 13.62, 14.81}};
    for (int known = 0; known < 2; known++) {
        struct fixture f = begin(nodes_cpu(&four_numas));
        for (int n = 0; n < 4; n++)
            nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_MEASURED, numa(&f, n), numa(&f, n),
                        "", rates[n][1] * GB, (known ? rates[n][1] - 0.1 : rates[n][0]) * GB,
                        (known ? rates[n][1] + 0.1 : rates[n][2]) * GB);
        assess(&f, NULL);
        assert_int_equal(f.assessment.verdict, known ? VERDICT_DEGRADED : VERDICT_HEALTHY);
        end(&f);
    }
}

static void latency_is_worse_when_it_is_higher(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&four_numas));
    const double ns[] = {100, 101, 160, 60};
    for (int n = 0; n < 4; n++)
        nodes_value(f.values, METRIC_MEMORY_LATENCY, VALUE_MEASURED,
                    nodes_place(f.graph, PLACE_LLC, n), numa(&f, n), "", ns[n], ns[n] - 1,
                    ns[n] + 1);
    assess(&f, NULL);
    assert_int_equal(f.assessment.count, 1);
    assert_string_equal(f.assessment.finding[0].place, "numa2");
    end(&f);
}

/* The two threads of a core are twice as near as two cores that share a cache: neither is out of
 * line for that. */
static void threads_are_compared_with_threads(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&four_numas));
    place_id core[5];
    for (int n = 0; n < 5; n++)
        core[n] = nodes_place(f.graph, PLACE_CORE, n);
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < 5; b++) {
            double ns = a != b ? 250 : a == 4 ? 400 : 50;
            nodes_value(f.values, METRIC_CPU_PINGPONG, VALUE_MEASURED, core[a], core[b], "", ns,
                        ns - 1, ns + 1);
        }
    assess(&f, NULL);
    assert_int_equal(f.assessment.count, 1); /* the one that is slow among threads */
    assert_string_equal(f.assessment.finding[0].place, "core4");
    end(&f);
}

static void noise_and_three_alone_accuse_nobody(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&four_numas));
    for (int n = 0; n < 4; n++)
        rate(&f, n, n, n == 2 ? 60 : 80, n == 2 ? 8 : 0.5); /* its interval reaches 68: 85 % */
    assess(&f, NULL);
    assert_int_equal(f.assessment.verdict, VERDICT_HEALTHY);
    end(&f);

    f = begin(nodes_cpu(&four_numas));
    for (int n = 1; n < 4; n++)
        rate(&f, n, n, n == 2 ? 20 : 80, 0.5);
    assess(&f, NULL);
    assert_int_equal(f.assessment.verdict, VERDICT_HEALTHY);
    end(&f);
}

static void half_of_what_is_stated_is_found(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&four_numas));
    nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_NOMINAL, numa(&f, 0), numa(&f, 0), "",
                200 * GB, NAN, NAN);
    nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_NOMINAL, numa(&f, 1), numa(&f, 1), "",
                200 * GB, NAN, NAN);
    rate(&f, 0, 0, 90, 1);
    rate(&f, 1, 1, 120, 1);
    assess(&f, NULL);
    assert_int_equal(f.assessment.count, 1);
    const struct finding *finding = found(&f, "below-nominal");
    assert_non_null(finding);
    assert_string_equal(finding->place, "numa0");
    assert_true(finding->value == 90 * GB && fabs(finding->expected - 200 * GB) < 1e4);
    end(&f);
}

static void a_gpu_link_is_compared_with_its_rate(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_mi250x());
    place_id a = nodes_place(f.graph, PLACE_GPU, 0), b = nodes_place(f.graph, PLACE_GPU, 1),
             c = nodes_place(f.graph, PLACE_GPU, 2);
    struct link *quad = graph_add_link(f.graph, a, b, LINK_XGMI);
    quad->nominal_bytes_per_s = 200 * GB;
    quad->state = LINK_UP;
    /* as copy engines are */
    nodes_value(f.values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED, a, b, "", 50 * GB, NAN, NAN);
    nodes_value(f.values, METRIC_GPU_GPU_KERNEL, VALUE_MEASURED, a, b, "", 90 * GB, NAN, NAN);
    nodes_value(f.values, METRIC_GPU_GPU_KERNEL, VALUE_MEASURED, b, a, "", 170 * GB, NAN, NAN);
    nodes_value(f.values, METRIC_GPU_GPU_KERNEL, VALUE_MEASURED, a, b, "bytes=4096", 1 * GB, NAN,
                NAN);
    nodes_value(f.values, METRIC_GPU_GPU_KERNEL, VALUE_MEASURED, a, c, "", 1 * GB, NAN, NAN);
    assess(&f, NULL);
    assert_int_equal(f.assessment.count, 1);
    assert_string_equal(f.assessment.finding[0].code, "below-nominal");
    assert_string_equal(f.assessment.finding[0].place, "gpu0");
    end(&f);
}

static void links_that_are_down(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_mi250x());
    place_id a = nodes_place(f.graph, PLACE_GPU, 0), b = nodes_place(f.graph, PLACE_GPU, 1),
             nic = nodes_place(f.graph, PLACE_NIC, 0);
    graph_add_link(f.graph, a, b, LINK_XGMI)->state = LINK_UP;
    graph_add_link(f.graph, nic, 0, LINK_NETWORK)->state = LINK_DOWN;
    graph_add_link(f.graph, a, numa(&f, 3), LINK_PCIE)->state = LINK_DEGRADED;
    assess(&f, NULL);
    assert_int_equal(f.assessment.verdict, VERDICT_DEGRADED);
    assert_non_null(found(&f, "link-degraded"));
    assert_int_equal(found(&f, "network-link")->severity, SEVERITY_INFO);
    assert_false(f.assessment.drain);
    end(&f);

    f = begin(nodes_mi250x());
    graph_add_link(f.graph, nodes_place(f.graph, PLACE_GPU, 0), nodes_place(f.graph, PLACE_GPU, 1),
                   LINK_XGMI)
        ->state = LINK_DOWN;
    assess(&f, NULL);
    assert_int_equal(f.assessment.verdict, VERDICT_UNHEALTHY);
    assert_true(f.assessment.drain);
    assert_string_equal(f.assessment.finding[0].place, "gpu0");
    /* only the requested places, with the places inside */
    bool *selected = calloc(f.graph->place_count, sizeof *selected);
    selected[nodes_place(f.graph, PLACE_GPU, 4)] = true;
    assess(&f, selected);
    assert_int_equal(f.assessment.verdict, VERDICT_UNKNOWN);
    selected[nodes_place(f.graph, PLACE_MODULE, 0)] = true;
    assess(&f, selected);
    assert_int_equal(f.assessment.verdict, VERDICT_UNHEALTHY);
    free(selected);
    end(&f);
}

/* Contradictions of sources are information about the node, which topo shows: nobody can act on
 * them. */
static void notes_without_disagreements(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&four_numas));
    assert_true(graph_add_disagreement(f.graph, "hwloc says 4, the firmware 5: 4 is kept"));
    nodes_finish(f.graph);
    values_finish(f.values);
    struct note notes[] = {
        {.code = "probe-crashed",
         .severity = 1,
         .place = "machine0",
         .text = "berth-probe-cpu died of signal 11",
         .since_s = 1790000000},
        {.code = "remark", .severity = 0, .place = "numa1", .text = "nothing serious"}};
    f.snap = snapshot_new(f.graph, f.values, notes, 2, 0, 1);
    graph_unref(f.graph);
    assess(&f, NULL);
    assert_int_equal(f.assessment.verdict, VERDICT_DEGRADED);
    assert_int_equal(f.assessment.count, 2);
    assert_string_equal(f.assessment.finding[0].code, "probe-crashed");
    assert_int_equal(f.assessment.finding[0].since_s, 1790000000);
    assert_string_equal(f.assessment.reason,
                        "degraded: machine0: berth-probe-cpu died of signal 11");
    end(&f);
}

/* A node without values, judged by one note. */
static struct fixture assessed_note(const struct note *note)
{
    struct fixture f = begin(nodes_cpu(&four_numas));
    nodes_finish(f.graph);
    values_finish(f.values);
    f.snap = snapshot_new(f.graph, f.values, note, 1, 0, 1);
    graph_unref(f.graph);
    assess(&f, NULL);
    return f;
}

static void a_long_reason_is_cut_between_characters(void **state)
{
    (void)state;
    struct note note = {.code = "x", .severity = 2, .place = "machine0"};
    for (size_t i = 0; i + 3 < sizeof note.text; i += 2)
        strcat(note.text, "\xc3\xa4");
    struct fixture f = assessed_note(&note);
    assert_int_equal(f.assessment.verdict, VERDICT_UNHEALTHY);
    assert_false(f.assessment.drain);
    size_t length = strlen(f.assessment.reason);
    assert_true(length >= 118 && length <= 120);
    assert_string_equal(f.assessment.reason + length - 3, "...");
    assert_true((unsigned char)f.assessment.reason[length - 4] == 0xa4);
    end(&f);
}

static void a_long_reason_ends_with_a_clause(void **state)
{
    (void)state;
    struct note note = {.code = "x",
                        .severity = 1,
                        .place = "machine0",
                        .text = "the store in a folder with quite a long name cannot be written to "
                                "at all, and everything that was measured since then will be lost"};
    struct fixture f = assessed_note(&note);
    assert_string_equal(f.assessment.reason, "degraded: machine0: the store in a folder with quite "
                                             "a long name cannot be written to at all");
    end(&f);
}

static void a_long_phrase_says_that_it_is_cut(void **state)
{
    (void)state;
    struct note note = {.code = "x",
                        .severity = 1,
                        .place = "machine0",
                        .text = "the store in a folder with quite a long name cannot be written to "
                                "for reasons that nobody has been able to tell until now"};
    struct fixture f = assessed_note(&note);
    assert_string_equal(f.assessment.reason,
                        "degraded: machine0: the store in a folder with quite a long name cannot "
                        "be written to for reasons that nobody has...");
    end(&f);
}

static void findings_are_listed_by_their_causes(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&(struct shape){1, 1, 1, 30, 1, INT64_C(64) << 30}));
    for (int a = 0; a < 30; a++)
        for (int b = 0; b < 30; b++)
            if (a != b) {
                double ns = a < 10 ? 500 : 100;
                nodes_value(f.values, METRIC_CPU_PINGPONG, VALUE_MEASURED,
                            nodes_place(f.graph, PLACE_CORE, a),
                            nodes_place(f.graph, PLACE_CORE, b), "", ns, ns, ns);
                nodes_value(f.values, METRIC_CPU_PINGPONG, VALUE_MEASURED,
                            nodes_place(f.graph, PLACE_CORE, a),
                            nodes_place(f.graph, PLACE_CORE, b), "operation=cas", ns, ns, ns);
            }
    assess(&f, NULL);
    assert_int_equal(f.assessment.verdict, VERDICT_DEGRADED);
    assert_int_equal(f.assessment.count, 580); /* 10 x 29 pairs, each with two axes */
    assert_int_equal(listed(&f), 10);          /* one for each slow core */
    assert_non_null(strstr(f.assessment.reason, "10 findings"));
    end(&f);
}

static void many_causes_are_bounded(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&(struct shape){1, 1, 1, 400, 1, INT64_C(64) << 30}));
    for (int pair = 0; pair < 200; pair++)
        for (int way = 0; way < 2; way++) {
            double ns = pair < 90 ? 500 : 100;
            nodes_value(f.values, METRIC_CPU_PINGPONG, VALUE_MEASURED,
                        nodes_place(f.graph, PLACE_CORE, 2 * pair + way),
                        nodes_place(f.graph, PLACE_CORE, 2 * pair + 1 - way), "", ns, ns, ns);
        }
    assess(&f, NULL);
    assert_int_equal(f.assessment.count, 181);
    assert_int_equal(listed(&f), 65);
    assert_non_null(strstr(found(&f, "more")->text, "52 more"));
    assert_non_null(strstr(f.assessment.reason, "65 findings"));
    assert_false(f.assessment.is_cut); /* those that are not listed are findings too, and clear */
    end(&f);
}

/* Slow links of one gpu are one finding, about that gpu; slow links of all are one about the
 * machine. */
static void one_cause_is_one_finding(void **state)
{
    (void)state;
    for (int is_all = 0; is_all < 2; is_all++) {
        struct fixture f = begin(nodes_cpu(&(struct shape){1, 1, 1, 8, 1, INT64_C(64) << 30}));
        for (int a = 0; a < 8; a++)
            for (int b = 0; b < 8; b++)
                if (a != b)
                    nodes_value(f.values, METRIC_CPU_PINGPONG, VALUE_MEASURED,
                                nodes_place(f.graph, PLACE_CORE, a),
                                nodes_place(f.graph, PLACE_CORE, b), "",
                                a == 5 || b == 5 || is_all ? 500 : 100, NAN, NAN);
        if (is_all) {
            f.snap = nodes_snapshot(f.graph, f.values);
            f.snap->baseline = calloc(f.snap->values->count, sizeof *f.snap->baseline);
            for (size_t i = 0; i < f.snap->values->count; i++)
                f.snap->baseline[i] = (struct baseline){
                    .median = 100, .deviation = 1, .begun_s = 1790000000, .count = 16};
        }
        assess(&f, NULL);
        assert_int_equal(listed(&f), 1);
        assert_int_equal(f.assessment.finding[0].represents, is_all ? 55 : 13);
        assert_int_equal(f.assessment.finding[0].cause,
                         is_all ? 0 : nodes_place(f.graph, PLACE_CORE, 5));
        end(&f);
    }
}

/* On a sound virtual machine with two H100 62 of 992 pairs of cores got 19 to 45 % of the median of
 * their peers, no core in more than a few. */
static void pairs_of_cores_that_scatter_accuse_no_core(void **state)
{
    (void)state;
    for (int is_core = 0; is_core < 2; is_core++) {
        struct fixture f = begin(nodes_cpu(&(struct shape){1, 1, 1, 32, 1, INT64_C(64) << 30}));
        for (int a = 0; a < 32; a++)
            for (int b = 0; b < 32; b++)
                if (a != b) {
                    bool is_slow =
                        is_core ? a == 7 || (b == 7 && a % 4 != 0) : (7 * a + 3 * b) % 16 == 0;
                    nodes_value(f.values, METRIC_CPU_QUEUE, VALUE_MEASURED,
                                nodes_place(f.graph, PLACE_CORE, a),
                                nodes_place(f.graph, PLACE_CORE, b), "", (is_slow ? 2 : 7.5) * GB,
                                (is_slow ? 1.9 : 7.4) * GB, (is_slow ? 2.1 : 7.6) * GB);
                }
        assess(&f, NULL);
        assert_int_equal(f.assessment.verdict, is_core ? VERDICT_DEGRADED : VERDICT_HEALTHY);
        assert_int_equal(listed(&f), is_core);
        end(&f);
    }
}

/* Effects of the host's pages, and the scatter of single repetitions, excuse more than a
 * percentage. */
static void the_spread_of_a_metric_allows_the_verdict(void **state)
{
    (void)state;
    static const struct {
        const char *axes;
        double slow, half;
        bool is_found;
    } cases[] = {
        {"bytes=1024", 44, 0.1, true},    {"kind=pageable", 44, 0.1, false},
        {"kind=pageable", 15, 0.1, true}, {"bytes=1024", 70, 5, false},
        {"bytes=1024", 70, 0.1, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = begin(nodes_cpu(&four_numas));
        for (int n = 0; n < 4; n++) {
            double gb = n == 2 ? cases[i].slow : 100;
            nodes_value(f.values, METRIC_HOST_GPU_COPY_ENGINE, VALUE_MEASURED, numa(&f, n),
                        numa(&f, n), cases[i].axes, gb * GB, (gb - cases[i].half) * GB,
                        (gb + cases[i].half) * GB);
        }
        assess(&f, NULL);
        assert_int_equal(found(&f, "slower-than-peers") != NULL, cases[i].is_found);
        end(&f);
    }
}

/* Its own memory is compared with those of gpus of its model, whatever links there are. */
static void a_gpu_that_is_slow_in_its_own_memory_is_found(void **state)
{
    (void)state;
    for (int is_other = 0; is_other < 2; is_other++) {
        struct fixture f = begin(nodes_cpu(&four_numas));
        for (int n = 0; n < 4; n++) {
            place_id gpu = nodes_add(f.graph, PLACE_GPU, n, numa(&f, n), numa(&f, n), NULL);
            assert_true(place_set_text(&f.graph->places[gpu].model,
                                       is_other && n == 2 ? "NVIDIA Y" : "NVIDIA X"));
            double rate = n == 2 ? 1500 * GB : 3000 * GB;
            nodes_value(f.values, METRIC_GPU_STREAM, VALUE_MEASURED, gpu, gpu, "", rate, rate,
                        rate);
        }
        assess(&f, NULL);
        assert_int_equal(f.assessment.count, is_other ? 0 : 1);
        if (!is_other)
            assert_string_equal(f.assessment.finding[0].subject, "gpu_stream gpu2 gpu2");
        end(&f);
    }
}

/* Reads beside writes, and the latency of two distances of addresses beside each other, are no
 * peers. */
static void other_axes_are_no_likes(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&four_numas));
    for (int n = 0; n < 4; n++) {
        place_id llc = nodes_place(f.graph, PLACE_LLC, n);
        rate(&f, n, n, 80 + n, 0.5);
        nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_MEASURED, numa(&f, n), numa(&f, n),
                    "operation=write", (40 + n) * GB, (39 + n) * GB, (41 + n) * GB);
        nodes_value(f.values, METRIC_MEMORY_LATENCY, VALUE_MEASURED, llc, numa(&f, n), "", 100 + n,
                    99 + n, 101 + n);
        nodes_value(f.values, METRIC_MEMORY_LATENCY, VALUE_MEASURED, llc, numa(&f, n), "bytes=4096",
                    n == 2 ? 9 : 2, n == 2 ? 8.9 : 1.9, n == 2 ? 9.1 : 2.1);
    }
    assess(&f, NULL);
    /* slow among those of 4 KiB, however fast beside memory */
    assert_int_equal(f.assessment.count, 1);
    assert_string_equal(f.assessment.finding[0].subject, "memory_latency llc2 numa2 bytes=4096");
    end(&f);
}

/* What starting a transfer costs is judged as a whole; its parts are estimates for predictions. */
static void an_estimated_start_is_not_judged(void **state)
{
    (void)state;
    for (int is_estimated = 0; is_estimated < 2; is_estimated++) {
        struct fixture f = begin(nodes_cpu(&four_numas));
        for (int n = 0; n < 4; n++) {
            double ns = n == 2 ? 5000 : 2800;
            nodes_value(f.values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, numa(&f, n),
                        numa(&f, n), "kind=pinned", ns, is_estimated ? NAN : ns - 10,
                        is_estimated ? NAN : ns + 10);
        }
        assess(&f, NULL);
        assert_int_equal(f.assessment.count, !is_estimated);
        end(&f);
    }
}

static void a_missing_gpu_is_a_reason_to_drain(void **state)
{
    (void)state;
    struct note note = {.code = "gpu-missing",
                        .severity = 2,
                        .place = "gpu3",
                        .text = "the gpu that was gpu3 is gone"};
    struct fixture f = assessed_note(&note);
    assert_true(f.assessment.drain);
    assert_string_equal(f.assessment.reason, "unhealthy: gpu3: the gpu that was gpu3 is gone");
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_measured_is_unknown),
        cmocka_unit_test(peers_that_agree_are_healthy),
        cmocka_unit_test(a_slow_one_among_its_likes_is_found),
        cmocka_unit_test(peers_that_are_not_known_well_accuse_nobody),
        cmocka_unit_test(latency_is_worse_when_it_is_higher),
        cmocka_unit_test(threads_are_compared_with_threads),
        cmocka_unit_test(noise_and_three_alone_accuse_nobody),
        cmocka_unit_test(half_of_what_is_stated_is_found),
        cmocka_unit_test(a_gpu_link_is_compared_with_its_rate),
        cmocka_unit_test(links_that_are_down),
        cmocka_unit_test(notes_without_disagreements),
        cmocka_unit_test(a_long_reason_is_cut_between_characters),
        cmocka_unit_test(a_long_reason_ends_with_a_clause),
        cmocka_unit_test(a_long_phrase_says_that_it_is_cut),
        cmocka_unit_test(findings_are_listed_by_their_causes),
        cmocka_unit_test(many_causes_are_bounded),
        cmocka_unit_test(one_cause_is_one_finding),
        cmocka_unit_test(the_spread_of_a_metric_allows_the_verdict),
        cmocka_unit_test(pairs_of_cores_that_scatter_accuse_no_core),
        cmocka_unit_test(a_gpu_that_is_slow_in_its_own_memory_is_found),
        cmocka_unit_test(other_axes_are_no_likes),
        cmocka_unit_test(an_estimated_start_is_not_judged),
        cmocka_unit_test(a_missing_gpu_is_a_reason_to_drain),
    };
    return cmocka_run_group_tests(tests, begin_judging, NULL);
}
