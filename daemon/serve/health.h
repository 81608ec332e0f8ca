/* The findings of an assessment as Health.Check lists them. */
#pragma once
#include <jansson.h>

#include "health/assessment.h"
#include "node/graph.h"
#include "node/values.h"

/* Returns a measured value that is out of line as a SlowValue; NULL when out of memory. */
json_t *health_slow_json(const struct finding *finding);

/* Returns the array; NULL when out of memory. values: those that the findings are about; NULL where
 * they are about none. */
json_t *health_findings_json(const struct graph *graph, const struct values *values,
                             const struct assessment *assessment, bool are_unconfirmed);
