/**
 * What a task's environment must say so that its runtime sees its gpus and no others, or its own first: AMD's
 * ROCR_VISIBLE_DEVICES alone, because the variables of the layers above it count within what it leaves; NVIDIA's
 * CUDA_VISIBLE_DEVICES. By UUID, because every runtime counts in an order of its own.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan.h"

enum gpu_vendor { VENDOR_UNKNOWN, VENDOR_AMD, VENDOR_NVIDIA };

#define VISIBLE_UNSET 3

struct visible {
    char *rocr, *cuda;                 /* owned values of the two variables; NULL: not set */
    const char *unset[VISIBLE_UNSET + 1]; /* variables to remove, NULL-terminated; static strings */
};

/* From its "vendor" detail, else its uuid, else its model. */
enum gpu_vendor visible_vendor(const struct place *gpu);

/* The variables for these gpus in this order. What cannot be named surely is left out with a warning. NO_MEMORY. */
enum berth_code visible_make(const struct graph *graph, const place_id *gpus, size_t count, struct plan_warnings *warnings,
                             struct visible *ret, struct berth_err *err);
void visible_done(struct visible *visible);
