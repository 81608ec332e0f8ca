/* Findings from measured values: against nominal ones, and against their likes. */
#pragma once
#include "health/judge_part.h"

/* Adds them to work. NO_MEMORY. */
enum berth_code judge_values(struct judge_work *work, struct berth_err *err);
