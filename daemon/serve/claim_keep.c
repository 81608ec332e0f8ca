#include "serve/claim_keep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/grow.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "claim/jobs.h"
#include "claim/owner.h"
#include "claim/permission.h"
#include "measure/sched.h"
#include "serve/claim_watch.h"
#include "store/claim.h"

#define STORE_AGAIN_S 10
/* a distant deadline is checked once a day, so that no product overflows */
#define TIMER_MAX_S       86400
#define RELEASED_PER_USER 1024

/*
 * Invariants:
 * 1. A claim is watched exactly if it has an owner.
 * 2. The scheduler has followed every change of the claims.
 * 3. The timer runs exactly while there is a claim, also a waiting one, or something that could not
 *    be stored.
 * 4. While is_unread, nothing is written to the store.
 */
struct claim_keep {
    struct claim_keep_env env;
    struct claim_set claims;
    struct claim_set waiting; /* in the order of arrival */
    struct claim_watch *watch;
    uv_timer_t timer;
    bool ending, stopping; /* ending: no claim waits any more */
    struct notifier_listener listener;

    bool is_unread; /* the stored claims could not be read yet */
    struct {
        uid_t uid;
        char *key;
    } * released; /* ended while is_unread */
    size_t released_count;

    bool saving, failed;
    uint64_t tried; /* generation of the last attempt to store, successful or not */
    uint64_t saves; /* number of ended attempts */
    uint64_t kept;  /* generation in the file, which outlives this process */
    /* store_files when that was begun; another number: store again */
    uint64_t files;
};

/* References to the claims to write, so that the set may change meanwhile. */
struct save {
    struct sched_job job; /* first */
    struct claim_keep *keep;
    struct claim **claims;
    size_t count;
    uint64_t generation, files;
    bool reads;   /* loads the stored claims into stored and ended, instead of saving */
    bool is_last; /* at the daemon's end */
    struct claim_set stored;
    size_t ended;
    bool is_lasting;
    enum berth_code code;
    struct berth_err err;
};

/* ---- storing ---- */

static void save_free(struct save *save)
{
    for (size_t i = 0; i < save->count; i++)
        claim_unref(save->claims[i]);
    free(save->claims);
    claim_set_done(&save->stored);
    free(save);
}

static void read_work(struct save *save, struct store *store)
{
    if (save->is_last)
        store_retry(store, true);
    save->files = store_files(store);
    save->code = store_load_claims(store, &save->stored, &save->ended, &save->err);
}

/* A broken file was set aside: the claims read from it are all that is left. */
static bool is_read(enum berth_code code) { return code == BERTH_OK || code == BERTH_BAD_DATA; }

static void save_work(struct sched_job *job, struct store *store)
{
    enum { TRIES = 3 };
    struct save *save = (struct save *)job;
    if (save->reads) {
        read_work(save, store);
        return;
    }
    /* If the file was found broken, truncated or gone, it is another one now: write to that. */
    bool again = true;
    for (int i = 0; i < TRIES && again; i++) {
        save->err = (struct berth_err){0};
        save->files = store_files(store);
        save->code =
            store_save_claims(store, save->claims, save->count, save->generation, &save->err);
        again = save->code == BERTH_BAD_DATA ||
                (save->code == BERTH_OK && store_files(store) != save->files);
    }
    save->is_lasting = save->code == BERTH_OK && store_files(store) == save->files &&
                       store_state(store) != STORE_MEMORY_ONLY;
}

static void set_timer(struct claim_keep *keep);
static void store_claims(struct claim_keep *keep);
static void changed(struct claim_keep *keep);
static enum berth_code join(struct claim_keep *keep, const struct claim_set *stored, size_t ended,
                            struct berth_err *err);

/* True when the store has changed its database since claims were last stored: they may not be in
 * it. */
static bool has_moved(const struct claim_keep *keep)
{
    return store_files(sched_store(keep->env.sched)) != keep->files;
}

