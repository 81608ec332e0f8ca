/**
 * Planning around claims: what others have claimed to compute on is taken out of the part of the
 * node that a request may use. Reads /proc only to tell whether a caller stands within a claim's
 * owner. Any thread that may read the set.
 */
#pragma once
#include "base/err.h"
#include "base/files.h"
#include "claim/owner.h"
#include "claim/set.h"
#include "node/allowed.h"
#include "node/graph.h"
#include "node/warnings.h"

/* Who asks. A claim is its own when it is under its key (claim_is_under); when it is its user's or
 * root's and its process stands within what owns it, as a job that a hook has claimed for; or when
 * it is its user's without key and owner, and so no job's, whatever key the caller has. */
struct claim_caller {
    uid_t uid;
    struct claim_lineage *process; /* NULL unknown */
    const char *key;               /* NULL none */
};

/* Whether the caller's key names the claim, which is the caller's user's or root's: it is the
 * claim's key, or that and a part of it behind a dot, as "slurm/12.0" is a step of the job
 * "slurm/12". That anybody may name a claim of root's lets the processes of a job plan within what
 * a hook has claimed for it; it gives nobody a right to the places. */
bool claim_is_under(const struct claim *claim, const struct claim_caller *caller);

/* Takes cpus, gpus and NUMA nodes out of allowed, and says in warnings which and whose, and which
 * of its own without key and owner stay; nics are shared and stay. Sets gpus_claimed. ret_left_out:
 * whether anything was. NOTHING_ALLOWED when no cpu is left; NO_MEMORY. */
enum berth_code claim_around(const struct claim_set *claims, const struct files *io,
                             const struct graph *graph, const struct claim_caller *caller,
                             struct allowed *allowed, struct warnings *warnings, bool *ret_left_out,
                             struct berth_err *err);
