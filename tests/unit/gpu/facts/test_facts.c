/* Output of --facts about NVIDIA's GPUs, from a library with canned answers
 * (unit/gpu/facts/fake_nvml.c). */
#include "facts_tree.h"

static void put_link(const char *name, const char *target)
{
    char path[PATH_MAX];
    tree_folders(root, name, path);
    assert_int_equal(symlink(target, path), 0);
}

static void put_library(const char *name)
{
    char path[PATH_MAX], library[PATH_MAX];
    snprintf(path, sizeof path, "%s/nvml/%s", STANDIN_DIR, name);
    assert_non_null(realpath(path, library));
    put_link("/usr/lib/libnvidia-ml.so.1", library);
}

static void nvidia_devices_are_told(void **state)
{
    (void)state;
    char why[256];
    put_library("libnvidia-ml.so.1");
    char *text = facts();
    assert_string_equal(condition(text, "driver", why, sizeof why), "580.95.05");
    assert_string_equal(condition(text, "cuda", why, sizeof why), "13.2");
    assert_string_equal(condition(text, "nvidia_why", why, sizeof why), "");
    assert_has(text, "device", 0,
               "{\"gpu\":\"gpu0\",\"vendor\":\"nvidia\",\"pci\":\"0000:10:00.0\",\"uuid\":\"GPU-"
               "00000000-0000-0000-0000-000000000000\","
               "\"model\":\"NVIDIA "
               "H200\",\"bytes\":150754820096,\"bytes_used\":0,\"minor\":0,\"compute_capability\":"
               "\"9.0\",\"numa\":0,"
               "\"persistence\":\"on\",\"mig\":\"off\",\"ecc\":\"on\",\"ecc_after_reset\":"
               "\"absent\",\"ecc_uncorrected\":0,\"rows_pending\":0,"
               "\"clock_mhz\":345,\"clock_max_mhz\":1980,\"memory_clock_mhz\":3201,\"throttle\":"
               "\"none\",\"power_w\":76,\"power_cap_w\":600,"
               "\"power_default_w\":700,\"temperature_c\":31,\"pcie_generation\":1,\"pcie_"
               "generation_max\":5,\"pcie_width\":16,"
               "\"pcie_width_max\":16,\"nvlinks\":18,\"nvlinks_up\":18,\"nvlink_version\":\"4.0\","
               "\"processes\":0,\"pids\":\"absent\","
               "\"c2c_links\":\"absent\",\"memory_numa\":\"absent\",\"state\":\"absent\"}");
    assert_has(text, "device", 1,
               "{\"gpu\":\"gpu1\",\"bytes_used\":17000000,\"processes\":2,\"pids\":\"4711,4712\","
               "\"pcie_width\":8,\"pcie_replays\":41,\"nvlink_replays\":2,"
               "\"nvlink_recoveries\":4,\"nvlink_crc_errors\":6,\"ecc_after_reset\":\"off\"}");
    assert_has(text, "device", 2,
               "{\"gpu\":\"gpu2\",\"numa\":1,\"ecc_uncorrected\":1,\"ecc_uncorrected_ever\":11,"
               "\"ecc_corrected_ever\":10,\"rows_uncorrected\":1,"
               "\"rows_pending\":1,\"throttle\":\"power-cap,hardware-thermal\",\"nvlinks\":18,"
               "\"nvlinks_up\":16}");
    free(text);
}

static void slices_are_devices_of_their_own(void **state)
{
    (void)state;
    put_library("libnvidia-ml.so.1");
    char *text = facts();
    assert_has(text, "device", 3, "{\"gpu\":\"gpu3\",\"mig\":\"on\"}");
    assert_has(text, "device", 4,
               "{\"gpu\":\"gpu4\",\"pci\":\"0000:13:00.0\",\"uuid\":\"MIG-00000000-0000-0000-0000-"
               "000000000031\",\"partition\":\"mig\","
               "\"model\":\"NVIDIA H200 MIG 3g.71gb\",\"bytes\":71000000000}");
    assert_has(text, "device", 5,
               "{\"gpu\":\"gpu5\",\"uuid\":\"MIG-00000000-0000-0000-0000-000000000032\"}");
    assert_null(nth(text, "device", 6));
    free(text);
}

