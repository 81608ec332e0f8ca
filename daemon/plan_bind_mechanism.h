/**
 * How the transfers of a plan go, as they are priced: what each task's environment must say for that, and a sentence for the person.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan_bind.h"
#include "plan_bind_price.h"

/* Fills the variables of the answer's tasks and adds its reasons, after the plan was priced last. by_ns: what the best plan takes, by how gpus copy (enum load_by); NAN not
 * known; by_is_measured: whether nothing nominal or published is in that. NO_MEMORY. */
enum berth_code plan_bind_mechanism(const struct bind_price *price, const double *by_ns, const bool *by_is_measured, struct snapshot *snap, struct bind_answer *answer, struct berth_err *err);
