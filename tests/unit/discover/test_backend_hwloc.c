#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "discover/backend.h"

#define HEAD                                                                                       \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM "                       \
    "\"hwloc2.dtd\">\n<topology version=\"2.0\">\n"                                                \
    "<object type=\"Machine\" os_index=\"0\" cpuset=\"0xf\" complete_cpuset=\"0xf\" "              \
    "allowed_cpuset=\"%s\" nodeset=\"0x3\" "                                                       \
    "complete_nodeset=\"0x3\" allowed_nodeset=\"0x3\" gp_index=\"1\">\n"
#define CORE(cpu, gp)                                                                              \
    "<object type=\"Core\" os_index=\"" #cpu "\" cpuset=\"" gp "\" complete_cpuset=\"" gp          \
    "\" nodeset=\"0x3\" complete_nodeset=\"0x3\" "                                                 \
    "gp_index=\"1" #cpu "\"><object type=\"PU\" os_index=\"" #cpu "\" cpuset=\"" gp                \
    "\" complete_cpuset=\"" gp "\" nodeset=\"0x3\" complete_nodeset=\"0x3\" gp_index=\"2" #cpu     \
    "\"/></object>\n"
#define NUMA(number, gp, size)                                                                     \
    "<object type=\"NUMANode\" os_index=\"" #number                                                \
    "\" cpuset=\"0xf\" complete_cpuset=\"0xf\" nodeset=\"0x" #gp "\" complete_nodeset=\"0x" #gp    \
    "\" gp_index=\"3" #number "\" local_memory=\"" #size "\"/>\n"
#define PCI(address, class, vendor, gp, inside)                                                    \
    "<object type=\"PCIDev\" pci_busid=\"" address                                                 \
    "\" pci_type=\"" class " [" vendor ":0001] [0000:0000] 00\" "                                  \
                           "pci_link_speed=\"31.507692\" gp_index=\"" #gp "\">" inside             \
                           "</object>\n"
#define BRIDGE(inside)                                                                             \
    "<object type=\"Bridge\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[00-ff]\" "         \
    "gp_index=\"50\">" inside "</object>\n"
#define OSDEV(name, type, gp, infos)                                                               \
    "<object type=\"OSDev\" name=\"" name "\" osdev_type=\"" type "\" gp_index=\"" #gp "\">" infos \
    "</object>"
#define INFO(key, value) "<info name=\"" key "\" value=\"" value "\"/>"
#define TAIL             "</object>\n%s</topology>\n"

