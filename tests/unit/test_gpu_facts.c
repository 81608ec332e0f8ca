/* What --facts prints, told by a library with canned answers (fake_nvml.c) and by sysfs trees; and what the daemon makes of it. */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "backend.h"
#include "gpu_facts.h"
#include "record.h"

static char root[32];

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/test_gpu_facts.XXXXXX");
    unsetenv("FAKE_NVML");
    unsetenv("FAKE_NVML_NODE");
    return mkdtemp(root) == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

static void put(const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", root, name);
    make_folders(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void put_link(const char *name, const char *target)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", root, name);
    make_folders(path);
    assert_int_equal(symlink(target, path), 0);
}

/* The library beside this program. */
static void put_library(const char *name)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    snprintf(slash + 1, sizeof self - (size_t)(slash + 1 - self), "%s", name);
    put_link("/usr/lib/libnvidia-ml.so.1", self);
}

/* All that is printed, which must be records from the first line to the last. */
static char *facts_why(struct probe_why *why)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    struct probe_out out = {.fd = fileno(file), .gate = PTHREAD_MUTEX_INITIALIZER};
    assert_int_equal(gpu_facts_print(root, &out, why), 0);
    fseek(file, 0, SEEK_END);
    size_t length = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(1, length + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, length, file), length);
    fclose(file);
    bool ended = false;
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        struct record record;
        struct berth_err err = {0};
        assert_false(ended);
        assert_int_equal(record_parse(line, strcspn(line, "\n"), &record, &err), BERTH_OK);
        assert_int_equal(record.kind == RECORD_RUN, line == text);
        ended = record.kind == RECORD_END;
        record_done(&record);
    }
    assert_true(ended);
    return text;
}

static char *facts(void)
{
    struct probe_why why = {"untouched"};
    return facts_why(&why);
}

/* The number'th record of a kind; the caller's. NULL: there are not so many. */
static json_t *nth(const char *text, const char *kind, int number)
{
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        json_t *record = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        if (strcmp(json_string_value(json_object_get(record, "record")), kind) == 0 && number-- == 0)
            return record;
        json_decref(record);
    }
    return NULL;
}

/* That a record has at least what wanted has. "absent" as a value: it does not have this. */
static void assert_has(const char *text, const char *kind, int number, const char *wanted)
{
    json_t *record = nth(text, kind, number), *want = json_loads(wanted, 0, NULL);
    assert_non_null(record);
    assert_non_null(want);
    const char *key;
    json_t *value;
    json_object_foreach(want, key, value) {
        json_t *is = json_object_get(record, key);
        bool absent = json_is_string(value) && strcmp(json_string_value(value), "absent") == 0;
        if (absent ? is != NULL : !json_equal(is, value)) {
            char *shown = json_dumps(record, 0);
            fail_msg("%s is not as wanted (%s) in %s", key, wanted, shown);
        }
    }
    json_decref(record);
    json_decref(want);
}

