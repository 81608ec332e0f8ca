#include "measure/sched.h"

#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "measure/programs.h"
#include "measure/sched_again.h"
#include "measure/sched_background.h"
#include "measure/sched_facts.h"
#include "measure/sched_upkeep.h"
#include "measure/sched_watch.h"
#include "measure/snapshot_builder.h"

/* background runs between two maintenances of the store */
#define UPKEEP_EVERY 32

/* Invariants:
 * 1. A probe runs only while writing is 0, except for BUILD_NOTES: its values replace those of
 * the snapshot that the previous write made. One write at a time derives a snapshot from the last
 * one. The exception is a run, which includes the notes of a concurrent BUILD_NOTES.
 * 2. snapshot is never NULL after sched_new; it changes only in publish().
 * 3. At most one of probe and background runs a program; a request of probe waits for the end of
 * the other.
 * 4. The loop never calls the store, which may block. Jobs on the thread pool do, and sched_new
 * before the loop runs. */
struct sched {
    struct sched_env env;
    struct store *store;
    uint64_t store_changes; /* store_changes included in snapshot, or in the next one */
    bool store_is_out;      /* the store was memory only at that time */
    bool started_out;       /* it was so at the start: the snapshot may lack the file's values */
    const struct snapshot *snapshot;
    uint64_t generation;
    uint64_t values_version; /* snapshots that differed from the one before */
    struct sched_probe probe;
    struct sched_load load; /* no probe runs beside it */
    struct sched_jobs jobs;
    struct sched_facts facts;
    unsigned writing; /* number of struct build in jobs */
    bool reload_due;
    bool held;        /* by a claim, or because claims are unknown */
    bool are_unknown; /* the stored claims, which may hold it */
    bool own;         /* the current request is the daemon's own */
    bool is_due;      /* the daemon's own measuring was cut short or put off */
    bool waits;       /* ... and waits for the drivers' facts */
    unsigned cut;     /* number of interruptions in a row */
    struct sched_background background;
    unsigned quiet;         /* builds among writing that nobody waits for */
    unsigned kept;          /* background runs */
    struct build *user_due; /* of a user, waits for the background; NULL none */
    struct sched_again again;
    struct sched_upkeep upkeep;
    struct sched_watch watch;
    uv_timer_t counters; /* reads error counters */
    void (*stopped)(void *arg);
    void *stopped_arg;
};

enum build_kind { BUILD_RUN, BUILD_NOTES, BUILD_DISCOVER, BUILD_ACCEPT, BUILD_COUNTERS };

/* Job that makes the next snapshot: stores a run, discovers again, or accepts a baseline. It owns
 * everything that it uses. */
struct build {
    struct sched_job job; /* first */
    struct sched *sched;
    const struct files *io;
    enum build_kind kind;
    bool is_quiet; /* of a background run */
    struct history_env past;
    struct snapshot_builder_facts facts; /* DISCOVER */
    struct run run;
    bool *selected; /* ACCEPT, like the next three */
    struct accepted accepted;
    sched_accepted user_done; /* ACCEPT, and RUN of a user; NULL none */
    void *user_arg;
    const struct snapshot *base; /* referenced */
    uint64_t generation;
    const struct snapshot *result;
    struct note store_note; /* NOTES: code "" nothing */
    struct berth_err err;
};

static void next_step(struct sched *sched);
static void jobs_moved(struct sched_jobs *jobs);
static void probe_moved(void *arg);
static void load_ended(void *arg);
static void probe_ran(void *arg, struct run *take_run);
static void probe_facts(void *arg, char *take_facts);
static void facts_answered(void *arg);
static void resume_due(void *arg);
static void retry_gpus(void *arg);
static void read_counters(uv_timer_t *timer);
static void background_due(void *arg);
static void background_ran(void *arg, struct run *take_run);
static void background_moved(void *arg) { (void)arg; }
static void background_facts(void *arg, char *take_facts)
{
    (void)arg;
    free(take_facts);
}

