/**
 * Accepting a baseline: the current measurements become the expected values. Blocks on the disk: on
 * the thread pool.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "measure/history.h"
#include "node/snapshot.h"
#include "store/store.h"

/* Result of accepting and of the export. */
struct accepted {
    size_t count;   /* number of series */
    size_t in_line; /* number of series in line with their baselines, which stay */
    /* series left out: too uncertain, or measured on a node with more runnable work than CPUs */
    size_t vague, overloaded;
    char file[4352];   /* path of the export; "" none */
    char why_not[256]; /* reason why a configured folder got no export; "" */
};

/* Accepts base's values of the selected places as expected and exports the baselines. Leaves out
 * values that are too uncertain. The flags in selected are by place id; NULL: all places, and the
 * hardware too. Sets *ret_snapshot to base with the new baselines, as that generation. Fails with
 * NO_MEMORY or the store's error; nothing is accepted then. */
enum berth_code baseline_update(struct store *store, const struct snapshot *base,
                                const bool *selected, const struct history_env *env,
                                uint64_t generation, struct accepted *ret_accepted,
                                const struct snapshot **ret_snapshot, struct berth_err *err);
