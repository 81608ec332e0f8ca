#include "gpu/facts/sysfs_device.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"

#define FOLDER "/sys/bus/pci/devices/%s"

void gpu_sysfs_device_forget(struct gpu_amd_device *device)
{
    *device = (struct gpu_amd_device){.kfd_node = -1};
    device->gpu_id = device->bytes = device->used_bytes = device->numa = device->corrected =
        device->uncorrected = device->xgmi_corrected = device->xgmi_uncorrected = -1;
    device->clock_mhz = device->clock_max_mhz = device->memory_clock_mhz =
        device->memory_clock_max_mhz = -1;
    device->power_mw = device->power_cap_mw = device->power_default_mw = device->temperature_c = -1;
    device->pcie_generation = device->pcie_generation_max = device->pcie_width =
        device->pcie_width_max = -1;
    device->process_count = device->pcie_replays = -1;
}

/* "1: 800Mhz *" a line: the one with the star is in force. */
static void read_levels(const char *root, const char *pci, const char *file, int64_t *ret_now,
                        int64_t *ret_max)
{
    char text[4096];
    if (!probe_file_text(root, text, sizeof text, FOLDER "/%s", pci, file))
        return;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *colon = strchr(line, ':');
        char *end;
        long long mhz = colon != NULL ? strtoll(colon + 1, &end, 10) : -1;
        if (colon == NULL || end == colon + 1 || mhz < 0)
            break;
        *ret_max = mhz > *ret_max ? mhz : *ret_max;
        if (memchr(end, '*', strcspn(end, "\n")) != NULL)
            *ret_now = mhz;
    }
}

/* PCI's names for the generations: transfers of a lane per second. */
static int64_t generation_of(const char *root, const char *pci, const char *file)
{
    static const struct {
        const char *speed;
        int64_t generation;
    } speeds[] = {{"2.5 ", 1}, {"5.0 ", 2},  {"5 ", 2},  {"8.0 ", 3},  {"8 ", 3}, {"16.0 ", 4},
                  {"16 ", 4},  {"32.0 ", 5}, {"32 ", 5}, {"64.0 ", 6}, {"64 ", 6}};
    char text[64];
    if (!probe_file_text(root, text, sizeof text, FOLDER "/%s", pci, file))
        return -1;
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        if (strncmp(text, speeds[i].speed, strlen(speeds[i].speed)) == 0)
            return speeds[i].generation;
    return -1;
}

/* Widths 0 and 255 are the kernel's values for unknown. */
static int64_t width_of(const char *root, const char *pci, const char *file)
{
    int64_t width = probe_file_number(root, FOLDER "/%s", pci, file);
    return width > 0 && width <= 32 ? width : -1;
}

/* "ue: 0" and "ce: 3" in the file of each block of the chip that counts. */
static void read_errors(const char *root, struct gpu_amd_device *device)
{
    char path[512];
    const char *xgmi = "xgmi_wafl_err_count";
    snprintf(path, sizeof path, "%s" FOLDER "/ras", root, device->pci);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        char text[256];
        size_t length = strlen(entry->d_name);
        if (length < 10 || strcmp(entry->d_name + length - 10, "_err_count") != 0 ||
            !probe_file_text(root, text, sizeof text, FOLDER "/ras/%s", device->pci, entry->d_name))
            continue;
        const char *uncorrected = strstr(text, "ue:"), *corrected = strstr(text, "ce:");
        if (strcmp(entry->d_name, xgmi) == 0 && uncorrected != NULL && corrected != NULL) {
            device->xgmi_uncorrected = (int64_t)strtoul(uncorrected + 3, NULL, 10);
            device->xgmi_corrected = (int64_t)strtoul(corrected + 3, NULL, 10);
        }
        if (uncorrected != NULL)
            device->uncorrected = (device->uncorrected < 0 ? 0 : device->uncorrected) +
                                  (int64_t)strtoul(uncorrected + 3, NULL, 10);
        if (corrected != NULL)
            device->corrected = (device->corrected < 0 ? 0 : device->corrected) +
                                (int64_t)strtoul(corrected + 3, NULL, 10);
    }
    if (directory != NULL)
        closedir(directory);
}

