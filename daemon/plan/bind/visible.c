#include "plan/bind/visible.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/allowed.h"
#include "node/gpu.h"
#include "node/pci.h"
#include "node/reasons.h"

#define NAME_SIZE 64

static bool is_hex(const char *text, size_t least, size_t most)
{
    size_t length = strspn(text, "0123456789abcdefABCDEF");
    return text[length] == '\0' && length >= least && length <= most;
}

/* Partitions of one device share its uuid. */
static bool is_uuid_shared(const struct graph *graph, place_id gpu)
{
    const char *uuid = graph_place(graph, gpu)->uuid;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1))
        if (g != gpu && graph_place(graph, g)->uuid != NULL &&
            strcasecmp(graph_place(graph, g)->uuid, uuid) == 0)
            return true;
    return false;
}

static bool kfd_node(const struct place *gpu, long *ret_node)
{
    const char *text = place_detail(gpu, "kfd_node");
    char *end;
    if (text == NULL || !isdigit((unsigned char)*text))
        return false;
    *ret_node = strtol(text, &end, 10);
    return *end == '\0';
}

/* ROCr counts gpus in the order of their KFD nodes, but only those whose devices it may open: those
 * before it must be visible where the task runs. */
static bool rocr_index(const struct graph *graph, const struct allowed *allowed, place_id gpu,
                       char name[NAME_SIZE])
{
    long mine, other;
    unsigned index = 0;
    if (!kfd_node(graph_place(graph, gpu), &mine))
        return false;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        if (gpu_vendor(graph_place(graph, g)) != VENDOR_AMD)
            continue;
        if (!kfd_node(graph_place(graph, g), &other) || (g != gpu && other == mine) ||
            (other < mine && !allowed_has_gpu(allowed, g)))
            return false;
        index += other < mine;
    }
    snprintf(name, NAME_SIZE, "%u", index);
    return true;
}

/* As ROCr prints it, "GPU-" and 16 digits; other sources leave out "GPU-" and leading zeros. */
static bool rocr_uuid(const struct place *gpu, char name[NAME_SIZE])
{
    const char *digits = gpu->uuid == NULL                    ? ""
                         : strncmp(gpu->uuid, "GPU-", 4) == 0 ? gpu->uuid + 4
                                                              : gpu->uuid;
    if (!is_hex(digits, 1, 16))
        return false;
    unsigned long long number = strtoull(digits, NULL, 16);
    snprintf(name, NAME_SIZE, "GPU-%016llx", number);
    return number != 0;
}

static bool is_whole(const struct place *gpu)
{
    const char *partition = place_detail(gpu, "partition");
    return (partition == NULL || strcmp(partition, "none") == 0) &&
           (gpu->uuid == NULL || strncmp(gpu->uuid, "MIG-", 4) != 0);
}

/* By PCI address among all of NVIDIA. Those before it must be visible where the task runs: they are
 * counted. */
static bool cuda_index(const struct graph *graph, const struct allowed *allowed, place_id gpu,
                       char name[NAME_SIZE])
{
    uint64_t mine =
        graph_place(graph, gpu)->pci != NULL ? pci_parse(graph_place(graph, gpu)->pci) : PCI_NONE;
    unsigned index = 0;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        const struct place *other = graph_place(graph, g);
        if (gpu_vendor(other) != VENDOR_NVIDIA)
            continue;
        uint64_t pci = other->pci != NULL ? pci_parse(other->pci) : PCI_NONE;
        if (pci == PCI_NONE || !is_whole(other) || (g != gpu && pci == mine) ||
            (pci < mine && !allowed_has_gpu(allowed, g)))
            return false;
        index += pci < mine;
    }
    snprintf(name, NAME_SIZE, "%u", index);
    return mine != PCI_NONE;
}

static bool cuda_uuid(const struct graph *graph, place_id id, char name[NAME_SIZE])
{
    const char *uuid = graph_place(graph, id)->uuid;
    if (uuid == NULL || is_uuid_shared(graph, id) || strlen(uuid) >= NAME_SIZE ||
        (strncmp(uuid, "GPU-", 4) != 0 && strncmp(uuid, "MIG-", 4) != 0))
        return false;
    snprintf(name, NAME_SIZE, "%s", uuid);
    return true;
}

