#include "measure/sched_probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"
#include "measure/probe_names.h"
#include "measure/probe_sets.h"
#include "node/tuning.h"

#define OUTPUT_MAX (256u << 20) /* all ordered pairs of 288 cores take 100 MB */

static const struct program *program_at(size_t index)
{
    size_t count;
    const struct program *programs = programs_all(&count);
    return index < count ? &programs[index] : NULL;
}

static const struct program *program_now(const struct sched_probe *probe)
{
    return program_at(probe->next);
}

void sched_probe_init(struct sched_probe *probe, const struct sched_probe_env *env)
{
    *probe = (struct sched_probe){.env = *env};
}

void sched_probe_request_done(struct probe_request *request)
{
    free(request->metrics);
    free(request->places);
    *request = (struct probe_request){0};
}

/* Resets the state of attempts for the next program and adds up the counts. */
static void reset_attempts(struct sched_probe *probe)
{
    free(probe->hung);
    probe->hung = NULL;
    probe->attempts = 0;
    probe->measured += probe->best_measured;
    probe->left_out += probe->best_left_out;
    probe->best_measured = probe->best_left_out = 0;
    probe->out.count = 0;
    probe->kept_count = 0;
}

void sched_probe_done(struct sched_probe *probe)
{
    json_decref(probe->skipped);
    probe->skipped = NULL;
    sched_probe_request_done(&probe->request);
    reset_attempts(probe);
    free(probe->shapes);
    free(probe->metrics);
    free(probe->places);
    free(probe->without);
    free(probe->sets);
    probe->shapes = probe->metrics = probe->places = probe->without = probe->sets = NULL;
}

void sched_probe_read_view(const struct sched_probe *probe, struct probe_view *ret_view)
{
    *ret_view = (struct probe_view){
        .number = probe->number,
        .running = probe->active,
        .cancelled = probe->cancelled,
        .yielded_to = probe->yielded_to[0] != '\0' ? probe->yielded_to : NULL,
        .progress = probe->parser.progress,
        .share = NAN,
        .remaining_ns = NAN,
        .measured = probe->measured + probe->best_measured,
        .left_out = probe->left_out + probe->best_left_out,
        .skipped = probe->skipped,
    };
    const struct run_progress *progress = &probe->parser.progress;
    bool counts = progress->total > 0 && progress->total >= progress->done;
    if (probe->active && probe->begun > 0 && (counts || probe->begun > 1))
        ret_view->share = ((double)(probe->begun - 1) +
                           (counts ? (double)progress->done / (double)progress->total : 0)) /
                          (double)probe->steps;
    if (probe->runner != NULL && !probe->is_querying && progress->done > 0 && counts)
        ret_view->remaining_ns = (double)(clock_mono_ns(probe->env.clock) - probe->started_ns) /
                                 (double)progress->done *
                                 (double)(progress->total - progress->done);
}

/* ---- selection of programs ---- */

/* True when the program measures the place of a background request. */
static bool measures_at(const struct program *program, const struct graph *graph, place_id at)
{
    const struct gpu_use counted = {.vendor = programs_vendor(program, graph)};
    bool is_gpu = graph_place(graph, at)->kind == PLACE_GPU;
    return is_gpu == program->is_gpu && (!is_gpu || gpu_use_counts(&counted, graph, at));
}

static bool is_requested(const struct sched_probe *probe, const struct program *program,
                         const struct graph *graph, char *ret_path, size_t size)
{
    return (!program->full_only || probe->request.full) &&
           (!probe->request.when_free ||
            sched_left_out_names(graph, probe->request.places, program->is_gpu)) &&
           (!probe->request.is_background || measures_at(program, graph, probe->request.at)) &&
           programs_measures(program, probe->request.metrics) &&
           programs_runs(program, probe->env.config, graph, ret_path, size);
}

