#include "collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "record.h"

#define SKIPPED_MAX 1000

enum berth_code collect_init(struct collect *ret_collect, const struct graph *graph, const char *probe, const char *profile, int64_t now_s,
                             struct berth_err *err)
{
    struct collect collect = {.graph = graph, .now_s = now_s, .progress = {.from = PLACE_NONE, .to = PLACE_NONE}};
    collect.run.values = values_new();
    collect.run.sets = sets_new();
    collect.skipped = json_array();
    if (collect.run.values == NULL || collect.run.sets == NULL || collect.skipped == NULL) {
        collect_done(&collect);
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    }
    snprintf(collect.run.probe, sizeof collect.run.probe, "%s", probe);
    snprintf(collect.run.profile, sizeof collect.run.profile, "%s", profile);
    collect.run.started_at_s = now_s;
    *ret_collect = collect;
    return BERTH_OK;
}

void collect_done(struct collect *collect)
{
    run_done(&collect->run);
    json_decref(collect->skipped);
    *collect = (struct collect){0};
}

static void take_value(struct collect *collect, const struct record *record, struct berth_err *err)
{
    if (collect->run.values->count >= COLLECT_VALUES_MAX) {
        err_set(err, BERTH_BAD_DATA, "more than %d values", COLLECT_VALUES_MAX);
        return;
    }
    size_t before = collect->run.values->count;
    if (record_add_values(record, collect->graph, VALUE_MEASURED, collect->now_s, collect->run.values, err) != BERTH_OK ||
        collect->run.values->count == before)
        return;
    const struct value *last = &collect->run.values->item[collect->run.values->count - 1];
    collect->progress.has_value = last->why_not == NULL;
    collect->progress.metric = last->metric;
    collect->progress.from = last->from;
    collect->progress.to = last->to;
    collect->progress.value = last->value;
}

static void take_set(struct collect *collect, const struct record *record, struct berth_err *err)
{
    if (collect->run.sets->count >= COLLECT_SETS_MAX)
        err_set(err, BERTH_BAD_DATA, "more than %d sets", COLLECT_SETS_MAX);
    else
        record_add_set(record, collect->graph, VALUE_MEASURED, collect->now_s, collect->run.sets, err);
}

static void take_skip(struct collect *collect, const struct record *record)
{
    if (json_array_size(collect->skipped) < SKIPPED_MAX)
        json_array_append_new(collect->skipped,
                              json_sprintf("%s %s %s%s%s: %s", metric_info(record->skip.metric)->name, record->skip.from, record->skip.to,
                                           record->skip.axes[0] ? " " : "", record->skip.axes, record->skip.why));
}

static void take_run(struct collect *collect, const struct record *record, struct berth_err *err)
{
    if (collect->begun) {
        err_set(err, BERTH_BAD_DATA, "a second run record");
        return;
    }
    collect->begun = true;
    snprintf(collect->run.backend, sizeof collect->run.backend, "%s", record->run.backend);
    if (record->run.conditions == NULL)
        return;
    collect->run.conditions = print_tree(record->run.conditions, JSON_COMPACT);
    if (collect->run.conditions == NULL)
        err_set(err, BERTH_NO_MEMORY, "out of memory");
}

/* Conditions that are known only at the end go over those of the beginning. What memory is too short for is left as it was. */
static void add_conditions(struct collect *collect, json_t *more)
{
    if (json_object_size(more) == 0)
        return;
    json_t *all = collect->run.conditions == NULL ? json_object() : json_loads(collect->run.conditions, 0, NULL);
    char *text = json_object_update(all, more) == 0 ? print_tree(all, JSON_COMPACT) : NULL;
    json_decref(all);
    if (text == NULL)
        return;
    free(collect->run.conditions);
    collect->run.conditions = text;
}

static void take(struct collect *collect, const struct record *record, struct berth_err *err)
{
    if (!collect->begun && record->kind != RECORD_RUN) {
        err_set(err, BERTH_BAD_DATA, "a record before the run record");
        return;
    }
    if (collect->ended) {
        err_set(err, BERTH_BAD_DATA, "a record after the end record");
        return;
    }
    switch (record->kind) {
    case RECORD_RUN: take_run(collect, record, err); break;
    case RECORD_VALUE: take_value(collect, record, err); break;
    case RECORD_SKIP:
        take_value(collect, record, err);
        if (err->code == BERTH_OK)
            take_skip(collect, record);
        break;
    case RECORD_SET: take_set(collect, record, err); break;
    case RECORD_PROGRESS:
        collect->progress.done = record->progress.done;
        collect->progress.total = record->progress.total;
        break;
    case RECORD_END:
        collect->ended = true;
        snprintf(collect->run.status, sizeof collect->run.status, "%s", record->end.status);
        add_conditions(collect, record->end.conditions);
        break;
    case RECORD_DEVICE:
    case RECORD_LINK:
        break; /* facts belong to discovery */
    }
}

bool collect_line(struct collect *collect, const char *line, size_t length)
{
    struct berth_err err = {0};
    struct record record;
    if (record_parse(line, length, &record, &err) == BERTH_OK) {
        take(collect, &record, &err);
        record_done(&record);
    }
    if (err.code == BERTH_OK)
        return true;
    if (collect->bad_lines++ == 0)
        snprintf(collect->first_bad, sizeof collect->first_bad, "%s", err.detail);
    return collect->bad_lines < COLLECT_BAD_LINES_MAX;
}

void collect_note(struct collect *collect, const char *code, const char *text)
{
    struct note *notes = realloc(collect->run.notes, (collect->run.note_count + 1) * sizeof *notes);
    if (notes == NULL)
        return;
    collect->run.notes = notes;
    struct note *note = &notes[collect->run.note_count++];
    *note = (struct note){.severity = 1, .since_s = collect->now_s};
    snprintf(note->code, sizeof note->code, "%s", code);
    snprintf(note->place, sizeof note->place, "machine0");
    snprintf(note->text, sizeof note->text, "%.255s", text);
}

void collect_finish(struct collect *collect, const char *ending, const char *text, int64_t elapsed_ns)
{
    char why[256];
    collect->run.elapsed_ns = elapsed_ns;
    if (ending[0] != '\0') {
        snprintf(collect->run.status, sizeof collect->run.status, "%s", ending);
        snprintf(why, sizeof why, "%.255s", text);
        /* A cancelled run is somebody's wish, not a fault. */
        if (strcmp(ending, "cancelled") != 0) {
            char code[32];
            snprintf(code, sizeof code, "probe-%.20s", ending);
            collect_note(collect, code, why);
        }
    } else if (!collect->ended) {
        snprintf(collect->run.status, sizeof collect->run.status, "failed");
        snprintf(why, sizeof why, "%.200s ended without an end record", text);
        collect_note(collect, "probe-failed", why);
    }
    if (collect->bad_lines > 0 && strcmp(ending, "garbage") != 0) {
        snprintf(why, sizeof why, "%.60s printed %zu lines that are no records, the first: %.100s", text, collect->bad_lines,
                 collect->first_bad);
        collect_note(collect, "probe-garbage", why);
    }
}
