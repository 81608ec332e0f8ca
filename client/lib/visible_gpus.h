/**
 * Gpus of a node that remain under the vendors' visible-device variables. Pure: the variables come
 * in as texts.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define LIB_GPUS_MAX 256

struct lib_gpu {
    const char *name, *uuid, *model; /* uuid, model: NULL unknown */
    bool is_nvidia;
    long driver_order; /* number of an AMD gpu among the driver's nodes; -1 unknown */
    bool usable;       /* in: its device may be opened; out: and the variables leave it visible */
};

/* Values of the variables; NULL: not set. */
struct lib_visible {
    const char *cuda, *cuda_order, *rocr, *hip;
};

/* Applies the variables to gpus in ascending order of PCI address, at most LIB_GPUS_MAX. Ignores a
 * list with an ambiguous entry: a number in an unknown order, or a part of a gpu. A list ends at
 * its first bad entry, as in the runtimes. */
void lib_visible_apply(const struct lib_visible *visible, struct lib_gpu *gpus, size_t count);
