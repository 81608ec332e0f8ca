/**
 * What the vendors' visible-device variables leave of a node's gpus. Pure: the variables come in as
 * texts.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define LIB_GPUS_MAX 256

struct lib_gpu {
    const char *name, *uuid, *model; /* uuid, model: NULL unknown */
    bool is_nvidia;
    long driver_order; /* of an AMD gpu: its number among the driver's nodes; -1 unknown */
    bool usable;       /* in: its device may be opened; out: the variables leave it visible too */
};

/* NULL: the variable is not set. */
struct lib_visible {
    const char *cuda, *cuda_order, *rocr, *hip;
};

/* gpus in ascending order of PCI address, at most LIB_GPUS_MAX. A list that names what cannot be
 * told apart from here (a number where the runtime's order is not known, a part of a gpu) changes
 * nothing. As in the runtimes, a list ends at its first bad entry. */
void lib_visible_apply(const struct lib_visible *visible, struct lib_gpu *gpus, size_t count);
