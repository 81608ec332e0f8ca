/* The findings of an assessment as Health.Check lists them. */
#pragma once
#include <jansson.h>

#include "health/assessment.h"
#include "node/graph.h"

/* Returns the array; NULL when out of memory. */
json_t *health_findings_json(const struct graph *graph, const struct assessment *assessment,
                             bool are_unconfirmed);
