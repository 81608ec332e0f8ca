/**
 * Keeps the claims of this node: has them stored, ends them when their time or their owner does,
 * and holds back measuring while one is for computing. Loop thread only.
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
    struct log_limit *log; /* NULL: no limit */
};

/* Takes up what is stored: a claim whose boot, time or owner is over has ended. Comes before
 * sched_begin. NO_MEMORY. */
enum berth_code claim_keep_new(const struct claim_keep_env *env, struct claim_keep **ret_keep,
                               struct berth_err *err);

/* Waits for nobody any more, and stores what has not been stored; before sched_stop. The claims
 * stand: they are there again at the next start. claim_keep_free may follow when the loop has
 * ended. NULL is fine for both. */
void claim_keep_stop(struct claim_keep *keep);
void claim_keep_free(struct claim_keep *keep);

/* borrowed; as they are now */
const struct claim_set *claim_keep_claims(const struct claim_keep *keep);
/* its deadline by the wall clock of now */
int64_t claim_keep_expires_at_s(const struct claim_keep *keep, const struct claim *claim);

/* Whether claim_keep_add would take it now, an owner that has ended meanwhile apart; fails as that
 * does, and nothing has changed. ret_jobs_matter: claim_jobs_check is to pass before it is added.
 */
enum berth_code claim_keep_check(struct claim_keep *keep, const struct claim *spec, int64_t ttl_s,
                                 bool *ret_jobs_matter, struct berth_err *err);

/* Makes the claim that spec describes, whose id and deadline are filled in here, or renews one:
 * claim_set_add. ttl_s is cut to the configured one; over that of an ordinary user's claim without
 * an owner it is INVALID_PARAMETER. An administrator's ends what claim_set_overridden tells. Fails
 * as claim_set_add and claim_watch_add do, in this order, and nothing has changed then; an owner
 * that has ended meanwhile is NO_SUCH_OWNER. */
enum berth_code claim_keep_add(struct claim_keep *keep, const struct claim *spec, int64_t ttl_s,
                               const struct claim **ret_claim, struct berth_err *err);

void claim_keep_release(struct claim_keep *keep, const struct claim *claim);

/* Keeps Bind's plan under a claim, see claim_set_keep_plan. */
bool claim_keep_plan(struct claim_keep *keep, const struct claim *claim, const char *asked,
                     const char *answered);

/* The outcome that answers with take_result once all changes until now are stored, or storing them
 * has failed and it was said in the log; and, while a claim is for computing, once no probe is
 * alive any more. says_stored: with a member "stored", whether they would outlive this process.
 * unless_told is released when the caller has hung up before (NULL nothing): nobody else knows of
 * it. NO_MEMORY. */
enum berth_code claim_keep_answer(struct claim_keep *keep, json_t *take_result, bool says_stored,
                                  const struct claim *unless_told, struct outcome *ret,
                                  struct berth_err *err);