/* Loads head + body + tail into a graph. */
static struct graph *graph_of(const char *allowed, const char *body, const char *after,
                              struct values **ret_values)
{
    char *xml = NULL, *part = NULL;
    assert_true(asprintf(&part, HEAD "%s", allowed, body) > 0);
    assert_true(asprintf(&xml, "%s" TAIL, part, after) > 0);
    const struct backend_input input = {.xml = xml, .xml_name = "test.xml"};
    struct draft draft;
    struct berth_err err = {0};
    struct graph *graph = NULL;
    struct values *values = NULL;
    assert_true(draft_init(&draft));
    if (backend_hwloc.discover(&input, &draft, &err) != BERTH_OK ||
        draft_finish(&draft, "test", ORIGIN_RECORDED, &graph, &values, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    values_finish(values);
    if (ret_values != NULL)
        *ret_values = values;
    else
        values_free(values);
    free(part);
    free(xml);
    return graph;
}

#define CPUS                                                                                       \
    NUMA(0, 1, 1000000000)                                                                         \
    NUMA(1, 2, 2000000000) CORE(0, "0x1") CORE(1, "0x2") CORE(2, "0x4") CORE(3, "0x8")

static void without_caches_cores_hang_on_memory(void **state)
{
    (void)state;
    struct graph *graph = graph_of("0xf", CPUS, "", NULL);
    assert_int_equal(graph_count(graph, PLACE_LLC), 0);
    assert_int_equal(graph_count(graph, PLACE_PACKAGE), 0);
    const struct place *core = graph_place(graph, graph_find(graph, "core2"));
    /* numa1 has the same cpus and is memory alone */
    assert_string_equal(graph->places[core->parent].name, "numa0");
    assert_null(graph_place(graph, graph_find(graph, "numa1"))->cpus);
    assert_true(graph_place(graph, graph_find(graph, "numa1"))->capacity_bytes == 2000000000);
    assert_int_equal(graph->disagreement_count, 0);
    graph_unref(graph);
}

#define CORES            CORE(0, "0x1") CORE(1, "0x2") CORE(2, "0x4") CORE(3, "0x8")
#define ONE_MEMORY(size) NUMA(0, 1, size) NUMA(1, 2, 0) CORES
#define KERNEL(bytes)    INFO("BerthMemTotal", bytes)

static void a_single_memory_is_all_that_the_kernel_has(void **state)
{
    (void)state;
    struct graph *agree = graph_of("0xf", KERNEL("1090000000") ONE_MEMORY(1000000000), "", NULL);
    assert_int_equal(agree->disagreement_count, 0);
    assert_true(graph_place(agree, graph_find(agree, "numa0"))->capacity_bytes == 1000000000);

    struct graph *less = graph_of("0xf", KERNEL("25000000000") ONE_MEMORY(6500000000), "", NULL);
    assert_int_equal(less->disagreement_count, 1);
    assert_non_null(
        strstr(less->disagreements[0],
               "numa0, alone, has 6.1 GiB of memory, MemTotal of /proc/meminfo is 23.3 GiB"));
    assert_true(graph_place(less, graph_find(less, "numa0"))->capacity_bytes == 25000000000);

    /* at the next boot */
    struct graph *more = graph_of("0xf", KERNEL("30000000000") ONE_MEMORY(8000000000), "", NULL);
    assert_string_equal(more->fingerprint, less->fingerprint);
    assert_string_equal(more->fingerprint, agree->fingerprint);
    graph_unref(agree);
    graph_unref(less);
    graph_unref(more);
}

static void several_memories_keep_their_figures(void **state)
{
    (void)state;
    struct graph *agree = graph_of("0xf", KERNEL("2800000000") CPUS, "", NULL);
    struct graph *without = graph_of("0xf", CPUS, "", NULL);
    assert_int_equal(agree->disagreement_count, 0);
    assert_string_equal(agree->fingerprint, without->fingerprint);

    struct graph *less = graph_of("0xf", KERNEL("9000000000") CPUS, "", NULL);
    assert_int_equal(less->disagreement_count, 1);
    assert_non_null(strstr(
        less->disagreements[0],
        "2 NUMA nodes have 2.8 GiB of memory together, MemTotal of /proc/meminfo is 8.4 GiB"));
    assert_true(graph_place(less, graph_find(less, "numa0"))->capacity_bytes == 1000000000);
    assert_true(graph_place(less, graph_find(less, "numa1"))->capacity_bytes == 2000000000);
    struct graph *more = graph_of(
        "0xf", KERNEL("9100000000") NUMA(0, 1, 3000000000) NUMA(1, 2, 2000000000) CORES, "", NULL);
    assert_string_equal(more->fingerprint, less->fingerprint);
    graph_unref(agree);
    graph_unref(without);
    graph_unref(less);
    graph_unref(more);
}

static void nonsense_about_the_kernels_memory_says_nothing(void **state)
{
    (void)state;
    static const char *const wrong[] = {KERNEL(""),     KERNEL("-1"),
                                        KERNEL("9e99"), KERNEL("99999999999999999999"),
                                        KERNEL("0"),    KERNEL("much")};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char body[4096];
        snprintf(body, sizeof body, "%s%s", wrong[i], ONE_MEMORY(1000000000));
        struct graph *graph = graph_of("0xf", body, "", NULL);
        assert_int_equal(graph->disagreement_count, 0);
        assert_true(graph_place(graph, graph_find(graph, "numa0"))->capacity_bytes == 1000000000);
        graph_unref(graph);
    }
}

static void cpus_that_are_not_allowed_are_no_places(void **state)
{
    (void)state;
    struct graph *graph = graph_of("0x5", CPUS, "", NULL);
    assert_int_equal(graph_count(graph, PLACE_PU), 2);
    assert_int_equal(graph_count(graph, PLACE_CORE), 2);
    assert_int_equal(graph_find(graph, "pu1"), PLACE_NONE);
    assert_int_equal(cpuset_count(graph->places[0].cpus), 2);
    graph_unref(graph);
}

static void only_real_gpus_are_gpus(void **state)
{
    (void)state;
    struct graph *graph = graph_of(
        "0xf",
        CPUS BRIDGE(
            PCI("0000:05:00.0", "0300", "1a03", 51, OSDEV("card0", "1", 61, ""))
                PCI("0000:06:00.0", "0302", "10de", 52, "") PCI("0000:01:00.0", "1200", "1002", 53,
                                                                OSDEV("renderD130", "1", 63, ""))
                    PCI("0000:07:00.0", "0300", "0000", 54,
                        OSDEV("nvml0", "1", 64, INFO("NVIDIAUUID", "GPU-1") INFO("GPUModel", "X")))
                        PCI("0000:08:00.0", "0108", "144d", 55, "")
                            PCI("0000:09:00.0", "0b40", "8086", 56, "")),
        "", NULL);
    assert_int_equal(graph_count(graph, PLACE_GPU), 3);
    const struct place *first = graph_place(graph, graph_find(graph, "gpu0"));
    assert_string_equal(first->pci, "0000:01:00.0");
    assert_string_equal(first->render_node, "/dev/dri/renderD130");
    assert_string_equal(place_detail(first, "vendor"), "amd");
    assert_string_equal(graph_place(graph, graph_find(graph, "gpu2"))->uuid, "GPU-1");
    graph_unref(graph);
}

static void partitions_and_cards_are_modules(void **state)
{
    (void)state;
    struct graph *graph = graph_of(
        "0xf",
        CPUS BRIDGE(
            PCI("0000:01:00.0", "1200", "1002", 51,
                OSDEV("rsmi0", "1", 61, INFO("GPUModel", "MI300A"))
                    OSDEV("rsmi1", "1", 62, INFO("GPUModel", "")))
                PCI("0000:02:00.0", "0380", "1002", 52,
                    OSDEV("rsmi2", "1", 63, INFO("AMDSerial", "77") INFO("AMDUUID", "00ff")))
                    PCI("0000:03:00.0", "0380", "1002", 53,
                        OSDEV("rsmi3", "1", 64,
                              INFO("AMDSerial", "77") INFO("RSMIVRAMSize", "1024")))
                        PCI("0000:04:00.0", "0380", "1002", 54,
                            OSDEV("rsmi4", "1", 65,
                                  INFO("AMDSerial", "N/A") INFO("AMDUUID", "0000000000000000")))),
        "", NULL);
    assert_int_equal(graph_count(graph, PLACE_GPU), 5);
    assert_int_equal(graph_count(graph, PLACE_MODULE), 2);
    const char *const parents[] = {"module0", "module0", "module1", "module1", "numa0"};
    for (int i = 0; i < 5; i++) {
        char name[8];
        snprintf(name, sizeof name, "gpu%d", i);
        assert_string_equal(graph->places[graph_place(graph, graph_find(graph, name))->parent].name,
                            parents[i]);
    }
    /* only the first partition has a name */
    assert_string_equal(graph_place(graph, graph_find(graph, "gpu1"))->model, "MI300A");
    assert_string_equal(graph_place(graph, graph_find(graph, "gpu2"))->uuid, "GPU-00ff");
    assert_null(graph_place(graph, graph_find(graph, "gpu4"))->uuid);
    assert_true(graph_place(graph, graph_find(graph, "gpu3"))->capacity_bytes == 1048576);
    size_t pcie = 0;
    for (size_t i = 0; i < graph->link_count; i++)
        pcie += graph->links[i].kind == LINK_PCIE;
    assert_int_equal(pcie, 4); /* two partitions share the link of their module */
    assert_int_equal(graph->resource_count, 4);
    graph_unref(graph);
}

static void matrices_become_links_and_values(void **state)
{
    (void)state;
    struct values *values = NULL;
    struct graph *graph = graph_of(
        "0xf",
        CPUS BRIDGE(PCI("0000:01:00.0", "0302", "10de", 51,
                        OSDEV("nvml0", "1", 61, INFO("GPUModel", "Tesla P100")))
                        PCI("0000:02:00.0", "0302", "10de", 52,
                            OSDEV("nvml1", "1", 62, INFO("GPUModel", "Tesla P100")))
                            PCI("0000:03:00.0", "0302", "10de", 53,
                                OSDEV("nvml2", "1", 63, INFO("GPUModel", "H100")))),
        "<distances2 type=\"OSDev\" nbobjs=\"3\" kind=\"9\" name=\"NVLinkBandwidth\" "
        "indexing=\"gp\"><indexes length=\"9\">61 62 63 </indexes>"
        "<u64values length=\"54\">1000000 40000 25000 40000 1000000 0 75000 0 1000000   "
        "</u64values></distances2>\n"
        "<distances2 type=\"OSDev\" nbobjs=\"2\" kind=\"9\" name=\"XGMIBandwidth\" "
        "indexing=\"gp\"><indexes length=\"6\">61 62 </indexes>"
        "<u64values length=\"30\">1000000 100000 100000 1000000 </u64values></distances2>\n"
        "<distances2 type=\"NUMANode\" nbobjs=\"2\" kind=\"5\" name=\"NUMALatency\" "
        "indexing=\"os\"><indexes length=\"4\">0 1 </indexes>"
        "<u64values length=\"12\">10 17 17 10 </u64values></distances2>\n"
        "<memattr name=\"Bandwidth\" flags=\"5\"><memattr_value target_obj_type=\"NUMANode\" "
        "target_obj_gp_index=\"31\" value=\"1000\" "
        "initiator_cpuset=\"0xf\"/></memattr>\n"
        "<memattr name=\"Latency\" flags=\"6\"><memattr_value target_obj_type=\"NUMANode\" "
        "target_obj_gp_index=\"31\" value=\"77\" "
        "initiator_cpuset=\"0x3\"/></memattr>\n",
        &values);
    place_id numa0 = graph_find(graph, "numa0"), numa1 = graph_find(graph, "numa1");
    size_t nvlinks = 0;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        assert_int_not_equal(link->kind, LINK_XGMI);
        if (link->kind != LINK_NVLINK)
            continue;
        nvlinks++;
        /* 20 GB/s each; 75 of mixed generations is unclear */
        assert_int_equal(link->width, link->to == graph_find(graph, "gpu1") ? 2 : 0);
        assert_true(link->nominal_bytes_per_s ==
                    (link->to == graph_find(graph, "gpu1") ? 4e10 : 7.5e10));
    }
    assert_int_equal(nvlinks, 2);
    assert_int_equal(graph->disagreement_count, 1); /* 25000 one way, 75000 the other */
    assert_true(values_find(values, METRIC_NUMA_DISTANCE, numa0, numa1, "")->value == 17);
    /* MiB/s */
    assert_true(values_find(values, METRIC_MEMORY_BANDWIDTH, numa0, numa1, "")->value ==
                1048576000.0);
    assert_true(
        values_find(values, METRIC_MEMORY_BANDWIDTH, numa0, numa1, "operation=write")->value ==
        1048576000.0);
    assert_true(values_find(values, METRIC_MEMORY_LATENCY, numa0, numa1, "")->value == 77);
    assert_int_equal(values_find(values, METRIC_MEMORY_LATENCY, numa0, numa1, "")->source,
                     VALUE_NOMINAL);
    assert_true(graph->resources[1].capacity_bytes_per_s == 1048576000.0);
    assert_true(isnan(graph->resources[0].capacity_bytes_per_s));
    values_free(values);
    graph_unref(graph);
}

