/* Findings from measured values: compared with nominal ones, peers and baselines. */
#pragma once
#include "health/judge_part.h"

/* Adds the findings to work. Fails with NO_MEMORY. */
enum berth_code judge_values(struct judge_work *work, struct berth_err *err);
