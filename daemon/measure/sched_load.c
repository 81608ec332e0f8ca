#include "measure/sched_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/text.h"
#include "node/record.h"

#define OUTPUT_MAX  (64u << 20) /* 64 GPUs for an hour, an interval a second, take 46 MB */
#define FACTS_MS    10000
#define OVERTIME_MS 30000 /* to fill buffers, to end */
#define REASON_SIZE 256

void sched_load_init(struct sched_load *load, const struct sched_load_env *env)
{
    *load = (struct sched_load){.env = *env};
}

void sched_load_done(struct sched_load *load)
{
    for (size_t i = 0; i < SCHED_LOAD_PROGRAMS; i++)
        free(load->part[i].without);
    free(load->shapes);
    load_done(&load->load);
    json_decref(load->left_out);
    graph_unref(load->graph);
    *load = (struct sched_load){.env = load->env, .number = load->number, .stuck = load->stuck};
}

void sched_load_read_view(const struct sched_load *load, struct load_view *ret_view)
{
    uint64_t until_ns = load->active ? clock_mono_ns(load->env.clock) : load->ended_ns;
    *ret_view = (struct load_view){
        .number = load->number,
        .running = load->active,
        .cancelled = load->cancelled,
        .yielded_to = load->yielded_to[0] != '\0' ? load->yielded_to : NULL,
        .duration_s = load->duration_s,
        .elapsed_s = (int64_t)((until_ns - load->began_ns) / 1000000000),
        .load = &load->load,
        .graph = load->graph,
        .notes = load->notes,
        .note_count = load->note_count,
        .left_out = load->left_out,
        .is_standin = load->is_standin,
    };
    if (ret_view->elapsed_s > load->duration_s)
        ret_view->elapsed_s = load->duration_s;
}

const struct claim *sched_load_obstacle(const struct claim_set *claims, const struct graph *graph)
{
    const struct claim *claim = claims != NULL ? claim_set_computing(claims, false) : NULL;
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0);
         claims != NULL && claim == NULL && gpu != PLACE_NONE;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1))
        claim = claim_set_profiling(claims, graph, gpu, false);
    return claim;
}

/* ---- records ---- */

static void list_left_out(struct sched_load *load, const char *what, const char *why)
{
    char text[REASON_SIZE];
    place_id place = graph_find(load->graph, what);
    const char *name = place == PLACE_NONE ? what : graph_place(load->graph, place)->name;
    snprintf(text, sizeof text, "%.255s", why);
    text_clean(text);
    json_array_append_new(load->left_out, json_pack("{s:s,s:s}", "what", name, "why", text));
}

static void add_note(struct sched_load *load, enum note_severity severity, const char *code,
                     const char *place, const char *text)
{
    if (load->note_count == SCHED_LOAD_NOTES)
        return;
    struct note *note = &load->notes[load->note_count++];
    *note = (struct note){.severity = severity, .since_s = clock_now_s(load->env.clock)};
    snprintf(note->code, sizeof note->code, "%s", code);
    snprintf(note->place, sizeof note->place, "%s", place);
    snprintf(note->text, sizeof note->text, "%.255s", text);
    text_clean(note->text);
}

static void add_load(struct sched_load *load, const struct record *record, struct berth_err *err)
{
    place_id place = graph_find(load->graph, record->load.place);
    if (place == PLACE_NONE) {
        err_no_such_place(err, record->load.place);
    } else if (record->load.why != NULL) {
        list_left_out(load, record->load.place, record->load.why);
    } else {
        const struct load_sample sample = {.bytes_per_s = record->load.bytes_per_s,
                                           .flop_per_s = record->load.flop_per_s,
                                           .clock_mhz = record->load.clock_mhz,
                                           .power_w = record->load.power_w,
                                           .temperature_c = record->load.temperature_c};
        load_add(&load->load, place, &sample, record->load.throttle, err);
    }
}

static void add_record(struct sched_load *load, const struct record *record, struct berth_err *err)
{
    if (record->kind == RECORD_LOAD) {
        add_load(load, record, err);
    } else if (record->kind == RECORD_RUN) {
        load->is_standin = load->is_standin || strcmp(record->run.backend, "standin") == 0;
    } else if (record->kind == RECORD_FINDING) {
        place_id at = graph_find(load->graph, record->finding.from);
        add_note(load, NOTE_CRITICAL, record->finding.code,
                 graph_place(load->graph, at == PLACE_NONE ? 0 : at)->name, record->finding.why);
    }
}

