/**
 * The mechanisms of a plan's copies, as priced: what each task's environment must say for them, and
 * the reasons.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"
#include "plan/bind/price.h"

/* What a step takes when gpus copy in one way. */
struct bind_by {
    double time_ns;   /* NAN not looked for, or not known */
    bool is_least;    /* it takes at least so long */
    size_t unstarted; /* as of struct bind_priced */
};

/* Fills the variables of the answer's tasks and adds its reasons, after the plan was priced last.
 * by: the best plan, by how gpus copy (enum load_by). NO_MEMORY. */
enum berth_code plan_bind_mechanism(const struct bind_price *price, const struct bind_by *by,
                                    const struct snapshot *snap, struct bind_answer *answer,
                                    struct berth_err *err);
