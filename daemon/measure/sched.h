/**
 * The scheduler: the write side. It discovers the node, runs the probes, has what they measured
 * stored, and publishes snapshots. Only here is a snapshot made. Loop thread only; discovery at a
 * reload, and everything that touches the store, runs on the thread pool, one job at a time.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/err.h"
#include "base/files.h"
#include "claim/set.h"
#include "measure/baseline_update.h"
#include "measure/sched_jobs.h"
#include "measure/sched_probe.h"
#include "node/snapshot.h"
#include "store/store.h"
#include "varlink/notifier.h"

struct sched;

enum sched_state { SCHED_PROBING, SCHED_READY };

struct sched_env {
    uv_loop_t *loop;
    const struct clock *clock;
    const struct files *io;
    const struct config *config; /* may change between calls; never freed before the scheduler */
    struct notifier *notifier;   /* woken after every change */
};

/* Discovers, opens the store and publishes the first snapshot; blocks, for some milliseconds,
 * before the loop runs. Fails when the node folder cannot be read, or this machine not seen. */
enum berth_code sched_new(const struct sched_env *env, struct sched **ret_sched,
                          struct berth_err *err);

/* Begins the measuring that is due: all of it unless every metric has been tried since the boot,
 * and nothing when the configuration says no. While held it is put off. */
void sched_begin(struct sched *sched);

/* To be called with every change of the claims, which are borrowed until sched_stop's done. A probe
 * beside a new claim for computing is stopped, and so is one on a gpu that is profiled from now on;
 * what it measured is kept. While there is a claim for computing sched_probe is BUSY, but for a
 * forced request beside claims of ordinary users alone. Measuring of the daemon's own that was cut
 * short or put off begins anew a while after the claim ends: a longer while each time that it is
 * cut short, so that many short jobs do not make it begin again and again. */
void sched_follow_claims(struct sched *sched, const struct claim_set *claims);
bool sched_is_measuring(const struct sched *sched);  /* a probe program is alive */
bool sched_is_giving_way(const struct sched *sched); /* ... that has been stopped */

enum sched_state sched_state(const struct sched *sched);
struct snapshot *sched_snapshot(const struct sched *sched); /* borrowed, never NULL */
enum store_state sched_store_state(const struct sched *sched);
/* for work on the thread pool: every call of it may block */
struct store *sched_store(struct sched *sched);

/* Call it when work that may have used the store, and is no sched_job, has ended: what the store
 * now says of itself is logged and published. */
void sched_store_used(struct sched *sched);

/* Somebody asks how the daemon is: whether the store's file is still there is found out, soon, and
 * once a second at most. */
void sched_look_at_store(struct sched *sched); /* NULL is fine: nothing is kept then */
void sched_probe_view(const struct sched *sched, struct probe_view *ret_view);

/* Starts measuring. take_request's strings are taken in every case. ret_number names it in
 * probe_view. BUSY when a probe runs, or held; UNAVAILABLE for a recorded node (but for a stand-in
 * with probes of its own), or when no probe measures what is asked. */
enum berth_code sched_probe(struct sched *sched, struct probe_request *take_request,
                            uint64_t *ret_number, struct berth_err *err);

/* Makes what is measured now what is expected (measure/baseline_update.h) and publishes.
 * take_selected, by place id, is taken in every case; NULL: the whole node. done is called on the
 * loop, with code OK or what went wrong. BUSY when a probe runs: what it measures would be a part
 * of what is accepted; UNAVAILABLE for a recorded node. done is called exactly when this gives OK.
 */
typedef void (*sched_accepted)(void *arg, enum berth_code code, const struct accepted *accepted,
                               const struct berth_err *err);
enum berth_code sched_accept(struct sched *sched, bool *take_selected, sched_accepted done,
                             void *arg, struct berth_err *err);

/* Stops a running probe; what it has measured is kept. False when none runs. */
bool sched_cancel(struct sched *sched);

/* Work for the store, in the queue with the scheduler's own. It begins before or beside a probe,
 * and all of it is done before sched_stop's done is called. */
void sched_add_job(struct sched *sched, struct sched_job *job);

/* Discovers again once nothing runs, and publishes. Not for a recorded node. */
void sched_reload(struct sched *sched);

/* Stops a running probe, waits for it and for the store, and calls done; sched_free may follow. */
void sched_stop(struct sched *sched, void (*done)(void *arg), void *arg);
void sched_free(struct sched *sched);
