#include "gpu/facts/nvml_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"

#define C2C_LINKS_MAX 32
#define PROCESSES_MAX 256
#define MB            1000000
#define COUNT_MAX     (1ull << 48) /* more in one counter is nonsense */

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 };
enum { CORRECTED, UNCORRECTED };
enum { SINCE_LOADED, EVER };

/* The device, its handle, and the destination of its facts. */
struct reader {
    const struct gpu_nvml *nvml;
    nvml_device handle;
    struct gpu_nvml_device *device;
};

/* A lost device fails every later call, some after a long wait: so no further call is made. */
static bool works(const struct reader *reader, int code)
{
    if (code == NVML_LOST || code == NVML_RESET_REQUIRED)
        reader->device->is_lost = true;
    return code == NVML_OK;
}

static bool may_ask(const struct reader *reader, bool has_call)
{
    return has_call && !reader->device->is_lost;
}

static int64_t ask(const struct reader *reader, int (*call)(nvml_device device, unsigned *ret))
{
    unsigned number = 0;
    return may_ask(reader, call != NULL) && works(reader, call(reader->handle, &number))
               ? (int64_t)number
               : -1;
}

static int64_t ask_of(const struct reader *reader,
                      int (*call)(nvml_device device, unsigned what, unsigned *ret), unsigned what)
{
    unsigned number = 0;
    return may_ask(reader, call != NULL) && works(reader, call(reader->handle, what, &number))
               ? (int64_t)number
               : -1;
}

static void format_pci(const struct nvml_pci *pci, char ret_text[16])
{
    /* all ones, or zero, is the library's value for unknown */
    ret_text[0] = '\0';
    if (pci->domain <= 0xfffff && pci->bus <= 0xff && pci->device <= 0x1f &&
        (pci->domain | pci->bus | pci->device) != 0)
        snprintf(ret_text, 16, "%04x:%02x:%02x.0", pci->domain & 0xfffff, pci->bus & 0xff,
                 pci->device & 0x1f);
}

static void read_text(const struct reader *reader,
                      int (*call)(nvml_device device, char *text, unsigned size), char *ret_text,
                      size_t size)
{
    if (!may_ask(reader, call != NULL) ||
        !works(reader, call(reader->handle, ret_text, (unsigned)size)))
        ret_text[0] = '\0';
    ret_text[size - 1] = '\0';
}

/* The older call counts the driver's own memory as used: half a gigabyte on an idle GPU. */
static void read_memory(const struct reader *reader)
{
    const struct gpu_nvml *nvml = reader->nvml;
    struct nvml_memory_apart apart = {.version = NVML_MEMORY_APART};
    struct nvml_memory memory = {0};
    if (may_ask(reader, nvml->memory_apart != NULL) &&
        works(reader, nvml->memory_apart(reader->handle, &apart))) {
        reader->device->bytes = (int64_t)apart.total;
        reader->device->used_bytes = (int64_t)apart.used;
    } else if (may_ask(reader, nvml->memory != NULL) &&
               works(reader, nvml->memory(reader->handle, &memory))) {
        reader->device->bytes = (int64_t)memory.total;
        reader->device->used_bytes = (int64_t)memory.used;
    }
}

static void read_identity(const struct reader *reader)
{
    const struct gpu_nvml *nvml = reader->nvml;
    struct gpu_nvml_device *device = reader->device;
    struct nvml_pci pci = {0};
    if (works(reader, nvml->pci(reader->handle, &pci)))
        format_pci(&pci, device->pci);
    read_text(reader, nvml->uuid, device->uuid, sizeof device->uuid);
    read_text(reader, nvml->name, device->model, sizeof device->model);
    device->minor = ask(reader, nvml->minor);
    read_memory(reader);
    int major = 0, minor = 0;
    if (may_ask(reader, nvml->capability != NULL) &&
        works(reader, nvml->capability(reader->handle, &major, &minor)))
        device->capability = 10 * (int64_t)major + minor;
    device->persistence = ask(reader, nvml->persistence);
}