/* True while an unkillable process exists. It is our child, so waitpid tells when it has gone. */
static bool is_stuck(struct sched_probe *probe)
{
    if (probe->stuck != 0 && waitpid(probe->stuck, NULL, WNOHANG) != 0)
        probe->stuck = 0;
    return probe->stuck != 0;
}

enum berth_code sched_probe_begin(struct sched_probe *probe, struct probe_request *take_request,
                                  const struct graph *graph, struct berth_err *err)
{
    struct probe_request old = probe->request;
    probe->request = *take_request;
    *take_request = (struct probe_request){0};
    enum berth_code code = BERTH_OK;
    char path[sizeof probe->program];
    const struct program *program;
    size_t steps = 0;
    for (size_t i = 0; (program = program_at(i)) != NULL; i++)
        steps += is_requested(probe, program, graph, path, sizeof path);
    if (is_stuck(probe)) {
        code = err_set(err, BERTH_BUSY,
                       "a probe before this one (below process %d) cannot be killed: it is stuck "
                       "in a driver, and nothing is measured beside it",
                       probe->stuck);
        err_text(err, 0, "probe");
    } else if (steps == 0) {
        enum metric metric;
        const char *metrics = probe->request.metrics;
        bool is_given =
            metrics != NULL && metric_parse(metrics, &metric) && programs_is_given(metric);
        code = err_set(err, BERTH_UNAVAILABLE, "no probe that can run here measures %s%s",
                       metrics != NULL ? metrics : "anything",
                       is_given ? " (berth probe --mpi does)" : "");
    }
    json_t *skipped = code == BERTH_OK ? json_array() : NULL;
    if (code == BERTH_OK && skipped == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "out of memory");
    if (code != BERTH_OK) {
        sched_probe_request_done(&probe->request);
        probe->request = old;
        return code;
    }
    sched_probe_request_done(&old);
    json_decref(probe->skipped);
    probe->skipped = skipped;
    reset_attempts(probe);
    probe->measured = probe->left_out = 0;
    probe->parser.progress = (struct run_progress){.from = PLACE_NONE, .to = PLACE_NONE};
    probe->active = true;
    probe->cancelled = false;
    probe->yielded_to[0] = '\0';
    probe->next = probe->begun = 0;
    probe->steps = steps;
    probe->number++;
    return BERTH_OK;
}

/* ---- end of a run ---- */

static void probe_line(void *arg, const char *line, size_t length)
{
    struct sched_probe *probe = arg;
    if (!run_parser_line(&probe->parser, line, length))
        runner_stop(probe->runner);
    probe->env.moved(probe->env.arg);
}

/* Returns the status of a run; "" for a normal end. */
static const char *ending_status(const struct sched_probe *probe, const struct runner_end *end)
{
    switch (end->ending) {
    case RUNNER_EXITED:
        return end->code == 0 ? "" : "failed";
    case RUNNER_SIGNALED:
        return "crashed";
    case RUNNER_HUNG:
    case RUNNER_TOO_LONG:
        return "timeout";
    case RUNNER_FLOODED:
        return "garbage";
    case RUNNER_STOPPED:
        return probe->cancelled ? "cancelled" : "garbage";
    case RUNNER_NOT_STARTED:
        return "failed";
    }
    return "failed";
}

/* Leaves out the GPUs that the run lost. Returns true when there are any. */
static bool exclude_lost(struct sched_probe *probe)
{
    size_t before = probe->out.count;
    for (size_t i = 0; i < probe->parser.run.note_count; i++)
        if (strcmp(probe->parser.run.notes[i].code, "gpu-lost") == 0)
            gpu_use_add(&probe->out, graph_find(probe->graph, probe->parser.run.notes[i].place), 0);
    return probe->out.count > before;
}

/* Leaves out the cell at which the probe hung or crashed. Returns false when it is unknown or
 * memory runs out. */