static void load_line(void *arg, const char *line, size_t length)
{
    struct sched_load_part *part = arg;
    struct sched_load *load = part->owner;
    struct berth_err err = {0};
    struct record record;
    if (record_parse(line, length, &record, &err) == BERTH_OK) {
        add_record(load, &record, &err);
        record_done(&record);
    }
    if (err.code != BERTH_OK && !part->has_failed) {
        part->has_failed = true;
        add_note(load, NOTE_WARNING, "probe-garbage", graph_place(load->graph, 0)->name,
                 err.detail);
        runner_stop(part->runner);
    }
    load->env.moved(load->env.arg);
}

/* ---- programs ---- */

static bool is_any_running(const struct sched_load *load)
{
    bool is_any = false;
    for (size_t i = 0; i < load->count; i++)
        is_any = is_any || load->part[i].runner != NULL;
    return is_any;
}

static void end_if_all_have(struct sched_load *load)
{
    if (is_any_running(load))
        return;
    load->active = false;
    load->ended_ns = clock_mono_ns(load->env.clock);
    load->env.ended(load->env.arg);
}

static void part_ended(void *arg, const struct runner_end *end)
{
    struct sched_load_part *part = arg;
    struct sched_load *load = part->owner;
    static const char *const codes[] = {
        [RUNNER_EXITED] = "probe-failed",     [RUNNER_SIGNALED] = "probe-crashed",
        [RUNNER_HUNG] = "probe-timeout",      [RUNNER_TOO_LONG] = "probe-timeout",
        [RUNNER_FLOODED] = "probe-garbage",   [RUNNER_STOPPED] = "probe-garbage",
        [RUNNER_NOT_STARTED] = "probe-failed"};
    part->runner = NULL;
    if (end->stuck != 0)
        load->stuck = end->stuck;
    bool is_fine = end->ending == RUNNER_EXITED && end->code == 0;
    if (!is_fine && !load->cancelled && !part->has_failed) {
        char what[400], text[REASON_SIZE];
        runner_describe(end, &part->spec, what, sizeof what);
        snprintf(text, sizeof text, "%.40s %.200s", part->program->file, what);
        add_note(load, NOTE_WARNING, codes[end->ending], graph_place(load->graph, 0)->name, text);
    }
    end_if_all_have(load);
}

static enum berth_code start_part(struct sched_load_part *part, struct berth_err *err)
{
    struct sched_load *load = part->owner;
    size_t n = 0;
    part->args[n++] = part->path;
    part->args[n++] = "--child";
    part->args[n++] = "--load-ns";
    part->args[n++] = load->duration_text;
    const char *backend =
        part->program->is_gpu ? programs_backend(part->program, load->graph) : NULL;
    if (backend != NULL) {
        part->args[n++] = "--backend";
        part->args[n++] = backend;
    }
    if (part->program->is_gpu && load->use.count > 0) {
        free(part->without);
        part->without = gpu_use_names(&load->use, load->graph);
        if (part->without == NULL)
            return err_set(err, BERTH_NO_MEMORY, "out of memory");
        part->args[n++] = "--without";
        part->args[n++] = part->without;
    }
    if (part->program->is_gpu && load->shapes != NULL) {
        part->args[n++] = "--shapes";
        part->args[n++] = load->shapes;
    }
    part->args[n] = NULL;
    part->spec = (struct runner_spec){
        .program = part->path,
        .args = part->args,
        .environment = part->program->environment,
        .limit_ms = (uint64_t)load->duration_s * 1000 + OVERTIME_MS + part->program->start_ms,
        .silence_ms = (uint64_t)load->env.config->probe_silence_s * 1000,
        .output_max = OUTPUT_MAX,
        .line = load_line,
        .ended = part_ended,
        .arg = part,
    };
    return runner_start(load->env.loop, &part->spec, &part->runner, err);
}

static void report_used(struct sched_load *load)
{
    for (size_t i = 0; i < load->use.count; i++) {
        char why[REASON_SIZE];
        snprintf(why, sizeof why, "%lld process%s on it", (long long)load->use.item[i].processes,
                 load->use.item[i].processes == 1 ? " is" : "es are");
        list_left_out(load, graph_place(load->graph, load->use.item[i].gpu)->name, why);
    }
}

/* Starts all programs; a failed start is a note. */
static void start_all(struct sched_load *load)
{
    bool are_used = gpu_use_has_all(&load->use, load->graph);
    report_used(load);
    load->began_ns = clock_mono_ns(load->env.clock);
    for (size_t i = 0; i < load->count; i++) {
        struct berth_err err = {0};
        struct sched_load_part *part = &load->part[i];
        if ((part->program->is_gpu && are_used) || start_part(part, &err) == BERTH_OK)
            continue;
        log_line(LOG_LEVEL_WARNING, "%s: %s", part->program->file, err.detail);
        add_note(load, NOTE_WARNING, "probe-failed", graph_place(load->graph, 0)->name, err.detail);
    }
}

