/**
 * Waits for the end of claims' owners: processes through their pidfd, cgroups through changes of
 * their cgroup.events. The kernel reports; nothing is polled. Loop thread only.
 */
#pragma once
#include <uv.h>

#include "base/err.h"
#include "base/files.h"
#include "claim/claim.h"

struct claim_watch;

/* Calls ended on the loop when the owner of claim id has ended; the id is borrowed. The claim stays
 * watched until claim_watch_remove. Fails with NO_MEMORY. */
enum berth_code claim_watch_new(uv_loop_t *loop, const struct files *io,
                                void (*ended)(void *arg, const char *id), void *arg,
                                struct claim_watch **ret_watch, struct berth_err *err);

/* Stops watching all. The loop closes the handles and frees the memory later. NULL is fine. */
void claim_watch_close(struct claim_watch *watch);

/* Watches a claim's owner, if it has one. A NULL watch does nothing. Fails with ABSENT when the
 * owner has ended, and UNAVAILABLE when this kernel has no pidfd_open (before Linux 5.3). Fails
 * with IO when too many files are open, and NO_MEMORY. */
enum berth_code claim_watch_add(struct claim_watch *watch, const struct claim *claim,
                                struct berth_err *err);

/* fine when it is not watched, and for NULL */
void claim_watch_remove(struct claim_watch *watch, const char *id);