static bool exclude_cell(struct sched_probe *probe, const struct runner_end *end)
{
    const char *cell = probe->parser.cell.text;
    size_t used = probe->hung != NULL ? strlen(probe->hung) : 0;
    if ((end->ending != RUNNER_HUNG && end->ending != RUNNER_SIGNALED) || cell[0] == '\0' ||
        strchr(cell, ',') != NULL)
        return false;
    char *hung = realloc(probe->hung, used + strlen(cell) + 2);
    if (hung == NULL)
        return false;
    sprintf(hung + used, "%s%s", used > 0 ? "," : "", cell);
    probe->hung = hung;
    return true;
}

/* True when the program is to be started again; the notes of this run then join the next one's. */
static bool needs_another(struct sched_probe *probe, const struct runner_end *end)
{
    bool lost = exclude_lost(probe), hung = exclude_cell(probe, end);
    probe->attempts++;
    if ((!lost && !hung) || probe->attempts >= SCHED_PROBE_ATTEMPTS || probe->cancelled ||
        probe->stuck != 0 ||
        (program_now(probe)->is_gpu && gpu_use_has_all(&probe->out, probe->graph)))
        return false;
    probe->kept_count = 0;
    for (size_t i = 0; i < probe->parser.run.note_count &&
                       probe->kept_count < sizeof probe->kept / sizeof probe->kept[0];
         i++)
        probe->kept[probe->kept_count++] = probe->parser.run.notes[i];
    return true;
}

static void note_leftovers(struct sched_probe *probe, const struct runner_end *end)
{
    const char *file = program_now(probe)->file;
    char text[256];
    if (end->left_open) {
        snprintf(text, sizeof text,
                 "%s ended, but something that it started kept its output open and was killed",
                 file);
        run_parser_note(&probe->parser, NOTE_WARNING, "probe-left", "machine0", text);
    }
    if (end->stuck != 0) {
        probe->stuck = end->stuck;
        snprintf(text, sizeof text,
                 "%s (below process %d) cannot be killed: it is stuck in a driver; nothing is "
                 "measured until it is gone",
                 file, end->stuck);
        run_parser_note(&probe->parser, NOTE_CRITICAL, "probe-stuck", "machine0", text);
    }
}

/* Passes the collected run on. */
static void pass_run(struct sched_probe *probe)
{
    json_array_extend(probe->skipped, probe->parser.skipped);
    struct run run = probe->parser.run;
    probe->parser.run = (struct run){0};
    struct run_progress progress = probe->parser.progress;
    run_parser_done(&probe->parser);
    probe->parser.progress = progress;
    graph_unref(probe->graph);
    probe->graph = NULL;
    probe->env.ran(probe->env.arg, &run);
}

static void probe_ended(void *arg, const struct runner_end *end)
{
    struct sched_probe *probe = arg;
    const char *file = program_now(probe)->file;
    probe->runner = NULL;
    char text[512];
    runner_describe(end, &probe->spec, text, sizeof text);
    const char *status = ending_status(probe, end);
    if (strcmp(status, "garbage") == 0 && end->ending == RUNNER_STOPPED)
        snprintf(text, sizeof text, "%s printed rubbish: %s", file, probe->parser.first_bad);
    uint64_t elapsed_ns = clock_mono_ns(probe->env.clock) - probe->started_ns;
    run_parser_finish(&probe->parser, status, status[0] ? text : file, (int64_t)elapsed_ns);
    note_leftovers(probe, end);
    const struct run *run = &probe->parser.run;
    bool again = needs_another(probe, end);
    size_t measured = values_numbers(run->values), left_out = run->values->count - measured;
    if (measured >= probe->best_measured) {
        probe->best_measured = measured;
        probe->best_left_out = left_out;
    }
    if (!probe->request.is_background || run->note_count > 0)
        log_line(run->note_count > 0 ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO,
                 "%s: %s, %zu values measured, %zu left out in %.2f s%s%s%s%s%s%s", file,
                 run->status, measured, left_out, (double)elapsed_ns / 1e9, probe->parser.spent,
                 run->note_count > 0 ? ": " : "", run->note_count > 0 ? run->notes[0].place : "",
                 run->note_count > 0 ? ": " : "", run->note_count > 0 ? run->notes[0].text : "",
                 again ? "; it is started again without that" : "");
    if (!again) {
        probe->next++;
        reset_attempts(probe);
    }
    pass_run(probe);
}

