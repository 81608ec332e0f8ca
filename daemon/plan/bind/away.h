/**
 * Says which tasks have cores away from their gpus, where these and those next to the gpus are, and
 * why.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/reasons.h"
#include "plan/bind/cores.h"

/* Warns of tasks some of whose cores are not in what is nearest to their gpus of the whole node,
 * allowed or not; those that have the same reason share a warning. cores: as plan_bind_cores left
 * them; cpus: what it gave each task. NO_MEMORY. */
enum berth_code plan_bind_away(const struct snapshot *snap, struct bind_cores *cores,
                               const struct bind_cores_request *request, const struct cpuset *cpus,
                               struct reasons *warnings, struct berth_err *err);
