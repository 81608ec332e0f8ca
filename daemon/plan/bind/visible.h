/**
 * The variables with which a task's runtime sees its GPUs and no others, or its own first: AMD's
 * ROCR_VISIBLE_DEVICES alone, because the variables of the layers above it count within its list;
 * NVIDIA's CUDA_VISIBLE_DEVICES. GPUs are named by UUID, because every runtime has an order of its
 * own. Those without a UUID of their own are named by index: NVIDIA's in the order of PCI
 * addresses, which CUDA_DEVICE_ORDER asks for, AMD's in the order of KFD nodes.
 *
 * Pure; any thread.
 */
#pragma once
#include "base/err.h"
#include "node/allowed.h"
#include "node/graph.h"
#include "node/reasons.h"

#define VISIBLE_UNSET 3

struct visible {
    char *rocr, *cuda;                    /* owned values of the two variables; NULL: not set */
    const char *cuda_order;               /* of CUDA_DEVICE_ORDER; static; NULL: not set */
    const char *unset[VISIBLE_UNSET + 1]; /* variables to remove, NULL-terminated; static strings */
};

/* Names these GPUs in this order. allowed: other GPUs that may be visible. A vendor whose GPUs
 * cannot all be named surely is left out with a warning. NO_MEMORY. */
enum berth_code visible_make(const struct graph *graph, const struct allowed *allowed,
                             const place_id *gpus, size_t count, struct reasons *warnings,
                             struct visible *ret, struct berth_err *err);

/* Gives the number by which a runtime counts a GPU where it sees all of the node. False where no
 * order is known, and for a part of a GPU. */
bool visible_index(const struct graph *graph, place_id gpu, unsigned *ret_index);
void visible_done(struct visible *visible);
