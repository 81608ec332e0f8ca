/* Findings from measured values: compared with nominal ones, peers and baselines. */
#pragma once
#include "health/findings.h"

/* Adds the findings to findings. Fails with NO_MEMORY. */
enum berth_code value_findings_add(struct findings *findings, struct berth_err *err);