static void forget_released(struct claim_keep *keep)
{
    while (keep->released_count > 0)
        free(keep->released[--keep->released_count].key);
    free(keep->released);
    keep->released = NULL;
}

/* Adds the claims that a job has read. Returns true when the stored claims are known now. */
static bool take_stored(struct claim_keep *keep, struct save *save)
{
    if (!save->reads || !is_read(save->code))
        return false;
    if (save->code != BERTH_OK)
        log_line(LOG_LEVEL_WARNING, "stored claims could not be read: %s", save->err.detail);
    save->err = (struct berth_err){0};
    save->code = join(keep, &save->stored, save->ended, &save->err);
    if (save->code != BERTH_OK)
        return false;
    keep->is_unread = false;
    forget_released(keep);
    return true;
}

static void save_done(struct sched_job *job)
{
    struct save *save = (struct save *)job;
    struct claim_keep *keep = save->keep;
    keep->saving = false;
    if (take_stored(keep, save)) {
        keep->files = save->files;
        keep->claims.generation++;
        save_free(save);
        changed(keep);
        return;
    }
    bool is_failed = save->code != BERTH_OK &&
                     (save->count > 0 || !save->reads || save->code == BERTH_NO_MEMORY);
    if (is_failed && !keep->failed)
        log_line(LOG_LEVEL_WARNING,
                 "claims are in force but not stored, a restart would lose them: %s",
                 save->err.detail);
    keep->failed = is_failed;
    keep->saves++;
    keep->tried = save->generation;
    keep->files = save->files;
    if (save->is_lasting)
        keep->kept = save->generation;
    else if (keep->kept == save->generation)
        keep->kept = 0; /* the file is gone */
    save_free(save);
    if (keep->tried != keep->claims.generation || (!keep->failed && has_moved(keep)))
        store_claims(keep);
    set_timer(keep);
    notifier_wake(keep->env.notifier);
}

static struct save *save_new(struct claim_keep *keep)
{
    struct save *save = calloc(1, sizeof *save);
    if (save == NULL)
        return NULL;
    *save = (struct save){.job = {.work = save_work, .done = save_done},
                          .keep = keep,
                          .reads = keep->is_unread,
                          .is_last = keep->stopping,
                          .generation = keep->claims.generation};
    save->claims = calloc(keep->claims.count + 1, sizeof *save->claims);
    if (save->claims == NULL) {
        free(save);
        return NULL;
    }
    for (; save->count < keep->claims.count; save->count++)
        save->claims[save->count] = claim_ref(keep->claims.item[save->count]);
    return save;
}

/* Stores the claims, one job at a time; the next job stores later changes together. */
static void store_claims(struct claim_keep *keep)
{
    if (keep->saving)
        return;
    struct save *save = save_new(keep);
    if (save == NULL) {
        log_line(LOG_LEVEL_WARNING, "claims are in force but not stored: out of memory");
        keep->failed = true;
        keep->saves++;
        keep->tried = keep->claims.generation;
        return;
    }
    keep->saving = true;
    sched_add_job(keep->env.sched, &save->job);
}

/* ---- effects of a change ---- */

/* True when the log accepts another line about that user's claims. */
static bool may_log(struct claim_keep *keep, const struct claim *claim)
{
    return log_limit_allows(keep->env.log, claim->uid, "claims");
}

static void timer_due(uv_timer_t *timer);

static void set_timer(struct claim_keep *keep)
{
    uint64_t deadline_ns = claim_set_next_deadline(&keep->claims),
             waits_ns = claim_set_next_deadline(&keep->waiting),
             now_ns = clock_mono_ns(keep->env.clock);
    if (waits_ns < deadline_ns)
        deadline_ns = waits_ns;
    uint64_t wait_ms = deadline_ns == UINT64_MAX ? UINT64_MAX
                       : deadline_ns <= now_ns   ? 0
                                                 : (deadline_ns - now_ns) / 1000000 + 1;
    if (keep->failed && wait_ms > STORE_AGAIN_S * 1000)
        wait_ms = STORE_AGAIN_S * 1000;
    if (keep->stopping)
        return;
    if (wait_ms == UINT64_MAX)
        uv_timer_stop(&keep->timer);
    else
        uv_timer_start(&keep->timer, timer_due,
                       wait_ms < TIMER_MAX_S * 1000 ? wait_ms : TIMER_MAX_S * 1000, 0);
}

