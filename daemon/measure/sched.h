/**
 * Scheduler, which makes all snapshots: discovers the node, runs the probes, has their values
 * stored and publishes snapshots. Loop thread only. Discovery at a reload and all use of the store
 * run on the thread pool, one job at a time.
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
#include "measure/sched_background.h"
#include "measure/sched_jobs.h"
#include "measure/sched_load.h"
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
    const struct config *config; /* may change between calls; must outlive the scheduler */
    struct notifier *notifier;   /* woken after every change */
};

/* Discovers the node, opens the store and publishes the first snapshot. Blocks for some
 * milliseconds, before the loop runs. Fails when the node folder cannot be read or this machine
 * cannot be discovered. */
enum berth_code sched_new(const struct sched_env *env, struct sched **ret_sched,
                          struct berth_err *err);

/* Begins due measurements: all, unless every metric has been tried since boot, or none if the
 * configuration forbids it. Puts them off while held. */
void sched_begin(struct sched *sched);

/* Call it after every change of the claims, which are borrowed until sched_stop's done. Stops a
 * probe beside a new claim for computing or on a newly profiled GPU, and keeps its values. During a
 * claim for computing sched_probe is BUSY, except for a forced request beside claims of ordinary
 * users. The daemon's own measuring that was cut short or put off is repeated some time after the
 * claim. That time grows with each interruption, so that many short jobs do not restart it again
 * and again. are_known: false while stored claims could not be read, which holds the daemon's own
 * measuring too. */
void sched_follow_claims(struct sched *sched, const struct claim_set *claims, bool are_known);
bool sched_is_measuring(const struct sched *sched); /* a probe program is alive */
bool sched_is_yielding(const struct sched *sched);  /* ... and has been stopped */

enum sched_state sched_state(const struct sched *sched);
const struct snapshot *sched_snapshot(const struct sched *sched); /* borrowed, never NULL */

/* Counts the snapshots that differed from the one before (snapshot_differs). After a background run
 * only changes beyond noise count (history_differs). */
uint64_t sched_values_version(const struct sched *sched);
enum store_state sched_store_state(const struct sched *sched);
/* for the thread pool: every call may block */
struct store *sched_store(struct sched *sched);

/* Call it after work other than a sched_job that may have used the store. Logs and publishes a
 * changed state of the store. */
void sched_store_used(struct sched *sched);

/* Call it when a user asks for the daemon's state. Has the store's file checked soon, at most once
 * a second. */
void sched_check_store(struct sched *sched); /* NULL is fine: nothing is stored then */
void sched_probe_view(const struct sched *sched, struct probe_view *ret_view);
/* background measuring (measure/sched_background.h), during which the state is READY */
void sched_background_view(const struct sched *sched, struct background_view *ret_view);

/* Starts measuring, once the background's unit has stopped. Consumes take_request's strings even on
 * failure. ret_number identifies it in probe_view. Fails with BUSY when a probe runs or a claim
 * prevents it. Fails with UNAVAILABLE for a recorded node (except a stand-in with probes of its
 * own), or when no probe measures the requested metrics. */
enum berth_code sched_probe(struct sched *sched, struct probe_request *take_request,
                            uint64_t *ret_number, struct berth_err *err);

/* Puts all GPUs and the memory of all NUMA nodes under load at once (measure/sched_load.h). Fails
 * with BUSY when a probe or another load runs and beside any claim, UNAVAILABLE as sched_probe
 * does. A claim that comes stops it. */
enum berth_code sched_begin_load(struct sched *sched, int64_t duration_s, uint64_t *ret_number,
                                 struct berth_err *err);
void sched_load_view(const struct sched *sched, struct load_view *ret_view);

/* Stops the load of that number, if it is running. */
void sched_end_load(struct sched *sched, uint64_t number);

/* Accepts current values as expected (measure/baseline_update.h) and publishes. Consumes
 * take_selected, by place id, even on failure; NULL: the whole node. Fails with BUSY when a probe
 * runs, because its values would be accepted partly, and UNAVAILABLE for a recorded node. On
 * success calls done exactly once on the loop, with OK or the error. */
typedef void (*sched_accepted)(void *arg, enum berth_code code, const struct accepted *accepted,
                               const struct berth_err *err);
enum berth_code sched_accept(struct sched *sched, bool *take_selected, sched_accepted done,
                             void *arg, struct berth_err *err);

/* Stores a run that somebody handed in (measure/given_run.h) and publishes. graph: of the places in
 * it. Takes the run's contents on success. Fails with BUSY when a probe runs or the node was
 * discovered again, and UNAVAILABLE for a recorded node. On success calls done exactly once on the
 * loop, with OK or the error. */
enum berth_code sched_add_run(struct sched *sched, const struct graph *graph, struct run *take_run,
                              sched_accepted done, void *arg, struct berth_err *err);

/* Stops a running probe and keeps its values, or stops a load. False when none runs. */
bool sched_cancel(struct sched *sched);

/* Adds work for the store to the scheduler's queue. It begins before or beside a probe and ends
 * before sched_stop's done. */
void sched_add_job(struct sched *sched, struct sched_job *job);

/* Discovers again once nothing runs, and publishes. Not for a recorded node. */
void sched_reload(struct sched *sched);

/* Stops a running probe, waits for it and for the store, and calls done. Call sched_free
 * afterwards. */
void sched_stop(struct sched *sched, void (*done)(void *arg), void *arg);
void sched_free(struct sched *sched);
