#include "sched_probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

#define OUTPUT_MAX (256u << 20) /* all ordered pairs of 288 cores take 100 MB */

/* The probes there are, in the order in which they run. */
static const struct probe {
    const char *name, *program;
    const char *metrics; /* what it can measure, comma separated */
    const char *quick;   /* of these, what quick measures: a value or a skip of each is in its record, however early it ended */
} probes[] = {
    {"cpu", "berth-probe-cpu", "cpu_pingpong,cpu_copy,cpu_queue,memory_bandwidth,memory_latency,memory_noise",
     "cpu_pingpong,cpu_copy,cpu_queue,memory_bandwidth,memory_latency"},
};
#define PROBE_COUNT (sizeof probes / sizeof probes[0])

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

bool sched_probe_has_all(const struct values *values, int64_t since_s)
{
    bool tried[METRIC_COUNT] = {0};
    for (size_t i = 0; i < values->count; i++)
        if (values->item[i].source == VALUE_MEASURED && values->item[i].measured_at_s >= since_s)
            tried[values->item[i].metric] = true;
    for (size_t i = 0; i < PROBE_COUNT; i++)
        for (enum metric metric = 0; metric < METRIC_COUNT; metric++)
            if (!tried[metric] && lists_meet(metric_info(metric)->name, probes[i].quick))
                return false;
    return true;
}

void sched_probe_init(struct sched_probe *probe, const struct sched_probe_env *env) { *probe = (struct sched_probe){.env = *env}; }

void sched_probe_request_done(struct probe_request *request)
{
    free(request->metrics);
    free(request->places);
    *request = (struct probe_request){0};
}

void sched_probe_done(struct sched_probe *probe)
{
    json_decref(probe->skipped);
    sched_probe_request_done(&probe->request);
}

void sched_probe_look(const struct sched_probe *probe, struct probe_view *ret_view)
{
    *ret_view = (struct probe_view){
        .number = probe->number,
        .running = probe->active,
        .cancelled = probe->cancelled,
        .yielded_to = probe->yielded_to[0] != '\0' ? probe->yielded_to : NULL,
        .progress = probe->collect.progress,
        .remaining_ns = NAN,
        .skipped = probe->skipped,
    };
    const struct collect_progress *progress = &probe->collect.progress;
    if (probe->runner != NULL && progress->done > 0 && progress->total >= progress->done)
        ret_view->remaining_ns = (double)(clock_mono_ns(probe->env.clock) - probe->started_ns) / (double)progress->done *
                                 (double)(progress->total - progress->done);
}

static void find_program(struct sched_probe *probe)
{
    const char *name = probes[probe->next].program;
    if (probe->env.config->probe_dir != NULL) {
        snprintf(probe->program, sizeof probe->program, "%s/%s", probe->env.config->probe_dir, name);
        return;
    }
    char self[3072];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = '\0';
        char *slash = strrchr(self, '/');
        snprintf(probe->program, sizeof probe->program, "%.*s/%s", slash ? (int)(slash - self) : 0, self, name);
        if (access(probe->program, X_OK) == 0)
            return;
    }
    snprintf(probe->program, sizeof probe->program, "%s/%s", BERTH_LIBEXECDIR, name);
}

static void probe_line(void *arg, const char *line, size_t length)
{
    struct sched_probe *probe = arg;
    if (!collect_line(&probe->collect, line, length))
        runner_stop(probe->runner);
    probe->env.moved(probe->env.arg);
}

/* How the run's status calls an ending; "" for a normal one. */
static const char *ending_status(const struct sched_probe *probe, const struct runner_end *end)
{
    switch (end->ending) {
    case RUNNER_EXITED: return end->code == 0 ? "" : "failed";
    case RUNNER_SIGNALED: return "crashed";
    case RUNNER_HUNG:
    case RUNNER_TOO_LONG: return "timeout";
    case RUNNER_FLOODED: return "garbage";
    case RUNNER_STOPPED: return probe->cancelled ? "cancelled" : "garbage";
    case RUNNER_NOT_STARTED: return "failed";
    }
    return "failed";
}

static void probe_ended(void *arg, const struct runner_end *end)
{
    struct sched_probe *probe = arg;
    probe->runner = NULL;
    char text[512];
    runner_describe(end, &probe->spec, text, sizeof text);
    const char *status = ending_status(probe, end);
    if (strcmp(status, "garbage") == 0 && end->ending == RUNNER_STOPPED)
        snprintf(text, sizeof text, "%s printed rubbish: %s", probes[probe->next].program, probe->collect.first_bad);
    uint64_t elapsed_ns = clock_mono_ns(probe->env.clock) - probe->started_ns;
    collect_finish(&probe->collect, status, status[0] ? text : probes[probe->next].program, (int64_t)elapsed_ns);
    if (end->left_open) {
        snprintf(text, sizeof text, "%s ended, but something that it started kept its output open and was killed", probes[probe->next].program);
        collect_note(&probe->collect, "probe-left", text);
    }
    log_line(probe->collect.run.note_count > 0 ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "%s: %s, %zu values in %.2f s%s%s",
             probes[probe->next].program, probe->collect.run.status, probe->collect.run.values->count, (double)elapsed_ns / 1e9,
             probe->collect.run.note_count > 0 ? ": " : "", probe->collect.run.note_count > 0 ? probe->collect.run.notes[0].text : "");
    json_array_extend(probe->skipped, probe->collect.skipped);
    struct run run = probe->collect.run;
    probe->collect.run = (struct run){0};
    struct collect_progress progress = probe->collect.progress;
    collect_done(&probe->collect);
    probe->collect.progress = progress;
    graph_unref(probe->graph);
    probe->graph = NULL;
    probe->next++;
    probe->env.ran(probe->env.arg, &run);
}