static bool background_choose(void *arg, struct gpu_use *use, struct probe_request *request)
{
    return sched_background_choose(&((struct sched *)arg)->background, use, request);
}

/* Tells the background the time of its next unit, and what holds it. */
static void follow_background(struct sched *sched)
{
    const struct claim_set *claims = sched->probe.claims.set;
    char by[96], hold[128] = "";
    if (sched->are_unknown)
        snprintf(hold, sizeof hold, "the stored claims are unknown");
    if (claims != NULL && claims->count > 0) {
        claim_describe(claims->item[0], by, sizeof by);
        snprintf(hold, sizeof hold, "claim %s", by);
    }
    if (sched->stopped == NULL)
        sched_background_follow(&sched->background, sched->snapshot,
                                sched->are_unknown ? NULL : claims, hold[0] != '\0' ? hold : NULL);
}

/* Publishes. is_quiet: by a background run, whose noise is no change. */
static void publish(struct sched *sched, const struct snapshot *take_snapshot, bool is_quiet)
{
    struct health_limits limits = health_limits_from(sched->env.config);
    sched->values_version += is_quiet ? history_differs(sched->snapshot, take_snapshot, &limits)
                                      : snapshot_differs(sched->snapshot, take_snapshot);
    snapshot_unref(sched->snapshot);
    sched->snapshot = take_snapshot;
    if (sched->stopped == NULL)
        sched_again_follow(&sched->again, take_snapshot, sched->probe.claims.set);
    follow_background(sched);
    notifier_wake(sched->env.notifier);
}

static struct history_env past_env_now(const struct sched *sched)
{
    struct history_env past = {.limits = health_limits_from(sched->env.config),
                               .now_s = clock_now_s(sched->env.clock)};
    if (sched->env.config->baseline != NULL)
        snprintf(past.folder, sizeof past.folder, "%s", sched->env.config->baseline);
    if (sched->env.config->node == NULL && sched->env.config->state_dir != NULL)
        snprintf(past.state_dir, sizeof past.state_dir, "%s", sched->env.config->state_dir);
    if (sched->env.config->node == NULL && sched->env.config->events_file != NULL)
        snprintf(past.events_file, sizeof past.events_file, "%s", sched->env.config->events_file);
    return past;
}

