#include "sched.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "refresh.h"
#include "runner.h"

#define OUTPUT_MAX (64u << 20)

/* The probes there are, in the order in which they run. */
static const struct probe {
    const char *name, *program;
    const char *metrics; /* what it can measure, comma separated */
} probes[] = {
    {"cpu", "berth-probe-cpu", "cpu_pingpong,memory_bandwidth,memory_latency"},
};
#define PROBE_COUNT (sizeof probes / sizeof probes[0])

/*
 * Invariants:
 * 1. At most one of runner and job is in use, and pending work waits for both.
 * 2. snapshot is never NULL after sched_new; it changes only in publish().
 * 3. The store is touched only by the job on the thread pool, or before the loop runs, or after stop.
 */
struct sched {
    struct sched_env env;
    struct store *store;
    enum store_state store_state; /* copied after each job, so that nobody reads it while a job runs */
    struct snapshot *snapshot;
    uint64_t generation;

    struct probe_request request;
    uint64_t request_number;
    bool probing, cancelled;
    size_t probe; /* index of the one that runs */
    struct runner *runner;
    struct runner_spec spec;
    char program[4096];
    char budget_text[24];
    const char *args[16];
    uint64_t started_ns;
    struct collect collect;
    json_t *skipped;

    bool reload_due;
    struct job *job;

    void (*stopped)(void *arg);
    void *stopped_arg;
};

/* One piece of work for the thread pool: write a run, or discover again. It owns all that it touches. */
struct job {
    uv_work_t work;
    struct sched *sched;
    struct store *store;
    const struct sysio *io;
    bool rediscover;
    struct run run;
    struct snapshot *base; /* referenced */
    uint64_t generation;
    struct snapshot *result;
    struct berth_err err;
};

static void next_step(struct sched *sched);

static void publish(struct sched *sched, struct snapshot *take_snapshot)
{
    snapshot_unref(sched->snapshot);
    sched->snapshot = take_snapshot;
    hub_wake(sched->env.hub);
}

