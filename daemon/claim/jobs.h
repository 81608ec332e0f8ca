/**
 * Processes of other users that prevent an ordinary user from claiming cpus. A job is a process of
 * a user (uid 1000 or above) that may not run on all cpus of process 1. A batch system or a user
 * has bound it. System daemons and unbound shells are no jobs. Reads /proc; any thread.
 */
#pragma once
#include <string.h>

#include "base/err.h"
#include "base/files.h"
#include "claim/claim.h"

/* True when processes may refuse the claim. It is an ordinary user's, for computing on this
 * machine, and is new (@before NULL) or names other places than before. */
static inline bool claim_jobs_matter(const struct graph *graph, const struct claim *claim,
                                     const struct claim *before)
{
    bool is_more = before == NULL || strcmp(before->places, claim->places) != 0;
    return is_more && !claim->is_admins && claim->purpose == CLAIM_COMPUTE &&
           graph->origin == ORIGIN_LIVE;
}

/* Checks the cpus of a claim for computing. Fails with ALREADY_CLAIMED when a job of another user
 * may run on one of them; the error names the claimed place and the process. Reads the affinity of
 * each process' first thread. Processes hidden by hidepid do not count. Fails with NO_MEMORY. Takes
 * 4 us to 10 us for each process of the machine, mostly to list them: not for the loop. */
enum berth_code claim_jobs_check(const struct files *io, const struct graph *graph,
                                 const struct claim *claim, struct berth_err *err);