static void add_argument(struct sched_probe *probe, size_t *count, const char *key,
                         const char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    probe->args[(*count)++] = key;
    probe->args[(*count)++] = value;
}

static uint64_t budget_of(const struct sched_probe *probe)
{
    const struct config *config = probe->env.config;
    if (probe->request.budget_ns > 0)
        return probe->request.budget_ns;
    if (probe->request.full)
        return (uint64_t)config->full_budget_s * 1000000000u;
    return (uint64_t)(program_now(probe)->is_gpu ? config->gpu_quick_budget_ms
                                                 : config->quick_budget_ms) *
           1000000u;
}

/* Makes the program's own arguments: metrics, for a variant only its own, and GPUs by the probe's
 * names. Returns false when out of memory. */
static bool name_arguments(struct sched_probe *probe)
{
    const struct program *program = program_now(probe);
    /* a request for places has no sets */
    bool is_gpu = program->is_gpu, has_sets = is_gpu && probe->request.places == NULL;
    free(probe->metrics);
    free(probe->places);
    free(probe->without);
    free(probe->sets);
    probe->metrics = probe->places = probe->without = probe->sets = NULL;
    const char *metrics = probe->request.metrics != NULL || program->variant == NULL
                              ? probe->request.metrics
                              : program->metrics;
    if (metrics != NULL &&
        (probe->metrics = program->variant != NULL ? programs_common(program, metrics)
                                                   : strdup(metrics)) == NULL)
        return false;
    if (probe->request.places != NULL)
        probe->places = is_gpu ? probe_names_translate(probe->graph, probe->request.places)
                               : strdup(probe->request.places);
    if (probe->out.count > 0)
        probe->without = is_gpu ? gpu_use_names(&probe->out, probe->graph)
                                : sched_left_out_memory(&probe->out, probe->graph);
    if (has_sets)
        probe->sets = probe_sets(probe->graph, programs_vendor(program, probe->graph));
    return (probe->places != NULL || probe->request.places == NULL) &&
           (probe->without != NULL || probe->out.count == 0) && (probe->sets != NULL || !has_sets);
}

static void begin_spec(struct sched_probe *probe, uint64_t limit_ms,
                       void (*line)(void *, const char *, size_t),
                       void (*ended)(void *, const struct runner_end *))
{
    probe->spec = (struct runner_spec){
        .program = probe->program,
        .args = probe->args,
        .environment = program_now(probe)->environment,
        .limit_ms = limit_ms,
        .silence_ms = (uint64_t)probe->env.config->probe_silence_s * 1000,
        .output_max = OUTPUT_MAX,
        .line = line,
        .ended = ended,
        .arg = probe,
    };
    probe->started_ns = clock_mono_ns(probe->env.clock);
}

static enum berth_code begin_run(struct sched_probe *probe, struct berth_err *err)
{
    enum berth_code code =
        run_parser_init(&probe->parser, probe->graph, program_now(probe)->name,
                        probe->request.full ? "full" : "quick", clock_now_s(probe->env.clock), err);
    if (code != BERTH_OK)
        return code;
    probe->parser.run.is_partial =
        probe->request.metrics != NULL || probe->request.places != NULL || probe->out.count > 0;
    probe->parser.run.is_background = probe->request.is_background;
    probe->parser.at = probe->request.at;
    for (size_t i = 0; i < probe->kept_count; i++)
        run_parser_add_note(&probe->parser, &probe->kept[i]);
    if (!probe->request.is_background)
        sched_left_out_report(&probe->out, probe->graph, &probe->claims, &probe->parser,
                              probe->attempts == 0 ? probe->skipped : NULL);
    return BERTH_OK;
}