/* Finds the nearest node, when the library names exactly one. */
static int64_t nearest_node(const struct reader *reader)
{
    unsigned long set[16] = {0}; /* 1024 nodes */
    int64_t node = -1;
    const struct gpu_nvml *nvml = reader->nvml;
    if (!may_ask(reader, nvml->memory_affinity != NULL) ||
        !works(reader, nvml->memory_affinity(reader->handle, 16, set, 0)))
        return -1;
    for (int i = 0; i < 1024; i++) {
        if ((set[i / 64] >> (i % 64) & 1) == 0)
            continue;
        if (node >= 0)
            return -1;
        node = i;
    }
    return node;
}

/* "Node:  1" in the driver's file, where a device's memory is a node of the host (GH200). */
static int64_t node_of_memory(const char *root, const char *pci)
{
    char text[1024];
    if (!probe_file_text(root, text, sizeof text, "/proc/driver/nvidia/gpus/%s/numa_status", pci))
        return -1;
    const char *found = strstr(text, "Node:");
    char *end;
    long node = found != NULL ? strtol(found + 5, &end, 10) : -1;
    return found != NULL && end != found + 5 && node >= 0 ? node : -1;
}

static void read_places(const struct reader *reader, const char *root)
{
    struct gpu_nvml_device *device = reader->device;
    device->numa = nearest_node(reader);
    if (device->numa < 0 && device->pci[0] != '\0')
        device->numa = probe_file_number(root, "/sys/bus/pci/devices/%s/numa_node", device->pci);
    device->own_numa = ask(reader, reader->nvml->numa);
    if (device->own_numa < 0 && device->pci[0] != '\0')
        device->own_numa = node_of_memory(root, device->pci);
}

static void read_mig_mode(const struct reader *reader)
{
    const struct gpu_nvml *nvml = reader->nvml;
    unsigned current = 0, pending = 0;
    if (may_ask(reader, nvml->mig != NULL) &&
        works(reader, nvml->mig(reader->handle, &current, &pending)))
        reader->device->mig = current;
}

static void read_slices(const struct reader *reader)
{
    const struct gpu_nvml *nvml = reader->nvml;
    struct gpu_nvml_device *device = reader->device;
    read_mig_mode(reader);
    int64_t places =
        device->mig == 1 && nvml->mig_device != NULL ? ask(reader, nvml->mig_count) : 0;
    for (unsigned i = 0; (int64_t)i < places && device->slice_count < GPU_NVML_SLICES_MAX; i++) {
        struct gpu_nvml_slice *slice = &device->slice[device->slice_count];
        struct nvml_memory memory = {0};
        struct reader of_slice = *reader;
        if (nvml->mig_device(reader->handle, i, &of_slice.handle) != NVML_OK)
            continue; /* places may be empty */
        read_text(&of_slice, nvml->uuid, slice->uuid, sizeof slice->uuid);
        read_text(&of_slice, nvml->name, slice->model, sizeof slice->model);
        slice->bytes = nvml->memory != NULL && nvml->memory(of_slice.handle, &memory) == NVML_OK
                           ? (int64_t)memory.total
                           : -1;
        device->slice_count += slice->uuid[0] != '\0';
    }
}

static int64_t count_errors(const struct reader *reader, unsigned which, unsigned since)
{
    unsigned long long count = 0;
    bool ok = may_ask(reader, reader->nvml->ecc_errors != NULL) &&
              works(reader, reader->nvml->ecc_errors(reader->handle, which, since, &count));
    return ok && count <= INT64_MAX ? (int64_t)count : -1;
}

static void read_ecc_mode(const struct reader *reader)
{
    const struct gpu_nvml *nvml = reader->nvml;
    unsigned current = 0, pending = 0;
    if (may_ask(reader, nvml->ecc_mode != NULL) &&
        works(reader, nvml->ecc_mode(reader->handle, &current, &pending))) {
        reader->device->ecc = current;
        reader->device->ecc_pending = pending;
    }
}

