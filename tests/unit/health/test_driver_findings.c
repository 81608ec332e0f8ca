/* From the records of a driver to findings: by the backend, a graph, a snapshot and the assessment.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "discover/backend.h"
#include "health/assessment.h"

struct fixture {
    char facts[32768];
    struct snapshot *snap;
    struct assessment assessment;
};

static void say(struct fixture *f, const char *line)
{
    size_t used = strlen(f->facts);
    snprintf(f->facts + used, sizeof f->facts - used, "%s\n", line);
}

/* Adds one of several H200s, with its own facts. */
static void say_gpu(struct fixture *f, int number, const char *more)
{
    char line[1024];
    snprintf(line, sizeof line,
             "{\"record\":\"device\",\"gpu\":\"gpu%d\",\"vendor\":\"nvidia\",\"pci\":\"0000:%02x:"
             "00.0\",\"model\":\"NVIDIA H200\"%s%s}",
             number, 16 + number, more[0] != '\0' ? "," : "", more);
    say(f, line);
}

static void say_link(struct fixture *f, const char *from, const char *to, const char *kind,
                     int width)
{
    char line[256];
    snprintf(line, sizeof line,
             "{\"record\":\"link\",\"from\":\"%s\",\"to\":\"%s\",\"kind\":\"%s\",\"width\":%d,"
             "\"state\":\"up\"}",
             from, to, kind, width);
    say(f, line);
}

static struct graph *graph_of(const char *facts)
{
    struct draft draft;
    struct berth_err err = {0};
    struct graph *graph = NULL;
    struct values *values = NULL;
    const struct backend_input input = {.facts = facts};
    assert_true(draft_init(&draft));
    draft_add(&draft, PLACE_NUMA, 0, DRAFT_HWLOC);
    assert_int_equal(backend_facts.discover(&input, &draft, &err), BERTH_OK);
    assert_int_equal(draft_finish(&draft, "test", ORIGIN_RECORDED, &graph, &values, &err),
                     BERTH_OK);
    values_free(values);
    return graph;
}

static void assess_it(struct fixture *f)
{
    static const struct health_limits limits; /* nothing is measured here */
    struct berth_err err = {0};
    struct graph *graph = graph_of(f->facts);
    f->snap = snapshot_new(graph, values_new(), NULL, 0, 0, 1);
    graph_unref(graph);
    assert_non_null(f->snap);
    assert_int_equal(health_assess(f->snap, NULL, &limits, &f->assessment, &err), BERTH_OK);
}

static void end(struct fixture *f)
{
    assessment_done(&f->assessment);
    snapshot_unref(f->snap);
}

static const struct finding *found(const struct fixture *f, const char *code, const char *place)
{
    for (size_t i = 0; i < f->assessment.count; i++)
        if (strcmp(f->assessment.finding[i].code, code) == 0 &&
            strcmp(f->assessment.finding[i].place, place) == 0)
            return &f->assessment.finding[i];
    return NULL;
}

static void assert_finding(const struct fixture *f, const char *code, const char *place,
                           enum severity severity, bool drains, const char *text)
{
    const struct finding *finding = found(f, code, place);
    assert_non_null(finding);
    assert_int_equal(finding->severity, severity);
    assert_int_equal(finding->drain, drains);
    assert_string_equal(finding->text, text);
}

static size_t count(const struct fixture *f, const char *code)
{
    size_t all = 0;
    for (size_t i = 0; i < f->assessment.count; i++)
        all += strcmp(f->assessment.finding[i].code, code) == 0;
    return all;
}

static void a_gpu_that_is_well_has_no_finding(void **state)
{
    (void)state;
    struct fixture f = {0};
    for (int i = 0; i < 4; i++)
        say_gpu(&f, i,
                "\"nvlinks\":18,\"nvlinks_up\":18,\"ecc_uncorrected\":0,\"ecc_uncorrected_ever\":2,"
                "\"rows_pending\":0,\"rows_failed\":0,"
                "\"throttle\":\"power-cap,application-clocks\",\"pcie_width\":16,\"pcie_width_"
                "max\":16,\"processes\":0,\"pcie_generation\":1,"
                "\"pcie_generation_max\":5");
    assess_it(&f);
    assert_int_equal(f.assessment.count, 0);
    end(&f);
}

