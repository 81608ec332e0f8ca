/**
 * The gpus of Bind by locality, when nothing is known of what tasks move: those of different tasks apart, those of one together.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan_bind.h"
#include "plan_bind_cores.h"

/* Those that may be used. */
struct bind_gpus {
    place_id *gpu; /* owned; ascending by number */
    size_t count;
};

/* NO_MEMORY. */
enum berth_code plan_bind_gpus_find(const struct graph *graph, const struct allowed *allowed, struct bind_gpus *ret, struct berth_err *err);
void plan_bind_gpus_done(struct bind_gpus *gpus);

/* Fills the answer's gpu, for whose task_count and gpus_per_task there is room. Where there are fewer gpus than tasks they are shared evenly. NO_MEMORY. */
enum berth_code plan_bind_gpus(const struct snapshot *snap, const struct bind_gpus *gpus, const struct bind_cores *cores, bool in_rank_order,
                               struct bind_answer *answer, struct berth_err *err);