enum naming { NAMING_ROCR, NAMING_CUDA_UUID, NAMING_CUDA_INDEX };

static bool gpu_name(const struct graph *graph, const struct allowed *allowed, place_id id,
                     enum naming naming, char name[NAME_SIZE])
{
    const struct place *gpu = graph_place(graph, id);
    switch (naming) {
    case NAMING_ROCR:
        return (gpu->uuid != NULL && !is_uuid_shared(graph, id) && rocr_uuid(gpu, name)) ||
               rocr_index(graph, allowed, id, name);
    case NAMING_CUDA_UUID:
        return cuda_uuid(graph, id, name);
    case NAMING_CUDA_INDEX:
        return cuda_index(graph, allowed, id, name);
    }
    return false;
}

/* Lists the GPUs of one vendor; NULL in ret when there are none or one cannot be named, of which
 * warnings tells (NULL: not). */
static enum berth_code list(const struct graph *graph, const struct allowed *allowed,
                            const place_id *gpus, size_t count, enum naming naming,
                            struct reasons *warnings, char **ret, struct berth_err *err)
{
    enum gpu_vendor vendor = naming == NAMING_ROCR ? VENDOR_AMD : VENDOR_NVIDIA;
    char *text = malloc(count * (NAME_SIZE + 1) + 1);
    size_t used = 0;
    bool is_named = true;
    if (text == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for device names");
    for (size_t i = 0; is_named && i < count; i++) {
        char name[NAME_SIZE];
        if (gpu_vendor(graph_place(graph, gpus[i])) != vendor)
            continue;
        is_named = gpu_name(graph, allowed, gpus[i], naming, name);
        if (is_named)
            used += (size_t)sprintf(text + used, "%s%s", used > 0 ? "," : "", name);
        else if (warnings != NULL)
            reasons_add_about(warnings, REASON_VISIBLE_UNSET, graph_place(graph, gpus[i])->name,
                              NO_NUMBERS);
    }
    if (used == 0 || !is_named) {
        free(text);
        text = NULL;
    }
    *ret = text;
    return BERTH_OK;
}

enum berth_code visible_make(const struct graph *graph, const struct allowed *allowed,
                             const place_id *gpus, size_t count, struct reasons *warnings,
                             struct visible *ret, struct berth_err *err)
{
    struct visible visible = {0};
    enum berth_code code =
        list(graph, allowed, gpus, count, NAMING_ROCR, warnings, &visible.rocr, err);
    if (code == BERTH_OK)
        code = list(graph, allowed, gpus, count, NAMING_CUDA_UUID, NULL, &visible.cuda, err);
    if (code == BERTH_OK && visible.cuda == NULL) {
        code = list(graph, allowed, gpus, count, NAMING_CUDA_INDEX, warnings, &visible.cuda, err);
        visible.cuda_order = visible.cuda != NULL ? "PCI_BUS_ID" : NULL;
    }
    if (code != BERTH_OK) {
        visible_done(&visible);
        return code;
    }
    for (size_t i = 0; i < count; i++)
        if (gpu_vendor(graph_place(graph, gpus[i])) == VENDOR_UNKNOWN)
            reasons_add_about(warnings, REASON_VISIBLE_UNSET, graph_place(graph, gpus[i])->name,
                              NO_NUMBERS);
    size_t n = 0;
    if (visible.rocr != NULL) {
        visible.unset[n++] = "HIP_VISIBLE_DEVICES";
        visible.unset[n++] = "GPU_DEVICE_ORDINAL";
        if (visible.cuda == NULL)
            visible.unset[n++] = "CUDA_VISIBLE_DEVICES";
    }
    *ret = visible;
    return BERTH_OK;
}

void visible_done(struct visible *visible)
{
    free(visible->rocr);
    free(visible->cuda);
    visible->rocr = visible->cuda = NULL;
}