static void fewer_nvlinks_than_a_gpu_like_it(void **state)
{
    (void)state;
    struct fixture f = {0};
    say_gpu(&f, 0, "\"nvlinks\":18,\"nvlinks_up\":18");
    say_gpu(&f, 1, "\"nvlinks\":18,\"nvlinks_up\":16");
    say_gpu(&f, 2, "\"nvlinks\":18,\"nvlinks_up\":0");
    say_link(&f, "gpu0", "switch0", "nvlink", 18);
    say_link(&f, "gpu1", "switch0", "nvlink", 16);
    assess_it(&f);
    assert_int_equal(f.assessment.count, 2);
    assert_finding(&f, "link-degraded", "gpu1", SEVERITY_WARNING, false,
                   "16 of its 18 NVLinks are active; a peer has 18");
    assert_finding(&f, "link-down", "gpu2", SEVERITY_CRITICAL, true,
                   "0 of its 18 NVLinks are active; a peer has 18");
    assert_true(f.assessment.drain);
    end(&f);
}

/* A pair of cards with a bridge, and one without. */
static void a_card_without_a_bridge_is_no_reason_to_drain(void **state)
{
    (void)state;
    struct fixture f = {0};
    say_gpu(&f, 0, "\"nvlinks\":12,\"nvlinks_up\":12");
    say_gpu(&f, 1, "\"nvlinks\":12,\"nvlinks_up\":12");
    say_gpu(&f, 2, "\"nvlinks\":12,\"nvlinks_up\":0");
    say_link(&f, "gpu0", "gpu1", "nvlink", 12);
    assess_it(&f);
    assert_finding(&f, "link-degraded", "gpu2", SEVERITY_WARNING, false,
                   "0 of its 12 NVLinks are active; a peer has 12");
    end(&f);
}

static void links_of_other_models_are_no_measure(void **state)
{
    (void)state;
    struct fixture f = {0};
    say_gpu(&f, 0, "\"nvlinks\":18,\"nvlinks_up\":18");
    say(&f, "{\"record\":\"device\",\"gpu\":\"gpu1\",\"vendor\":\"nvidia\",\"pci\":\"0000:20:00."
            "0\",\"model\":\"NVIDIA A100\",\"nvlinks\":12,\"nvlinks_up\":12}");
    /* a slice */
    say_gpu(&f, 2, "\"uuid\":\"MIG-1\",\"partition\":\"mig\",\"nvlinks\":18,\"nvlinks_up\":0");
    assess_it(&f);
    assert_int_equal(f.assessment.count, 0);
    end(&f);
}

static void say_xgmi(struct fixture *f, const int widths[4][4])
{
    for (int i = 0; i < 4; i++) {
        char line[256];
        snprintf(line, sizeof line,
                 "{\"record\":\"device\",\"gpu\":\"gpu%d\",\"vendor\":\"amd\",\"pci\":\"0000:%02x:"
                 "00.0\",\"model\":\"Instinct\"}",
                 i, 16 + i);
        say(f, line);
    }
    for (int i = 0; i < 4; i++)
        for (int k = i + 1; k < 4; k++) {
            char from[8], to[8];
            snprintf(from, sizeof from, "gpu%d", i);
            snprintf(to, sizeof to, "gpu%d", k);
            if (widths[i][k] > 0)
                say_link(f, from, to, "xgmi", widths[i][k]);
        }
}

static void fewer_xgmi_links_than_most(void **state)
{
    (void)state;
    struct fixture f = {0};
    say_xgmi(&f, (const int[4][4]){{0, 2, 2, 1}, {0, 0, 2, 2}, {0, 0, 0, 2}});
    assess_it(&f); /* gpu0 and gpu3 lost the same one; two of four are no majority */
    assert_int_equal(f.assessment.count, 0);
    end(&f);
    f = (struct fixture){0};
    say_xgmi(&f, (const int[4][4]){{0, 1, 1, 1}, {0, 0, 2, 2}, {0, 0, 0, 2}});
    assess_it(&f);
    assert_int_equal(f.assessment.count, 1);
    assert_finding(&f, "link-degraded", "gpu0", SEVERITY_WARNING, false,
                   "it has 3 xGMI links to other gpus; 3 of 4 peers have 5");
    end(&f);
}

static void broken_memory(void **state)
{
    (void)state;
    struct fixture f = {0};
    say_gpu(&f, 0, "\"ecc_uncorrected\":3,\"rows_pending\":1");
    say_gpu(&f, 1, "\"rows_failed\":1");
    assess_it(&f);
    assert_int_equal(f.assessment.count, 3);
    assert_finding(&f, "memory-errors", "gpu0", SEVERITY_WARNING, false,
                   "3 memory errors could not be corrected since the driver was loaded");
    assert_true(found(&f, "memory-errors", "gpu0")->value == 3 &&
                found(&f, "memory-errors", "gpu0")->expected == 0);
    assert_finding(&f, "memory-rows-pending", "gpu0", SEVERITY_WARNING, false,
                   "broken rows of its memory are replaced when the gpu is reset next");
    assert_finding(&f, "memory-rows-failed", "gpu1", SEVERITY_CRITICAL, false,
                   "broken rows of its memory could not be replaced; the gpu is to be exchanged");
    end(&f);
}

