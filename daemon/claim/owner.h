/**
 * Owner of a claim: a process or a cgroup whose end ends the claim. These functions check an owner;
 * serve/claim_watch.h waits for its end. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/files.h"
#include "base/peer.h"
#include "claim/claim.h"

/* Makes process pid the owner. It must be the peer's; root may name any. Fails with NO_SUCH_OWNER
 * when there is no such process or it is a thread, INVALID_PARAMETER (owner_pid) when pid cannot be
 * a process, and PERMISSION_DENIED. */
enum berth_code claim_owner_process(const struct files *io, const struct peer *peer, int64_t pid,
                                    struct claim_owner *ret, struct berth_err *err);

/* Makes the cgroup (version 2) at path the owner. The path begins with /sys/fs/cgroup/, and the
 * cgroup must have a process now. The claim ends with its last process. An administrator may name
 * any cgroup. Others may name the peer's own, or one that itself has a process of the peer's user.
 * The latter costs 20 us per process, on a worker thread.
 *
 * Borrows path. Fails with NO_SUCH_OWNER for no cgroup or one without process, INVALID_PARAMETER
 * (owner_cgroup) for a malformed path, and PERMISSION_DENIED. */
enum berth_code claim_owner_cgroup(const struct files *io, const struct peer *peer,
                                   const char *path, struct claim_owner *ret,
                                   struct berth_err *err);

/* True while the owner lives; always true without an owner. */
bool claim_owner_lives(const struct files *io, const struct claim_owner *owner);

/* longest chain of ancestors; the pids of a longer one may change while it is read */
#define CLAIM_LINEAGE_MAX 64
#define CLAIM_CGROUP_MAX  1024 /* largest length of an owner's path in bytes */

/* A process with its ancestors and its cgroup. Each is read once, on first use, because a plan asks
 * for every claim. Set pid only. */
struct claim_lineage {
    pid_t pid;
    bool has_ancestors, has_cgroup;
    pid_t line[CLAIM_LINEAGE_MAX]; /* pid first */
    size_t count;
    char cgroup[CLAIM_CGROUP_MAX + 1]; /* "" unknown */
};

/* True when the process belongs to the owner: it is that process or a descendant, or is in that
 * cgroup. */
bool claim_owner_holds(const struct files *io, const struct claim_owner *owner,
                       struct claim_lineage *process);

/* True when the claim was made for this process of this user. The process belongs to the claim's
 * owner, and the claim is the user's or root's. Claims of other users do not count, because a
 * shared cgroup may contain unrelated processes. */
bool claim_owner_is_for(const struct files *io, const struct claim *claim, uid_t uid,
                        struct claim_lineage *process);
