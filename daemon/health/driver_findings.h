/* Findings from the drivers' facts about GPUs: details of places, which discover/backend_facts.c
 * reads (docs/RECORD.md, Facts). */
#pragma once
#include "health/findings.h"

/* Adds the findings to findings. Fails with NO_MEMORY. */
enum berth_code driver_findings_add(struct findings *findings, struct berth_err *err);