static enum berth_code start_measuring(struct sched_probe *probe, struct berth_err *err)
{
    const struct program *program = program_now(probe);
    uint64_t budget_ns = budget_of(probe);
    sched_left_out_add(&probe->out, probe->graph, &probe->claims);
    if (!name_arguments(probe))
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    enum berth_code code = begin_run(probe, err);
    if (code != BERTH_OK)
        return code;
    snprintf(probe->budget_text, sizeof probe->budget_text, "%llu", (unsigned long long)budget_ns);
    size_t n = 0;
    probe->args[n++] = probe->program;
    probe->args[n++] = "--child";
    add_argument(probe, &n, "--profile", probe->request.full ? "full" : "quick");
    add_argument(probe, &n, "--budget-ns", probe->budget_text);
    add_argument(probe, &n, "--metrics", probe->metrics);
    add_argument(probe, &n, "--places", probe->places);
    if (program->is_gpu) {
        add_argument(probe, &n, "--backend", programs_backend(program, probe->graph));
        add_argument(probe, &n, "--variant", program->variant);
        add_argument(probe, &n, "--sets", probe->sets);
    }
    add_argument(probe, &n, "--without", probe->without);
    if (program->is_gpu) {
        add_argument(probe, &n, "--skip", probe->hung);
        add_argument(probe, &n, "--shapes", probe->shapes);
        if (probe->tunes_anew && !probe->request.is_beside)
            probe->args[n++] = "--tune";
    }
    probe->args[n] = NULL;
    begin_spec(probe, 2 * (budget_ns / 1000000u) + 5000 + program->start_ms, probe_line,
               probe_ended);
    code = runner_start(probe->env.loop, &probe->spec, &probe->runner, err);
    if (code != BERTH_OK)
        run_parser_done(&probe->parser);
    return code;
}

/* Records a run that was put off, with notes of the reasons. */
static void put_off(struct sched_probe *probe)
{
    struct berth_err err = {0};
    enum berth_code code = begin_run(probe, &err);
    probe->next++;
    reset_attempts(probe);
    if (code != BERTH_OK) {
        graph_unref(probe->graph);
        probe->graph = NULL;
        probe->env.ran(probe->env.arg, NULL);
        return;
    }
    run_parser_finish(&probe->parser, "put-off", "", 0);
    pass_run(probe);
}

static void facts_line(void *arg, const char *line, size_t length)
{
    struct sched_probe *probe = arg;
    gpu_use_line(&probe->out, probe->graph, line, length);
    sched_facts_text_add(&probe->facts, line, length);
}

/* Continues after the facts. Failed facts reveal no use of GPUs: nothing is measured beside a job
 * then, and a probe of an idle node reports its own failure. */
static void facts_ended(void *arg, const struct runner_end *end)
{
    struct sched_probe *probe = arg;
    struct berth_err err = {0};
    char *text = sched_facts_text_detach(&probe->facts);
    probe->runner = NULL;
    probe->is_querying = false;
    bool has_facts = end->ending == RUNNER_EXITED && end->code == 0;
    if (has_facts && probe->env.config->node == NULL)
        probe->env.facts(probe->env.arg, text);
    else
        free(text);
    if (end->stuck != 0)
        probe->stuck = end->stuck;
    sched_left_out_add(&probe->out, probe->graph, &probe->claims);
    bool goes_on = !probe->cancelled && probe->stuck == 0 &&
                   (probe->env.choose == NULL ||
                    (probe->env.choose(probe->env.arg, &probe->out, &probe->request) &&
                     measures_at(program_now(probe), probe->graph, probe->request.at))) &&
                   (has_facts || !probe->request.is_beside) &&
                   (!probe->request.when_free ||
                    !gpu_use_has_places(&probe->out, probe->graph, probe->request.places));
    if (goes_on && gpu_use_has_all(&probe->out, probe->graph)) {
        put_off(probe);
        return;
    }
    if (goes_on && start_measuring(probe, &err) == BERTH_OK)
        return;
    if (err.code != BERTH_OK)
        log_line(LOG_LEVEL_WARNING, "%s: %s", program_now(probe)->file, err.detail);
    graph_unref(probe->graph);
    probe->graph = NULL;
    probe->next++;
    reset_attempts(probe);
    probe->env.ran(probe->env.arg, NULL);
}

