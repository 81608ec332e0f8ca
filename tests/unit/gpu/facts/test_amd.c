/* Output of --facts about AMD's GPUs, from sysfs trees. */
#include "facts_tree.h"

/* Two GPUs of four dies' worth: nodes 0 and 1 are the host's. */
static void put_amd(void)
{
    put("/sys/devices/system/node/node0/cpulist", "0-7\n");
    put("/sys/devices/system/node/node1/cpulist", "\n");
    put("/sys/devices/system/node/node2/cpulist", "8-15\n");
    put("/sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 8\nsimd_count 0\n");
    put("/sys/class/kfd/kfd/topology/nodes/1/properties", "cpu_cores_count 8\nsimd_count 0\n");
    for (int i = 0; i < 2; i++) {
        char name[128], text[512];
        snprintf(name, sizeof name, "/sys/class/kfd/kfd/topology/nodes/%d/properties", 2 + i);
        snprintf(text, sizeof text,
                 "cpu_cores_count 0\nsimd_count 440\nlocation_id %d\ndomain 0\ndrm_render_minor "
                 "%d\nunique_id %d\nhive_id 48879\n",
                 0xc100 + 0x100 * i, 128 + i, 255 + i);
        put(name, text);
        snprintf(name, sizeof name, "/sys/class/kfd/kfd/topology/nodes/%d/gpu_id", 2 + i);
        snprintf(text, sizeof text, "%d\n", 1000 + i);
        put(name, text);
        snprintf(name, sizeof name, "/sys/class/kfd/kfd/topology/nodes/%d/io_links/0/properties",
                 2 + i);
        snprintf(text, sizeof text,
                 "type 11\nnode_from %d\nnode_to %d\nweight 15\nmin_bandwidth 50000\nmax_bandwidth "
                 "200000\n",
                 2 + i, 3 - i);
        put(name, text);
        snprintf(name, sizeof name, "/sys/class/kfd/kfd/topology/nodes/%d/io_links/1/properties",
                 2 + i);
        snprintf(text, sizeof text,
                 "type %d\nnode_from %d\nnode_to %d\nweight 20\nmin_bandwidth 312\nmax_bandwidth "
                 "32000\n",
                 2, 2 + i, i);
        put(name, text);
    }
}

static void amd_devices_are_told(void **state)
{
    (void)state;
    put_amd();
#define DEVICE "/sys/bus/pci/devices/0000:c1:00.0/"
    put(DEVICE "product_name", "AMD INSTINCT MI250X\n");
    put(DEVICE "numa_node", "2\n");
    put(DEVICE "mem_info_vram_total", "68702699520\n");
    put(DEVICE "mem_info_vram_used", "10960896\n");
    put(DEVICE "current_compute_partition", "SPX\n");
    put(DEVICE "current_memory_partition", "NPS1\n");
    put(DEVICE "ras/umc_err_count", "ue: 2\nce: 5\n");
    put(DEVICE "ras/sdma_err_count", "ue: 1\nce: 0\n");
    put(DEVICE "ras/xgmi_wafl_err_count", "ue: 0\nce: 9\n");
    put(DEVICE "pcie_replay_count", "17\n");
    put(DEVICE "ras/features", "feature mask: 0x7fff\n");
    put(DEVICE "pp_dpm_sclk", "0: 500Mhz\n1: 800Mhz *\n2: 1700Mhz\n");
    put(DEVICE "pp_dpm_mclk", "0: 400Mhz\n1: 1600Mhz *\n");
    put(DEVICE "hwmon/hwmon5/power1_average", "91000000\n");
    put(DEVICE "hwmon/hwmon5/power1_cap", "500000000\n");
    put(DEVICE "hwmon/hwmon5/temp1_input", "35000\n");
    put(DEVICE "hwmon/hwmon5/temp2_input", "41000\n");
    put(DEVICE "current_link_speed", "16.0 GT/s PCIe\n");
    put(DEVICE "max_link_speed", "32.0 GT/s PCIe\n");
    put(DEVICE "current_link_width", "8\n");
    put(DEVICE "max_link_width", "16\n");
    put("/sys/class/kfd/kfd/proc/4711/vram_1000", "4096\n");
    put("/sys/class/kfd/kfd/proc/4711/vram_1001", "0\n");
    char *text = facts();
    assert_has(
        text, "device", 0,
        "{\"gpu\":\"gpu0\",\"vendor\":\"amd\",\"pci\":\"0000:c1:00.0\",\"uuid\":\"GPU-"
        "00000000000000ff\",\"product\":\"AMD INSTINCT MI250X\","
        "\"render_node\":\"/dev/dri/"
        "renderD128\",\"bytes\":\"absent\",\"bytes_used\":10960896,\"numa\":2,\"hive\":\"beef\","
        "\"compute_partition\":\"SPX\",\"memory_partition\":\"NPS1\",\"ecc_uncorrected\":3,\"ecc_"
        "corrected\":14,\"xgmi_corrected\":9,\"xgmi_uncorrected\":0,\"pcie_replays\":17,\"clock_"
        "mhz\":800,"
        "\"clock_max_mhz\":1700,\"memory_clock_mhz\":1600,\"memory_clock_max_mhz\":1600,\"power_"
        "w\":91,\"power_cap_w\":500,"
        "\"temperature_c\":41,\"pcie_generation\":4,\"pcie_generation_max\":5,\"pcie_width\":8,"
        "\"pcie_width_max\":16,\"processes\":1,"
        "\"pids\":\"4711\"}");
    assert_has(text, "device", 1,
               "{\"gpu\":\"gpu1\",\"pci\":\"0000:c2:00.0\",\"processes\":0,\"ecc_uncorrected\":"
               "\"absent\",\"numa\":\"absent\"}");
    assert_has(text, "link", 0,
               "{\"from\":\"gpu0\",\"to\":\"gpu1\",\"kind\":\"xgmi\",\"width\":4,\"nominal_bytes_"
               "per_s\":200000000000,\"state\":\"up\"}");
    assert_has(text, "link", 1,
               "{\"from\":\"gpu0\",\"to\":\"numa0\",\"kind\":\"pcie\",\"width\":\"absent\","
               "\"nominal_bytes_per_s\":32000000000}");
    /* numa1 has no cpus */
    assert_has(text, "link", 2, "{\"from\":\"gpu1\",\"to\":\"numa2\",\"kind\":\"pcie\"}");
    assert_null(nth(text, "link", 3));
    free(text);
}