static const char *condition(const char *text, const char *key, char *buffer, size_t size)
{
    json_t *run = nth(text, "run", 0);
    const char *value = json_string_value(json_object_get(json_object_get(run, "conditions"), key));
    snprintf(buffer, size, "%s", value != NULL ? value : "");
    json_decref(run);
    return buffer;
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
               "{\"gpu\":\"gpu0\",\"vendor\":\"nvidia\",\"pci\":\"0000:10:00.0\",\"uuid\":\"GPU-00000000-0000-0000-0000-000000000000\","
               "\"model\":\"NVIDIA H200\",\"bytes\":150754820096,\"bytes_used\":600000000,\"minor\":0,\"compute_capability\":\"9.0\",\"numa\":0,"
               "\"persistence\":\"on\",\"mig\":\"off\",\"ecc\":\"on\",\"ecc_after_reset\":\"absent\",\"ecc_uncorrected\":0,\"rows_pending\":0,"
               "\"clock_mhz\":345,\"clock_max_mhz\":1980,\"memory_clock_mhz\":3201,\"throttle\":\"none\",\"power_w\":76,\"power_cap_w\":600,"
               "\"power_default_w\":700,\"temperature_c\":31,\"pcie_generation\":1,\"pcie_generation_max\":5,\"pcie_width\":16,"
               "\"pcie_width_max\":16,\"nvlinks\":18,\"nvlinks_up\":18,\"nvlink_version\":4,\"processes\":0,\"pids\":\"absent\","
               "\"c2c_links\":\"absent\",\"memory_numa\":\"absent\",\"state\":\"absent\"}");
    assert_has(text, "device", 1, "{\"gpu\":\"gpu1\",\"processes\":2,\"pids\":\"4711,4712\",\"pcie_width\":8,\"ecc_after_reset\":\"off\"}");
    assert_has(text, "device", 2,
               "{\"gpu\":\"gpu2\",\"numa\":1,\"ecc_uncorrected\":1,\"ecc_uncorrected_ever\":11,\"ecc_corrected_ever\":10,\"rows_uncorrected\":1,"
               "\"rows_pending\":1,\"throttle\":\"power-cap,hardware-thermal\",\"nvlinks\":18,\"nvlinks_up\":16}");
    free(text);
}

static void slices_are_devices_of_their_own(void **state)
{
    (void)state;
    put_library("libnvidia-ml.so.1");
    char *text = facts();
    assert_has(text, "device", 3, "{\"gpu\":\"gpu3\",\"mig\":\"on\"}");
    assert_has(text, "device", 4,
               "{\"gpu\":\"gpu4\",\"pci\":\"0000:13:00.0\",\"uuid\":\"MIG-00000000-0000-0000-0000-000000000031\",\"partition\":\"mig\","
               "\"model\":\"NVIDIA H200 MIG 3g.71gb\",\"bytes\":71000000000}");
    assert_has(text, "device", 5, "{\"gpu\":\"gpu5\",\"uuid\":\"MIG-00000000-0000-0000-0000-000000000032\"}");
    assert_null(nth(text, "device", 6));
    free(text);
}

static void links_to_a_switch_name_no_peer(void **state)
{
    (void)state;
    put_library("libnvidia-ml.so.1");
    char *text = facts();
    assert_has(text, "link", 0,
               "{\"from\":\"gpu0\",\"to\":\"switch0\",\"kind\":\"nvlink\",\"width\":18,\"nominal_bytes_per_s\":478116000000,\"state\":\"up\"}");
    assert_has(text, "link", 2, "{\"from\":\"gpu2\",\"to\":\"switch0\",\"width\":16,\"nominal_bytes_per_s\":424992000000}");
    assert_null(nth(text, "link", 4));
    free(text);
}

static void links_of_a_coherent_machine_are_told(void **state)
{
    (void)state;
    setenv("FAKE_NVML_NODE", "gh200", 1);
    put_library("libnvidia-ml.so.1");
    char *text = facts();
    assert_has(text, "device", 1, "{\"numa\":1,\"memory_numa\":12,\"c2c_links\":10,\"c2c_links_up\":9}");
    assert_has(text, "link", 0, "{\"from\":\"gpu0\",\"to\":\"gpu1\",\"kind\":\"nvlink\",\"width\":6,\"nominal_bytes_per_s\":150000000000,\"state\":\"up\"}");
    assert_has(text, "link", 3, "{\"from\":\"gpu0\",\"to\":\"numa0\",\"kind\":\"c2c\",\"width\":10,\"nominal_bytes_per_s\":447120000000,\"state\":\"up\"}");
    assert_has(text, "link", 6, "{\"from\":\"gpu1\",\"to\":\"numa1\",\"kind\":\"c2c\",\"width\":10,\"nominal_bytes_per_s\":402408000000,\"state\":\"degraded\"}");
    assert_null(nth(text, "link", 10)); /* six pairs once, and four to the host */
    free(text);
}