static void links_to_a_switch_name_no_peer(void **state)
{
    (void)state;
    put_library("libnvidia-ml.so.1");
    char *text = facts();
    assert_has(text, "link", 0,
               "{\"from\":\"gpu0\",\"to\":\"switch0\",\"kind\":\"nvlink\",\"width\":18,\"nominal_"
               "bytes_per_s\":478116000000,\"state\":\"up\"}");
    assert_has(
        text, "link", 2,
        "{\"from\":\"gpu2\",\"to\":\"switch0\",\"width\":16,\"nominal_bytes_per_s\":424992000000}");
    assert_null(nth(text, "link", 4));
    free(text);
}

static void links_of_a_coherent_machine_are_told(void **state)
{
    (void)state;
    setenv("FAKE_NVML_NODE", "gh200", 1);
    put_library("libnvidia-ml.so.1");
    char *text = facts();
    assert_has(text, "device", 1,
               "{\"numa\":1,\"memory_numa\":12,\"c2c_links\":10,\"c2c_links_up\":9}");
    assert_has(text, "link", 0,
               "{\"from\":\"gpu0\",\"to\":\"gpu1\",\"kind\":\"nvlink\",\"width\":6,\"nominal_bytes_"
               "per_s\":150000000000,\"state\":\"up\"}");
    assert_has(text, "link", 3,
               "{\"from\":\"gpu0\",\"to\":\"numa0\",\"kind\":\"c2c\",\"width\":10,\"nominal_bytes_"
               "per_s\":447120000000,\"state\":\"up\"}");
    assert_has(text, "link", 6,
               "{\"from\":\"gpu1\",\"to\":\"numa1\",\"kind\":\"c2c\",\"width\":10,\"nominal_bytes_"
               "per_s\":402408000000,\"state\":\"degraded\"}");
    assert_null(nth(text, "link", 10)); /* six pairs once, and four to the host */
    free(text);
}

static void an_older_library_says_less(void **state)
{
    (void)state;
    put_library("libnvidia-ml-old.so.1");
    put("/proc/driver/nvidia/gpus/0000:10:00.0/numa_status",
        "Node:           7\nStatus:         online\n");
    char *text = facts();
    assert_has(text, "device", 0,
               "{\"bytes\":150754820096,\"bytes_used\":600000000,\"rows_pending\":\"absent\","
               "\"memory_numa\":7,\"throttle\":\"none\",\"c2c_links\":\"absent\",\"nvlinks\":18,"
               "\"model\":\"NVIDIA H200\"}");
    assert_has(text, "device", 2, "{\"throttle\":\"power-cap,hardware-thermal\"}");
    free(text);
}

static void a_call_that_fails_leaves_its_fact_out(void **state)
{
    (void)state;
    put_library("libnvidia-ml.so.1");
    put("/sys/bus/pci/devices/0000:10:00.0/numa_node", "1\n");
    setenv("FAKE_NVML",
           "nvmlDeviceGetTotalEccErrors=3 nvmlDeviceGetUUID@1=3 nvmlDeviceGetMemoryAffinity@0=3 "
           "nvmlDeviceGetComputeRunningProcesses_v3@2=4 "
           "nvmlDeviceGetGraphicsRunningProcesses_v3@2=4 nvmlDeviceGetFieldValues@0=999 "
           "nvmlSystemGetCudaDriverVersion_v2=3",
           1);
    char *text = facts();
    char buffer[64];
    assert_string_equal(condition(text, "cuda", buffer, sizeof buffer), "");
    assert_has(text, "device", 0,
               "{\"ecc\":\"on\",\"ecc_uncorrected\":\"absent\",\"numa\":1,\"nvlinks\":18,\"nvlinks_"
               "up\":18}");
    assert_has(text, "device", 1, "{\"uuid\":\"absent\",\"pci\":\"0000:11:00.0\"}");
    assert_has(text, "device", 2, "{\"processes\":\"absent\"}"); /* not 0: nobody knows */
    assert_has(text, "link", 0,
               "{\"from\":\"gpu0\",\"width\":18,\"nominal_bytes_per_s\":\"absent\"}");
    free(text);
}

static void a_lost_device_is_told_as_lost(void **state)
{
    (void)state;
    put_library("libnvidia-ml.so.1");
    setenv("FAKE_NVML", "nvmlDeviceGetEccMode@1=15 nvmlDeviceGetUUID@2=16", 1);
    char *text = facts();
    assert_has(text, "device", 1,
               "{\"gpu\":\"gpu1\",\"state\":\"lost\",\"uuid\":\"GPU-00000000-0000-0000-0000-"
               "000000000010\",\"temperature_c\":\"absent\",\"processes\":\"absent\"}");
    assert_has(text, "device", 2,
               "{\"state\":\"lost\",\"model\":\"absent\",\"pci\":\"0000:12:00.0\"}");
    assert_has(text, "device", 3, "{\"state\":\"absent\"}");
    free(text);
}