static void changed(struct claim_keep *keep)
{
    if (BERTH_DEBUG)
        claim_set_check(&keep->claims, NULL);
    if (keep->stopping) {
        store_claims(keep);
        return;
    }
    store_claims(keep);
    sched_follow_claims(keep->env.sched, &keep->claims, !keep->is_unread);
    set_timer(keep);
    notifier_wake(keep->env.notifier);
}

static void timer_due(uv_timer_t *timer)
{
    struct claim_keep *keep = timer->data;
    char id[CLAIM_ID_SIZE];
    bool any = false;
    uint64_t now_ns = clock_mono_ns(keep->env.clock);
    for (size_t i = 0; i < keep->claims.count; i++) {
        const struct claim *claim = keep->claims.item[i];
        if (claim->deadline_ns > now_ns)
            continue;
        if (claim->key != NULL)
            claim_keep_release_unread(keep, claim->uid, claim->key);
        if (may_log(keep, claim))
            log_line(LOG_LEVEL_INFO, "claim %s has ended with its time", claim->id);
    }
    while (claim_set_expire_one(&keep->claims, now_ns, id)) {
        claim_watch_remove(keep->watch, id);
        any = true;
    }
    bool has_waited = false;
    while (claim_set_expire_one(&keep->waiting, now_ns, id))
        has_waited = true;
    if (any)
        changed(keep);
    else if (keep->failed)
        store_claims(keep);
    set_timer(keep);
    if (has_waited && !any)
        notifier_wake(keep->env.notifier);
}

static void owner_ended(void *arg, const char *id)
{
    struct claim_keep *keep = arg;
    const struct claim *claim = claim_set_find(&keep->claims, id);
    if (claim == NULL)
        return;
    if (may_log(keep, claim))
        log_line(LOG_LEVEL_INFO, "claim %s has ended with %s", id,
                 claim->owner.pid != 0 ? "its process" : "its cgroup");
    claim_keep_release(keep, claim);
}

static void woken(struct notifier_listener *listener)
{
    struct claim_keep *keep =
        (struct claim_keep *)((char *)listener - offsetof(struct claim_keep, listener));
    if (!keep->stopping && (keep->claims.count > 0 || keep->is_unread) && has_moved(keep))
        store_claims(keep);
}

/* ---- start and end ---- */

static bool is_over(struct claim_keep *keep, const struct claim *claim, uint64_t now_ns)
{
    return claim->deadline_ns <= now_ns || !claim_owner_lives(keep->env.io, &claim->owner);
}

static bool was_released(const struct claim_keep *keep, uid_t uid, const char *key)
{
    for (size_t i = 0; i < keep->released_count && key != NULL; i++)
        if (keep->released[i].uid == uid && strcmp(keep->released[i].key, key) == 0)
            return true;
    return false;
}

static void end_overridden(struct claim_keep *keep, const struct claim *claim,
                           const struct claim *before);

/* Checks a stored claim against those made since this start, and logs a collision. An
 * administrator's claim ends those of ordinary users. */
static bool may_stand(struct claim_keep *keep, const struct claim *stored, struct berth_err *err)
{
    struct berth_err why = {0};
    char by[96];
    claim_describe(stored, by, sizeof by);
    if (was_released(keep, stored->uid, stored->key)) {
        log_line(LOG_LEVEL_INFO, "stored claim %s has ended: its key was released meanwhile", by);
        return false;
    }
    enum berth_code code =
        claim_set_check_stored(&keep->claims, sched_snapshot(keep->env.sched)->graph, stored, &why);
    if (code == BERTH_OK)
        end_overridden(keep, stored, NULL);
    else if (code == BERTH_NO_MEMORY)
        err_set(err, code, "%s", why.detail);
    else
        log_line(LOG_LEVEL_WARNING, "stored claim %s has ended: %s is claimed already, by %s", by,
                 why.arg[0].text, why.arg[1].text);
    return code == BERTH_OK;
}