enum berth_code sched_new(const struct sched_env *env, struct sched **ret_sched, struct berth_err *err)
{
    struct sched *sched = calloc(1, sizeof *sched);
    if (sched == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    sched->env = *env;
    const char *folder = env->config->node;
    enum berth_code code = store_open(folder != NULL ? NULL : env->config->state_dir, env->clock, &sched->store, err);
    if (code == BERTH_OK)
        code = refresh_discover(sched->store, env->io, folder, ++sched->generation, &sched->snapshot, err);
    if (code != BERTH_OK) {
        store_close(sched->store);
        free(sched);
        return code;
    }
    sched->store_state = store_state(sched->store);
    if (store_note(sched->store) != NULL)
        log_line(LOG_LEVEL_WARNING, "%s", store_note(sched->store)->text);
    *ret_sched = sched;
    return BERTH_OK;
}

void sched_free(struct sched *sched)
{
    if (sched == NULL)
        return;
    store_close(sched->store);
    snapshot_unref(sched->snapshot);
    json_decref(sched->skipped);
    free(sched->request.metrics);
    free(sched->request.places);
    free(sched);
}

/* When this kernel came up, seconds since the epoch; 0 unknown. */
static int64_t boot_time_s(const struct sysio *io)
{
    char *text = NULL;
    int64_t time_s = 0;
    if (sysio_read(io, "/proc/stat", 1 << 22, &text, NULL) == BERTH_OK) {
        const char *line = strstr(text, "\nbtime ");
        if (line != NULL)
            time_s = strtoll(line + 7, NULL, 10);
    }
    free(text);
    return time_s;
}

/* Whether the comma separated lists a and b share a name; NULL shares with everything. */
static bool lists_meet(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return true;
    while (*a != '\0') {
        size_t length = strcspn(a, ",");
        for (const char *c = b; *c != '\0';) {
            size_t other = strcspn(c, ",");
            if (other == length && strncmp(a, c, length) == 0)
                return true;
            c += other + (c[other] == ',');
        }
        a += length + (a[length] == ',');
    }
    return false;
}

/* Whether everything that the probes measure has been tried since then: the last run may have been asked for one metric only, or
 * have been cut short. */
static bool is_measured(const struct values *values, int64_t since_s)
{
    bool tried[METRIC_COUNT] = {0};
    for (size_t i = 0; i < values->count; i++)
        if (values->item[i].source == VALUE_MEASURED && values->item[i].measured_at_s >= since_s)
            tried[values->item[i].metric] = true;
    for (size_t i = 0; i < PROBE_COUNT; i++)
        for (enum metric metric = 0; metric < METRIC_COUNT; metric++)
            if (!tried[metric] && lists_meet(metric_info(metric)->name, probes[i].metrics))
                return false;
    return true;
}

void sched_begin(struct sched *sched)
{
    const struct config *config = sched->env.config;
    if (config->node != NULL || !config->probe_at_start)
        return;
    if (is_measured(sched->snapshot->values, boot_time_s(sched->env.io))) {
        log_line(LOG_LEVEL_INFO, "measured since this boot already: serving what is stored");
        return;
    }
    struct probe_request request = {0};
    uint64_t number;
    struct berth_err err = {0};
    if (sched_probe(sched, &request, &number, &err) != BERTH_OK)
        log_line(LOG_LEVEL_WARNING, "not measuring: %s", err.detail);
}

enum sched_state sched_state(const struct sched *sched) { return sched->probing || sched->job != NULL ? SCHED_PROBING : SCHED_READY; }

struct snapshot *sched_snapshot(const struct sched *sched) { return sched->snapshot; }

enum store_state sched_store_state(const struct sched *sched) { return sched->store_state; }

void sched_probe_view(const struct sched *sched, struct probe_view *ret_view)
{
    *ret_view = (struct probe_view){
        .number = sched->request_number,
        .running = sched->probing,
        .cancelled = sched->cancelled,
        .progress = sched->collect.progress,
        .remaining_ns = NAN,
        .skipped = sched->skipped,
    };
    const struct collect_progress *progress = &sched->collect.progress;
    if (sched->runner != NULL && progress->done > 0 && progress->total >= progress->done)
        ret_view->remaining_ns = (double)(clock_mono_ns(sched->env.clock) - sched->started_ns) / (double)progress->done *
                                 (double)(progress->total - progress->done);
}

/* ---- the thread pool's side ---- */

static void work_job(uv_work_t *work)
{
    struct job *job = work->data;
    if (job->rediscover)
        refresh_discover(job->store, job->io, NULL, job->generation, &job->result, &job->err);
    else
        refresh_with_run(job->store, job->base, &job->run, job->generation, &job->result, &job->err);
}

static void job_ended(uv_work_t *work, int status)
{
    (void)status;
    struct job *job = work->data;
    struct sched *sched = job->sched;
    sched->job = NULL;
    sched->store_state = store_state(sched->store);
    if (job->result != NULL)
        publish(sched, job->result);
    else
        log_line(LOG_LEVEL_WARNING, "the node stays as it was: %s", job->err.detail);
    snapshot_unref(job->base);
    run_done(&job->run);
    free(job);
    next_step(sched);
}

/* take_run is moved into the job; NULL for a rediscovery. */
static void start_job(struct sched *sched, struct run *take_run)
{
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        log_line(LOG_LEVEL_ERROR, "out of memory: a probe run is lost");
        if (take_run != NULL)
            run_done(take_run);
        return;
    }
    job->work.data = job;
    job->sched = sched;
    job->store = sched->store;
    job->io = sched->env.io;
    job->rediscover = take_run == NULL;
    job->base = snapshot_ref(sched->snapshot);
    job->generation = ++sched->generation;
    if (take_run != NULL) {
        job->run = *take_run;
        *take_run = (struct run){0};
    }
    sched->job = job;
    uv_queue_work(sched->env.loop, &job->work, work_job, job_ended);
}

/* ---- probing ---- */

static void find_program(struct sched *sched)
{
    const char *name = probes[sched->probe].program;
    if (sched->env.config->probe_dir != NULL) {
        snprintf(sched->program, sizeof sched->program, "%s/%s", sched->env.config->probe_dir, name);
        return;
    }
    char self[3072];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = '\0';
        char *slash = strrchr(self, '/');
        snprintf(sched->program, sizeof sched->program, "%.*s/%s", slash ? (int)(slash - self) : 0, self, name);
        if (access(sched->program, X_OK) == 0)
            return;
    }
    snprintf(sched->program, sizeof sched->program, "%s/%s", BERTH_LIBEXECDIR, name);
}

