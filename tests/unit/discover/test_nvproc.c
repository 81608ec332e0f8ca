#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "discover/discover.h"
#include "discover/draft.h"
#include "unit/base/tree_root.h"

#define GPUS   "/proc/driver/nvidia/gpus/"
#define UUID_A "GPU-e6e4339c-af84-95e5-0281-b0622c0ded69"
#define UUID_B "GPU-00000000-0000-4000-8000-00000000000b"
/* no trigraphs */
#define UUID_UNKNOWN "GPU-\?\?\?\?\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?\?\?\?\?\?\?\?\?"
/* The format of driver 580. */
#define INFORMATION(model, uuid, address, minor)                                                   \
    "Model: \t\t " model "\nIRQ:   \t\t 41\nGPU UUID: \t " uuid                                    \
    "\nVideo BIOS: \t 96.00.a5.00.1a\nBus Type: \t PCIe\nDMA Size: \t 52 bits\n"                   \
    "DMA Mask: \t 0xfffffffffffff\nBus Location: \t " address "\nDevice Minor: \t " minor          \
    "\nGPU Firmware: \t 580.159.04\nGPU Excluded:\t No\n"

static void put(const char *path, const char *text) { tree_put(root, path, text); }

static bool put_file(void *arg, const char *file, const char *text, size_t length)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", (const char *)arg, file);
    tree_put_bytes(root, path, text, length);
    return true;
}

static char *facts(void)
{
    const struct files io = {root};
    struct berth_err err = {0};
    char *text = NULL;
    assert_int_equal(nvproc_facts(&io, &text, &err), BERTH_OK);
    return text;
}

static void assert_facts(const char *wanted)
{
    char *text = facts();
    assert_non_null(text);
    assert_string_equal(text, wanted);
    free(text);
}

static void two_gpus_are_two_records(void **state)
{
    (void)state;
    assert_null(facts());
    put(GPUS "0000:00:07.0/information", INFORMATION("NVIDIA H200", UUID_B, "0000:00:07.0", "0"));
    put(GPUS "0000:00:06.0/information", INFORMATION("NVIDIA H200", UUID_A, "0000:00:06.0", "1"));
    put(GPUS "0000:00:06.0/power", "Runtime D3 status: Disabled\n");
    assert_facts("{\"record\":\"device\",\"gpu\":\"gpu0\",\"vendor\":\"nvidia\",\"pci\":\"0000:00:"
                 "06.0\",\"model\":\"NVIDIA H200\",\"uuid\":\"" UUID_A "\",\"minor\":1}\n"
                 "{\"record\":\"device\",\"gpu\":\"gpu1\",\"vendor\":\"nvidia\",\"pci\":\"0000:00:"
                 "07.0\",\"model\":\"NVIDIA H200\",\"uuid\":\"" UUID_B "\",\"minor\":0}\n");
}

static void what_is_not_known_is_left_out(void **state)
{
    (void)state;
    put(GPUS "0000:01:00.0/information", INFORMATION("Unknown", UUID_UNKNOWN, "0000:01:00.0", "3"));
    put(GPUS "0000:02:00.0/information", "Model: \t\t NVIDIA \"A\\B\"  \t\nDevice Minor:7");
    put(GPUS "0000:03:00.0/power", "");
    assert_facts("{\"record\":\"device\",\"gpu\":\"gpu0\",\"vendor\":\"nvidia\",\"pci\":\"0000:01:"
                 "00.0\",\"minor\":3}\n"
                 "{\"record\":\"device\",\"gpu\":\"gpu1\",\"vendor\":\"nvidia\",\"pci\":\"0000:02:"
                 "00.0\",\"model\":\"NVIDIA \\\"A\\\\B\\\"\",\"minor\":7}\n"
                 "{\"record\":\"device\",\"gpu\":\"gpu2\",\"vendor\":\"nvidia\",\"pci\":\"0000:03:"
                 "00.0\"}\n");
}

#define LONG_MODEL                                                                                 \
    "01234567890123456789012345678901234567890123456789"                                           \
    "01234567890123456789012345678901234567890123456789"

