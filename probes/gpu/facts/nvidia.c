#include "gpu/facts/nvidia.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/driver/api.h"
#include "gpu/facts/line.h"

#define LIBRARY_PATH "/usr/lib/libnvidia-ml.so.1"

struct asked {
    const struct gpu_nvml *nvml;
    const char *root;
    nvml_device handle;
    struct gpu_nvml_device *device;
    pthread_t thread;
    bool is_running;
};

static void *ask(void *arg)
{
    struct asked *asked = arg;
    gpu_nvml_device_read(asked->nvml, asked->handle, asked->root, asked->device);
    return NULL;
}

static void read_versions(const struct gpu_nvml *nvml, struct gpu_facts_nvidia *nvidia)
{
    int version = 0;
    if (nvml->driver_version == NULL ||
        nvml->driver_version(nvidia->driver, sizeof nvidia->driver) != NVML_OK)
        nvidia->driver[0] = '\0';
    nvidia->driver[sizeof nvidia->driver - 1] = '\0';
    /* 13000 is 13.0 */
    if (nvml->cuda_version != NULL && nvml->cuda_version(&version) == NVML_OK && version > 0)
        snprintf(nvidia->cuda, sizeof nvidia->cuda, "%d.%d", version / 1000, version % 1000 / 10);
}

/* A driver that does not answer for a device leaves that one out. */
static void ask_all(const struct gpu_nvml *nvml, const char *root, unsigned count,
                    struct gpu_facts_nvidia *nvidia)
{
    struct asked asked[GPU_FACTS_NVIDIA_MAX] = {0};
    for (unsigned i = 0; i < count; i++) {
        struct asked *one = &asked[nvidia->count];
        *one = (struct asked){.nvml = nvml, .root = root, .device = &nvidia->device[nvidia->count]};
        int code = nvml->by_index(i, &one->handle);
        if (code != NVML_OK) {
            nvidia->is_wrong = true;
            if (nvidia->why.text[0] == '\0' &&
                ((code != NVML_NO_PERMISSION && code != NVML_CGROUP) ||
                 !gpu_access_denied(root, "cuda", &nvidia->why)))
                probe_why_write(&nvidia->why, "the driver does not give GPU %u of %u: %s", i, count,
                                nvml->text(code));
            continue;
        }
        one->is_running = pthread_create(&one->thread, NULL, ask, one) == 0;
        if (!one->is_running)
            ask(one);
        nvidia->count++;
    }
    for (int i = 0; i < nvidia->count; i++)
        if (asked[i].is_running)
            pthread_join(asked[i].thread, NULL);
}

void gpu_facts_nvidia_read(const char *root, struct gpu_facts_nvidia *ret)
{
    struct gpu_nvml nvml;
    char path[512];
    int code = NVML_OK;
    unsigned count = 0;
    *ret = (struct gpu_facts_nvidia){0};
    snprintf(path, sizeof path, "%s%s", root, LIBRARY_PATH);
    if (!gpu_nvml_open(root[0] != '\0' ? path : NULL, &nvml, &code, &ret->why)) {
        ret->is_wrong = code != NVML_OK &&
                        (gpu_access_denied(root, "cuda", &ret->why) || code != NVML_NO_DRIVER);
        return;
    }
    read_versions(&nvml, ret);
    code = nvml.count(&count);
    count = count < GPU_FACTS_NVIDIA_MAX ? count : GPU_FACTS_NVIDIA_MAX;
    if (code != NVML_OK) {
        ret->is_wrong = true;
        probe_why_write(&ret->why, "the driver does not say how many GPUs there are: %s",
                        nvml.text(code));
    } else if (count == 0) {
        /* the library counts only devices that its process may open */
        ret->is_wrong = gpu_access_denied(root, "cuda", &ret->why);
        if (!ret->is_wrong)
            probe_why_write(&ret->why, "the driver shows no GPU");
    } else if ((ret->device = calloc(count, sizeof *ret->device)) == NULL) {
        probe_why_write(&ret->why, "out of memory");
    } else {
        ask_all(&nvml, root, count, ret);
    }
    gpu_nvml_close(&nvml);
}

void gpu_facts_nvidia_done(struct gpu_facts_nvidia *nvidia)
{
    free(nvidia->device);
    *nvidia = (struct gpu_facts_nvidia){0};
}

int gpu_facts_nvidia_names(const struct gpu_facts_nvidia *nvidia)
{
    int names = nvidia->count;
    for (int i = 0; i < nvidia->count; i++)
        names += nvidia->device[i].slice_count;
    return names;
}

static void put_events(struct probe_line *line, int64_t events)
{
    char text[160];
    if (events < 0)
        return;
    gpu_nvml_device_events(events, text, sizeof text);
    probe_line_text(line, "throttle", text);
}

static void put_processes(struct probe_line *line, const struct gpu_nvml_device *device)
{
    char text[GPU_NVML_PIDS_MAX * 11 + 1] = "";
    size_t used = 0;
    gpu_facts_number(line, "processes", device->process_count);
    for (int i = 0; i < device->process_count && i < GPU_NVML_PIDS_MAX && device->pid[i] != 0; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", used > 0 ? "," : "",
                                 device->pid[i]);
    gpu_facts_text(line, "pids", text);
}