static void probe_line(void *arg, const char *line, size_t length)
{
    struct sched *sched = arg;
    if (!collect_line(&sched->collect, line, length))
        runner_stop(sched->runner);
    hub_wake(sched->env.hub);
}

/* How the run's status calls an ending; "" for a normal one. */
static const char *ending_status(const struct sched *sched, const struct runner_end *end)
{
    switch (end->ending) {
    case RUNNER_EXITED: return end->code == 0 ? "" : "failed";
    case RUNNER_SIGNALED: return "crashed";
    case RUNNER_HUNG:
    case RUNNER_TOO_LONG: return "timeout";
    case RUNNER_FLOODED: return "garbage";
    case RUNNER_STOPPED: return sched->cancelled ? "cancelled" : "garbage";
    case RUNNER_NOT_STARTED: return "failed";
    }
    return "failed";
}

static void probe_ended(void *arg, const struct runner_end *end)
{
    struct sched *sched = arg;
    sched->runner = NULL;
    char text[512];
    runner_describe(end, &sched->spec, text, sizeof text);
    const char *status = ending_status(sched, end);
    if (strcmp(status, "garbage") == 0 && end->ending == RUNNER_STOPPED)
        snprintf(text, sizeof text, "%s printed rubbish: %s", probes[sched->probe].program, sched->collect.first_bad);
    uint64_t elapsed_ns = clock_mono_ns(sched->env.clock) - sched->started_ns;
    collect_finish(&sched->collect, status, status[0] ? text : probes[sched->probe].program, (int64_t)elapsed_ns);
    if (end->left_open) {
        snprintf(text, sizeof text, "%s ended, but something that it started keeps its output open", probes[sched->probe].program);
        collect_note(&sched->collect, "probe-left", text);
    }
    log_line(sched->collect.run.note_count > 0 ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "%s: %s, %zu values in %.2f s%s%s",
             probes[sched->probe].program, sched->collect.run.status, sched->collect.run.values->count, (double)elapsed_ns / 1e9,
             sched->collect.run.note_count > 0 ? ": " : "", sched->collect.run.note_count > 0 ? sched->collect.run.notes[0].text : "");
    json_array_extend(sched->skipped, sched->collect.skipped);
    struct run run = sched->collect.run;
    sched->collect.run = (struct run){0};
    struct collect_progress progress = sched->collect.progress;
    collect_done(&sched->collect);
    sched->collect.progress = progress;
    sched->probe++;
    start_job(sched, &run);
    hub_wake(sched->env.hub);
    if (sched->job == NULL)
        next_step(sched);
}

static enum berth_code start_probe(struct sched *sched, struct berth_err *err)
{
    const struct config *config = sched->env.config;
    const struct probe_request *request = &sched->request;
    const char *profile = request->full ? "full" : "quick";
    uint64_t budget_ns = request->budget_ns;
    if (budget_ns == 0)
        budget_ns = request->full ? (uint64_t)config->full_budget_s * 1000000000u : (uint64_t)config->quick_budget_ms * 1000000u;
    enum berth_code code = collect_init(&sched->collect, sched->snapshot->graph, probes[sched->probe].name, profile,
                                        clock_now_s(sched->env.clock), err);
    if (code != BERTH_OK)
        return code;
    find_program(sched);
    snprintf(sched->budget_text, sizeof sched->budget_text, "%llu", (unsigned long long)budget_ns);
    size_t n = 0;
    sched->args[n++] = sched->program;
    sched->args[n++] = "--child";
    sched->args[n++] = "--profile";
    sched->args[n++] = profile;
    sched->args[n++] = "--budget-ns";
    sched->args[n++] = sched->budget_text;
    if (request->metrics != NULL) {
        sched->args[n++] = "--metrics";
        sched->args[n++] = request->metrics;
    }
    if (request->places != NULL) {
        sched->args[n++] = "--places";
        sched->args[n++] = request->places;
    }
    sched->args[n] = NULL;
    sched->spec = (struct runner_spec){
        .program = sched->program,
        .args = sched->args,
        .limit_ms = 2 * (budget_ns / 1000000u) + 5000,
        .silence_ms = (uint64_t)config->probe_silence_s * 1000,
        .output_max = OUTPUT_MAX,
        .line = probe_line,
        .ended = probe_ended,
        .arg = sched,
    };
    sched->started_ns = clock_mono_ns(sched->env.clock);
    code = runner_start(sched->env.loop, &sched->spec, &sched->runner, err);
    if (code != BERTH_OK)
        collect_done(&sched->collect);
    return code;
}