/* Whatever is in one field, the others count and the record stays one line. */
static void garbage_is_left_out_field_by_field(void **state)
{
    (void)state;
    static const char *const models[] = {"a\x01z", "caf\xc3\xa9", "\xff\xfe", "\r", "", LONG_MODEL};
    static const char *const uuids[] = {"GPU-",
                                        UUID_A "0",
                                        "GPU-e6e4339c-af84-95e5-0281-b0622c0ded6",
                                        "GPU-e6e4339caf84-95e5-0281-b0622c0ded69-",
                                        "MIG-e6e4339c-af84-95e5-0281-b0622c0ded69",
                                        "GPU-g6e4339c-af84-95e5-0281-b0622c0ded69",
                                        "GPU",
                                        "\"}\\n{"};
    static const char *const minors[] = {"-1", "65536", "99999999999999999999", "0x1", "1 2",
                                         "+1", "one"};
    for (size_t i = 0; i < 8; i++) {
        char text[1024];
        snprintf(text, sizeof text, "Model: %s\nGPU UUID: %s\nDevice Minor: %s\n", models[i % 6],
                 uuids[i], minors[i % 7]);
        put(GPUS "0000:01:00.0/information", text);
        assert_facts("{\"record\":\"device\",\"gpu\":\"gpu0\",\"vendor\":\"nvidia\",\"pci\":\"0000:"
                     "01:00.0\"}\n");
        snprintf(text, sizeof text,
                 ":\n\n \t:Model: X\nModel\nModel: %s\nGPU UUID: " UUID_A
                 "\nDevice Minor: 2\nDevice Minor: 4\n",
                 models[i % 6]);
        put(GPUS "0000:01:00.0/information", text);
        assert_facts("{\"record\":\"device\",\"gpu\":\"gpu0\",\"vendor\":\"nvidia\",\"pci\":\"0000:"
                     "01:00.0\",\"uuid\":\"" UUID_A "\",\"minor\":2}\n");
    }
    static char large[1 << 16];
    memset(large, 'x', sizeof large);
    tree_put_bytes(root, GPUS "0000:01:00.0/information", large, sizeof large);
    assert_facts("{\"record\":\"device\",\"gpu\":\"gpu0\",\"vendor\":\"nvidia\",\"pci\":\"0000:01:"
                 "00.0\"}\n");
    tree_put_bytes(root, GPUS "0000:01:00.0/information", "Model: A\0B\n", 11);
    assert_facts("{\"record\":\"device\",\"gpu\":\"gpu0\",\"vendor\":\"nvidia\",\"pci\":\"0000:01:"
                 "00.0\"}\n");
}

static void other_directories_are_no_gpus(void **state)
{
    (void)state;
    put(GPUS "gpu0/information", INFORMATION("NVIDIA H200", UUID_A, "0000:00:06.0", "0"));
    put(GPUS "0000:00:20.0/information", INFORMATION("NVIDIA H200", UUID_A, "0000:00:20.0", "0"));
    assert_null(facts());
}

/* A file where the directory of gpus would be is as good as none. */
static void no_directory_is_no_gpus(void **state)
{
    (void)state;
    put("/proc/driver/nvidia/gpus", "hello");
    assert_null(facts());
}

#define PCI_GPU(address, index, name)                                                              \
    "<object type=\"PCIDev\" gp_index=\"" index "\" pci_busid=\"" address                          \
    "\" pci_type=\"0302 [10de:2335] [10de:18be] a1\" pci_link_speed=\"0.0\">" name "</object>"
#define CHIP_NAME "<info name=\"PCIDevice\" value=\"GH100 [H200 SXM 141GB]\"/>"

