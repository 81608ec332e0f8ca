/**
 * The claims of this node. Has them stored, ends them with their deadline or owner, and holds
 * measuring back during a claim for computing. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/err.h"
#include "base/files.h"
#include "base/log_limit.h"
#include "claim/set.h"
#include "varlink/method.h"
#include "varlink/notifier.h"

struct claim_keep;
struct sched;

struct claim_keep_env {
    uv_loop_t *loop;
    const struct clock *clock;
    const struct files *io;
    const struct config *config; /* may change between calls */
    struct notifier *notifier;
    struct sched *sched;
    struct log_limit *log; /* NULL no limit */
};

/* Loads the stored claims; those whose boot, deadline or owner has ended are dropped. While the
 * database cannot be read, stores nothing. Once it can, adds its claims to those made meanwhile,
 * and drops stored ones that collide. Call it before sched_begin. Fails with NO_MEMORY. */
enum berth_code claim_keep_new(const struct claim_keep_env *env, struct claim_keep **ret_keep,
                               struct berth_err *err);

/* Stops waiting for owners and deadlines, and stores changes; call it before sched_stop. The claims
 * continue at the next start. Call claim_keep_free after the loop has ended. NULL is fine for
 * both. */
void claim_keep_stop(struct claim_keep *keep);
void claim_keep_free(struct claim_keep *keep);

/* borrowed; current state */
const struct claim_set *claim_keep_claims(const struct claim_keep *keep);

/* Generation of the claims in force, which answers name beside the snapshot's id. */
uint64_t claim_keep_generation(const struct claim_keep *keep);
/* its deadline by the current wall clock */
int64_t claim_keep_expires_at_s(const struct claim_keep *keep, const struct claim *claim);

/* Fails if claim_keep_add would fail now, except for an owner that ends meanwhile. Changes nothing.
 * *ret_jobs_matter: claim_jobs_check must succeed before the claim is added. */
enum berth_code claim_keep_check(struct claim_keep *keep, const struct claim *spec, int64_t ttl_s,
                                 bool *ret_jobs_matter, struct berth_err *err);

/* Makes a claim from spec, with a new id and deadline, or renews one: claim_set_add. Claims that
 * wait for its GPUs hold a profiling claim back: ALREADY_CLAIMED. An administrator's is held back
 * by administrators' alone; the one with the id in spec, by earlier ones. Cuts ttl_s to the
 * configured maximum. For an ordinary user's claim without owner a ttl_s above its limit is
 * INVALID_PARAMETER. An administrator's claim ends those from claim_set_overridden. Fails as
 * claim_set_add, then as claim_watch_add, without change; an owner that has ended meanwhile is
 * NO_SUCH_OWNER. */
enum berth_code claim_keep_add(struct claim_keep *keep, const struct claim *spec, int64_t ttl_s,
                               const struct claim **ret_claim, struct berth_err *err);

void claim_keep_release(struct claim_keep *keep, const struct claim *claim);

/* ---- claims that wait ---- */

/* The claims that wait for their GPUs, in the order of arrival; deadline_ns is the end of waiting.
 * Borrowed; current state. They are not stored. */
const struct claim_set *claim_keep_waiting(const struct claim_keep *keep);

/* Lets a claim wait, at most wait_s; claim_keep_leave must follow. ret_id: its id among those that
 * wait. Fails with NOT_ENOUGH (waiting claims), NO_MEMORY, and UNAVAILABLE when the daemon ends. */
enum berth_code claim_keep_wait(struct claim_keep *keep, const struct claim *spec, int64_t wait_s,
                                char ret_id[CLAIM_ID_SIZE], struct berth_err *err);

/* A claim in the way of another one. */
struct claim_obstacle {
    char id[CLAIM_ID_SIZE], place[CLAIM_PLACE_SIZE];
    bool is_waiting; /* it waits, too, and came earlier */
};

/* Looks for a claim in the way of the waiting one. Succeeds when there is none, or when the user
 * has a claim under its key: claim_keep_add then grants or refuses it. Fails with ALREADY_CLAIMED
 * and *ret; NO_MEMORY. */
enum berth_code claim_keep_look(const struct claim_keep *keep, const struct claim *waiting,
                                struct claim_obstacle *ret, struct berth_err *err);

/* Ends waiting; fine when it has ended. */
void claim_keep_leave(struct claim_keep *keep, const char *id);

/* Ends waiting of all claims, because the daemon ends. */
void claim_keep_end_waits(struct claim_keep *keep);
bool claim_keep_is_ending(const struct claim_keep *keep);

/* True while the stored claims could not be read yet. */
bool claim_keep_is_unread(const struct claim_keep *keep);

/* Releases a key whose claim may be in the database while that cannot be read. Keeps a limited
 * number of keys for each user. Does nothing once the database was read. */
void claim_keep_release_unread(struct claim_keep *keep, uid_t uid, const char *key);

/* Stores Bind's plan under a claim: claim_set_keep_plan. */
bool claim_keep_plan(struct claim_keep *keep, const struct claim *claim, const char *asked,
                     const char *answered);

/* Makes an outcome that answers with take_result when all changes so far are stored, or storing has
 * failed and was logged. During a claim for computing it also waits until no probe is alive.
 * says_stored: adds the member "stored", true if the changes outlive this process. If the caller
 * hangs up before the answer, releases unless_sent (NULL none), because nobody else knows that
 * claim. Fails with NO_MEMORY. */
enum berth_code claim_keep_answer(struct claim_keep *keep, json_t *take_result, bool says_stored,
                                  const struct claim *unless_sent, struct outcome *ret,
                                  struct berth_err *err);
