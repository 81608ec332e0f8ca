/**
 * How the transfers of a plan go, as they are priced: what each task's environment must say for that, and a sentence for the person.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan_bind_traffic.h"

/* Fills the variables of the answer's tasks and adds its reasons, after the plan was priced last. NO_MEMORY. */
enum berth_code plan_bind_mechanism(const struct bind_traffic *traffic, const struct snapshot *snap, struct bind_answer *answer, struct berth_err *err);
