/**
 * Accepting: what is measured now becomes what is expected. Blocks on the disk: on the thread pool.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "measure/history.h"
#include "node/snapshot.h"
#include "store/store.h"

/* What was accepted, and what became of the export. */
struct accepted {
    size_t count;   /* of series */
    size_t in_line; /* of those, how many are in line with their baselines, which stand */
    /* series that were left out: known to half only, or measured on a node with more work than
     * CPUs */
    size_t vague, overloaded;
    char file[4352];   /* where they were written to; "" nowhere */
    char why_not[256]; /* why they were not written although there is a folder; "" */
};

/* Makes what base has of these places (by place id; NULL: of all, and of the hardware, too) what is
 * expected, but for what says little of it, and exports it. ret_snapshot is base with that, as
 * generation. NO_MEMORY, or what the store says: nothing is accepted then. */
enum berth_code baseline_update(struct store *store, const struct snapshot *base,
                                const bool *selected, const struct history_env *env,
                                uint64_t generation, struct accepted *ret_accepted,
                                struct snapshot **ret_snapshot, struct berth_err *err);
