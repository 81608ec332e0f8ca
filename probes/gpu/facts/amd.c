/* Device and link records of AMD GPUs. */
#include "gpu/facts/sysfs_amd.h"

#include <stdio.h>

#include "gpu/facts/line.h"

static void put_processes(struct probe_line *line, const struct gpu_amd_device *device)
{
    char text[GPU_AMD_PIDS_MAX * 21 + 1] = "";
    size_t used = 0;
    gpu_facts_number(line, "processes", device->process_count);
    for (int i = 0; i < device->process_count && i < GPU_AMD_PIDS_MAX; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", used > 0 ? "," : "",
                                 (long long)device->pid[i]);
    gpu_facts_text(line, "pids", text);
}

static bool print_device(const struct gpu_amd_device *device, int number, struct probe_out *out)
{
    struct probe_line line;
    char name[16];
    snprintf(name, sizeof name, "gpu%d", number);
    probe_line_begin(&line, "device");
    probe_line_text(&line, "gpu", name);
    probe_line_text(&line, "vendor", "amd");
    gpu_facts_text(&line, "pci", device->pci);
    gpu_facts_text(&line, "uuid", device->uuid);
    gpu_facts_text(&line, device->kfd_node < 0 ? "model" : "product", device->model);
    gpu_facts_text(&line, "render_node", device->render_node);
    /* KFD is better: it knows the memory of a partition, and memory shared with a processor */
    if (device->kfd_node < 0)
        gpu_facts_number(&line, "bytes", device->bytes);
    gpu_facts_number(&line, "bytes_used", device->used_bytes);
    gpu_facts_number(&line, "numa", device->numa);
    gpu_facts_text(&line, "hive", device->hive);
    gpu_facts_text(&line, "compute_partition", device->partition);
    gpu_facts_text(&line, "memory_partition", device->memory_partition);
    gpu_facts_number(&line, "ecc_corrected", device->corrected);
    gpu_facts_number(&line, "ecc_uncorrected", device->uncorrected);
    gpu_facts_number(&line, "xgmi_corrected", device->xgmi_corrected);
    gpu_facts_number(&line, "xgmi_uncorrected", device->xgmi_uncorrected);
    gpu_facts_number(&line, "clock_mhz", device->clock_mhz);
    gpu_facts_number(&line, "clock_max_mhz", device->clock_max_mhz);
    gpu_facts_number(&line, "memory_clock_mhz", device->memory_clock_mhz);
    gpu_facts_number(&line, "memory_clock_max_mhz", device->memory_clock_max_mhz);
    gpu_facts_number(&line, "power_w", device->power_mw < 0 ? -1 : (device->power_mw + 500) / 1000);
    gpu_facts_number(&line, "power_cap_w",
                     device->power_cap_mw < 0 ? -1 : (device->power_cap_mw + 500) / 1000);
    gpu_facts_number(&line, "power_default_w",
                     device->power_default_mw < 0 ? -1 : (device->power_default_mw + 500) / 1000);
    gpu_facts_number(&line, "temperature_c", device->temperature_c);
    gpu_facts_number(&line, "pcie_generation", device->pcie_generation);
    gpu_facts_number(&line, "pcie_generation_max", device->pcie_generation_max);
    gpu_facts_number(&line, "pcie_width", device->pcie_width);
    gpu_facts_number(&line, "pcie_width_max", device->pcie_width_max);
    gpu_facts_number(&line, "pcie_replays", device->pcie_replays);
    put_processes(&line, device);
    return probe_line_write(&line, out);
}

static bool print_link(const struct gpu_amd_link *link, int from, int first, struct probe_out *out)
{
    struct probe_line line;
    char name[16];
    probe_line_begin(&line, "link");
    snprintf(name, sizeof name, "gpu%d", from);
    probe_line_text(&line, "from", name);
    snprintf(name, sizeof name, "%s%d", link->to >= 0 ? "gpu" : "numa",
             link->to >= 0 ? first + link->to : link->numa);
    probe_line_text(&line, "to", name);
    probe_line_text(&line, "kind", link->is_xgmi ? "xgmi" : "pcie");
    if (link->width > 0)
        probe_line_integer(&line, "width", link->width);
    gpu_facts_number(&line, "nominal_bytes_per_s", link->bytes_per_s);
    probe_line_text(&line, "state", "up"); /* the driver shows no others */
    return probe_line_write(&line, out);
}

bool gpu_facts_amd_print(const struct gpu_amd *amd, int first, struct probe_out *out)
{
    bool ok = true;
    for (int i = 0; ok && i < amd->count; i++)
        ok = print_device(&amd->device[i], first + i, out);
    for (int i = 0; ok && i < amd->count; i++)
        for (int k = 0; ok && k < amd->device[i].link_count; k++)
            /* both ends show the link */
            if (amd->device[i].link[k].to < 0 || amd->device[i].link[k].to > i)
                ok = print_link(&amd->device[i].link[k], first + i, first, out);
    return ok;
}
