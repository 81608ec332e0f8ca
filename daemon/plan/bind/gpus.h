/**
 * The GPUs that a request may use.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/allowed.h"
#include "node/reasons.h"
#include "plan/bind/bind.h"
#include "plan/bind/cores.h"

/* Those that may be used. */
struct bind_gpus {
    place_id *gpu; /* owned; ascending by number */
    size_t count;
    size_t there;  /* allowed or not; a device that is cut is none */
    place_id lost; /* one that is allowed and answers nothing; NONE */
    place_id cut;  /* one that is allowed and cut into slices; NONE */
};

/* Without those that were lost or are cut into slices, of which a warning says so. NO_MEMORY. */
enum berth_code plan_bind_gpus_find(const struct snapshot *snap, const struct allowed *allowed,
                                    struct reasons *warnings, struct bind_gpus *ret,
                                    struct berth_err *err);

/* "gpu0-gpu3, gpu6", "no gpu"; cut where it does not fit. */
void plan_bind_gpus_list(const struct graph *graph, const struct bind_gpus *gpus, char *text,
                         size_t size);
void plan_bind_gpus_done(struct bind_gpus *gpus);
