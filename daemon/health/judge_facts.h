/* Findings from the drivers' facts about GPUs: details of places, which discover/backend_facts.c
 * reads (docs/RECORD.md, Facts). */
#pragma once
#include "health/judge_part.h"

/* Adds the findings to work. Fails with NO_MEMORY. */
enum berth_code judge_facts(struct judge_work *work, struct berth_err *err);