static enum berth_code start_program(struct sched_probe *probe, const struct graph *graph, struct berth_err *err)
{
    const struct config *config = probe->env.config;
    const struct probe_request *request = &probe->request;
    const char *profile = request->full ? "full" : "quick";
    uint64_t budget_ns = request->budget_ns;
    if (budget_ns == 0)
        budget_ns = request->full ? (uint64_t)config->full_budget_s * 1000000000u : (uint64_t)config->quick_budget_ms * 1000000u;
    enum berth_code code = collect_init(&probe->collect, graph, probes[probe->next].name, profile,
                                        clock_now_s(probe->env.clock), err);
    if (code != BERTH_OK)
        return code;
    find_program(probe);
    snprintf(probe->budget_text, sizeof probe->budget_text, "%llu", (unsigned long long)budget_ns);
    size_t n = 0;
    probe->args[n++] = probe->program;
    probe->args[n++] = "--child";
    probe->args[n++] = "--profile";
    probe->args[n++] = profile;
    probe->args[n++] = "--budget-ns";
    probe->args[n++] = probe->budget_text;
    if (request->metrics != NULL) {
        probe->args[n++] = "--metrics";
        probe->args[n++] = request->metrics;
    }
    if (request->places != NULL) {
        probe->args[n++] = "--places";
        probe->args[n++] = request->places;
    }
    probe->args[n] = NULL;
    probe->spec = (struct runner_spec){
        .program = probe->program,
        .args = probe->args,
        .limit_ms = 2 * (budget_ns / 1000000u) + 5000,
        .silence_ms = (uint64_t)config->probe_silence_s * 1000,
        .output_max = OUTPUT_MAX,
        .line = probe_line,
        .ended = probe_ended,
        .arg = probe,
    };
    probe->started_ns = clock_mono_ns(probe->env.clock);
    code = runner_start(probe->env.loop, &probe->spec, &probe->runner, err);
    if (code == BERTH_OK)
        probe->graph = graph_ref(graph);
    else
        collect_done(&probe->collect);
    return code;
}

bool sched_probe_step(struct sched_probe *probe, const struct graph *graph)
{
    while (probe->active) {
        while (probe->next < PROBE_COUNT && !lists_meet(probe->request.metrics, probes[probe->next].metrics))
            probe->next++;
        if (probe->next >= PROBE_COUNT || probe->cancelled)
            break;
        struct berth_err err = {0};
        if (start_program(probe, graph, &err) == BERTH_OK)
            return true;
        log_line(LOG_LEVEL_WARNING, "%s: %s", probes[probe->next].program, err.detail);
        probe->next++;
    }
    probe->active = false;
    return false;
}

enum berth_code sched_probe_begin(struct sched_probe *probe, struct probe_request *take_request, struct berth_err *err)
{
    struct probe_request request = *take_request;
    *take_request = (struct probe_request){0};
    enum berth_code code = BERTH_OK;
    bool any = false;
    for (size_t i = 0; i < PROBE_COUNT; i++)
        any |= lists_meet(request.metrics, probes[i].metrics);
    if (!any)
        code = err_set(err, BERTH_UNAVAILABLE, "no probe of this version measures %s", request.metrics);
    json_t *skipped = code == BERTH_OK ? json_array() : NULL;
    if (code == BERTH_OK && skipped == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "out of memory");
    if (code != BERTH_OK) {
        sched_probe_request_done(&request);
        return code;
    }
    sched_probe_done(probe);
    probe->skipped = skipped;
    probe->request = request;
    probe->collect.progress = (struct collect_progress){.from = PLACE_NONE, .to = PLACE_NONE};
    probe->active = true;
    probe->cancelled = false;
    probe->yielded_to[0] = '\0';
    probe->next = 0;
    probe->number++;
    return BERTH_OK;
}

void sched_probe_cancel(struct sched_probe *probe)
{
    probe->cancelled = true;
    if (probe->runner != NULL)
        runner_stop(probe->runner);
}

void sched_probe_yield(struct sched_probe *probe, const char *by)
{
    snprintf(probe->yielded_to, sizeof probe->yielded_to, "%s", by);
    sched_probe_cancel(probe);
}