static void put_memory_errors(struct probe_line *line, const struct gpu_nvml_device *device)
{
    gpu_facts_switch(line, "ecc", device->ecc);
    if (device->ecc_pending >= 0 && device->ecc_pending != device->ecc)
        gpu_facts_switch(line, "ecc_after_reset", device->ecc_pending);
    gpu_facts_number(line, "ecc_corrected", device->corrected);
    gpu_facts_number(line, "ecc_uncorrected", device->uncorrected);
    gpu_facts_number(line, "ecc_corrected_ever", device->corrected_ever);
    gpu_facts_number(line, "ecc_uncorrected_ever", device->uncorrected_ever);
    gpu_facts_number(line, "rows_corrected", device->rows_corrected);
    gpu_facts_number(line, "rows_uncorrected", device->rows_uncorrected);
    gpu_facts_number(line, "rows_pending", device->rows_pending);
    gpu_facts_number(line, "rows_failed", device->rows_failed);
}

static void put_conditions(struct probe_line *line, const struct gpu_nvml_device *device)
{
    gpu_facts_number(line, "clock_mhz", device->clock_mhz);
    gpu_facts_number(line, "clock_max_mhz", device->clock_max_mhz);
    gpu_facts_number(line, "memory_clock_mhz", device->memory_clock_mhz);
    gpu_facts_number(line, "memory_clock_max_mhz", device->memory_clock_max_mhz);
    put_events(line, device->clock_events);
    gpu_facts_number(line, "power_w", device->power_mw < 0 ? -1 : (device->power_mw + 500) / 1000);
    gpu_facts_number(line, "power_cap_w",
                     device->power_cap_mw < 0 ? -1 : (device->power_cap_mw + 500) / 1000);
    gpu_facts_number(line, "power_default_w",
                     device->power_default_mw < 0 ? -1 : (device->power_default_mw + 500) / 1000);
    gpu_facts_number(line, "temperature_c", device->temperature_c);
    gpu_facts_number(line, "pcie_generation", device->pcie_generation);
    gpu_facts_number(line, "pcie_generation_max", device->pcie_generation_max);
    gpu_facts_number(line, "pcie_width", device->pcie_width);
    gpu_facts_number(line, "pcie_width_max", device->pcie_width_max);
    gpu_facts_number(line, "pcie_replays", device->pcie_replays);
}

static void put_link_counts(struct probe_line *line, const struct gpu_nvml_device *device)
{
    /* Versions by the library's numbers; a newer one is left out. */
    static const char *const versions[] = {"",    "1.0", "2.0", "2.2", "3.0",
                                           "3.1", "4.0", "5.0", "6.0"};
    int links = 0, active = 0;
    for (int i = 0; i < NVML_NVLINKS_MAX; i++) {
        links += device->link[i].is_there;
        active += device->link[i].is_active;
    }
    if (links > 0) {
        probe_line_integer(line, "nvlinks", links);
        probe_line_integer(line, "nvlinks_up", active);
    }
    gpu_facts_number(line, "nvlink_crc_errors", device->nvlink_errors[NVML_NVLINK_CRC_FLITS]);
    gpu_facts_number(line, "nvlink_replays", device->nvlink_errors[NVML_NVLINK_REPLAYS]);
    gpu_facts_number(line, "nvlink_recoveries", device->nvlink_errors[NVML_NVLINK_RECOVERIES]);
    if (device->nvlink_version > 0 &&
        device->nvlink_version < (int64_t)(sizeof versions / sizeof *versions))
        probe_line_text(line, "nvlink_version", versions[device->nvlink_version]);
    if (device->c2c_links > 0) {
        probe_line_integer(line, "c2c_links", device->c2c_links);
        gpu_facts_number(line, "c2c_links_up", device->c2c_links_active);
    }
}

static void begin_device(struct probe_line *line, int number, const char *pci, const char *uuid,
                         const char *model, int64_t bytes)
{
    char name[16];
    snprintf(name, sizeof name, "gpu%d", number);
    probe_line_begin(line, "device");
    probe_line_text(line, "gpu", name);
    probe_line_text(line, "vendor", "nvidia");
    gpu_facts_text(line, "pci", pci);
    gpu_facts_text(line, "uuid", uuid);
    gpu_facts_text(line, "model", model);
    gpu_facts_number(line, "bytes", bytes);
}