static void clocks_that_are_held_down(void **state)
{
    (void)state;
    static const char *const bad[] = {"hardware-slowdown", "power-cap,hardware-thermal",
                                      "software-thermal", "power-brake"};
    struct fixture f = {0};
    for (int i = 0; i < 4; i++) {
        char more[64];
        snprintf(more, sizeof more, "\"throttle\":\"%s\"", bad[i]);
        say_gpu(&f, i, more);
    }
    assess_it(&f);
    assert_int_equal(count(&f, "throttled"), 4);
    assert_finding(&f, "throttled", "gpu1", SEVERITY_WARNING, false,
                   "its clocks are held down: power-cap,hardware-thermal");
    end(&f);
}

static void a_narrow_pcie_link(void **state)
{
    (void)state;
    struct fixture f = {0};
    say_gpu(&f, 0, "\"pcie_width\":16,\"pcie_width_max\":16");
    say_gpu(&f, 1, "\"pcie_width\":8,\"pcie_width_max\":16");
    assess_it(&f);
    assert_int_equal(f.assessment.count, 1);
    assert_finding(&f, "pcie-narrow", "gpu1", SEVERITY_WARNING, false,
                   "its PCIe link is 8 lanes wide, of 16");
    end(&f);
    f = (struct fixture){0};
    say_gpu(&f, 0, "\"pcie_width\":8,\"pcie_width_max\":16");
    say_gpu(&f, 1, "\"pcie_width\":8,\"pcie_width_max\":16");
    assess_it(&f);
    assert_int_equal(f.assessment.count, 2);
    assert_finding(&f, "pcie-narrow", "gpu1", SEVERITY_INFO, false,
                   "its PCIe link is 8 lanes wide, of 16, as of all its peers");
    end(&f);
}

static void a_lost_gpu_is_a_reason_to_drain(void **state)
{
    (void)state;
    struct fixture f = {0};
    say_gpu(&f, 0, "\"state\":\"lost\",\"nvlinks\":18,\"nvlinks_up\":0");
    say_gpu(&f, 1, "\"nvlinks\":18,\"nvlinks_up\":18");
    assess_it(&f);
    assert_int_equal(f.assessment.count, 1);
    assert_finding(
        &f, "gpu-lost", "gpu0", SEVERITY_CRITICAL, true,
        "the driver has lost it (0000:10:00.0): it must be reset, or the node started again");
    assert_int_equal(f.assessment.verdict, VERDICT_UNHEALTHY);
    assert_true(f.assessment.drain);
    end(&f);
}

static void a_gpu_in_use(void **state)
{
    (void)state;
    struct fixture f = {0};
    say_gpu(&f, 0, "\"processes\":2,\"pids\":\"4711,4712\"");
    say_gpu(&f, 1, "\"processes\":1");
    assess_it(&f);
    assert_finding(&f, "gpu-in-use", "gpu0", SEVERITY_INFO, false,
                   "2 processes are on it (pid 4711,4712)");
    assert_finding(&f, "gpu-in-use", "gpu1", SEVERITY_INFO, false, "1 process is on it");
    assert_int_equal(f.assessment.verdict, VERDICT_UNKNOWN); /* info is no fault */
    end(&f);
}

#define RUN                                                                                        \
    "{\"record\":\"run\",\"schema\":1,\"probe\":\"gpu\",\"backend\":\"facts\",\"started_at\":"     \
    "1790000000,\"conditions\":{"

static void a_driver_that_does_not_answer(void **state)
{
    (void)state;
    struct fixture f = {0};
    say(&f, RUN "\"nvidia_trouble\":\"/dev/nvidiactl is closed to this process\",\"amd_why\":\"the "
                "driver amdgpu shows no GPU\"}}");
    say_gpu(&f, 0, "");
    assess_it(&f);
    /* there is no gpu of AMD's that would miss its driver */
    assert_int_equal(f.assessment.count, 1);
    assert_finding(&f, "gpu-driver", "machine0", SEVERITY_WARNING, false,
                   "NVIDIA: /dev/nvidiactl is closed to this process");
    end(&f);
    f = (struct fixture){0};
    say(&f, RUN "\"nvidia_why\":\"there is no libnvidia-ml.so.1\"}}");
    say_gpu(&f, 0, "");
    assess_it(&f);
    assert_finding(&f, "gpu-driver", "machine0", SEVERITY_INFO, false,
                   "NVIDIA: there is no libnvidia-ml.so.1");
    end(&f);
}

