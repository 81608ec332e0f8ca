#include "measure/history.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "health/assessment.h"
#include "health/findings.h"
#include "measure/baseline_file.h"
#include "store/baseline.h"
#include "store/expected_place.h"
#include "store/finding.h"

static enum berth_code load_baselines(struct store *store, struct snapshot *snapshot,
                                      struct berth_err *err)
{
    struct baseline *baseline = calloc(snapshot->values->count + 1, sizeof *baseline);
    if (baseline == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for baselines");
    enum berth_code code =
        store_baseline_load(store, snapshot->graph, snapshot->values, baseline, err);
    if (code != BERTH_OK) {
        free(baseline);
        return code;
    }
    free(snapshot->baseline);
    snapshot->baseline = baseline;
    return BERTH_OK;
}

#define SECOND_LOOKS_MAX 256 /* the worst; the others are measured again when they are old */

/* Lists the cells of unconfirmed findings. */
static void list_second_looks(struct snapshot *snapshot, const struct assessment *assessment)
{
    free(snapshot->second_look);
    snapshot->second_look = calloc(assessment->count + 1, sizeof *snapshot->second_look);
    snapshot->second_look_count = 0;
    for (size_t i = 0; snapshot->second_look != NULL && i < assessment->count &&
                       snapshot->second_look_count < SECOND_LOOKS_MAX;
         i++) {
        const struct finding *finding = &assessment->finding[i];
        if (!finding->is_unconfirmed || finding->of == NULL)
            continue;
        int64_t since_s = finding->since_s > 0 ? finding->since_s : finding->at_s;
        snapshot->second_look[snapshot->second_look_count++] =
            (struct second_look){finding->of->metric, finding->of->from, finding->of->to,
                                 since_s + ASSESSMENT_SECOND_LOOK_S};
    }
}

static void set_opened(struct snapshot *snapshot, struct opened *take_opened, size_t count)
{
    free(snapshot->opened);
    snapshot->opened = take_opened;
    snapshot->opened_count = count;
}

/* Assesses the snapshot beside the open findings, which a second measurement may confirm. Stores
 * its findings and copies the times of open ones into it, for later assessments. */
static enum berth_code store_findings(struct store *store, struct snapshot *snapshot,
                                      const struct history_env *env, struct berth_err *err)
{
    struct assessment assessment = {0};
    struct opened *opened = NULL;
    size_t count = 0;
    enum berth_code code = store_finding_opened(store, &opened, &count, err);
    if (code != BERTH_OK)
        return code;
    set_opened(snapshot, opened, count);
    code = health_assess(snapshot, NULL, &env->limits, &assessment, err);
    if (code != BERTH_OK)
        return code;
    list_second_looks(snapshot, &assessment);
    code = store_finding_keep(store, &assessment, env->now_s, env->is_acceptance, &opened, &count,
                              err);
    assessment_done(&assessment);
    if (code == BERTH_OK)
        set_opened(snapshot, opened, count);
    return code;
}

/* Adds a note, unless memory runs out. */
__attribute__((format(printf, 6, 7))) static void add_note(struct snapshot *snapshot,
                                                           const char *code, int severity,
                                                           const char *place, int64_t since_s,
                                                           const char *format, ...)
{
    struct note *notes = realloc(snapshot->notes, (snapshot->note_count + 1) * sizeof *notes);
    if (notes == NULL)
        return;
    snapshot->notes = notes;
    struct note *note = &notes[snapshot->note_count++];
    *note = (struct note){.severity = severity, .since_s = since_s};
    snprintf(note->code, sizeof note->code, "%s", code);
    snprintf(note->place, sizeof note->place, "%s", place);
    va_list args;
    va_start(args, format);
    vsnprintf(note->text, sizeof note->text, format, args);
    text_clean(note->text);
    va_end(args);
}

/* Removes this module's notes of an earlier snapshot, before it finds the current ones. */
static void remove_notes(struct snapshot *snapshot)
{
    size_t kept = 0;
    for (size_t i = 0; i < snapshot->note_count; i++)
        if (strcmp(snapshot->notes[i].code, "past-unknown") != 0 &&
            strstr(snapshot->notes[i].code, "-missing") == NULL)
            snapshot->notes[kept++] = snapshot->notes[i];
    snapshot->note_count = kept;
}

static void note_failure(struct snapshot *snapshot, const struct history_env *env,
                         const struct berth_err *why)
{
    add_note(snapshot, "past-unknown", SEVERITY_WARNING, "machine0", env->now_s,
             "what was measured earlier could not be compared with: %.190s", why->detail);
}

/* Notes missing hardware. A missing GPU is a reason to drain: jobs that need it would fail. */
static void note_gone(struct snapshot *snapshot, const struct expected_place *gone)
{
    bool is_gpu = strcmp(gone->kind, place_kind_name(PLACE_GPU)) == 0;
    char code[32];
    snprintf(code, sizeof code, "%s-missing", gone->kind);
    add_note(snapshot, code, is_gpu ? SEVERITY_CRITICAL : SEVERITY_WARNING, gone->place, 0,
             "%s of an earlier boot (%s%s%s) is gone", gone->place, gone->identity,
             gone->model[0] != '\0' ? ", " : "", gone->model);
}

static enum berth_code compare_places(struct store *store, struct snapshot *snapshot,
                                      const struct history_env *env, struct berth_err *err)
{
    struct baseline_set gone = {0};
    enum berth_code code =
        store_expected_compare(store, snapshot->graph, env->now_s, false, &gone, err);
    for (size_t i = 0; i < gone.place_count; i++)
        note_gone(snapshot, &gone.place[i]);
    baseline_set_done(&gone);
    return code;
}

static enum berth_code load(struct store *store, struct snapshot *snapshot,
                            const struct history_env *env, struct berth_err *err)
{
    remove_notes(snapshot);
    enum berth_code code = compare_places(store, snapshot, env, err);
    if (code == BERTH_OK)
        code = load_baselines(store, snapshot, err);
    return code == BERTH_OK ? store_findings(store, snapshot, env, err) : code;
}

void history_load(struct store *store, struct snapshot *snapshot, const struct history_env *env)
{
    struct berth_err why = {0};
    if (load(store, snapshot, env, &why) != BERTH_OK)
        note_failure(snapshot, env, &why);
}

/* True when the probe reported an overloaded node (docs/measured/cpu.md). */
static bool was_overloaded(const struct run *run)
{
    json_t *conditions = run->conditions != NULL ? json_loads(run->conditions, 0, NULL) : NULL;
    const char *load = json_string_value(json_object_get(conditions, "load"));
    bool is_overloaded = load != NULL && strcmp(load, "overloaded") == 0;
    json_decref(conditions);
    return is_overloaded;
}

/* Adds the run's values to the baselines. Assesses them first, beside the baselines so far: no
 * value is expected that a finding calls bad. */
static enum berth_code record(struct store *store, struct snapshot *snapshot, const struct run *run,
                              const struct history_env *env, struct berth_err *err)
{
    const struct values *values = run->values;
    struct assessment assessment = {0};
    size_t latest_count = snapshot->values->count;
    bool *of_snapshot = calloc(latest_count + values->count + 1, sizeof *of_snapshot);
    if (of_snapshot == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for baselines");
    bool *is_bad = &of_snapshot[latest_count]; /* by the run's values */
    enum berth_code code = load_baselines(store, snapshot, err);
    if (code == BERTH_OK)
        code = health_assess(snapshot, NULL, &env->limits, &assessment, err);
    if (code == BERTH_OK)
        code = explain_mark_bad(snapshot, &assessment, of_snapshot, err);
    for (size_t i = 0; code == BERTH_OK && i < values->count; i++) {
        const struct value *v = &values->item[i],
                           *latest = values_find(snapshot->values, v->metric, v->from, v->to,
                                                 values_axes(values, v));
        is_bad[i] = latest != NULL && of_snapshot[latest - snapshot->values->item];
    }
    if (code == BERTH_OK)
        code = store_baseline_record(store, snapshot->graph, values, was_overloaded(run), is_bad,
                                     &env->limits, err);
    assessment_done(&assessment);
    free(of_snapshot);
    return code;
}

void history_advance(struct store *store, struct snapshot *snapshot, const struct run *run,
                     const struct history_env *env)
{
    struct berth_err why = {0};
    enum berth_code code = BERTH_OK;
    if (run != NULL && run->values != NULL && !run->is_beside)
        code = record(store, snapshot, run, env, &why);
    if (load(store, snapshot, env, &why) != BERTH_OK || code != BERTH_OK)
        note_failure(snapshot, env, &why);
}

/* Imports the folder's baseline, unless the node has baselines of its own. */
static enum berth_code import(struct store *store, struct snapshot *snapshot,
                              const struct history_env *env, struct berth_err *err)
{
    struct baseline_set set;
    bool same = false;
    size_t count = 0;
    enum berth_code code = store_baseline_count(store, &count, err);
    if (code != BERTH_OK || count > 0)
        return code;
    code = baseline_set_init(&set)
               ? baseline_file_read(env->folder, snapshot->graph, &set, &same, err)
               : err_set(err, BERTH_NO_MEMORY, "no memory for baselines");
    if (code == BERTH_OK)
        code = store_expected_put(store, snapshot->graph, &set, err);
    if (code == BERTH_OK)
        code = store_baseline_put(store, snapshot->graph, &set, err);
    if (code == BERTH_OK && !same)
        add_note(snapshot, "baseline-other-hardware", SEVERITY_INFO, "machine0", env->now_s,
                 "the baseline in %.100s was written for other hardware; berth accept replaces it",
                 env->folder);
    baseline_set_done(&set);
    return code;
}

void history_begin(struct store *store, struct snapshot *snapshot, const struct history_env *env)
{
    struct berth_err why = {0};
    enum berth_code code = env->folder[0] != '\0' ? import(store, snapshot, env, &why) : BERTH_OK;
    if (code != BERTH_OK && code != BERTH_ABSENT)
        add_note(snapshot, "baseline-unreadable", SEVERITY_WARNING, "machine0", env->now_s,
                 "the baseline was not imported: %.200s", why.detail);
    history_load(store, snapshot, env);
}

/* Returns the value's robust standard deviation as a fraction of it. */
static double spread_of(const struct snapshot *snapshot, const struct value *value)
{
    const struct baseline *baseline =
        snapshot->baseline != NULL ? &snapshot->baseline[value - snapshot->values->item] : NULL;
    double least = health_limits_spread(value->metric, values_axes(snapshot->values, value));
    double own = baseline != NULL && baseline->count >= BASELINE_READY && baseline->median > 0
                     ? baseline->deviation / baseline->median
                     : 0;
    return own > least ? own : least;
}

bool history_differs(const struct snapshot *before, const struct snapshot *after,
                     const struct health_limits *limits)
{
    const struct values *values = after->values;
    bool differs = false;
    for (size_t i = 0; i < values->count && !differs; i++) {
        const struct value *now = &values->item[i];
        const struct value *old = isnan(now->value)
                                      ? NULL
                                      : values_find(before->values, now->metric, now->from, now->to,
                                                    values_axes(values, now));
        differs =
            old != NULL && old->measured_at_s != now->measured_at_s &&
            snapshot_value_differs(old, now) &&
            fabs(now->value - old->value) > limits->mads * spread_of(after, now) * fabs(old->value);
    }
    return differs;
}
