#include "plan/bind/visible.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/gpu.h"
#include "node/pci.h"

#define NAME_SIZE 64

/* Whether another GPU has the same uuid, as partitions of one device do. */
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

/* AMD's as ROCr prints it, "GPU-" and 16 digits; other sources leave out "GPU-" and leading zeros.
 */
static bool uuid_name(const struct graph *graph, place_id id, char name[NAME_SIZE])
{
    const char *uuid = graph_place(graph, id)->uuid;
    if (uuid == NULL || is_uuid_shared(graph, id) || strlen(uuid) >= NAME_SIZE)
        return false;
    bool is_gpu = strncmp(uuid, "GPU-", 4) == 0;
    if (gpu_vendor(graph_place(graph, id)) == VENDOR_NVIDIA) {
        snprintf(name, NAME_SIZE, "%s", uuid);
        return is_gpu || strncmp(uuid, "MIG-", 4) == 0;
    }
    const char *digits = uuid + (is_gpu ? 4 : 0);
    char *end;
    unsigned long long number = strtoull(digits, &end, 16);
    snprintf(name, NAME_SIZE, "GPU-%016llx", number);
    return isxdigit((unsigned char)*digits) && *end == '\0' && end - digits <= 16 && number != 0;
}

/* Returns by what a runtime orders GPUs: ROCr by KFD node, CUDA whole ones by PCI address; PCI_NONE
 * unknown. */
static uint64_t order_of(const struct place *gpu)
{
    if (gpu_vendor(gpu) == VENDOR_AMD) {
        const char *text = place_detail(gpu, "kfd_node");
        char *end;
        unsigned long node =
            text != NULL && isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : ULONG_MAX;
        return node != ULONG_MAX && *end == '\0' ? node : PCI_NONE;
    }
    const char *partition = place_detail(gpu, "partition");
    bool is_whole = (partition == NULL || strcmp(partition, "none") == 0) &&
                    (gpu->uuid == NULL || strncmp(gpu->uuid, "MIG-", 4) != 0);
    return is_whole && gpu->pci != NULL ? pci_parse(gpu->pci) : PCI_NONE;
}

/* Counts those before a GPU among all of its vendor; allowed: these must be there, NULL any. */
static bool index_of(const struct graph *graph, const struct allowed *allowed, place_id gpu,
                     unsigned *ret_index)
{
    uint64_t mine = order_of(graph_place(graph, gpu));
    unsigned index = 0;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        uint64_t other = order_of(graph_place(graph, g));
        if (gpu_vendor(graph_place(graph, g)) != gpu_vendor(graph_place(graph, gpu)))
            continue;
        if (other == PCI_NONE || (g != gpu && other == mine) ||
            (other < mine && allowed != NULL && !allowed_has_gpu(allowed, g)))
            return false;
        index += other < mine;
    }
    *ret_index = index;
    return true;
}

bool visible_index(const struct graph *graph, place_id gpu, unsigned *ret_index)
{
    return gpu_vendor(graph_place(graph, gpu)) != VENDOR_UNKNOWN &&
           index_of(graph, NULL, gpu, ret_index);
}

/* By its place among all of its vendor. Those before it must be visible where the task runs: they
 * are counted. */
static bool index_name(const struct graph *graph, const struct allowed *allowed, place_id gpu,
                       char name[NAME_SIZE])
{
    unsigned index = 0;
    bool is_known = index_of(graph, allowed, gpu, &index);
    if (is_known)
        snprintf(name, NAME_SIZE, "%u", index);
    return is_known;
}

/* Lists the GPUs of one vendor; NULL in ret when there are none or one cannot be named, of which a
 * warning tells. NVIDIA's are all named by uuid (ret_by_uuid) or all by index. */
static enum berth_code list(const struct graph *graph, const struct allowed *allowed,
                            const place_id *gpus, size_t count, enum gpu_vendor vendor,
                            struct reasons *warnings, char **ret, bool *ret_by_uuid,
                            struct berth_err *err)
{
    char *text = malloc(count * (NAME_SIZE + 1) + 1), name[NAME_SIZE];
    size_t used = 0;
    bool is_named = true, by_uuid = true;
    if (text == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for device names");
    for (size_t i = 0; vendor == VENDOR_NVIDIA && i < count; i++)
        by_uuid = by_uuid && (gpu_vendor(graph_place(graph, gpus[i])) != vendor ||
                              uuid_name(graph, gpus[i], name));
    for (size_t i = 0; is_named && i < count; i++) {
        if (gpu_vendor(graph_place(graph, gpus[i])) != vendor)
            continue;
        is_named = vendor != VENDOR_UNKNOWN && ((by_uuid && uuid_name(graph, gpus[i], name)) ||
                                                index_name(graph, allowed, gpus[i], name));
        if (is_named)
            used += (size_t)sprintf(text + used, "%s%s", used > 0 ? "," : "", name);
        else
            reasons_add_about(warnings, REASON_VISIBLE_UNSET, graph_place(graph, gpus[i])->name,
                              NO_NUMBERS);
    }
    if (used == 0 || !is_named) {
        free(text);
        text = NULL;
    }
    *ret = text;
    *ret_by_uuid = by_uuid;
    return BERTH_OK;
}

enum berth_code visible_make(const struct graph *graph, const struct allowed *allowed,
                             const place_id *gpus, size_t count, struct reasons *warnings,
                             struct visible *ret, struct berth_err *err)
{
    struct visible visible = {0};
    char *none = NULL;
    bool by_uuid;
    enum berth_code code =
        list(graph, allowed, gpus, count, VENDOR_UNKNOWN, warnings, &none, &by_uuid, err);
    if (code == BERTH_OK)
        code =
            list(graph, allowed, gpus, count, VENDOR_AMD, warnings, &visible.rocr, &by_uuid, err);
    if (code == BERTH_OK)
        code = list(graph, allowed, gpus, count, VENDOR_NVIDIA, warnings, &visible.cuda, &by_uuid,
                    err);
    if (code != BERTH_OK) {
        visible_done(&visible);
        return code;
    }
    visible.cuda_order = visible.cuda != NULL && !by_uuid ? "PCI_BUS_ID" : NULL;
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