static int64_t sensor(const char *root, const struct gpu_amd_device *device, const char *hwmon,
                      const char *file, int64_t divisor)
{
    int64_t value = probe_file_number(root, FOLDER "/hwmon/%s/%s", device->pci, hwmon, file);
    return value < 0 ? -1 : value / divisor;
}

/* Power in microwatts; temperature in thousandths, of the hottest place (2) where the chip has it.
 */
static void read_sensors(const char *root, struct gpu_amd_device *device)
{
    char path[512], hwmon[64] = "";
    snprintf(path, sizeof path, "%s" FOLDER "/hwmon", root, device->pci);
    DIR *directory = opendir(path);
    for (struct dirent *entry;
         directory != NULL && hwmon[0] == '\0' && (entry = readdir(directory)) != NULL;)
        if (strncmp(entry->d_name, "hwmon", 5) == 0)
            snprintf(hwmon, sizeof hwmon, "%.60s", entry->d_name);
    if (directory != NULL)
        closedir(directory);
    if (hwmon[0] == '\0')
        return;
    device->power_mw = sensor(root, device, hwmon, "power1_average", 1000);
    if (device->power_mw < 0)
        device->power_mw = sensor(root, device, hwmon, "power1_input", 1000);
    device->power_cap_mw = sensor(root, device, hwmon, "power1_cap", 1000);
    device->power_default_mw = sensor(root, device, hwmon, "power1_cap_default", 1000);
    device->temperature_c = sensor(root, device, hwmon, "temp2_input", 1000);
    if (device->temperature_c < 0)
        device->temperature_c = sensor(root, device, hwmon, "temp1_input", 1000);
}

static void read_identity(const char *root, struct gpu_amd_device *device)
{
    char text[64];
    unsigned long long number;
    probe_file_text(root, device->model, sizeof device->model, FOLDER "/product_name", device->pci);
    if (device->uuid[0] == '\0' &&
        probe_file_text(root, text, sizeof text, FOLDER "/unique_id", device->pci) &&
        (number = strtoull(text, NULL, 16)) != 0)
        snprintf(device->uuid, sizeof device->uuid, "GPU-%016llx", number);
    if (device->hive[0] == '\0' &&
        probe_file_text(root, text, sizeof text, FOLDER "/xgmi_hive_info/xgmi_hive_id",
                        device->pci) &&
        (number = strtoull(text, NULL, 0)) != 0)
        snprintf(device->hive, sizeof device->hive, "%llx", number);
    probe_file_text(root, device->partition, sizeof device->partition,
                    FOLDER "/current_compute_partition", device->pci);
    probe_file_text(root, device->memory_partition, sizeof device->memory_partition,
                    FOLDER "/current_memory_partition", device->pci);
    device->numa = probe_file_number(root, FOLDER "/numa_node", device->pci);
}

void gpu_sysfs_device_read(const char *root, struct gpu_amd_device *device)
{
    char text[64], own[sizeof device->pci];
    snprintf(own, sizeof own, "%s", device->pci);
    if (device->is_part && !probe_file_text(root, text, sizeof text, FOLDER "/vendor", device->pci))
        /* the device itself is the first function; KFD alone lists the others */
        device->pci[strlen(device->pci) - 1] = '0';
    read_identity(root, device);
    if (!device->is_part) {
        device->bytes = probe_file_number(root, FOLDER "/mem_info_vram_total", device->pci);
        device->used_bytes = probe_file_number(root, FOLDER "/mem_info_vram_used", device->pci);
    }
    read_errors(root, device);
    read_levels(root, device->pci, "pp_dpm_sclk", &device->clock_mhz, &device->clock_max_mhz);
    read_levels(root, device->pci, "pp_dpm_mclk", &device->memory_clock_mhz,
                &device->memory_clock_max_mhz);
    read_sensors(root, device);
    device->pcie_generation = generation_of(root, device->pci, "current_link_speed");
    device->pcie_generation_max = generation_of(root, device->pci, "max_link_speed");
    device->pcie_width = width_of(root, device->pci, "current_link_width");
    device->pcie_width_max = width_of(root, device->pci, "max_link_width");
    device->pcie_replays = probe_file_number(root, FOLDER "/pcie_replay_count", device->pci);
    memcpy(device->pci, own, sizeof own);
}
