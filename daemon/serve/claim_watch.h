/**
 * Waits for the owners of claims to end: processes by their pidfd, cgroups by a change of their
 * cgroup.events. The kernel tells; nothing is looked at in the meantime. Loop thread only.
 */
#pragma once
#include <uv.h>

#include "base/err.h"
#include "base/files.h"
#include "claim/claim.h"

struct claim_watch;

/* ended is called when the owner of the claim of that id is gone, from the loop; the id is
 * borrowed. The claim stays watched until claim_watch_remove. NO_MEMORY. */
enum berth_code claim_watch_new(uv_loop_t *loop, const struct files *io,
                                void (*ended)(void *arg, const char *id), void *arg,
                                struct claim_watch **ret_watch, struct berth_err *err);

/* Forgets them all; the last handle is closed, and the memory freed, as the loop goes on. NULL is
 * fine. */
void claim_watch_close(struct claim_watch *watch);

/* A claim without an owner needs no watching. ABSENT when the owner has ended already; UNAVAILABLE
 * when this kernel cannot tell the end of a process (before Linux 5.3); IO when there are too many
 * files open; NO_MEMORY. */
enum berth_code claim_watch_add(struct claim_watch *watch, const struct claim *claim,
                                struct berth_err *err);

/* fine when it is not watched */
void claim_watch_remove(struct claim_watch *watch, const char *id);