static void a_device_without_a_handle_is_left_out_with_a_reason(void **state)
{
    (void)state;
    char why[256];
    put_library("libnvidia-ml.so.1");
    setenv("FAKE_NVML", "nvmlDeviceGetHandleByIndex_v2@1=15", 1);
    char *text = facts();
    assert_string_equal(condition(text, "nvidia_trouble", why, sizeof why),
                        "the driver does not give GPU 1 of 4: GPU is lost");
    assert_has(text, "device", 1, "{\"gpu\":\"gpu1\",\"pci\":\"0000:12:00.0\"}");
    free(text);
}

static void more_processes_than_fit_are_counted(void **state)
{
    (void)state;
    put_library("libnvidia-ml.so.1");
    setenv("FAKE_NVML", "nvmlDeviceGetComputeRunningProcesses_v3@1=7", 1);
    char *text = facts();
    /* of the requested list, and one of the other list */
    assert_has(text, "device", 1, "{\"processes\":257}");
    free(text);
}

static void without_a_gpu_it_says_so(void **state)
{
    (void)state;
    struct probe_why why = {0};
    char *text = facts_why(&why);
    assert_null(nth(text, "device", 0));
    assert_string_equal(why.text,
                        "no GPU: there is no libnvidia-ml.so.1; the driver amdgpu shows no GPU");
    free(text);
    put_library("libnvidia-ml.so.1");
    setenv("FAKE_NVML_NODE", "none", 1);
    text = facts_why(&why);
    assert_null(nth(text, "device", 0));
    assert_string_equal(why.text,
                        "no GPU: the driver shows no GPU; the driver amdgpu shows no GPU");
    free(text);
    setenv("FAKE_NVML", "nvmlInitWithFlags=9", 1);
    text = facts_why(&why);
    char buffer[256];
    /* no driver is no trouble */
    assert_string_equal(condition(text, "nvidia_trouble", buffer, sizeof buffer), "");
    assert_string_equal(condition(text, "nvidia_why", buffer, sizeof buffer),
                        "libnvidia-ml.so.1 does not start: Unknown Error");
    assert_string_equal(
        why.text,
        "no GPU: libnvidia-ml.so.1 does not start: Unknown Error; the driver amdgpu shows no GPU");
    free(text);
}

static void assert_nvidia_is_closed(void)
{
    char why[256];
    char *text = facts();
    condition(text, "nvidia_trouble", why, sizeof why);
    assert_non_null(strstr(why, "/dev/nvidiactl is closed to this process: only user "));
    free(text);
}

static void a_closed_nvidia_driver_says_which_permission_is_missing(void **state)
{
    (void)state;
    put_library("libnvidia-ml.so.1");
    close_file("/dev/nvidiactl");
    setenv("FAKE_NVML", "nvmlInitWithFlags=4", 1);
    as_nobody(assert_nvidia_is_closed);
    setenv("FAKE_NVML", "", 1);
    setenv("FAKE_NVML_NODE", "none", 1); /* as a cgroup that leaves no device does it */
    as_nobody(assert_nvidia_is_closed);
    unsetenv("FAKE_NVML_NODE");
    setenv("FAKE_NVML", "nvmlDeviceGetHandleByIndex_v2@2=4", 1);
    as_nobody(assert_nvidia_is_closed);
}

static void a_reader_that_is_gone_ends_it(void **state)
{
    (void)state;
    struct probe_why why = {0};
    struct probe_out out = {.fd = -1, .gate = PTHREAD_MUTEX_INITIALIZER};
    assert_int_equal(gpu_facts_print(root, &out, &why), 70);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(nvidia_devices_are_told),
        TEST(slices_are_devices_of_their_own),
        TEST(links_to_a_switch_name_no_peer),
        TEST(links_of_a_coherent_machine_are_told),
        TEST(an_older_library_says_less),
        TEST(a_call_that_fails_leaves_its_fact_out),
        TEST(a_lost_device_is_told_as_lost),
        TEST(a_device_without_a_handle_is_left_out_with_a_reason),
        TEST(more_processes_than_fit_are_counted),
        TEST(without_a_gpu_it_says_so),
        TEST(a_closed_nvidia_driver_says_which_permission_is_missing),
        TEST(a_reader_that_is_gone_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