enum berth_code sched_new(const struct sched_env *env, struct sched **ret_sched,
                          struct berth_err *err)
{
    struct sched *sched = calloc(1, sizeof *sched);
    if (sched == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    sched->env = *env;
    const char *folder = env->config->node;
    struct history_env past = past_env_now(sched);
    enum berth_code code = store_open_as(folder != NULL ? NULL : env->config->state_dir,
                                         (enum store_journal)env->config->store_journal, env->clock,
                                         &sched->store, err);
    if (code == BERTH_OK) {
        sched->store_changes = store_changes(sched->store);
        const struct snapshot_builder builder = {
            .store = sched->store, .past = &past, .generation = ++sched->generation};
        code = snapshot_builder_discover(&builder, env->io, folder, NULL, &sched->snapshot, err);
    }
    if (code != BERTH_OK) {
        store_close(sched->store);
        free(sched);
        return code;
    }
    sched_jobs_init(&sched->jobs, env->loop, sched->store, jobs_moved);
    struct sched_probe_env probe_env = {.loop = env->loop,
                                        .clock = env->clock,
                                        .config = env->config,
                                        .moved = probe_moved,
                                        .facts = probe_facts,
                                        .ran = probe_ran,
                                        .arg = sched};
    sched_probe_init(&sched->probe, &probe_env);
    sched_load_init(&sched->load, &(struct sched_load_env){env->loop, env->clock, env->config,
                                                           probe_moved, load_ended, sched});
    sched_facts_init(&sched->facts,
                     &(struct sched_facts_env){env->loop, env->config, facts_answered, sched});
    sched_again_init(&sched->again, env->loop,
                     &(struct sched_again_env){env->config, resume_due, retry_gpus, sched});
    probe_env.moved = background_moved;
    probe_env.facts = background_facts;
    probe_env.ran = background_ran;
    probe_env.choose = background_choose;
    sched_background_init(&sched->background,
                          &(struct sched_background_env){env->loop, env->clock, env->io,
                                                         env->config, background_due, sched},
                          &probe_env);
    sched_upkeep_init(&sched->upkeep, env->loop, &sched->jobs, env->config);
    sched_watch_init(&sched->watch, env->loop, &sched->jobs,
                     folder != NULL ? NULL : env->config->state_dir);
    uv_timer_init(env->loop, &sched->counters);
    sched->counters.data = sched;
    struct note note;
    if (store_note(sched->store, &note))
        log_line(LOG_LEVEL_WARNING, "%s", note.text);
    *ret_sched = sched;
    return BERTH_OK;
}

void sched_free(struct sched *sched)
{
    if (sched == NULL)
        return;
    store_close(sched->store);
    snapshot_unref(sched->snapshot);
    sched_probe_done(&sched->probe);
    sched_background_done(&sched->background);
    sched_load_done(&sched->load);
    sched_facts_done(&sched->facts);
    free(sched);
}

static void measure_due(struct sched *sched)
{
    struct probe_request request = {0};
    uint64_t number;
    struct berth_err err = {0};
    sched->is_due = sched->held;
    if (sched->are_unknown) {
        log_line(LOG_LEVEL_INFO, "not measuring: the stored claims are unknown");
        return;
    }
    if (sched_probe(sched, &request, &number, &err) == BERTH_OK)
        sched->own = sched_probe_is_active(&sched->probe);
    else
        log_line(sched->held ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "not measuring: %s", err.detail);
}

/* True for this machine, and for a stand-in with configured probes. */
static bool can_measure(const struct sched *sched)
{
    const struct config *config = sched->env.config;
    return config->node == NULL ||
           (sched->snapshot->graph->origin == ORIGIN_STANDIN && config->probe_dir != NULL);
}

/* Reads error counters as often as the configuration says. */
static void follow_counters(struct sched *sched)
{
    uint64_t counters_ms = (uint64_t)sched->env.config->counters_s * 1000;
    uv_timer_stop(&sched->counters);
    if (sched->env.config->node == NULL && counters_ms > 0)
        uv_timer_start(&sched->counters, read_counters, counters_ms, counters_ms);
}

void sched_begin(struct sched *sched)
{
    const struct config *config = sched->env.config;
    sched_watch_begin(&sched->watch);
    follow_counters(sched);
    sched->store_is_out = store_state(sched->store) == STORE_MEMORY_ONLY;
    sched->started_out = sched->store_is_out;
    if (sched->store_is_out)
        sched_upkeep_due(&sched->upkeep);
    bool asks = config->node == NULL && sched_facts_query(&sched->facts, sched->snapshot->graph);
    if (sched_facts_is_new(&sched->facts)) /* no probe to ask */
        next_step(sched);
    if (!can_measure(sched) || !config->probe_at_start)
        return;
    sched_background_begin(&sched->background);
    if (programs_tried_all(config, sched->snapshot->graph, sched->snapshot->values,
                           files_boot_time_s(sched->env.io))) {
        log_line(LOG_LEVEL_INFO, "measured since this boot already: serving what is stored");
        sched_again_follow(&sched->again, sched->snapshot, sched->probe.claims.set);
        follow_background(sched);
        return;
    }
    sched->is_due = true;
    sched->waits = asks; /* the drivers' facts (GPUs, processes) come before measuring */
    if (!asks)
        measure_due(sched);
}

enum sched_state sched_state(const struct sched *sched)
{
    return sched_probe_is_active(&sched->probe) || sched_load_is_running(&sched->load) ||
                   sched->writing > sched->quiet || sched->user_due != NULL || sched->waits
               ? SCHED_PROBING
               : SCHED_READY;
}

const struct snapshot *sched_snapshot(const struct sched *sched) { return sched->snapshot; }

uint64_t sched_values_version(const struct sched *sched) { return sched->values_version; }

struct store *sched_store(struct sched *sched) { return sched->store; }

enum store_state sched_store_state(const struct sched *sched) { return store_state(sched->store); }

void sched_background_view(const struct sched *sched, struct background_view *ret_view)
{
    sched_background_read_view(&sched->background, ret_view);
}

void sched_probe_view(const struct sched *sched, struct probe_view *ret_view)
{
    sched_probe_read_view(&sched->probe, ret_view);
}

/* ---- jobs ---- */

static void build_work(struct sched_job *job, struct store *store)
{
    struct build *build = (struct build *)job;
    const struct snapshot_builder builder = {store, &build->past, build->generation,
                                             &build->base->counters};
    switch (build->kind) {
    case BUILD_RUN:
        snapshot_builder_with_run(&builder, build->base, &build->run, &build->result, &build->err);
        break;
    case BUILD_NOTES:
        store_note(store, &build->store_note);
        snapshot_builder_with_run(&builder, build->base, NULL, &build->result, &build->err);
        break;
    case BUILD_DISCOVER:
        snapshot_builder_discover(&builder, build->io, NULL, &build->facts, &build->result,
                                  &build->err);
        malloc_trim(0); /* return the memory that discovery freed */
        break;
    case BUILD_COUNTERS:
        snapshot_builder_with_counters(&builder, build->io, build->base, &build->result,
                                       &build->err);
        break;
    case BUILD_ACCEPT:
        baseline_update(store, build->base, build->selected, &build->past, build->generation,
                        &build->accepted, &build->result, &build->err);
        break;
    }
}

static void build_done(struct sched_job *job)
{
    struct build *build = (struct build *)job;
    struct sched *sched = build->sched;
    sched->writing--;
    sched->quiet -= build->is_quiet;
    if (build->result != NULL)
        publish(sched, build->result, build->is_quiet);
    else if (build->err.code != BERTH_OK)
        log_line(LOG_LEVEL_WARNING, "the node stays as it was: %s", build->err.detail);
    if (build->kind == BUILD_RUN && (!build->is_quiet || sched->kept++ % UPKEEP_EVERY == 0))
        sched_upkeep_due(&sched->upkeep);
    if (build->kind == BUILD_NOTES)
        sched_upkeep_log(&build->store_note);
    if (build->user_done != NULL)
        build->user_done(build->user_arg, build->err.code, &build->accepted, &build->err);
    /* GPUs have appeared */
    if (build->kind == BUILD_DISCOVER && sched->stopped == NULL &&
        !sched_facts_was_queried(&sched->facts))
        sched_facts_query(&sched->facts, sched->snapshot->graph);
    snapshot_unref(build->base);
    run_done(&build->run);
    free(build->selected);
    free(build->facts.text);
    free(build);
}

/* Returns a build without the fields of its kind, for queue_build; NULL when out of memory. */
static struct build *new_build(struct sched *sched, enum build_kind kind)
{
    struct build *build = calloc(1, sizeof *build);
    if (build == NULL)
        return NULL;
    build->job.work = build_work;
    build->job.done = build_done;
    build->sched = sched;
    build->io = sched->env.io;
    build->kind = kind;
    build->past = past_env_now(sched);
    build->base = snapshot_ref(sched->snapshot);
    build->generation = ++sched->generation;
    return build;
}

static void queue_build(struct sched *sched, struct build *build)
{
    sched->writing++;
    sched->quiet += build->is_quiet;
    sched_jobs_add(&sched->jobs, &build->job);
}

/* Starts a build. Moves take_run into the job; NULL discovers again. */
static void start_build(struct sched *sched, struct run *take_run)
{
    struct build *build = new_build(sched, take_run != NULL ? BUILD_RUN : BUILD_DISCOVER);
    if (build == NULL) {
        log_line(LOG_LEVEL_ERROR, take_run != NULL
                                      ? "out of memory: a probe run is lost"
                                      : "out of memory: the node is not looked at again");
        if (take_run != NULL)
            run_done(take_run);
        return;
    }
    if (take_run != NULL) {
        build->is_quiet = take_run->is_background;
        build->run = *take_run;
        *take_run = (struct run){0};
    } else {
        build->facts = sched_facts_copy(&sched->facts);
    }
    queue_build(sched, build);
}

/* Reads the error counters, unless something runs; then the next time. */
static void read_counters(uv_timer_t *timer)
{
    struct sched *sched = timer->data;
    bool is_idle = sched_state(sched) == SCHED_READY && sched->writing == 0 &&
                   !sched_background_is_running(&sched->background);
    struct build *build = is_idle ? new_build(sched, BUILD_COUNTERS) : NULL;
    if (build != NULL)
        queue_build(sched, build);
}

static void jobs_moved(struct sched_jobs *jobs)
{
    struct sched *sched = (struct sched *)((char *)jobs - offsetof(struct sched, jobs));
    sched_store_used(sched);
    notifier_wake(sched->env.notifier);
    next_step(sched);
}

/* Publishes the store's new state. Waits for other writes, whose snapshot it would replace. */
void sched_store_used(struct sched *sched)
{
    uint64_t changes = store_changes(sched->store);
    sched_watch_follow(&sched->watch);
    if (changes == sched->store_changes || sched->writing > 0 || sched->stopped != NULL)
        return;
    struct build *build = new_build(sched, BUILD_NOTES);
    if (build == NULL)
        return; /* the next use tries again */
    sched->store_changes = changes;
    sched->store_is_out = store_state(sched->store) == STORE_MEMORY_ONLY;
    /* the store may have recovered in between, unnoticed */
    if (sched->store_is_out) {
        sched_upkeep_out(&sched->upkeep);
    } else if (sched->started_out) {
        sched->started_out = false;
        sched->reload_due = true;
    }
    queue_build(sched, build);
    notifier_wake(sched->env.notifier);
}

void sched_check_store(struct sched *sched)
{
    if (sched != NULL)
        sched_watch_request(&sched->watch);
}

void sched_add_job(struct sched *sched, struct sched_job *job)
{
    sched_jobs_add(&sched->jobs, job);
}

static void load_ended(void *arg)
{
    notifier_wake(((struct sched *)arg)->env.notifier);
    next_step(arg);
}

static void probe_moved(void *arg) { notifier_wake(((struct sched *)arg)->env.notifier); }

static void probe_ran(void *arg, struct run *take_run)
{
    struct sched *sched = arg;
    if (take_run != NULL)
        start_build(sched, take_run);
    notifier_wake(sched->env.notifier);
    next_step(sched);
}

static void probe_facts(void *arg, char *take_facts)
{
    sched_facts_store(&((struct sched *)arg)->facts, take_facts);
}

static void facts_answered(void *arg) { next_step(arg); }

static void background_ran(void *arg, struct run *take_run)
{
    struct sched *sched = arg;
    if (take_run != NULL) {
        sched_background_add(&sched->background, take_run);
        start_build(sched, take_run);
    }
    next_step(sched);
}

/* Begins the unit that is due in the background, unless something else runs. */
static void background_due(void *arg)
{
    struct sched *sched = arg;
    bool is_idle = sched_state(sched) == SCHED_READY && sched->writing == 0 && !sched->is_due &&
                   !sched_facts_is_querying(&sched->facts) && sched->probe.stuck == 0;
    if (!is_idle)
        sched_background_later(&sched->background, "another measurement");
    else
        sched_background_try(&sched->background, sched->snapshot);
}

/* Steps the background's unit. Returns true while it runs. */
static bool step_background(struct sched *sched)
{
    struct sched_background *background = &sched->background;
    if (!sched_background_is_running(background))
        return false;
    if (sched_probe_step(&background->probe, sched->snapshot->graph, sched->snapshot->shapes))
        return true;
    if (background->probe.stuck != 0) /* it blocks the other requests, too */
        sched->probe.stuck = background->probe.stuck;
    background->probe.stuck = 0;
    sched_background_ended(background, sched->snapshot);
    follow_background(sched);
    notifier_wake(sched->env.notifier);
    return false;
}

/* Starts the user's build that waited for the background. */
static void start_user_build(struct sched *sched)
{
    struct build *build = sched->user_due;
    sched->user_due = NULL;
    snapshot_unref(build->base);
    build->base = snapshot_ref(sched->snapshot);
    queue_build(sched, build);
    notifier_wake(sched->env.notifier);
}

/* Starts the next work when neither a probe nor a write runs. */
static void next_step(struct sched *sched)
{
    if (sched_probe_is_running(&sched->probe) || sched->writing > 0 ||
        (sched_load_is_running(&sched->load) && !sched_load_is_due(&sched->load)) ||
        sched_probe_is_running(&sched->background.probe) || step_background(sched))
        return;
    if (sched->user_due != NULL) {
        start_user_build(sched);
        return;
    }
    if (sched_load_is_due(&sched->load)) {
        sched_load_start(&sched->load);
        return;
    }
    if (sched_probe_is_active(&sched->probe)) {
        if (sched_probe_step(&sched->probe, sched->snapshot->graph, sched->snapshot->shapes))
            return;
        if (sched->own && !sched->is_due)
            sched->cut = 0;
        notifier_wake(sched->env.notifier);
    }
    if (sched->stopped != NULL) {
        if (!sched_jobs_busy(&sched->jobs) && !sched_facts_is_querying(&sched->facts))
            sched->stopped(sched->stopped_arg);
        return;
    }
    /* A stand-in's values are not stored and new facts would discard them. */
    bool has_facts = sched_facts_is_new(&sched->facts) && !sched->snapshot->has_standin;
    if (!sched_facts_is_querying(&sched->facts) && (sched->reload_due || has_facts)) {
        sched->reload_due = false;
        start_build(sched, NULL);
        notifier_wake(sched->env.notifier);
    } else if (sched->waits && !sched_facts_is_querying(&sched->facts)) {
        sched->waits = false;
        if (sched->is_due)
            measure_due(sched);
    }
}

/* Fails unless the node is live and idle. A probe may wait for a write. */
static enum berth_code check_idle(const struct sched *sched, bool is_changed, bool may_wait,
                                  const char *what, struct berth_err *err)
{
    bool loading = sched_load_is_running(&sched->load),
         probing = sched_probe_is_active(&sched->probe) || loading,
         writing = sched->writing > sched->quiet || sched->user_due != NULL;
    if (!is_changed)
        return err_set(err, BERTH_UNAVAILABLE, "%s is not this machine: a recorded node %s",
                       sched->snapshot->graph->name, what);
    if (!probing && (may_wait || !writing))
        return BERTH_OK;
    enum berth_code code =
        err_set(err, BERTH_BUSY,
                loading   ? "the node is under load (berth cancel ends it)"
                : probing ? "a probe is running already (berth cancel stops it)"
                          : "the node is being looked at again: ask in a moment");
    err_text(err, 0, probing ? "probe" : "discovery");
    return code;
}

/* Queues a build behind the background's unit. */
static void queue_for_user(struct sched *sched, struct build *build, sched_accepted done, void *arg)
{
    build->user_done = done;
    build->user_arg = arg;
    sched->user_due = build;
    sched_background_cancel(&sched->background);
    next_step(sched);
    notifier_wake(sched->env.notifier);
}

enum berth_code sched_accept(struct sched *sched, bool *take_selected, sched_accepted done,
                             void *arg, struct berth_err *err)
{
    enum berth_code code =
        check_idle(sched, can_measure(sched), false, "has no baseline to accept", err);
    struct build *build = code == BERTH_OK ? new_build(sched, BUILD_ACCEPT) : NULL;
    if (code == BERTH_OK && build == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "out of memory");
    if (code != BERTH_OK) {
        free(take_selected);
        return code;
    }
    build->selected = take_selected;
    queue_for_user(sched, build, done, arg);
    return BERTH_OK;
}

enum berth_code sched_add_run(struct sched *sched, const struct graph *graph, struct run *take_run,
                              sched_accepted done, void *arg, struct berth_err *err)
{
    enum berth_code code =
        check_idle(sched, can_measure(sched), false, "takes no measurements", err);
    if (code == BERTH_OK && sched->snapshot->graph != graph) {
        err_text(err, 0, "discovery");
        code = err_set(err, BERTH_BUSY, "the node was looked at again meanwhile: ask again");
    }
    struct build *build = code == BERTH_OK ? new_build(sched, BUILD_RUN) : NULL;
    if (build == NULL)
        return code != BERTH_OK ? code : err_set(err, BERTH_NO_MEMORY, "out of memory");
    build->run = *take_run;
    *take_run = (struct run){0};
    queue_for_user(sched, build, done, arg);
    return BERTH_OK;
}

enum berth_code sched_probe(struct sched *sched, struct probe_request *take_request,
                            uint64_t *ret_number, struct berth_err *err)
{
    enum berth_code code = check_idle(sched, can_measure(sched), true, "cannot be measured", err);
    if (code == BERTH_OK)
        code = sched_left_out_check(sched->probe.claims.set, take_request->force, err);
    if (code != BERTH_OK) {
        sched_probe_request_done(take_request);
        return code;
    }
    sched->own = false;
    code = sched_probe_begin(&sched->probe, take_request, sched->snapshot->graph, err);
    if (code != BERTH_OK)
        return code;
    *ret_number = sched->probe.number;
    sched_background_cancel(&sched->background);
    next_step(sched);
    notifier_wake(sched->env.notifier);
    return BERTH_OK;
}

enum berth_code sched_begin_load(struct sched *sched, int64_t duration_s, uint64_t *ret_number,
                                 struct berth_err *err)
{
    char by[96];
    const struct claim *claim =
        sched_load_obstacle(sched->probe.claims.set, sched->snapshot->graph);
    enum berth_code code = check_idle(sched, can_measure(sched), false, "has no load", err);
    if (code == BERTH_OK && claim != NULL) {
        claim_describe(claim, by, sizeof by);
        err_text(err, 0, by);
        code = err_set(err, BERTH_BUSY, "nothing is under load beside claim %s (berth claims)", by);
    } else if (code == BERTH_OK && sched->are_unknown) {
        err_text(err, 0, "claims");
        code = err_set(err, BERTH_BUSY, "the stored claims are unknown");
    }
    if (code == BERTH_OK)
        code = sched_load_begin(&sched->load, sched->snapshot->graph, sched->snapshot->shapes,
                                duration_s, ret_number, err);
    if (code != BERTH_OK)
        return code;
    sched_background_cancel(&sched->background);
    next_step(sched);
    notifier_wake(sched->env.notifier);
    return BERTH_OK;
}

void sched_load_view(const struct sched *sched, struct load_view *ret_view)
{
    sched_load_read_view(&sched->load, ret_view);
}

void sched_end_load(struct sched *sched, uint64_t number)
{
    if (sched_load_is_running(&sched->load) && sched->load.number == number)
        sched_load_cancel(&sched->load, NULL);
}

static void resume_due(void *arg)
{
    struct sched *sched = arg;
    if (sched_state(sched) != SCHED_READY)
        sched_again_later(&sched->again, sched->cut);
    else
        measure_due(sched);
}

/* Measures GPUs that were in use, unless the scheduler is busy; then a later timer asks again. */
static void retry_gpus(void *arg)
{
    struct sched *sched = arg;
    struct probe_request request;
    struct berth_err err;
    uint64_t number;
    bool idle =
        sched_state(sched) == SCHED_READY && !sched->held && !sched->is_due && can_measure(sched);
    if (idle && sched_again_request(sched->snapshot, sched->probe.claims.set, &request) &&
        sched_probe(sched, &request, &number, &err) == BERTH_OK)
        sched->own = sched_probe_is_active(&sched->probe);
}

/* Stops a load for the claims. */
static void yield_load(struct sched *sched, const struct claim_set *claims)
{
    char by[96];
    const struct claim *claim = sched_load_is_running(&sched->load) && !sched->load.cancelled
                                    ? sched_load_obstacle(claims, sched->load.graph)
                                    : NULL;
    if (claim == NULL)
        return;
    claim_describe(claim, by, sizeof by);
    sched_load_cancel(&sched->load, by);
}

/* Stops a probe for the claim. The daemon's own measuring is repeated later. */
static void yield_to(struct sched *sched, const struct claim *claim)
{
    char by[96];
    if (!sched_probe_is_active(&sched->probe) || sched->probe.cancelled)
        return;
    if (sched->own) {
        sched->is_due = true;
        sched->cut++;
    }
    claim_describe(claim, by, sizeof by);
    sched_probe_yield(&sched->probe, by);
}

void sched_follow_claims(struct sched *sched, const struct claim_set *claims, bool are_known)
{
    bool was_held = sched->held;
    const struct claim *holder = claim_set_computing(claims, false);
    const struct claim *obstacle =
        sched->probe.request.force ? claim_set_computing(claims, true) : holder;
    yield_load(sched, claims);
    sched->probe.claims.set = claims;
    sched->are_unknown = !are_known;
    sched->held = holder != NULL || !are_known;
    if (sched->held)
        sched_again_cancel(&sched->again);
    if (obstacle == NULL)
        obstacle = sched_probe_obstacle(&sched->probe);
    if (obstacle != NULL)
        yield_to(sched, obstacle);
    follow_background(sched);
    if (sched->is_due && !sched->held && (was_held || obstacle != NULL) && sched->stopped == NULL)
        sched_again_later(&sched->again, sched->cut);
    if (sched->stopped == NULL)
        sched_again_follow(&sched->again, sched->snapshot, claims);
}

bool sched_is_measuring(const struct sched *sched)
{
    return sched_probe_is_running(&sched->probe) || sched_load_is_running(&sched->load);
}

bool sched_is_yielding(const struct sched *sched)
{
    const struct sched_probe *background = &sched->background.probe;
    return (sched_probe_is_running(&sched->probe) && sched->probe.cancelled) ||
           (sched_probe_is_running(background) && background->cancelled) ||
           (sched_load_is_running(&sched->load) && sched->load.cancelled);
}

bool sched_cancel(struct sched *sched)
{
    bool is_active = sched_probe_is_active(&sched->probe);
    if (is_active)
        sched_probe_cancel(&sched->probe);
    if (sched_load_is_running(&sched->load))
        sched_load_cancel(&sched->load, NULL);
    return is_active || sched_load_is_running(&sched->load);
}

void sched_reload(struct sched *sched)
{
    follow_background(sched);
    if (sched->env.config->node != NULL)
        return;
    sched->reload_due = true;
    follow_counters(sched);
    sched->facts.was_queried = false;
    sched_facts_query(&sched->facts, sched->snapshot->graph);
    next_step(sched);
}

void sched_stop(struct sched *sched, void (*done)(void *arg), void *arg)
{
    sched->stopped = done;
    sched->stopped_arg = arg;
    sched->reload_due = false;
    sched_again_stop(&sched->again);
    sched_background_stop(&sched->background);
    sched_upkeep_stop(&sched->upkeep);
    sched_watch_stop(&sched->watch);
    uv_close((uv_handle_t *)&sched->counters, NULL);
    sched_facts_stop(&sched->facts);
    sched_cancel(sched);
    next_step(sched);
}