static void an_older_library_says_less(void **state)
{
    (void)state;
    put_library("libnvidia-ml-old.so.1");
    put("/proc/driver/nvidia/gpus/0000:10:00.0/numa_status", "Node:           7\nStatus:         online\n");
    char *text = facts();
    assert_has(text, "device", 0,
               "{\"rows_pending\":\"absent\",\"memory_numa\":7,\"throttle\":\"none\",\"c2c_links\":\"absent\",\"nvlinks\":18,\"model\":\"NVIDIA H200\"}");
    assert_has(text, "device", 2, "{\"throttle\":\"power-cap,hardware-thermal\"}");
    free(text);
}

static void a_call_that_fails_leaves_its_fact_out(void **state)
{
    (void)state;
    put_library("libnvidia-ml.so.1");
    put("/sys/bus/pci/devices/0000:10:00.0/numa_node", "1\n");
    setenv("FAKE_NVML",
           "nvmlDeviceGetTotalEccErrors=3 nvmlDeviceGetUUID@1=3 nvmlDeviceGetMemoryAffinity@0=3 nvmlDeviceGetComputeRunningProcesses_v3@2=4 "
           "nvmlDeviceGetGraphicsRunningProcesses_v3@2=4 nvmlDeviceGetFieldValues@0=999 nvmlSystemGetCudaDriverVersion_v2=3",
           1);
    char *text = facts();
    char buffer[64];
    assert_string_equal(condition(text, "cuda", buffer, sizeof buffer), "");
    assert_has(text, "device", 0, "{\"ecc\":\"on\",\"ecc_uncorrected\":\"absent\",\"numa\":1,\"nvlinks\":18,\"nvlinks_up\":18}");
    assert_has(text, "device", 1, "{\"uuid\":\"absent\",\"pci\":\"0000:11:00.0\"}");
    assert_has(text, "device", 2, "{\"processes\":\"absent\"}"); /* not 0: nobody knows */
    assert_has(text, "link", 0, "{\"from\":\"gpu0\",\"width\":18,\"nominal_bytes_per_s\":\"absent\"}");
    free(text);
}

static void a_lost_device_is_told_as_lost(void **state)
{
    (void)state;
    put_library("libnvidia-ml.so.1");
    setenv("FAKE_NVML", "nvmlDeviceGetEccMode@1=15 nvmlDeviceGetUUID@2=16", 1);
    char *text = facts();
    assert_has(text, "device", 1, "{\"gpu\":\"gpu1\",\"state\":\"lost\",\"uuid\":\"GPU-00000000-0000-0000-0000-000000000010\",\"temperature_c\":\"absent\",\"processes\":\"absent\"}");
    assert_has(text, "device", 2, "{\"state\":\"lost\",\"model\":\"absent\",\"pci\":\"0000:12:00.0\"}");
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
    assert_string_equal(condition(text, "nvidia_why", why, sizeof why), "the driver does not give GPU 1 of 4: GPU is lost");
    assert_has(text, "device", 1, "{\"gpu\":\"gpu1\",\"pci\":\"0000:12:00.0\"}");
    free(text);
}

static void more_processes_than_fit_are_counted(void **state)
{
    (void)state;
    put_library("libnvidia-ml.so.1");
    setenv("FAKE_NVML", "nvmlDeviceGetComputeRunningProcesses_v3@1=7", 1);
    char *text = facts();
    assert_has(text, "device", 1, "{\"processes\":257}"); /* what it was asked for, and the one of the other list */
    free(text);
}

static void without_a_gpu_it_says_so(void **state)
{
    (void)state;
    struct probe_why why = {0};
    char *text = facts_why(&why);
    assert_null(nth(text, "device", 0));
    assert_string_equal(why.text, "no GPU: there is no libnvidia-ml.so.1; the driver amdgpu shows no GPU");
    free(text);
    put_library("libnvidia-ml.so.1");
    setenv("FAKE_NVML_NODE", "none", 1);
    text = facts_why(&why);
    assert_null(nth(text, "device", 0));
    assert_string_equal(why.text, "no GPU: the driver shows no GPU; the driver amdgpu shows no GPU");
    free(text);
    setenv("FAKE_NVML", "nvmlInitWithFlags=9", 1);
    text = facts_why(&why);
    assert_string_equal(why.text, "no GPU: libnvidia-ml.so.1 does not start: Unknown Error; the driver amdgpu shows no GPU");
    free(text);
}