static void read_errors(const struct reader *reader)
{
    const struct gpu_nvml *nvml = reader->nvml;
    struct gpu_nvml_device *device = reader->device;
    unsigned rows[4] = {0};
    read_ecc_mode(reader);
    device->corrected = count_errors(reader, CORRECTED, SINCE_LOADED);
    device->uncorrected = count_errors(reader, UNCORRECTED, SINCE_LOADED);
    device->corrected_ever = count_errors(reader, CORRECTED, EVER);
    device->uncorrected_ever = count_errors(reader, UNCORRECTED, EVER);
    if (may_ask(reader, nvml->remapped_rows != NULL) &&
        works(reader,
              nvml->remapped_rows(reader->handle, &rows[0], &rows[1], &rows[2], &rows[3]))) {
        device->rows_corrected = rows[0];
        device->rows_uncorrected = rows[1];
        device->rows_pending = rows[2];
        device->rows_failed = rows[3];
    }
}

static void read_conditions(const struct reader *reader)
{
    const struct gpu_nvml *nvml = reader->nvml;
    struct gpu_nvml_device *device = reader->device;
    device->clock_mhz = ask_of(reader, nvml->clock, CLOCK_SM);
    device->clock_max_mhz = ask_of(reader, nvml->clock_max, CLOCK_SM);
    device->memory_clock_mhz = ask_of(reader, nvml->clock, CLOCK_MEMORY);
    device->memory_clock_max_mhz = ask_of(reader, nvml->clock_max, CLOCK_MEMORY);
    unsigned long long events = 0;
    int (*reasons)(nvml_device, unsigned long long *) =
        nvml->clock_events != NULL ? nvml->clock_events : nvml->clock_throttle;
    if (may_ask(reader, reasons != NULL) && works(reader, reasons(reader->handle, &events)) &&
        events <= INT64_MAX)
        device->clock_events = (int64_t)events;
    device->power_mw = ask(reader, nvml->power);
    device->power_cap_mw = ask(reader, nvml->power_cap);
    device->power_default_mw = ask(reader, nvml->power_default);
    device->temperature_c = ask_of(reader, nvml->temperature, 0);
    device->pcie_generation = ask(reader, nvml->pcie_generation);
    device->pcie_generation_max = ask(reader, nvml->pcie_generation_max);
    device->pcie_width = ask(reader, nvml->pcie_width);
    device->pcie_width_max = ask(reader, nvml->pcie_width_max);
    device->pcie_replays = ask(reader, nvml->pcie_replays);
}

/* A process that computes and draws is in both lists. */
static void add_pid(struct gpu_nvml_device *device, unsigned pid)
{
    for (int64_t i = 0; i < device->process_count && i < GPU_NVML_PIDS_MAX; i++)
        if (device->pid[i] == pid)
            return;
    if (device->process_count < GPU_NVML_PIDS_MAX)
        device->pid[device->process_count] = pid;
    device->process_count++;
}

static void read_processes(const struct reader *reader)
{
    struct gpu_nvml_device *device = reader->device;
    int (*const calls[])(nvml_device, unsigned *, struct nvml_process *) = {
        reader->nvml->compute_processes, reader->nvml->graphics_processes};
    for (int list = 0; list < 2; list++) {
        struct nvml_process processes[PROCESSES_MAX];
        unsigned count = PROCESSES_MAX;
        int code = may_ask(reader, calls[list] != NULL)
                       ? calls[list](reader->handle, &count, processes)
                       : -1;
        if (code != NVML_TOO_SMALL && (code == -1 || !works(reader, code)))
            continue;
        device->process_count = device->process_count < 0 ? 0 : device->process_count;
        /* count has their number; their identity does not matter */
        if (code == NVML_TOO_SMALL)
            device->process_count += count;
        for (unsigned i = 0; code == NVML_OK && i < count && i < PROCESSES_MAX; i++)
            add_pid(device, processes[i].pid);
    }
}

static void ask_fields(const struct reader *reader, struct nvml_field *fields, int count)
{
    if (count > 0 && (!may_ask(reader, reader->nvml->fields != NULL) ||
                      !works(reader, reader->nvml->fields(reader->handle, count, fields))))
        for (int i = 0; i < count; i++)
            fields[i].code = -1;
}