static void facts_line(void *arg, const char *line, size_t length)
{
    struct sched_load *load = ((struct sched_load_part *)arg)->owner;
    gpu_use_line(&load->use, load->graph, line, length);
}

/* Continues when the drivers have said which GPUs are in use; failed facts reveal no use. */
static void facts_ended(void *arg, const struct runner_end *end)
{
    struct sched_load_part *part = arg;
    struct sched_load *load = part->owner;
    part->runner = NULL;
    if (end->stuck != 0)
        load->stuck = end->stuck;
    if (!load->cancelled && load->stuck == 0)
        start_all(load);
    end_if_all_have(load);
}

static enum berth_code ask_drivers(struct sched_load_part *part, struct berth_err *err)
{
    struct sched_load *load = part->owner;
    part->args[0] = part->path;
    part->args[1] = "--facts";
    part->args[2] = NULL;
    part->spec = (struct runner_spec){
        .program = part->path,
        .args = part->args,
        .environment = part->program->environment,
        .limit_ms = FACTS_MS,
        .silence_ms = FACTS_MS,
        .output_max = OUTPUT_MAX,
        .line = facts_line,
        .ended = facts_ended,
        .arg = part,
    };
    return runner_start(load->env.loop, &part->spec, &part->runner, err);
}

/* Lists the programs that can run here: a variant of one has no load of its own. */
static void find_programs(struct sched_load *load)
{
    size_t count;
    const struct program *programs = programs_all(&count);
    for (size_t i = 0; i < count && load->count < SCHED_LOAD_PROGRAMS; i++) {
        struct sched_load_part *part = &load->part[load->count];
        if (programs[i].variant != NULL ||
            !programs_runs(&programs[i], load->env.config, load->graph, part->path,
                           sizeof part->path))
            continue;
        part->owner = load;
        part->program = &programs[i];
        load->count++;
    }
}

static struct sched_load_part *gpu_part(struct sched_load *load)
{
    for (size_t i = 0; i < load->count; i++)
        if (load->part[i].program->is_gpu)
            return &load->part[i];
    return NULL;
}

/* True while an unkillable process exists. It is our child, so waitpid tells when it has gone. */
static bool is_stuck(struct sched_load *load)
{
    if (load->stuck != 0 && waitpid(load->stuck, NULL, WNOHANG) != 0)
        load->stuck = 0;
    return load->stuck != 0;
}

enum berth_code sched_load_begin(struct sched_load *load, const struct graph *graph,
                                 const char *shapes, int64_t duration_s, uint64_t *ret_number,
                                 struct berth_err *err)
{
    if (is_stuck(load)) {
        err_text(err, 0, "probe");
        return err_set(err, BERTH_BUSY,
                       "a probe before this one (below process %d) cannot be killed", load->stuck);
    }
    sched_load_done(load);
    *ret_number = ++load->number; /* also of one that fails: what the last one left is gone */
    load->graph = graph_ref(graph);
    load->duration_s = duration_s;
    snprintf(load->duration_text, sizeof load->duration_text, "%lld000000000",
             (long long)duration_s);
    load->left_out = json_array();
    load->shapes = shapes != NULL ? strdup(shapes) : NULL;
    if (load->left_out == NULL || (shapes != NULL && load->shapes == NULL))
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    find_programs(load);
    if (load->count == 0)
        return err_set(err, BERTH_UNAVAILABLE, "no probe can run here");
    load->began_ns = clock_mono_ns(load->env.clock);
    load->active = load->is_due = true;
    return BERTH_OK;
}

void sched_load_start(struct sched_load *load)
{
    struct berth_err err = {0};
    struct sched_load_part *gpus = gpu_part(load);
    load->is_due = false;
    if (gpus == NULL) {
        list_left_out(load, "gpus",
                      graph_next(load->graph, PLACE_GPU, 0) == PLACE_NONE
                          ? "the node has none"
                          : "no probe of gpus can run here");
        start_all(load);
    } else if (ask_drivers(gpus, &err) != BERTH_OK) {
        add_note(load, NOTE_WARNING, "probe-failed", graph_place(load->graph, 0)->name, err.detail);
    }
    end_if_all_have(load);
}

void sched_load_cancel(struct sched_load *load, const char *by)
{
    load->cancelled = true;
    if (by != NULL)
        snprintf(load->yielded_to, sizeof load->yielded_to, "%s", by);
    for (size_t i = 0; i < load->count; i++)
        if (load->part[i].runner != NULL)
            runner_stop(load->part[i].runner);
    if (load->is_due) {
        load->is_due = false;
        end_if_all_have(load);
    }
}
