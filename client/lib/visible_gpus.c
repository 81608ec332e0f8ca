#include "lib/visible_gpus.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Gpus in a runtime's order of counting. */
struct sequence {
    size_t index[LIB_GPUS_MAX];
    size_t count;
    bool is_counted; /* true when a number in a list has a known meaning */
};

enum found { FOUND, BAD, UNCLEAR };

static enum found find_uuid(const struct lib_gpu *gpus, const struct sequence *from,
                            const char *token, size_t length, struct sequence *to)
{
    size_t before = to->count;
    bool knows_all = true;
    for (size_t i = 0; i < from->count; i++) {
        const char *uuid = gpus[from->index[i]].uuid;
        if (uuid == NULL)
            knows_all = false;
        else if (strncasecmp(uuid, token, length) == 0)
            to->index[to->count++] = from->index[i];
    }
    if (to->count > before)
        return FOUND;
    return knows_all && strncmp(token, "GPU-", 4) == 0 ? BAD : UNCLEAR;
}

static enum found find(const struct lib_gpu *gpus, const struct sequence *from, const char *token,
                       size_t length, struct sequence *to)
{
    if (length > 4 && (strncmp(token, "GPU-", 4) == 0 || strncmp(token, "MIG-", 4) == 0))
        return find_uuid(gpus, from, token, length, to);
    if (!isdigit((unsigned char)*token))
        return BAD;
    char *end;
    unsigned long number = strtoul(token, &end, 10);
    if (end != token + length || number >= from->count)
        return BAD;
    if (!from->is_counted)
        return UNCLEAR;
    to->index[to->count++] = from->index[number];
    return FOUND;
}

/* Keeps the gpus of the list, in its order. */
static void narrow(const struct lib_gpu *gpus, const char *list, struct sequence *sequence)
{
    if (list == NULL)
        return;
    struct sequence kept = {.is_counted = true};
    for (const char *c = list;; c++) {
        c += strspn(c, " \t");
        size_t length = strcspn(c, ", \t");
        if (kept.count + sequence->count > LIB_GPUS_MAX) /* the list repeats the same gpus */
            break;
        enum found found = find(gpus, sequence, c, length, &kept);
        if (found == UNCLEAR)
            return;
        if (found == BAD)
            break;
        c += length;
        c += strspn(c, " \t");
        if (*c != ',')
            break;
    }
    *sequence = kept;
}

static bool all_alike(const struct lib_gpu *gpus, const struct sequence *sequence)
{
    for (size_t i = 0; i < sequence->count; i++) {
        const char *model = gpus[sequence->index[i]].model;
        if (model == NULL || strcmp(model, gpus[sequence->index[0]].model) != 0)
            return false;
    }
    return true;
}

/* Insertion sort by the driver's order; false when a gpu's is unknown. */
static bool sort_by_driver(const struct lib_gpu *gpus, struct sequence *sequence)
{
    for (size_t i = 0; i < sequence->count; i++) {
        size_t moved = sequence->index[i], j = i;
        if (gpus[moved].driver_order < 0)
            return false;
        for (; j > 0 && gpus[sequence->index[j - 1]].driver_order > gpus[moved].driver_order; j--)
            sequence->index[j] = sequence->index[j - 1];
        sequence->index[j] = moved;
    }
    return true;
}

void lib_visible_apply(const struct lib_visible *visible, struct lib_gpu *gpus, size_t count)
{
    struct sequence nvidia = {0}, amd = {0};
    for (size_t i = 0; i < count; i++) {
        struct sequence *sequence = gpus[i].is_nvidia ? &nvidia : &amd;
        if (gpus[i].usable)
            sequence->index[sequence->count++] = i;
        gpus[i].usable = false;
    }
    nvidia.is_counted =
        all_alike(gpus, &nvidia) ||
        (visible->cuda_order != NULL && strcmp(visible->cuda_order, "PCI_BUS_ID") == 0);
    narrow(gpus, visible->cuda, &nvidia);
    amd.is_counted = sort_by_driver(gpus, &amd);
    narrow(gpus, visible->rocr, &amd);
    /* HIP reads CUDA_VISIBLE_DEVICES when its own is not set. It counts among the gpus that
     * ROCR_VISIBLE_DEVICES leaves. Slurm sets both to one list unless gres.conf says amd_gpu_env.
     * That list means these gpus, whatever HIP makes of it. */
    bool is_one_list = visible->hip == NULL && visible->cuda != NULL && visible->rocr != NULL &&
                       strcmp(visible->cuda, visible->rocr) == 0;
    if (!is_one_list)
        narrow(gpus, visible->hip != NULL ? visible->hip : visible->cuda, &amd);
    for (size_t i = 0; i < nvidia.count; i++)
        gpus[nvidia.index[i]].usable = true;
    for (size_t i = 0; i < amd.count; i++)
        gpus[amd.index[i]].usable = true;
}