static void hostile_xml_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "<topology>",
        "</topology>",
        "<topology version=\"2.0\"></topology>",
        "<topology></topology>",
        "<topology version=\"2.0\"><object type=\"Machine\"/></topology>",
        "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" cpuset=\"0x1\" "
        "gp_index=\"1\"/></topology>",
        ("<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" cpuset=\"0x1\" "
         "complete_cpuset=\"0x1\" nodeset=\"0x1\" "
         "complete_nodeset=\"0x1\" gp_index=\"1\"><object type=\"PU\"/></object></topology>"),
        "<topology version=\"999999999999999999999.0\"></topology>",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct backend_input input = {.xml = texts[i], .xml_name = "hostile.xml"};
        struct draft draft;
        struct berth_err err = {0};
        assert_true(draft_init(&draft));
        assert_int_equal(backend_hwloc.discover(&input, &draft, &err), BERTH_BAD_DATA);
        assert_non_null(strstr(err.detail, "hostile.xml"));
        draft_done(&draft);
    }
    const struct backend_input none = {.xml = NULL};
    assert_int_equal(backend_hwloc.discover(&none, NULL, NULL), BERTH_ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_caches_cores_hang_on_memory),
        cmocka_unit_test(a_single_memory_is_all_that_the_kernel_has),
        cmocka_unit_test(several_memories_keep_their_figures),
        cmocka_unit_test(nonsense_about_the_kernels_memory_says_nothing),
        cmocka_unit_test(cpus_that_are_not_allowed_are_no_places),
        cmocka_unit_test(only_real_gpus_are_gpus),
        cmocka_unit_test(partitions_and_cards_are_modules),
        cmocka_unit_test(matrices_become_links_and_values),
        cmocka_unit_test(hostile_xml_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