/* Adds the counters of an active link; those that the library does not have stay unknown. */
static void add_link_errors(const struct reader *reader, unsigned link)
{
    int64_t *sums = reader->device->nvlink_errors;
    for (unsigned i = 0; i < NVML_NVLINK_ERRORS; i++) {
        unsigned long long count = 0;
        if (may_ask(reader, reader->nvml->nvlink_errors != NULL) &&
            works(reader, reader->nvml->nvlink_errors(reader->handle, link, i, &count)) &&
            count < COUNT_MAX)
            sums[i] = (sums[i] < 0 ? 0 : sums[i]) + (int64_t)count;
    }
}

static void read_nvlinks(const struct reader *reader, int64_t count, int64_t common_mb)
{
    const struct gpu_nvml *nvml = reader->nvml;
    struct gpu_nvml_device *device = reader->device;
    struct nvml_field speed[NVML_NVLINKS_MAX] = {0};
    int active = 0;
    for (unsigned i = 0; i < NVML_NVLINKS_MAX && (count < 0 || (int64_t)i < count); i++) {
        struct gpu_nvml_link *link = &device->link[i];
        struct nvml_pci pci = {0};
        int64_t state = ask_of(reader, nvml->nvlink_state, i);
        if (state < 0 && count < 0)
            break; /* the number of links is unknown; the first invalid link comes after the last */
        link->is_there = state >= 0;
        link->is_active = state == 1;
        if (!link->is_active)
            continue;
        add_link_errors(reader, i);
        int64_t remote = ask_of(reader, nvml->nvlink_remote_type, i);
        if (may_ask(reader, nvml->nvlink_remote_pci != NULL) &&
            works(reader, nvml->nvlink_remote_pci(reader->handle, i, &pci)))
            format_pci(&pci, link->remote_pci);
        /* A library that cannot report the kind of the end still names the address of a GPU. */
        link->remote = remote >= NVML_REMOTE_GPU && remote <= NVML_REMOTE_SWITCH
                           ? (enum nvml_remote)remote
                       : link->remote_pci[0] != '\0' ? NVML_REMOTE_GPU
                                                     : NVML_REMOTE_SWITCH;
        if (device->nvlink_version < 0)
            device->nvlink_version = ask_of(reader, nvml->nvlink_version, i);
        link->bytes_per_s = common_mb > 0 ? common_mb * MB : -1;
        speed[active++] = (struct nvml_field){.field = NVML_NVLINK_SPEED, .scope = i};
    }
    ask_fields(reader, speed, active);
    for (int i = 0; i < active; i++)
        if (gpu_nvml_field(&speed[i]) > 0)
            device->link[speed[i].scope].bytes_per_s = gpu_nvml_field(&speed[i]) * MB;
}

static void read_c2c(const struct reader *reader, int64_t count)
{
    struct gpu_nvml_device *device = reader->device;
    struct nvml_field fields[2 * C2C_LINKS_MAX] = {0};
    int64_t enabled = ask(reader, reader->nvml->c2c_mode);
    if (count <= 0 || count > C2C_LINKS_MAX || enabled == 0) {
        device->c2c_links = enabled == 0 ? 0 : count;
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        fields[2 * i] = (struct nvml_field){.field = NVML_C2C_STATUS, .scope = (unsigned)i};
        fields[2 * i + 1] = (struct nvml_field){.field = NVML_C2C_SPEED, .scope = (unsigned)i};
    }
    ask_fields(reader, fields, 2 * (int)count);
    device->c2c_links = count;
    int64_t active = 0, speed = 0;
    for (int64_t i = 0; i < count; i++) {
        if (gpu_nvml_field(&fields[2 * i]) < 0)
            return; /* one unknown part makes the sum unknown */
        if (gpu_nvml_field(&fields[2 * i]) == 0)
            continue;
        active++;
        int64_t one = gpu_nvml_field(&fields[2 * i + 1]);
        speed = one > 0 && speed >= 0 ? speed + one * MB : -1;
    }
    device->c2c_links_active = active;
    device->c2c_bytes_per_s = active > 0 ? speed : -1;
}