/* A small machine whose second gpu comes first in the names of the records. */
static void put_folder(const char *name, const char *records)
{
    char path[64];
    snprintf(path, sizeof path, "%s/topology.xml", name);
    put(path, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM "
              "\"hwloc2.dtd\">\n<topology version=\"2.0\">\n"
              "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x3\" complete_cpuset=\"0x3\" "
              "allowed_cpuset=\"0x3\" nodeset=\"0x1\" complete_nodeset=\"0x1\" "
              "allowed_nodeset=\"0x1\" gp_index=\"1\">"
              "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x3\" complete_cpuset=\"0x3\" "
              "nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"2\" "
              "local_memory=\"4000000000\"/>"
              "<object type=\"Core\" os_index=\"0\" cpuset=\"0x3\" complete_cpuset=\"0x3\" "
              "nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"3\">"
              "<object type=\"PU\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" "
              "nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"4\"/>"
              "<object type=\"PU\" os_index=\"1\" cpuset=\"0x2\" complete_cpuset=\"0x2\" "
              "nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"5\"/></object>"
              "<object type=\"Bridge\" gp_index=\"6\" bridge_type=\"0-1\" depth=\"0\" "
              "bridge_pci=\"0000:[00-07]\">" PCI_GPU("0000:00:06.0", "7", "")
                  PCI_GPU("0000:00:07.0", "8", CHIP_NAME) "</object></object>\n</topology>\n");
    snprintf(path, sizeof path, "%s/facts.jsonl", name);
    put(path, records == NULL ? "" : records);
    snprintf(path, sizeof path, "%s/node.json", name);
    put(path, "{\"hwloc\": \"topology.xml\", \"facts\": \"facts.jsonl\"}");
}