/* Runs what needs to be another user's: root may open everything. */
static void as_nobody(void (*check)(void))
{
    if (geteuid() != 0) {
        check();
        return;
    }
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", root);
    chmod(path, 0755);
    assert_int_equal(seteuid(65534), 0);
    check();
    assert_int_equal(seteuid(0), 0);
}

static void close_file(const char *name)
{
    char path[PATH_MAX];
    put(name, "");
    snprintf(path, sizeof path, "%s%s", root, name);
    assert_int_equal(chmod(path, 0000), 0);
}

static void assert_nvidia_is_closed(void)
{
    char why[256];
    char *text = facts();
    condition(text, "nvidia_why", why, sizeof why);
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
    setenv("FAKE_NVML", "nvmlDeviceGetHandleByIndex_v2@2=4", 1);
    as_nobody(assert_nvidia_is_closed);
}

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
        snprintf(text, sizeof text, "cpu_cores_count 0\nsimd_count 440\nlocation_id %d\ndomain 0\ndrm_render_minor %d\nunique_id %d\nhive_id 48879\n",
                 0xc100 + 0x100 * i, 128 + i, 255 + i);
        put(name, text);
        snprintf(name, sizeof name, "/sys/class/kfd/kfd/topology/nodes/%d/gpu_id", 2 + i);
        snprintf(text, sizeof text, "%d\n", 1000 + i);
        put(name, text);
        snprintf(name, sizeof name, "/sys/class/kfd/kfd/topology/nodes/%d/io_links/0/properties", 2 + i);
        snprintf(text, sizeof text, "type 11\nnode_from %d\nnode_to %d\nweight 15\nmin_bandwidth 50000\nmax_bandwidth 200000\n", 2 + i, 3 - i);
        put(name, text);
        snprintf(name, sizeof name, "/sys/class/kfd/kfd/topology/nodes/%d/io_links/1/properties", 2 + i);
        snprintf(text, sizeof text, "type %d\nnode_from %d\nnode_to %d\nweight 20\nmin_bandwidth 312\nmax_bandwidth 32000\n", 2, 2 + i, i);
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
    assert_has(text, "device", 0,
               "{\"gpu\":\"gpu0\",\"vendor\":\"amd\",\"pci\":\"0000:c1:00.0\",\"uuid\":\"GPU-00000000000000ff\",\"model\":\"AMD INSTINCT MI250X\","
               "\"render_node\":\"/dev/dri/renderD128\",\"bytes\":\"absent\",\"bytes_used\":10960896,\"numa\":2,\"hive\":\"beef\","
               "\"compute_partition\":\"SPX\",\"memory_partition\":\"NPS1\",\"ecc_uncorrected\":3,\"ecc_corrected\":5,\"clock_mhz\":800,"
               "\"clock_max_mhz\":1700,\"memory_clock_mhz\":1600,\"memory_clock_max_mhz\":1600,\"power_w\":91,\"power_cap_w\":500,"
               "\"temperature_c\":41,\"pcie_generation\":4,\"pcie_generation_max\":5,\"pcie_width\":8,\"pcie_width_max\":16,\"processes\":1,"
               "\"pids\":\"4711\"}");
    assert_has(text, "device", 1, "{\"gpu\":\"gpu1\",\"pci\":\"0000:c2:00.0\",\"processes\":0,\"ecc_uncorrected\":\"absent\",\"numa\":\"absent\"}");
    assert_has(text, "link", 0, "{\"from\":\"gpu0\",\"to\":\"gpu1\",\"kind\":\"xgmi\",\"width\":4,\"nominal_bytes_per_s\":200000000000,\"state\":\"up\"}");
    assert_has(text, "link", 1, "{\"from\":\"gpu0\",\"to\":\"numa0\",\"kind\":\"pcie\",\"width\":\"absent\",\"nominal_bytes_per_s\":32000000000}");
    assert_has(text, "link", 2, "{\"from\":\"gpu1\",\"to\":\"numa2\",\"kind\":\"pcie\"}"); /* numa1 has no cpus */
    assert_null(nth(text, "link", 3));
    free(text);
}

