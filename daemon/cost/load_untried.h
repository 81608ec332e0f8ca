/**
 * Transfers of a step between gpus of which no measurement says what they get together: two that
 * meet at a gpu on their way through the host, or more between two packages than a set had. They
 * count as slowing each other no more than structure says, which does not show what the host does
 * to them: nothing is proven of such a step.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/load_table.h"

struct load_untried {
    bool is_any;
    /* of the step: two that meet; the same one twice: out of memory */
    size_t flow[2];
    /* of the snapshot: what joins two packages; NULL it is flow */
    const struct limit *between;
    size_t users; /* transfers of the step through that */
};

/* scratch holds the step, which has just been run. */
struct load_untried plan_load_untried(const struct load_table *table, const struct load_flow *flows,
                                      size_t count, const struct load_scratch *scratch);