static enum berth_code start_query(struct sched_probe *probe, struct berth_err *err)
{
    probe->args[0] = probe->program;
    probe->args[1] = "--facts";
    probe->args[2] = NULL;
    begin_spec(probe, program_now(probe)->start_ms, facts_line, facts_ended);
    probe->is_querying = true;
    probe->out.vendor = programs_vendor(program_now(probe), probe->graph);
    enum berth_code code = runner_start(probe->env.loop, &probe->spec, &probe->runner, err);
    probe->is_querying = code == BERTH_OK;
    return code;
}

static enum berth_code start_program(struct sched_probe *probe, const struct graph *graph,
                                     struct berth_err *err)
{
    probe->graph = graph_ref(graph);
    bool is_first = probe->attempts == 0;
    probe->claims.is_gpu_probe = program_now(probe)->is_gpu;
    probe->claims.is_forced = probe->request.force;
    enum berth_code code = is_first && program_now(probe)->is_gpu ? start_query(probe, err)
                                                                  : start_measuring(probe, err);
    if (code != BERTH_OK) {
        graph_unref(probe->graph);
        probe->graph = NULL;
    }
    return code;
}

static bool keep_shapes(struct sched_probe *probe, const struct graph *graph, const char *shapes)
{
    free(probe->shapes);
    probe->shapes = shapes != NULL ? strdup(shapes) : NULL;
    probe->tunes_anew = tuning_is_due(shapes, graph, clock_now_s(probe->env.clock));
    return shapes == NULL || probe->shapes != NULL;
}

/* Advances to the first requested program, starting with the current one. Returns false when none
 * is left. */
static bool find_next(struct sched_probe *probe, const struct graph *graph)
{
    const struct program *program;
    while ((program = program_now(probe)) != NULL &&
           !is_requested(probe, program, graph, probe->program, sizeof probe->program))
        probe->next++;
    return program != NULL;
}

bool sched_probe_step(struct sched_probe *probe, const struct graph *graph, const char *shapes)
{
    while (probe->active && !probe->cancelled && !is_stuck(probe) && find_next(probe, graph)) {
        struct berth_err err = {0};
        size_t at = probe->next;
        if (probe->attempts == 0)
            probe->begun++;
        if (!keep_shapes(probe, graph, shapes))
            err_set(&err, BERTH_NO_MEMORY, "out of memory");
        if (err.code == BERTH_OK && start_program(probe, graph, &err) == BERTH_OK)
            return true;
        log_line(LOG_LEVEL_WARNING, "%s: %s", program_at(at)->file, err.detail);
        reset_attempts(probe);
        probe->next = at + 1;
    }
    probe->active = false;
    return false;
}

void sched_probe_cancel(struct sched_probe *probe)
{
    probe->cancelled = true;
    if (probe->runner != NULL)
        runner_stop(probe->runner);
}

const struct claim *sched_probe_obstacle(const struct sched_probe *probe)
{
    if (probe->runner == NULL || probe->is_querying || probe->cancelled)
        return NULL;
    return sched_left_out_missing(&probe->out, probe->graph, &probe->claims);
}

void sched_probe_yield(struct sched_probe *probe, const char *by)
{
    snprintf(probe->yielded_to, sizeof probe->yielded_to, "%s", by);
    sched_probe_cancel(probe);
}