/* Whatever is due once neither a probe nor a job runs. */
static void next_step(struct sched *sched)
{
    while (sched->probing) {
        while (sched->probe < PROBE_COUNT && !lists_meet(sched->request.metrics, probes[sched->probe].metrics))
            sched->probe++;
        if (sched->probe >= PROBE_COUNT || sched->cancelled || sched->stopped != NULL) {
            sched->probing = false;
            hub_wake(sched->env.hub);
            break;
        }
        struct berth_err err = {0};
        if (start_probe(sched, &err) == BERTH_OK)
            return;
        log_line(LOG_LEVEL_WARNING, "%s: %s", probes[sched->probe].program, err.detail);
        sched->probe++;
    }
    if (sched->stopped != NULL) {
        sched->stopped(sched->stopped_arg);
        return;
    }
    if (sched->reload_due) {
        sched->reload_due = false;
        start_job(sched, NULL);
        hub_wake(sched->env.hub);
    }
}

enum berth_code sched_probe(struct sched *sched, struct probe_request *take_request, uint64_t *ret_number, struct berth_err *err)
{
    struct probe_request request = *take_request;
    *take_request = (struct probe_request){0};
    enum berth_code code = BERTH_OK;
    bool any = false;
    for (size_t i = 0; i < PROBE_COUNT; i++)
        any |= lists_meet(request.metrics, probes[i].metrics);
    if (sched->env.config->node != NULL) {
        code = err_set(err, BERTH_UNAVAILABLE, "%s is not this machine: a recorded node cannot be measured", sched->snapshot->graph->name);
    } else if (sched->probing || sched->job != NULL) {
        code = err_set(err, BERTH_BUSY, sched->probing ? "a probe is running already (berth cancel stops it)"
                                                       : "the node is being looked at again: ask in a moment");
        err_text(err, 0, sched->probing ? "probe" : "discovery");
    } else if (!any) {
        code = err_set(err, BERTH_UNAVAILABLE, "no probe of this version measures %s", request.metrics);
    }
    json_t *skipped = code == BERTH_OK ? json_array() : NULL;
    if (code == BERTH_OK && skipped == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "out of memory");
    if (code != BERTH_OK) {
        free(request.metrics);
        free(request.places);
        return code;
    }
    free(sched->request.metrics);
    free(sched->request.places);
    json_decref(sched->skipped);
    sched->skipped = skipped;
    sched->request = request;
    sched->collect.progress = (struct collect_progress){.from = PLACE_NONE, .to = PLACE_NONE};
    sched->probing = true;
    sched->cancelled = false;
    sched->probe = 0;
    *ret_number = ++sched->request_number;
    next_step(sched);
    hub_wake(sched->env.hub);
    return BERTH_OK;
}

bool sched_cancel(struct sched *sched)
{
    if (!sched->probing)
        return false;
    sched->cancelled = true;
    if (sched->runner != NULL)
        runner_stop(sched->runner);
    return true;
}

void sched_reload(struct sched *sched)
{
    if (sched->env.config->node != NULL)
        return;
    sched->reload_due = true;
    if (!sched->probing && sched->job == NULL)
        next_step(sched);
}

void sched_stop(struct sched *sched, void (*done)(void *arg), void *arg)
{
    sched->stopped = done;
    sched->stopped_arg = arg;
    sched->reload_due = false;
    sched_cancel(sched);
    if (sched->runner == NULL && sched->job == NULL)
        next_step(sched);
}
