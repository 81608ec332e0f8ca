#include "node/gpu.h"

#include <string.h>

static bool is_hex(const char *text, size_t least, size_t most)
{
    size_t length = strspn(text, "0123456789abcdefABCDEF");
    return text[length] == '\0' && length >= least && length <= most;
}

enum gpu_vendor gpu_vendor(const struct place *gpu)
{
    const char *vendor = place_detail(gpu, "vendor"), *uuid = gpu->uuid, *model = gpu->model;
    if (vendor != NULL)
        return strcmp(vendor, "amd") == 0      ? VENDOR_AMD
               : strcmp(vendor, "nvidia") == 0 ? VENDOR_NVIDIA
                                               : VENDOR_UNKNOWN;
    /* Both vendors begin with "GPU-". AMD continues with 16 hexadecimal digits, NVIDIA with a uuid
     * with dashes. */
    if (uuid != NULL && strncmp(uuid, "GPU-", 4) == 0)
        return strchr(uuid + 4, '-') != NULL ? VENDOR_NVIDIA
               : is_hex(uuid + 4, 1, 16)     ? VENDOR_AMD
                                             : VENDOR_UNKNOWN;
    if (uuid != NULL && strncmp(uuid, "MIG-", 4) == 0)
        return VENDOR_NVIDIA;
    if (model != NULL && (strstr(model, "AMD") != NULL || strstr(model, "Instinct") != NULL ||
                          strstr(model, "Radeon") != NULL))
        return VENDOR_AMD;
    if (model != NULL && (strstr(model, "NVIDIA") != NULL || strstr(model, "Tesla") != NULL ||
                          strstr(model, "GeForce") != NULL))
        return VENDOR_NVIDIA;
    return VENDOR_UNKNOWN;
}

bool gpu_is_slice(const struct place *gpu)
{
    const char *partition = place_detail(gpu, "partition");
    return (partition != NULL && strncmp(partition, "mig", 3) == 0) ||
           (gpu->uuid != NULL && strncmp(gpu->uuid, "MIG-", 4) == 0);
}

bool gpu_has_slices(const struct graph *graph, const struct place *device)
{
    if (device->pci == NULL || gpu_is_slice(device))
        return false;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        const struct place *other = graph_place(graph, g);
        if (other != device && other->pci != NULL && strcmp(other->pci, device->pci) == 0 &&
            gpu_is_slice(other))
            return true;
    }
    return false;
}

bool gpu_is_cut(const struct graph *graph, place_id gpu)
{
    const struct place *device = graph_place(graph, gpu);
    const char *mig = place_detail(device, "mig");
    return (mig != NULL && strcmp(mig, "on") == 0 && !gpu_is_slice(device)) ||
           gpu_has_slices(graph, device);
}

/* Products, by a part of the model's name. AMD, "AMD CDNA 3 Architecture" white paper. */
static const char *const models[] = {"MI300A"};

bool gpu_is_apu(const struct place *gpu)
{
    for (size_t i = 0; gpu->model != NULL && i < sizeof models / sizeof models[0]; i++)
        if (strstr(gpu->model, models[i]) != NULL)
            return true;
    return false;
}

place_id gpu_apu_at(const struct graph *graph, place_id numa)
{
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1))
        if (graph_place(graph, g)->numa == numa && gpu_is_apu(graph_place(graph, g)))
            return g;
    return PLACE_NONE;
}