static void what_a_probe_run_noted_is_said_once(void **state)
{
    (void)state;
    static const struct health_limits limits;
    struct fixture f = {0};
    struct berth_err err = {0};
    const struct note notes[] = {{.code = "gpu-in-use", .place = "gpu0", .text = "it was left out"},
                                 {.code = "gpu-lost", .severity = 2, .place = "gpu1"}};
    say(&f, RUN "}}");
    say_gpu(&f, 0, "\"processes\":2,\"rows_pending\":1");
    say_gpu(&f, 1, "\"state\":\"lost\"");
    struct graph *graph = graph_of(f.facts);
    f.snap = snapshot_new(graph, values_new(), notes, 2, 0, 1);
    graph_unref(graph);
    assert_int_equal(health_assess(f.snap, NULL, &limits, &f.assessment, &err), BERTH_OK);
    assert_int_equal(count(&f, "gpu-in-use"), 1);
    assert_int_equal(count(&f, "gpu-lost"), 1);
    assert_string_equal(found(&f, "gpu-in-use", "gpu0")->text, "it was left out");
    /* when the driver was asked */
    assert_true(found(&f, "memory-rows-pending", "gpu0")->at_s == 1790000000);
    end(&f);
}

/* Facts that change between two readings, and facts of the driver only, do not make another
 * machine. */
static void facts_leave_the_fingerprint_alone(void **state)
{
    (void)state;
    struct fixture early = {0}, late = {0}, other = {0};
    say_gpu(&early, 0, "\"minor\":0");
    say_gpu(&late, 0,
            "\"minor\":0,\"uuid\":\"GPU-1\",\"bytes\":150754820096,\"bytes_used\":17,\"processes\":"
            "3,\"temperature_c\":50,\"nvlinks\":18,\"nvlinks_up\":18");
    say_link(&late, "gpu0", "switch0", "nvlink", 18);
    say_gpu(&other, 1, "\"minor\":0");
    struct graph *a = graph_of(early.facts), *b = graph_of(late.facts), *c = graph_of(other.facts);
    assert_string_equal(a->fingerprint, b->fingerprint);
    assert_string_not_equal(a->fingerprint, c->fingerprint);
    assert_string_equal(b->facts, late.facts);
    graph_unref(a);
    graph_unref(b);
    graph_unref(c);
}

/* Two vendors in one text: a gpu that the drivers do not show is missed by its own vendor's. */
static void vendors_are_counted_apart(void **state)
{
    (void)state;
    struct draft draft;
    struct berth_err err = {0};
    struct graph *graph = NULL;
    struct values *values = NULL;
    const struct backend_input input = {
        .facts = RUN
        "}}\n"
        "{\"record\":\"device\",\"gpu\":\"gpu0\",\"vendor\":\"nvidia\",\"pci\":\"0000:01:00.0\"}\n"
        "{\"record\":\"device\",\"gpu\":\"gpu1\",\"vendor\":\"nvidia\",\"pci\":\"0000:01:00.0\","
        "\"uuid\":\"MIG-1\","
        "\"partition\":\"mig\"}\n"};
    assert_true(draft_init(&draft));
    for (uint64_t bus = 1; bus <= 3; bus++) {
        place_id gpu = draft_add(&draft, PLACE_GPU, 0, DRAFT_HWLOC);
        draft_pci(&draft, gpu, bus << 8);
        draft_detail(&draft, gpu, "vendor", "%s", bus < 3 ? "nvidia" : "amd");
    }
    assert_int_equal(backend_facts.discover(&input, &draft, &err), BERTH_OK);
    assert_int_equal(draft_finish(&draft, "test", ORIGIN_RECORDED, &graph, &values, &err),
                     BERTH_OK);
    assert_int_equal(graph->disagreement_count, 1); /* none for the slice, and none for AMD's */
    assert_string_equal(graph->disagreements[0],
                        "The driver does not show 1 gpus that other sources do; kept are all.");
    assert_int_equal(graph_count(graph, PLACE_GPU), 4);
    values_free(values);
    graph_unref(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_that_is_well_has_no_finding),
        cmocka_unit_test(fewer_nvlinks_than_a_gpu_like_it),
        cmocka_unit_test(a_card_without_a_bridge_is_no_reason_to_drain),
        cmocka_unit_test(links_of_other_models_are_no_measure),
        cmocka_unit_test(fewer_xgmi_links_than_most),
        cmocka_unit_test(broken_memory),
        cmocka_unit_test(clocks_that_are_held_down),
        cmocka_unit_test(a_narrow_pcie_link),
        cmocka_unit_test(a_lost_gpu_is_a_reason_to_drain),
        cmocka_unit_test(a_gpu_in_use),
        cmocka_unit_test(a_driver_that_does_not_answer),
        cmocka_unit_test(what_a_probe_run_noted_is_said_once),
        cmocka_unit_test(facts_leave_the_fingerprint_alone),
        cmocka_unit_test(vendors_are_counted_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