static bool print_device(const struct gpu_nvml_device *device, int number, struct probe_out *out)
{
    struct probe_line line;
    begin_device(&line, number, device->pci, device->uuid, device->model, device->bytes);
    if (device->is_lost)
        probe_line_text(&line, "state", "lost");
    gpu_facts_number(&line, "minor", device->minor);
    gpu_facts_number(&line, "bytes_used", device->used_bytes);
    if (device->capability > 0) {
        char text[24];
        snprintf(text, sizeof text, "%d.%d", (int)(device->capability / 10),
                 (int)(device->capability % 10));
        probe_line_text(&line, "compute_capability", text);
    }
    gpu_facts_number(&line, "numa", device->numa);
    gpu_facts_number(&line, "memory_numa", device->own_numa);
    gpu_facts_switch(&line, "persistence", device->persistence);
    gpu_facts_switch(&line, "mig", device->mig);
    put_memory_errors(&line, device);
    put_conditions(&line, device);
    put_link_counts(&line, device);
    put_processes(&line, device);
    return probe_line_write(&line, out);
}

static bool print_link(int from, const char *to, const char *kind, int width, int64_t bytes_per_s,
                       const char *state, struct probe_out *out)
{
    struct probe_line line;
    char name[16];
    snprintf(name, sizeof name, "gpu%d", from);
    probe_line_begin(&line, "link");
    probe_line_text(&line, "from", name);
    probe_line_text(&line, "to", to);
    probe_line_text(&line, "kind", kind);
    probe_line_integer(&line, "width", width);
    gpu_facts_number(&line, "nominal_bytes_per_s", bytes_per_s);
    probe_line_text(&line, "state", state);
    return probe_line_write(&line, out);
}

struct bundle {
    int width;
    int64_t bytes_per_s; /* -1: the rate of one link is unknown */
};

static void add_link(struct bundle *bundle, const struct gpu_nvml_link *link)
{
    bundle->width++;
    bundle->bytes_per_s = link->bytes_per_s < 0 || bundle->bytes_per_s < 0
                              ? -1
                              : bundle->bytes_per_s + link->bytes_per_s;
}

/* Prints all links of a device to the same end as one. A link that is not active has no end: the
 * counts in the device record show it. */
static bool print_nvlinks(const struct gpu_facts_nvidia *nvidia, int first, int at,
                          struct probe_out *out)
{
    const struct gpu_nvml_device *device = &nvidia->device[at];
    struct bundle to_gpu[GPU_FACTS_NVIDIA_MAX] = {0}, to_host = {0}, to_switch = {0};
    char name[24];
    for (int i = 0; i < NVML_NVLINKS_MAX; i++) {
        const struct gpu_nvml_link *link = &device->link[i];
        if (!link->is_active)
            continue;
        if (link->remote == NVML_REMOTE_SWITCH)
            add_link(&to_switch, link);
        else if (link->remote == NVML_REMOTE_CPU)
            add_link(&to_host, link);
        else
            for (int k = 0; k < nvidia->count; k++)
                if (k != at && nvidia->device[k].pci[0] != '\0' &&
                    strcmp(nvidia->device[k].pci, link->remote_pci) == 0)
                    add_link(&to_gpu[k], link);
    }
    bool ok = true;
    /* both ends report the link; the lower one is used, unless it is lost */
    for (int k = 0; ok && k < nvidia->count; k++) {
        snprintf(name, sizeof name, "gpu%d", first + k);
        if (to_gpu[k].width > 0 && (at < k || nvidia->device[k].is_lost))
            ok = print_link(first + at, name, "nvlink", to_gpu[k].width, to_gpu[k].bytes_per_s,
                            "up", out);
    }
    snprintf(name, sizeof name, "numa%d", (int)device->numa);
    if (ok && to_host.width > 0 && device->numa >= 0)
        ok = print_link(first + at, name, "nvlink", to_host.width, to_host.bytes_per_s, "up", out);
    /* The switches of a board are one to berth: a device's traffic is spread over all of them. */
    if (ok && to_switch.width > 0)
        ok = print_link(first + at, "switch0", "nvlink", to_switch.width, to_switch.bytes_per_s,
                        "up", out);
    if (ok && device->c2c_links > 0 && device->numa >= 0 && device->c2c_links_active >= 0)
        ok = print_link(first + at, name, "c2c", (int)device->c2c_links, device->c2c_bytes_per_s,
                        device->c2c_links_active == device->c2c_links ? "up"
                        : device->c2c_links_active > 0                ? "degraded"
                                                                      : "down",
                        out);
    return ok;
}

bool gpu_facts_nvidia_print(const struct gpu_facts_nvidia *nvidia, int first, struct probe_out *out)
{
    int number = first;
    bool ok = true;
    for (int i = 0; ok && i < nvidia->count; i++)
        ok = print_device(&nvidia->device[i], number++, out);
    for (int i = 0; ok && i < nvidia->count; i++)
        for (int k = 0; ok && k < nvidia->device[i].slice_count; k++) {
            const struct gpu_nvml_slice *slice = &nvidia->device[i].slice[k];
            struct probe_line line;
            begin_device(&line, number++, nvidia->device[i].pci, slice->uuid, slice->model,
                         slice->bytes);
            probe_line_text(&line, "partition", "mig");
            ok = probe_line_write(&line, out);
        }
    for (int i = 0; ok && i < nvidia->count; i++)
        ok = print_nvlinks(nvidia, first, i, out);
    return ok;
}
