/**
 * What links really carry: what they are said to is a ceiling, of which transfers reach a part.
 *
 * That part is the most that measured transfers of this node reach over links of that kind by that
 * mechanism, with the host or between gpus; where none was measured, published ones; else what a
 * small table has for the kind of link, with its source. Constant once made; any thread.
 */
#pragma once
#include "cost/limits.h"
#include "cost/move.h"

struct plan_nominal {
    /* by mechanism, and whether it is between gpus: of 1; 0 nothing is known */
    double reached[2][2][LINK_KIND_COUNT];
};

/* Takes what is known of a transfer, which has a rate. */
void plan_nominal_note(struct plan_nominal *nominal, const struct graph *graph,
                       const struct limits *limits, const struct move *move);

/* Scales the rate of a transfer of which only links tell (move->stated). */
void plan_nominal_scale(const struct plan_nominal *nominal, const struct graph *graph,
                        const struct limits *limits, struct move *move);