/* Finds the stored claims in force, of administrators or of others. */
static void find_standing(struct claim_keep *keep, const struct claim_set *stored, bool is_admins,
                          bool *stands, struct berth_err *err)
{
    uint64_t now_ns = clock_mono_ns(keep->env.clock);
    for (size_t i = 0; i < stored->count && err->code == BERTH_OK; i++) {
        if (stored->item[i]->is_admins != is_admins)
            continue;
        /* the configuration may have changed, or another program the row; nobody else has seen
         * the claim yet */
        claim_cut_deadline(keep->env.config, stored->item[i], now_ns);
        stands[i] =
            !is_over(keep, stored->item[i], now_ns) && may_stand(keep, stored->item[i], err);
    }
}

/* Adds the stored claims that are in force. After NO_MEMORY only some are added. */
static enum berth_code join(struct claim_keep *keep, const struct claim_set *stored, size_t ended,
                            struct berth_err *err)
{
    bool *stands = calloc(stored->count + 1, sizeof *stands);
    size_t count = 0;
    if (stands == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for claims");
    /* administrators' first: they end claims that would end stored ones of others */
    find_standing(keep, stored, true, stands, err);
    find_standing(keep, stored, false, stands, err);
    for (size_t i = 0; i < stored->count && err->code == BERTH_OK; i++) {
        struct berth_err not_watched = {0};
        const struct claim *claim = stored->item[i];
        if (!stands[i] || claim_watch_add(keep->watch, claim, &not_watched) != BERTH_OK)
            continue;
        count++;
        if (!claim_set_restore(&keep->claims, claim)) {
            claim_watch_remove(keep->watch, claim->id);
            err_set(err, BERTH_NO_MEMORY, "no memory for claims");
        }
    }
    free(stands);
    if (keep->claims.generation < stored->generation)
        keep->claims.generation = stored->generation;
    if (err->code != BERTH_OK)
        return err->code;
    if (ended > 0)
        log_line(LOG_LEVEL_INFO, "claims of another boot: %zu, ended with it", ended);
    if (stored->count > 0)
        log_line(LOG_LEVEL_INFO, "claims stored: %zu, still in force: %zu", stored->count, count);
    return BERTH_OK;
}

static enum berth_code take_up(struct claim_keep *keep, struct berth_err *err)
{
    struct claim_set stored = {0};
    struct berth_err why = {0};
    size_t ended = 0;
    keep->files = store_files(sched_store(keep->env.sched));
    enum berth_code code = store_load_claims(sched_store(keep->env.sched), &stored, &ended, &why);
    if (code == BERTH_NO_MEMORY)
        err_set(err, code, "%s", why.detail);
    else if (code != BERTH_OK)
        log_line(LOG_LEVEL_WARNING, "stored claims could not be read: %s", why.detail);
    keep->is_unread = !is_read(code);
    if (is_read(code))
        join(keep, &stored, ended, err);
    keep->tried = keep->kept = keep->claims.generation;
    /* the next save deletes those that have ended */
    if (ended > 0 || keep->claims.count < stored.count)
        keep->claims.generation++;
    claim_set_done(&stored);
    return err->code;
}

enum berth_code claim_keep_new(const struct claim_keep_env *env, struct claim_keep **ret_keep,
                               struct berth_err *err)
{
    struct claim_keep *keep = calloc(1, sizeof *keep);
    if (keep == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for claims");
    keep->env = *env;
    enum berth_code code =
        claim_watch_new(env->loop, env->io, owner_ended, keep, &keep->watch, err);
    if (code == BERTH_OK)
        code = take_up(keep, err);
    if (code != BERTH_OK) {
        claim_watch_close(keep->watch);
        claim_set_done(&keep->claims);
        free(keep);
        return code;
    }
    uv_timer_init(env->loop, &keep->timer);
    keep->timer.data = keep;
    keep->listener.woken = woken;
    notifier_listen(env->notifier, &keep->listener);
    if (keep->tried != keep->claims.generation || keep->claims.count > 0)
        changed(keep);
    else
        sched_follow_claims(env->sched, &keep->claims, !keep->is_unread);
    *ret_keep = keep;
    return BERTH_OK;
}

void claim_keep_stop(struct claim_keep *keep)
{
    if (keep == NULL || keep->stopping)
        return;
    keep->stopping = true;
    if (keep->claims.count > 0 || keep->tried != keep->claims.generation || keep->failed ||
        keep->is_unread)
        /* storing again is cheap, and a lost file may be unnoticed */
        store_claims(keep);
    notifier_leave(keep->env.notifier, &keep->listener);
    claim_watch_close(keep->watch);
    keep->watch = NULL;
    uv_close((uv_handle_t *)&keep->timer, NULL);
}

void claim_keep_free(struct claim_keep *keep)
{
    if (keep == NULL)
        return;
    claim_set_done(&keep->claims);
    claim_set_done(&keep->waiting);
    forget_released(keep);
    free(keep);
}

/* ---- queries and changes ---- */

const struct claim_set *claim_keep_claims(const struct claim_keep *keep) { return &keep->claims; }

uint64_t claim_keep_generation(const struct claim_keep *keep) { return keep->claims.generation; }

int64_t claim_keep_expires_at_s(const struct claim_keep *keep, const struct claim *claim)
{
    uint64_t now_ns = clock_mono_ns(keep->env.clock);
    uint64_t left_ns = claim->deadline_ns > now_ns ? claim->deadline_ns - now_ns : 0;
    return clock_now_s(keep->env.clock) + (int64_t)((left_ns + 500000000u) / 1000000000u);
}

/* Makes an id for users to type: random, so that it repeats none of this daemon or the last one. */
static void make_id(const struct claim_keep *keep, char letter, char id[CLAIM_ID_SIZE])
{
    uint32_t number = (uint32_t)clock_mono_ns(keep->env.clock);
    do {
        if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
            number = number * 1664525u + 1013904223u; /* no random numbers yet, early in the boot */
        snprintf(id, CLAIM_ID_SIZE, "%c%08" PRIx32, letter, number);
    } while (claim_set_find(&keep->claims, id) != NULL ||
             claim_set_find(&keep->waiting, id) != NULL);
}

static enum berth_code watch_owner(struct claim_keep *keep, const struct claim *claim,
                                   struct berth_err *err)
{
    struct berth_err why = {0};
    enum berth_code code = claim_watch_add(keep->watch, claim, &why);
    if (code == BERTH_OK)
        return code;
    if (code != BERTH_ABSENT)
        return err_set(err, code, "%s", why.detail);
    err_text(err, 0, claim->owner.pid != 0 ? "owner_pid" : "owner_cgroup");
    return err_set(err, BERTH_NO_SUCH_OWNER, "%s", why.detail);
}

static void log_change(struct claim_keep *keep, const struct claim *claim,
                       const struct claim *before)
{
    char by[96];
    if (!may_log(keep, claim))
        return;
    claim_describe(claim, by, sizeof by);
    if (before == NULL)
        log_line(LOG_LEVEL_INFO, "claim %s: %s of %.120s", by, claim_purpose_name(claim->purpose),
                 claim->places);
    else if (strcmp(before->places, claim->places) != 0)
        log_line(LOG_LEVEL_INFO, "claim %s: now of %.120s", by, claim->places);
}

/* Ends ordinary users' claims that share a resource with an administrator's new claim. */
static void end_overridden(struct claim_keep *keep, const struct claim *claim,
                           const struct claim *before)
{
    const struct graph *graph = sched_snapshot(keep->env.sched)->graph;
    const struct claim *other;
    while (claim->is_admins &&
           (other = claim_set_overridden(&keep->claims, graph, claim, before)) != NULL) {
        char by[96], ended[96];
        claim_describe(claim, by, sizeof by);
        claim_describe(other, ended, sizeof ended);
        log_line(LOG_LEVEL_WARNING, "claim %s has ended: an administrator's covers its places, %s",
                 ended, by);
        if (other->key != NULL)
            claim_keep_release_unread(keep, other->uid, other->key);
        claim_watch_remove(keep->watch, other->id);
        claim_set_remove(&keep->claims, other);
    }
}

/* True when the request names other places than the claim that it renews (NULL none). */
static bool is_more(const struct claim *asked, const struct claim *before)
{
    return before == NULL || strcmp(before->places, asked->places) != 0;
}

/* Checks a claim against those that wait: all, or those earlier than the one with its id. */
static enum berth_code check_earlier(const struct claim_keep *keep, const struct claim *asked,
                                     bool is_patient, const struct claim **ret_by,
                                     struct berth_err *err)
{
    struct berth_err why = {0};
    const struct claim *by = NULL;
    enum berth_code code =
        claim_set_in_the_way(&keep->waiting, sched_snapshot(keep->env.sched)->graph, asked,
                             claim_set_find(&keep->waiting, asked->id), is_patient, &by, &why);
    if (code != BERTH_ALREADY_CLAIMED)
        return code == BERTH_OK ? code : err_set(err, code, "%s", why.detail);
    err_text(err, 0, why.arg[0].text);
    err_text(err, 1, why.arg[1].text);
    if (ret_by != NULL)
        *ret_by = by;
    return err_set(err, code, "%s is wanted by an earlier request that waits for it, %s%s",
                   why.arg[0].text, why.arg[1].text,
                   by->uid == asked->uid ? ", a request of your own" : "");
}

/* A claim added on trial, with the one that it replaced; not visible to others. */
struct attempt {
    const struct claim *claim;
    struct claim *before; /* NULL none; a reference */
};

static void undo(struct claim_keep *keep, struct attempt *attempt)
{
    if (attempt->before != NULL)
        claim_set_undo_replace(&keep->claims, attempt->claim, attempt->before);
    else
        claim_set_undo_add(&keep->claims, attempt->claim);
}

static enum berth_code add_on_trial(struct claim_keep *keep, const struct claim *asked,
                                    int64_t ttl_s, struct attempt *ret, struct berth_err *err)
{
    const struct config *config = keep->env.config;
    struct claim spec = *asked;
    struct claim_limits limits = {(size_t)config->claims_per_user, (size_t)config->claims_in_all,
                                  asked->is_admins};
    const struct claim *stands =
        asked->key != NULL ? claim_set_find_key(&keep->claims, asked->uid, asked->key) : NULL;
    ret->before = stands != NULL ? claim_ref((struct claim *)stands) : NULL;
    ttl_s = ttl_s < config->claim_ttl_max_s ? ttl_s : config->claim_ttl_max_s;
    spec.deadline_ns = clock_mono_ns(keep->env.clock) + (uint64_t)ttl_s * 1000000000u;
    make_id(keep, 'c', spec.id);
    enum berth_code code = claim_check_ttl(config, asked, ret->before, ttl_s, err);
    if (code == BERTH_OK)
        code = claim_set_add(&keep->claims, sched_snapshot(keep->env.sched)->graph, &spec, &limits,
                             &ret->claim, err);
    if (code != BERTH_OK) {
        claim_unref(ret->before);
        return code;
    }
    if (asked->purpose == CLAIM_PROFILING && is_more(ret->claim, ret->before))
        code = check_earlier(keep, asked, false, NULL, err);
    if (code != BERTH_OK)
        undo(keep, ret);
    return code;
}

enum berth_code claim_keep_check(struct claim_keep *keep, const struct claim *spec, int64_t ttl_s,
                                 bool *ret_jobs_matter, struct berth_err *err)
{
    struct attempt attempt;
    enum berth_code code = add_on_trial(keep, spec, ttl_s, &attempt, err);
    if (code != BERTH_OK)
        return code;
    *ret_jobs_matter =
        claim_jobs_matter(sched_snapshot(keep->env.sched)->graph, attempt.claim, attempt.before);
    undo(keep, &attempt);
    return BERTH_OK;
}

enum berth_code claim_keep_add(struct claim_keep *keep, const struct claim *spec, int64_t ttl_s,
                               const struct claim **ret_claim, struct berth_err *err)
{
    struct attempt attempt;
    enum berth_code code = add_on_trial(keep, spec, ttl_s, &attempt, err);
    if (code != BERTH_OK)
        return code;
    if (!claim_has_owner(attempt.before) &&
        (code = watch_owner(keep, attempt.claim, err)) != BERTH_OK) {
        undo(keep, &attempt);
        return code;
    }
    log_change(keep, attempt.claim, attempt.before);
    end_overridden(keep, attempt.claim, attempt.before);
    claim_unref(attempt.before);
    changed(keep);
    *ret_claim = attempt.claim;
    return BERTH_OK;
}

/* ---- claims that wait ---- */

const struct claim_set *claim_keep_waiting(const struct claim_keep *keep) { return &keep->waiting; }

bool claim_keep_is_ending(const struct claim_keep *keep) { return keep->ending; }

enum berth_code claim_keep_wait(struct claim_keep *keep, const struct claim *spec, int64_t wait_s,
                                char ret_id[CLAIM_ID_SIZE], struct berth_err *err)
{
    const struct config *config = keep->env.config;
    struct claim_limits limits = {(size_t)config->waiting_claims_per_user,
                                  (size_t)config->waiting_claims_in_all, false};
    struct claim waiting = *spec;
    const struct claim *claim = NULL;
    if (keep->ending)
        return err_set(err, BERTH_UNAVAILABLE, "the daemon ends; nothing was claimed");
    waiting.deadline_ns = clock_mono_ns(keep->env.clock) + (uint64_t)wait_s * 1000000000u;
    make_id(keep, 'w', waiting.id);
    enum berth_code code = claim_set_queue(&keep->waiting, &waiting, &limits, &claim, err);
    if (code != BERTH_OK)
        return code;
    memcpy(ret_id, claim->id, CLAIM_ID_SIZE);
    set_timer(keep);
    return BERTH_OK;
}

enum berth_code claim_keep_look(const struct claim_keep *keep, const struct claim *waiting,
                                struct claim_obstacle *ret, struct berth_err *err)
{
    const struct claim *by = NULL;
    if (waiting->key != NULL &&
        claim_set_find_key(&keep->claims, waiting->uid, waiting->key) != NULL)
        return BERTH_OK;
    enum berth_code code = claim_set_in_the_way(
        &keep->claims, sched_snapshot(keep->env.sched)->graph, waiting, NULL, true, &by, err);
    bool is_waiting = code == BERTH_OK;
    if (code == BERTH_OK)
        code = check_earlier(keep, waiting, true, &by, err);
    if (code != BERTH_ALREADY_CLAIMED)
        return code;
    *ret = (struct claim_obstacle){.is_waiting = is_waiting};
    memcpy(ret->id, by->id, sizeof ret->id);
    snprintf(ret->place, sizeof ret->place, "%.*s", (int)sizeof ret->place - 1, err->arg[0].text);
    return code;
}

void claim_keep_leave(struct claim_keep *keep, const char *id)
{
    const struct claim *claim = claim_set_find(&keep->waiting, id);
    if (claim == NULL)
        return;
    claim_set_remove(&keep->waiting, claim);
    if (keep->ending)
        return;
    set_timer(keep);
    notifier_wake(keep->env.notifier);
}

void claim_keep_end_waits(struct claim_keep *keep)
{
    keep->ending = true;
    claim_set_done(&keep->waiting);
}

/* ---- ends ---- */

void claim_keep_release_unread(struct claim_keep *keep, uid_t uid, const char *key)
{
    size_t count = 0;
    for (size_t i = 0; i < keep->released_count; i++)
        count += keep->released[i].uid == uid;
    if (!keep->is_unread || was_released(keep, uid, key) || count >= RELEASED_PER_USER)
        return;
    char *copy = strdup(key);
    if (copy == NULL ||
        !grow_by_one(&keep->released, keep->released_count, sizeof *keep->released)) {
        free(copy);
        return;
    }
    keep->released[keep->released_count].uid = uid;
    keep->released[keep->released_count++].key = copy;
}

bool claim_keep_is_unread(const struct claim_keep *keep) { return keep->is_unread; }

void claim_keep_release(struct claim_keep *keep, const struct claim *claim)
{
    if (claim->key != NULL)
        claim_keep_release_unread(keep, claim->uid, claim->key);
    claim_watch_remove(keep->watch, claim->id);
    claim_set_remove(&keep->claims, claim);
    changed(keep);
}

bool claim_keep_plan(struct claim_keep *keep, const struct claim *claim, const char *asked,
                     const char *answered)
{
    if (!claim_set_keep_plan(&keep->claims, claim, asked, answered))
        return false;
    changed(keep);
    return true;
}

/* ---- answers after storing ---- */

struct pending {
    struct claim_keep *keep;
    uint64_t generation, saves; /* to wait for before the answer */
    json_t *result;
    bool says_stored, is_sent;
    char unless_sent[CLAIM_ID_SIZE];
};

static enum stream_step next_answer(void *state, json_t **ret_reply, struct berth_err *err)
{
    struct pending *pending = state;
    const struct claim_keep *keep = pending->keep;
    (void)err;
    if (keep->tried < pending->generation || keep->saves < pending->saves ||
        sched_is_yielding(keep->env.sched))
        return STREAM_WAIT;
    if (pending->says_stored) /* omitted when out of memory */
        json_object_set_new(pending->result, "stored",
                            json_boolean(!keep->is_unread && keep->kept >= pending->generation));
    pending->is_sent = true;
    *ret_reply = json_incref(pending->result);
    return STREAM_LAST;
}

static void free_pending(void *state)
{
    struct pending *pending = state;
    struct claim_keep *keep = pending->keep;
    const struct claim *claim = pending->is_sent || keep->stopping
                                    ? NULL
                                    : claim_set_find(&keep->claims, pending->unless_sent);
    if (claim != NULL) {
        if (may_log(keep, claim))
            log_line(LOG_LEVEL_INFO,
                     "claim %s has ended: who asked for it hung up before the answer", claim->id);
        claim_keep_release(keep, claim);
    }
    json_decref(pending->result);
    free(pending);
}

enum berth_code claim_keep_answer(struct claim_keep *keep, json_t *take_result, bool says_stored,
                                  const struct claim *unless_sent, struct outcome *ret,
                                  struct berth_err *err)
{
    struct pending *pending = take_result != NULL ? malloc(sizeof *pending) : NULL;
    if (pending == NULL) {
        json_decref(take_result);
        return err_set(err, BERTH_NO_MEMORY, "no memory for an answer");
    }
    *pending = (struct pending){.keep = keep,
                                .generation = keep->claims.generation,
                                .result = take_result,
                                .says_stored = says_stored};
    if (says_stored && keep->tried >= keep->claims.generation && !keep->stopping) {
        pending->saves = keep->saves + 1; /* nothing has changed, but the file may have */
        store_claims(keep);
    }
    if (unless_sent != NULL)
        memcpy(pending->unless_sent, unless_sent->id, CLAIM_ID_SIZE);
    *ret = (struct outcome){
        .kind = OUTCOME_STREAM, .state = pending, .next = next_answer, .free_state = free_pending};
    return BERTH_OK;
}
