/**
 * What a claim ends with beside its time: a process or a cgroup. Here they are looked up and looked
 * at; serve/claim_watch.h waits for them. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/files.h"
#include "base/peer.h"
#include "claim/claim.h"

/* Process pid, which must be the peer's (root may name any). NO_SUCH_OWNER when there is none, or
 * it is a thread; INVALID_PARAMETER owner_pid for what is no process number; PERMISSION_DENIED. */
enum berth_code claim_owner_process(const struct files *io, const struct peer *peer, int64_t pid,
                                    struct claim_owner *ret, struct berth_err *err);

/* The cgroup of version 2 at path, which must begin with /sys/fs/cgroup/ and have a process in it
 * now: its claim ends when it has none any more. An administrator may name any; others one that the
 * peer is in, or that itself has a process of the peer's user: 20 us each, on a worker thread. path
 * is borrowed. NO_SUCH_OWNER when there is none, or none with a process; INVALID_PARAMETER
 * owner_cgroup for what is no such path; PERMISSION_DENIED. */
enum berth_code claim_owner_cgroup(const struct files *io, const struct peer *peer,
                                   const char *path, struct claim_owner *ret,
                                   struct berth_err *err);

/* Whether the claim still has what it ends with; true when it ends with nothing but its time. */
bool claim_owner_lives(const struct files *io, const struct claim_owner *owner);

#define CLAIM_LINEAGE_MAX 64   /* deeper down a process is no child: pids may change meanwhile */
#define CLAIM_CGROUP_MAX  1024 /* bytes of an owner's path */

/* A process, its ancestors and its cgroup, each read once, when first asked for: a plan asks for
 * every claim. Set pid, and nothing else. */
struct claim_lineage {
    pid_t pid;
    bool has_ancestors, has_cgroup;
    pid_t line[CLAIM_LINEAGE_MAX]; /* pid first */
    size_t count;
    char cgroup[CLAIM_CGROUP_MAX + 1]; /* "" unknown */
};

/* Whether the process stands within the owner: it is that process or descends from it, it is in
 * that cgroup. */
bool claim_owner_holds(const struct files *io, const struct claim_owner *owner,
                       struct claim_lineage *process);

/* Whether the claim was made for this process of this user: it stands within what owns the claim,
 * which is its own user's or root's. What others claim in the name of a cgroup that is not theirs
 * alone says nothing of who else is in it. */
bool claim_owner_is_for(const struct files *io, const struct claim *claim, uid_t uid,
                        struct claim_lineage *process);
