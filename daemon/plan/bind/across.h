/**
 * Says which tasks have cores in several llcs or NUMA nodes: part of what they share is then
 * farther away than it need be, or remote.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/reasons.h"
#include "plan/bind/cores.h"

/* Warns of tasks whose cores lie in several NUMA nodes, whoever chose their number; and, without
 * gpus, of those in several llcs of one, where cores_per_task were asked for, or an llc is as
 * large. cores: as plan_bind_cores left them; cpus: what it gave each task, in the order of the
 * answer; each: cores a task. */
void plan_bind_across(const struct snapshot *snap, const struct bind_cores *cores,
                      const struct bind_cores_request *request, const struct cpuset *cpus,
                      int64_t each, struct reasons *warnings);
