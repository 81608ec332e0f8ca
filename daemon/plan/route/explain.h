/**
 * The reasons and warnings of an answer of Route, whose options are priced, cited and in order.
 * Pure; any thread.
 */
#pragma once
#include "plan/route/work.h"

/* Adds the evidence of each option, the first one last. NO_MEMORY. */
enum berth_code explain_cite(struct route_work *work, struct berth_err *err);

/* NO_MEMORY. */
enum berth_code explain_answer(struct route_work *work, struct berth_err *err);
