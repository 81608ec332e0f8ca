#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "discover/backend.h"

#define RUN                                                                                        \
    "{\"record\":\"run\",\"schema\":1,\"probe\":\"gpu\",\"backend\":\"cuda\",\"started_at\":"      \
    "1790000000,\"conditions\":{\"driver\":\"580.1\"}}\n"

/* A draft with one NUMA node and two gpus as hwloc would find them. */
static void begin(struct draft *draft)
{
    assert_true(draft_init(draft));
    struct cpuset cpus = {0};
    cpuset_add(&cpus, 0);
    place_id numa = draft_add(draft, PLACE_NUMA, 0, DRAFT_HWLOC);
    draft_cpus(draft, numa, &cpus);
    for (uint64_t bus = 1; bus <= 2; bus++) {
        place_id gpu = draft_add(draft, PLACE_GPU, 0, DRAFT_HWLOC);
        draft_pci(draft, gpu, bus << 8);
        draft_cpus(draft, gpu, &cpus);
        draft_detail(draft, gpu, "vendor", "nvidia");
        draft_report_memory(draft, gpu, 1000000000, DRAFT_HWLOC);
    }
}

static struct graph *graph_of(const char *facts)
{
    struct draft draft;
    struct berth_err err = {0};
    struct graph *graph = NULL;
    struct values *values = NULL;
    const struct backend_input input = {.facts = facts};
    begin(&draft);
    assert_int_equal(backend_facts.discover(&input, &draft, &err), BERTH_OK);
    assert_int_equal(draft_finish(&draft, "test", ORIGIN_RECORDED, &graph, &values, &err),
                     BERTH_OK);
    values_free(values);
    return graph;
}

static const struct place *place(const struct graph *graph, const char *name)
{
    return graph_place(graph, graph_find(graph, name));
}

static void devices_are_matched_by_address(void **state)
{
    (void)state;
    struct graph *graph = graph_of(
        RUN
        "{\"record\":\"link\",\"from\":\"gpu0\",\"to\":\"switch0\",\"kind\":\"nvlink\",\"width\":"
        "18,\"nominal_bytes_per_s\":4.78e11,\"state\":\"up\"}\n"
        "{\"record\":\"link\",\"from\":\"gpu1\",\"to\":\"switch0\",\"kind\":\"nvlink\",\"width\":"
        "17,\"state\":\"degraded\"}\n"
        "{\"record\":\"link\",\"from\":\"gpu0\",\"to\":\"numa0\",\"kind\":\"c2c\",\"width\":10}\n"
        "{\"record\":\"device\",\"gpu\":\"gpu0\",\"pci\":\"00000000:02:00.0\",\"uuid\":\"GPU-b\","
        "\"model\":\"NVIDIA H200\",\"bytes\":1005000000,"
        "\"partition\":\"none\",\"ecc_uncorrected\":3,\"minor\":5}\n"
        "{\"record\":\"device\",\"gpu\":\"gpu1\",\"pci\":\"0000:01:00.0\",\"uuid\":\"GPU-a\","
        "\"bytes\":1000000000}\n");
    assert_int_equal(graph->disagreement_count, 0);
    assert_int_equal(graph_count(graph, PLACE_GPU), 2);
    const struct place *gpu1 = place(graph, "gpu1"); /* the probe called it gpu0 */
    assert_string_equal(gpu1->uuid, "GPU-b");
    assert_string_equal(gpu1->model, "NVIDIA H200");
    assert_string_equal(place_detail(gpu1, "ecc_uncorrected"), "3");
    assert_int_equal(gpu1->minor, 5);
    assert_true(gpu1->capacity_bytes == 1005000000);
    assert_int_equal(graph_find(graph, "GPU-a"), graph_find(graph, "gpu0"));
    size_t checked = 0;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        if (link->kind == LINK_NVLINK) {
            assert_int_equal(link->to, graph_find(graph, "switch0"));
            assert_int_equal(link->width, link->from == graph_find(graph, "gpu1") ? 18 : 17);
            assert_int_equal(link->state,
                             link->from == graph_find(graph, "gpu1") ? LINK_UP : LINK_DEGRADED);
            assert_string_equal(link->source, "facts");
            checked++;
        }
        checked += link->kind == LINK_C2C && link->to == graph_find(graph, "gpu1") &&
                   link->from == graph_find(graph, "numa0");
    }
    assert_int_equal(checked, 3);
    assert_string_equal(graph->software[0].value, "580.1");
    graph_unref(graph);
}