static void amd_without_kfd_is_found_by_its_render_node(void **state)
{
    (void)state;
    put("/sys/class/drm/renderD128/device/vendor", "0x1002\n");
    put("/sys/class/drm/renderD128/device/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0\nMODALIAS=x\n");
    put("/sys/class/drm/renderD129/device/vendor", "0x10de\n");
    put("/sys/bus/pci/devices/0000:03:00.0/mem_info_vram_total", "17163091968\n");
    put("/sys/bus/pci/devices/0000:03:00.0/unique_id", "d2c1a5b4e3f60718\n");
    char *text = facts();
    assert_has(text, "device", 0,
               "{\"gpu\":\"gpu0\",\"pci\":\"0000:03:00.0\",\"bytes\":17163091968,\"uuid\":\"GPU-d2c1a5b4e3f60718\",\"processes\":\"absent\"}");
    assert_null(nth(text, "device", 1));
    free(text);
}

static void partitions_share_their_device(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        char name[128], text[256];
        snprintf(name, sizeof name, "/sys/class/kfd/kfd/topology/nodes/%d/properties", i);
        snprintf(text, sizeof text, "simd_count 304\nlocation_id %d\ndomain 0\ndrm_render_minor %d\n", 0xc100 + i, 128 + i);
        put(name, text);
        snprintf(name, sizeof name, "/sys/class/kfd/kfd/topology/nodes/%d/io_links/0/properties", i);
        snprintf(text, sizeof text, "type 11\nnode_from %d\nnode_to %d\nweight 15\nmin_bandwidth 1\nmax_bandwidth 1\n", i, 1 - i);
        put(name, text);
    }
    put("/sys/bus/pci/devices/0000:c1:00.0/vendor", "0x1002\n");
    put("/sys/bus/pci/devices/0000:c1:00.0/current_compute_partition", "CPX\n");
    put("/sys/bus/pci/devices/0000:c1:00.0/mem_info_vram_used", "5\n");
    char *text = facts();
    assert_has(text, "device", 0, "{\"pci\":\"0000:c1:00.0\",\"compute_partition\":\"CPX\",\"bytes_used\":\"absent\"}");
    assert_has(text, "device", 1, "{\"pci\":\"0000:c1:00.1\",\"compute_partition\":\"CPX\"}");
    assert_null(nth(text, "link", 0));
    free(text);
}

static void assert_kfd_is_closed(void)
{
    char why[256];
    char *text = facts();
    condition(text, "amd_why", why, sizeof why);
    assert_non_null(strstr(why, "/dev/kfd is closed to this process: only user "));
    assert_has(text, "device", 1, "{\"gpu\":\"gpu1\"}"); /* sysfs tells all the same */
    free(text);
}

static void assert_render_node_is_closed(void)
{
    char why[256];
    char *text = facts();
    condition(text, "amd_why", why, sizeof why);
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
    assert_non_null(strstr(condition(text, "amd_why", why, sizeof why), "1 nodes of /sys/class/kfd/kfd are closed to this process"));
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
        TEST(amd_devices_are_told),
        TEST(amd_without_kfd_is_found_by_its_render_node),
        TEST(partitions_share_their_device),
        TEST(a_closed_amd_driver_says_which_permission_is_missing),
        TEST(nodes_closed_by_a_cgroup_are_counted),
        TEST(a_reader_that_is_gone_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