static void read_links(const struct reader *reader)
{
    struct nvml_field fields[] = {{.field = NVML_NVLINK_COUNT},
                                  {.field = NVML_NVLINK_SPEED_COMMON},
                                  {.field = NVML_C2C_COUNT}};
    ask_fields(reader, fields, 3);
    read_nvlinks(reader, gpu_nvml_field(&fields[0]), gpu_nvml_field(&fields[1]));
    read_c2c(reader, gpu_nvml_field(&fields[2]));
}

/* All numbers not known. */
static void forget(struct gpu_nvml_device *device)
{
    *device = (struct gpu_nvml_device){0};
    device->minor = device->bytes = device->used_bytes = device->capability = device->numa =
        device->own_numa = -1;
    device->persistence = device->mig = device->ecc = device->ecc_pending = -1;
    device->corrected = device->uncorrected = device->corrected_ever = device->uncorrected_ever =
        -1;
    device->rows_corrected = device->rows_uncorrected = device->rows_pending = device->rows_failed =
        -1;
    device->clock_mhz = device->clock_max_mhz = device->memory_clock_mhz =
        device->memory_clock_max_mhz = device->clock_events = -1;
    device->power_mw = device->power_cap_mw = device->power_default_mw = device->temperature_c = -1;
    device->pcie_generation = device->pcie_generation_max = device->pcie_width =
        device->pcie_width_max = -1;
    device->process_count = device->nvlink_version = device->pcie_replays = -1;
    for (int i = 0; i < NVML_NVLINK_ERRORS; i++)
        device->nvlink_errors[i] = -1;
    device->c2c_links = device->c2c_links_active = device->c2c_bytes_per_s = -1;
    for (int i = 0; i < NVML_NVLINKS_MAX; i++)
        device->link[i].bytes_per_s = -1;
}

void gpu_nvml_device_read(const struct gpu_nvml *nvml, nvml_device handle, const char *root,
                          struct gpu_nvml_device *ret_device)
{
    const struct reader reader = {nvml, handle, ret_device};
    forget(ret_device);
    read_identity(&reader);
    read_places(&reader, root);
    read_slices(&reader);
    read_errors(&reader);
    read_conditions(&reader);
    read_processes(&reader);
    read_links(&reader);
}

bool gpu_nvml_device_conditions(const struct gpu_nvml *nvml, const char *pci,
                                struct gpu_nvml_device *ret_device)
{
    unsigned count = 0;
    if (nvml->count(&count) != NVML_OK)
        return false;
    for (unsigned i = 0; i < count; i++) {
        struct nvml_pci address = {0};
        struct reader reader = {nvml, NULL, ret_device};
        forget(ret_device);
        if (nvml->by_index(i, &reader.handle) != NVML_OK ||
            !works(&reader, nvml->pci(reader.handle, &address)))
            continue;
        format_pci(&address, ret_device->pci);
        if (strcmp(ret_device->pci, pci) != 0)
            continue;
        read_mig_mode(&reader);
        read_ecc_mode(&reader);
        read_conditions(&reader);
        return true;
    }
    return false;
}

void gpu_nvml_device_events(int64_t events, char *ret_text, size_t size)
{
    static const struct {
        int64_t bit;
        const char *name;
    } names[] = {{0x02, "application-clocks"}, {0x04, "power-cap"},
                 {0x08, "hardware-slowdown"},  {0x10, "sync-boost"},
                 {0x20, "software-thermal"},   {0x40, "hardware-thermal"},
                 {0x80, "power-brake"},        {0x100, "display-clocks"}};
    size_t used = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((events & names[i].bit) != 0 && used < size)
            used += (size_t)snprintf(ret_text + used, size - used, "%s%s", used > 0 ? "," : "",
                                     names[i].name);
    if (used == 0)
        snprintf(ret_text, size, "none"); /* idle is no reason */
}