static void slices_of_a_device_are_one_module(void **state)
{
    (void)state;
    struct graph *graph = graph_of(
        RUN
        "{\"record\":\"device\",\"gpu\":\"gpu0\",\"pci\":\"0000:01:00.0\",\"uuid\":\"MIG-1\","
        "\"partition\":\"mig 3g\",\"bytes\":500000000}\n"
        "{\"record\":\"device\",\"gpu\":\"gpu1\",\"pci\":\"0000:01:00.0\",\"uuid\":\"MIG-2\","
        "\"partition\":\"mig 3g\",\"bytes\":500000000}\n"
        "{\"record\":\"device\",\"gpu\":\"gpu2\",\"pci\":\"0000:02:00.0\",\"uuid\":\"GPU-3\"}\n");
    assert_int_equal(graph_count(graph, PLACE_GPU), 3);
    assert_int_equal(graph_count(graph, PLACE_MODULE), 1);
    assert_string_equal(place(graph, "gpu1")->uuid, "MIG-2");
    assert_int_equal(place(graph, "gpu1")->parent, graph_find(graph, "module0"));
    assert_int_equal(place(graph, "gpu1")->numa, graph_find(graph, "numa0"));
    /* memory of the first, and one more gpu than hwloc sees */
    assert_int_equal(graph->disagreement_count, 2);
    graph_unref(graph);
}

static void what_cannot_be_used_is_counted(void **state)
{
    (void)state;
    struct graph *graph = graph_of(
        "{\"record\":\"device\"\nnothing\n\n" RUN
        "{\"record\":\"device\",\"gpu\":\"gpu0\",\"pci\":\"0000:01:00.0\",\"uuid\":\"G\\u0000\","
        "\"bytes\":-5,\"minor\":99999999}\n"
        "{\"record\":\"device\",\"gpu\":\"gpu0\",\"pci\":\"0000:02:00.0\",\"uuid\":\"again the "
        "same name\"}\n"
        "{\"record\":\"link\",\"from\":\"gpu0\",\"to\":\"gpu9\",\"kind\":\"nvlink\"}\n"
        "{\"record\":\"link\",\"from\":\"gpu0\",\"to\":\"numa99999999999\",\"kind\":\"nvlink\"}\n"
        "{\"record\":\"link\",\"from\":\"gpu0\",\"to\":\"numa0\",\"kind\":\"rope\"}\n"
        "{\"record\":\"link\",\"from\":\"gpu0\",\"to\":\"gpu0\",\"kind\":\"nvlink\",\"width\":-7}"
        "\n");
    assert_int_equal(graph_count(graph, PLACE_GPU), 2);
    assert_int_equal(graph->disagreement_count, 2);
    assert_non_null(strstr(graph->disagreements[0], "does not show 1 gpus"));
    assert_non_null(
        strstr(graph->disagreements[1], " lines of the gpu probe's facts are left out"));
    assert_int_equal(place(graph, "gpu0")->minor, -1);
    graph_unref(graph);
}

static void without_facts_nothing_happens(void **state)
{
    (void)state;
    const struct backend_input none = {0}, empty = {.facts = ""};
    assert_int_equal(backend_facts.discover(&none, NULL, NULL), BERTH_ABSENT);
    assert_int_equal(backend_facts.discover(&empty, NULL, NULL), BERTH_ABSENT);
}

static void pci_addresses_parse(void **state)
{
    (void)state;
    char text[24];
    pci_format(pci_parse("00010000:C1:1F.7"), text);
    assert_string_equal(text, "10000:c1:1f.7");
    pci_format(pci_parse("c1:00.0"), text);
    assert_string_equal(text, "0000:c1:00.0");
    static const char *const wrong[] = {"",
                                        "c1",
                                        "c1:00",
                                        "0000:c1:20.0",
                                        "0000:c1:00.8",
                                        "0000:c1:00.0x",
                                        "ffffffff:ff:ff",
                                        "0000:c1:00.0 ",
                                        "-1:00.0",
                                        " c1:00.0"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_true(pci_parse(wrong[i]) == PCI_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_matched_by_address),
        cmocka_unit_test(slices_of_a_device_are_one_module),
        cmocka_unit_test(what_cannot_be_used_is_counted),
        cmocka_unit_test(without_facts_nothing_happens),
        cmocka_unit_test(pci_addresses_parse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
