/**
 * Processes of other users that keep an ordinary user from claiming cpus. A job is a process of a user (uid 1000 or above) that may not run on all cpus that
 * process 1 may run on: a batch system or a user has bound it. A daemon of the system, or a shell that may run anywhere, is none. Reads /proc; any thread.
 */
#pragma once
#include "claim.h"
#include "err.h"
#include "sysio.h"

/* ALREADY_CLAIMED when a job of another user may run on a cpu that the claim for computing covers: place is the claimed one, by the process. Looks at the affinity of each
 * process' first thread. What the system hides (hidepid) counts for nothing, and so do claims for profiling, and nodes that are not this machine. NO_MEMORY.
 * Takes some 8 us for each process of the machine, most of it to list them. */
enum berth_code claim_jobs_check(const struct sysio *io, const struct graph *graph, const struct claim *claim, struct berth_err *err);