static void amd_without_kfd_is_found_by_its_render_node(void **state)
{
    (void)state;
    put("/sys/class/drm/renderD128/device/vendor", "0x1002\n");
    put("/sys/class/drm/renderD128/device/uevent",
        "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0\nMODALIAS=x\n");
    put("/sys/class/drm/renderD129/device/vendor", "0x10de\n");
    put("/sys/bus/pci/devices/0000:03:00.0/mem_info_vram_total", "17163091968\n");
    put("/sys/bus/pci/devices/0000:03:00.0/unique_id", "d2c1a5b4e3f60718\n");
    char *text = facts();
    assert_has(text, "device", 0,
               "{\"gpu\":\"gpu0\",\"pci\":\"0000:03:00.0\",\"bytes\":17163091968,\"uuid\":\"GPU-"
               "d2c1a5b4e3f60718\",\"processes\":\"absent\"}");
    assert_null(nth(text, "device", 1));
    free(text);
}

static void partitions_share_their_device(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        char name[128], text[256];
        snprintf(name, sizeof name, "/sys/class/kfd/kfd/topology/nodes/%d/properties", i);
        snprintf(text, sizeof text,
                 "simd_count 304\nlocation_id %d\ndomain 0\ndrm_render_minor %d\n", 0xc100 + i,
                 128 + i);
        put(name, text);
        snprintf(name, sizeof name, "/sys/class/kfd/kfd/topology/nodes/%d/io_links/0/properties",
                 i);
        snprintf(text, sizeof text,
                 "type 11\nnode_from %d\nnode_to %d\nweight 15\nmin_bandwidth 1\nmax_bandwidth 1\n",
                 i, 1 - i);
        put(name, text);
    }
    put("/sys/bus/pci/devices/0000:c1:00.0/vendor", "0x1002\n");
    put("/sys/bus/pci/devices/0000:c1:00.0/current_compute_partition", "CPX\n");
    put("/sys/bus/pci/devices/0000:c1:00.0/mem_info_vram_used", "5\n");
    char *text = facts();
    assert_has(
        text, "device", 0,
        "{\"pci\":\"0000:c1:00.0\",\"compute_partition\":\"CPX\",\"bytes_used\":\"absent\"}");
    assert_has(text, "device", 1, "{\"pci\":\"0000:c1:00.1\",\"compute_partition\":\"CPX\"}");
    assert_null(nth(text, "link", 0));
    free(text);
}

static void assert_kfd_is_closed(void)
{
    char why[256];
    char *text = facts();
    condition(text, "amd_trouble", why, sizeof why);
    assert_non_null(strstr(why, "/dev/kfd is closed to this process: only user "));
    assert_has(text, "device", 1, "{\"gpu\":\"gpu1\"}"); /* sysfs tells all the same */
    free(text);
}

static void assert_render_node_is_closed(void)
{
    char why[256];
    char *text = facts();
    condition(text, "amd_trouble", why, sizeof why);
    assert_non_null(strstr(why, "/dev/dri/renderD129 is closed to this process"));
    free(text);
}

static void a_closed_amd_driver_says_which_permission_is_missing(void **state)
{
    (void)state;
    put_amd();
    close_file("/dev/dri/renderD129");
    as_nobody(assert_render_node_is_closed);
    close_file("/dev/kfd");
    as_nobody(assert_kfd_is_closed);
}

static void assert_nodes_are_closed(void)
{
    char why[256];
    char *text = facts();
    assert_non_null(strstr(condition(text, "amd_trouble", why, sizeof why),
                           "1 nodes of /sys/class/kfd/kfd are closed to this process"));
    assert_null(nth(text, "device", 1));
    free(text);
}

static void nodes_closed_by_a_cgroup_are_counted(void **state)
{
    (void)state;
    put_amd();
    close_file("/sys/class/kfd/kfd/topology/nodes/3/properties");
    as_nobody(assert_nodes_are_closed);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(amd_devices_are_told),
        TEST(amd_without_kfd_is_found_by_its_render_node),
        TEST(partitions_share_their_device),
        TEST(a_closed_amd_driver_says_which_permission_is_missing),
        TEST(nodes_closed_by_a_cgroup_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
