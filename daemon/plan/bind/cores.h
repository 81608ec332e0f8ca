/**
 * The cores of Bind: whole cores for each task, from the llc nearest to its gpus, never one core to
 * two tasks.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/evidence.h"
#include "node/reasons.h"
#include "plan/bind/usable.h"

/* Which groups are nearest to a task with these gpus, at least one: a flag by group. NO_MEMORY. */
enum berth_code plan_bind_cores_nearest(const struct snapshot *snap, struct bind_cores *cores,
                                        const place_id *gpus, size_t count, bool *ret,
                                        struct berth_err *err);

/* The NUMA nodes of the cores that are nearest to this gpu, each once, as group_count of cores is
 * room for; fewer than one where they are not known. NO_MEMORY. */
enum berth_code plan_bind_cores_numas(const struct snapshot *snap, struct bind_cores *cores,
                                      place_id gpu, place_id *ret, size_t *ret_count,
                                      struct berth_err *err);

/* Takes cores for each task: cpus in ret_cpus (one for each task), cores a task in ret_cores.
 * Without gpus, tasks come in the order of their cores. Of cores away from gpus, or far from each
 * other, nothing is said here: plan_bind_away, plan_bind_across. NOT_ENOUGH cores, NO_MEMORY. */
enum berth_code plan_bind_cores(const struct snapshot *snap, struct bind_cores *cores,
                                const struct bind_cores_request *request, struct evidence *evidence,
                                struct reasons *warnings, struct cpuset *ret_cpus,
                                int64_t *ret_cores, struct berth_err *err);