static struct discovery load_folder(const char *name)
{
    char path[128];
    struct discovery found = {0};
    struct berth_err err = {0};
    snprintf(path, sizeof path, "%s%s", root, name);
    if (discover_folder(path, &found, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    return found;
}

static const struct place *place(const struct discovery *found, const char *name)
{
    return graph_place(found->graph, graph_find(found->graph, name));
}

static void records_merge_with_the_gpus_of_hwloc_by_address(void **state)
{
    (void)state;
    put_folder("/without", NULL);
    struct discovery without = load_folder("/without");
    assert_int_equal(graph_count(without.graph, PLACE_GPU), 2);
    /* from its PCI vendor alone */
    assert_string_equal(place_detail(place(&without, "gpu0"), "vendor"), "nvidia");
    assert_null(place(&without, "gpu0")->model);
    assert_string_equal(place(&without, "gpu1")->model, "GH100 [H200 SXM 141GB]");

    put_folder("/with",
               "{\"record\":\"device\",\"gpu\":\"gpu0\",\"vendor\":\"nvidia\",\"pci\":\"0000:00:07."
               "0\",\"model\":\"NVIDIA H200\",\"uuid\":\"" UUID_B "\",\"minor\":0}\n"
               "{\"record\":\"device\",\"gpu\":\"gpu1\",\"vendor\":\"nvidia\",\"pci\":\"0000:00:06."
               "0\",\"model\":\"NVIDIA H200\",\"uuid\":\"" UUID_A "\",\"minor\":1}\n");
    struct discovery with = load_folder("/with");
    assert_int_equal(graph_count(with.graph, PLACE_GPU), 2);
    /* names of the chip and of the product may differ */
    assert_int_equal(with.graph->disagreement_count, 0);
    assert_string_equal(place(&with, "gpu0")->uuid, UUID_A);
    assert_int_equal(place(&with, "gpu0")->minor, 1);
    assert_string_equal(place(&with, "gpu1")->uuid, UUID_B);
    assert_string_equal(place(&with, "gpu1")->model, "NVIDIA H200");
    assert_int_equal(place(&with, "gpu1")->minor, 0);

    put_folder("/early", "{\"record\":\"device\",\"gpu\":\"gpu0\",\"vendor\":\"nvidia\",\"pci\":"
                         "\"0000:00:06.0\",\"model\":\"NVIDIA H200\",\"minor\":1}\n"
                         "{\"record\":\"device\",\"gpu\":\"gpu1\",\"vendor\":\"nvidia\",\"pci\":"
                         "\"0000:00:07.0\",\"model\":\"NVIDIA H200\",\"minor\":0}\n");
    struct discovery early = load_folder("/early");
    assert_null(place(&early, "gpu0")->uuid);
    assert_string_equal(early.graph->fingerprint, with.graph->fingerprint);

    put_folder("/fewer", "{\"record\":\"device\",\"gpu\":\"gpu0\",\"vendor\":\"nvidia\",\"pci\":"
                         "\"0000:00:06.0\"}\n");
    struct discovery fewer = load_folder("/fewer");
    assert_int_equal(fewer.graph->disagreement_count, 1);
    assert_non_null(strstr(fewer.graph->disagreements[0], "does not show 1 gpus"));
    discovery_done(&without);
    discovery_done(&with);
    discovery_done(&early);
    discovery_done(&fewer);
}

/* This machine, with the driver's files and another /proc/meminfo put below a root; at addresses
 * where no machine has gpus. */
static void a_live_machine_with_them_replays_to_the_same_graph(void **state)
{
    (void)state;
    const struct files io = {root}, here = {""};
    struct discovery plain = {0}, live = {0}, again = {0};
    struct berth_err err = {0};
    put(GPUS "ffff:fe:06.0/information", INFORMATION("NVIDIA H200", UUID_A, "ffff:fe:06.0", "1"));
    put(GPUS "ffff:fe:07.0/information",
        INFORMATION("NVIDIA H200", UUID_UNKNOWN, "ffff:fe:07.0", "0"));
    put("/proc/meminfo", "MemTotal:       999000000000 kB\nMemFree:  1 kB\n");
    char *text = facts();
    assert_int_equal(discover_live(&here, NULL, &plain, &err), BERTH_OK);
    assert_int_equal(discover_live(&io, text, &live, &err), BERTH_OK);
    assert_int_equal(graph_count(live.graph, PLACE_GPU), graph_count(plain.graph, PLACE_GPU) + 2);
    place_id gpu = graph_find(live.graph, UUID_A);
    assert_int_not_equal(gpu, PLACE_NONE);
    assert_string_equal(graph_place(live.graph, gpu)->pci, "ffff:fe:06.0");
    assert_string_equal(place_detail(graph_place(live.graph, gpu), "vendor"), "nvidia");

    const struct folder_contents contents = {live.graph, ORIGIN_LIVE, live.values,
                                             NULL,       NULL,        NULL};
    assert_int_equal(discover_write_folder(&io, NULL, &contents, put_file, (void *)"/node", &err),
                     BERTH_OK);
    again = load_folder("/node");
    assert_string_equal(again.graph->fingerprint, live.graph->fingerprint);
    assert_int_equal(again.graph->place_count, live.graph->place_count);
    assert_int_equal(again.graph->disagreement_count, live.graph->disagreement_count);
    for (size_t i = 0; i < live.graph->place_count; i++) {
        const struct place *a = &live.graph->places[i], *b = &again.graph->places[i];
        assert_string_equal(a->name, b->name);
        assert_true(a->capacity_bytes == b->capacity_bytes && a->minor == b->minor);
        assert_string_equal(a->uuid == NULL ? "" : a->uuid, b->uuid == NULL ? "" : b->uuid);
        assert_string_equal(a->model == NULL ? "" : a->model, b->model == NULL ? "" : b->model);
    }
    free(text);
    discovery_done(&plain);
    discovery_done(&live);
    discovery_done(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_gpus_are_two_records, make_root, remove_root),
        cmocka_unit_test_setup_teardown(what_is_not_known_is_left_out, make_root, remove_root),
        cmocka_unit_test_setup_teardown(garbage_is_left_out_field_by_field, make_root, remove_root),
        cmocka_unit_test_setup_teardown(other_directories_are_no_gpus, make_root, remove_root),
        cmocka_unit_test_setup_teardown(no_directory_is_no_gpus, make_root, remove_root),
        cmocka_unit_test_setup_teardown(records_merge_with_the_gpus_of_hwloc_by_address, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(a_live_machine_with_them_replays_to_the_same_graph,
                                        make_root, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
