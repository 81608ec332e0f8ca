/**
 * Processes of other users that keep an ordinary user from claiming cpus. A job is a process of a
 * user (uid 1000 or above) that may not run on all cpus that process 1 may run on: a batch system
 * or a user has bound it. A daemon of the system, or a shell that may run anywhere, is none. Reads
 * /proc; any thread.
 */
#pragma once
#include <string.h>

#include "base/err.h"
#include "base/files.h"
#include "claim/claim.h"

/* Whether processes may refuse the claim: an ordinary user's, for computing, on this machine, of
 * other places than before (NULL: nothing stood). */
static inline bool claim_jobs_matter(const struct graph *graph, const struct claim *claim,
                                     const struct claim *before)
{
    bool is_more = before == NULL || strcmp(before->places, claim->places) != 0;
    return is_more && !claim->is_admins && claim->purpose == CLAIM_COMPUTE &&
           graph->origin == ORIGIN_LIVE;
}

/* ALREADY_CLAIMED when a job of another user may run on a cpu that the claim for computing covers:
 * place is the claimed one, by the process. Looks at the affinity of each process' first thread.
 * What the system hides (hidepid) counts for nothing. NO_MEMORY. Takes 4 us to 10 us for each
 * process of the machine, most of it to list them: not for the loop. */
enum berth_code claim_jobs_check(const struct files *io, const struct graph *graph,
                                 const struct claim *claim, struct berth_err *err);
