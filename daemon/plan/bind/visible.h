/**
 * What a task's environment must say so that its runtime sees its gpus and no others, or its own
 * first: AMD's ROCR_VISIBLE_DEVICES alone, because the variables of the layers above it count
 * within what it leaves; NVIDIA's CUDA_VISIBLE_DEVICES. By UUID, because every runtime counts in an
 * order of its own; gpus without one of their own by their place among all, NVIDIA's in the order
 * of PCI addresses, which CUDA_DEVICE_ORDER asks for, AMD's in that of KFD nodes, where it is the
 * same whether or not those that are not allowed are hidden.
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

/* The variables for these gpus in this order. allowed: what else of the node may be visible. What
 * cannot be named surely is left out with a warning. NO_MEMORY. */
enum berth_code visible_make(const struct graph *graph, const struct allowed *allowed,
                             const place_id *gpus, size_t count, struct reasons *warnings,
                             struct visible *ret, struct berth_err *err);
void visible_done(struct visible *visible);
