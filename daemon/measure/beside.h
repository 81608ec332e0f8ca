/**
 * Rule of what may be measured beside a job (measure_beside_jobs): metrics that use the GPUs' own
 * memory and the links between them (programs_is_local), of GPUs that nobody uses. Host memory and
 * its links are everybody's. Pairs are measured only where each pair of the node's GPUs has links
 * of its own or a switch: elsewhere the traffic of others may pass. Pure.
 */
#pragma once
#include <stdbool.h>

#include "claim/set.h"
#include "measure/gpu_use.h"
#include "node/graph.h"

/* Adds the GPUs that claims cover, or that are inside a claimed place; NULL none. */
void beside_add_claimed(struct gpu_use *use, const struct graph *graph,
                        const struct claim_set *claims);

/* True when each pair of GPUs has links of its own or to a common switch. */
bool beside_is_meshed(const struct graph *graph);

/* True for a GPU that is none of used, whose memory is its own: no slice of a device, no processor
 * with a GPU. */
bool beside_is_free(const struct gpu_use *used, const struct graph *graph, place_id gpu);
