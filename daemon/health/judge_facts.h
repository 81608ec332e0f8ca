/* Findings from what the drivers say of the gpus: details of places, which discover/backend_facts.c
 * reads (docs/RECORD.md, Facts). */
#pragma once
#include "health/judge_part.h"

/* Adds them to work. NO_MEMORY. */
enum berth_code judge_facts(struct judge_work *work, struct berth_err *err);
