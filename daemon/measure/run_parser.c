#include "measure/run_parser.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "base/text.h"
#include "node/record.h"
#include "node/record_values.h"

#define SKIPPED_MAX 1000

enum berth_code run_parser_init(struct run_parser *ret_collect, const struct graph *graph,
                                const char *probe, const char *profile, int64_t now_s,
                                struct berth_err *err)
{
    struct run_parser collect = {
        .graph = graph, .now_s = now_s, .progress = {.from = PLACE_NONE, .to = PLACE_NONE}};
    collect.run.values = values_new();
    collect.run.sets = sets_new();
    collect.skipped = json_array();
    if (collect.run.values == NULL || collect.run.sets == NULL || collect.skipped == NULL) {
        run_parser_done(&collect);
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    }
    snprintf(collect.run.probe, sizeof collect.run.probe, "%s", probe);
    snprintf(collect.run.profile, sizeof collect.run.profile, "%s", profile);
    collect.run.started_at_s = now_s;
    *ret_collect = collect;
    return BERTH_OK;
}

void run_parser_done(struct run_parser *collect)
{
    run_done(&collect->run);
    json_decref(collect->skipped);
    *collect = (struct run_parser){0};
}

static void take_value(struct run_parser *collect, const struct record *record,
                       struct berth_err *err)
{
    if (collect->run.values->count >= RUN_PARSER_VALUES_MAX) {
        err_set(err, BERTH_BAD_DATA, "more than %d values", RUN_PARSER_VALUES_MAX);
        return;
    }
    size_t before = collect->run.values->count;
    if (record_add_values(record, collect->graph, VALUE_MEASURED, collect->now_s,
                          collect->run.values, err) != BERTH_OK ||
        collect->run.values->count == before)
        return;
    const struct value *last = &collect->run.values->item[collect->run.values->count - 1];
    collect->progress.has_value = last->why_not == NULL;
    collect->progress.metric = last->metric;
    collect->progress.from = last->from;
    collect->progress.to = last->to;
    collect->progress.value = last->value;
}

static void take_set(struct run_parser *collect, const struct record *record, struct berth_err *err)
{
    if (collect->run.sets->count >= RUN_PARSER_SETS_MAX)
        err_set(err, BERTH_BAD_DATA, "more than %d sets", RUN_PARSER_SETS_MAX);
    else
        record_add_set(record, collect->graph, VALUE_MEASURED, collect->now_s, collect->run.sets,
                       err);
}

/* Returns the node's name of a place; records may use its address. */
static const char *name_of(const struct run_parser *collect, const char *text)
{
    place_id place = graph_find(collect->graph, text);
    return place == PLACE_NONE ? text : graph_place(collect->graph, place)->name;
}

/* Adds "METRIC AXES gpu0 to gpu1, gpu2 to gpu3: WHY" for a set, which has no places of its own. */
static void take_skipped_set(struct run_parser *collect, const struct record *record)
{
    char text[1024];
    const char *axes = record->skip.axes;
    size_t used =
               (size_t)snprintf(text, sizeof text, "%s%s%s", metric_info(record->skip.metric)->name,
                                *axes != '\0' ? " " : "", axes),
           i;
    json_t *flow;
    json_array_foreach((json_t *)(uintptr_t)record->skip.flows, i, flow)
    {
        if (used < sizeof text)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s %s to %s", i > 0 ? "," : "",
                                 name_of(collect, json_string_value(json_object_get(flow, "from"))),
                                 name_of(collect, json_string_value(json_object_get(flow, "to"))));
    }
    json_array_append_new(collect->skipped, json_sprintf("%s: %s", text, record->skip.why));
}

static void take_skip(struct run_parser *collect, const struct record *record)
{
    if (json_array_size(record->skip.flows) > 0 && json_array_size(collect->skipped) < SKIPPED_MAX)
        take_skipped_set(collect, record);
    else if (json_array_size(collect->skipped) < SKIPPED_MAX)
        json_array_append_new(
            collect->skipped,
            json_sprintf("%s %s %s%s%s: %s", metric_info(record->skip.metric)->name,
                         name_of(collect, record->skip.from), name_of(collect, record->skip.to),
                         record->skip.axes[0] ? " " : "", record->skip.axes, record->skip.why));
}

/* Parses "METRIC FROM TO", for a set followed by its flows. Keeps the text of unknown names,
 * because the probe knows them. */
static void take_cell(struct run_parser *collect, const char *text)
{
    char metric[64], from[72], to[72], set[8];
    struct collect_cell *cell = &collect->cell;
    *cell = (struct collect_cell){.from = PLACE_NONE, .to = PLACE_NONE};
    snprintf(cell->text, sizeof cell->text, "%s", text);
    if (sscanf(cell->text, "%63s %71s %71s %7s", metric, from, to, set) != 3 ||
        !metric_parse(metric, &cell->metric))
        return;
    cell->from = graph_find(collect->graph, from);
    cell->to = graph_find(collect->graph, to);
    cell->known = cell->from != PLACE_NONE && cell->to != PLACE_NONE;
}

static const char *known_code(const char *code)
{
    for (size_t i = 0; record_findings[i] != NULL; i++)
        if (strcmp(record_findings[i], code) == 0)
            return record_findings[i];
    return NULL;
}

/* Adds a finding at the GPU where the transfer begins, or else ends. One finding for each GPU names
 * the first path and counts the others. */
static void take_finding(struct run_parser *collect, const struct record *record,
                         struct berth_err *err)
{
    place_id from = graph_find(collect->graph, record->finding.from),
             to = graph_find(collect->graph, record->finding.to);
    const char *code = known_code(record->finding.code);
    if (from == PLACE_NONE || to == PLACE_NONE) {
        err_no_such_place(err, from == PLACE_NONE ? record->finding.from : record->finding.to);
        return;
    }
    const struct place *a = graph_place(collect->graph, from), *b = graph_place(collect->graph, to);
    place_id at = a->kind != PLACE_GPU && b->kind == PLACE_GPU ? to : from;
    size_t i = 0;
    while (i < collect->wrong_count &&
           (collect->wrong[i].at != at || collect->wrong[i].code != code))
        i++;
    if (i == RUN_PARSER_PLACES_MAX)
        return; /* enough findings */
    const char *place = graph_place(collect->graph, at)->name;
    char text[256];
    if (i == collect->wrong_count) {
        collect->wrong_count++;
        collect->wrong[i].code = code;
        collect->wrong[i].at = at;
        collect->wrong[i].paths = 0;
        if (strcmp(code, "gpu-lost") == 0)
            snprintf(collect->wrong[i].text, sizeof collect->wrong[i].text,
                     "%s answers no longer: %.150s", place, record->finding.why);
        else
            snprintf(collect->wrong[i].text, sizeof collect->wrong[i].text,
                     "what goes from %s to %s arrives wrong: %.115s", a->name, b->name,
                     record->finding.why);
    }
    if (++collect->wrong[i].paths > 1)
        snprintf(text, sizeof text, "%s; so do %u more of its paths", collect->wrong[i].text,
                 collect->wrong[i].paths - 1);
    else
        snprintf(text, sizeof text, "%s", collect->wrong[i].text);
    run_parser_note(collect, NOTE_CRITICAL, code, place, text);
}

static void take_run(struct run_parser *collect, const struct record *record, struct berth_err *err)
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

/* Merges conditions that are known only at the end. Keeps the old ones when out of memory. */
static void add_conditions(struct run_parser *collect, json_t *more)
{
    if (json_object_size(more) == 0)
        return;
    json_t *all = collect->run.conditions == NULL ? json_object()
                                                  : json_loads(collect->run.conditions, 0, NULL);
    char *text = json_object_update(all, more) == 0 ? print_tree(all, JSON_COMPACT) : NULL;
    json_decref(all);
    if (text == NULL)
        return;
    free(collect->run.conditions);
    collect->run.conditions = text;
}

/* Formats the times among the statistics from 5 ms on. */
static void take_times(struct run_parser *collect, const json_t *statistics)
{
    char text[sizeof collect->spent - 4] = "";
    const char *key;
    json_t *value;
    size_t used = 0;
    json_object_foreach((json_t *)(uintptr_t)statistics, key, value)
    {
        size_t length = strlen(key);
        if (length < 4 || length > 40 || strcmp(key + length - 3, "_ns") != 0 ||
            json_integer_value(value) < 5000000 || used >= sizeof text)
            continue;
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%.*s %.2f", used > 0 ? ", " : "",
                             (int)length - 3, key, (double)json_integer_value(value) / 1e9);
    }
    if (used > 0)
        snprintf(collect->spent, sizeof collect->spent, " (%s)", text);
}

static void take(struct run_parser *collect, const struct record *record, struct berth_err *err)
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
    case RECORD_RUN:
        take_run(collect, record, err);
        break;
    case RECORD_VALUE:
        take_value(collect, record, err);
        break;
    case RECORD_SKIP:
        take_value(collect, record, err);
        if (err->code == BERTH_OK)
            take_skip(collect, record);
        break;
    case RECORD_SET:
        take_set(collect, record, err);
        break;
    case RECORD_PROGRESS:
        collect->progress.done = record->progress.done;
        collect->progress.total = record->progress.total;
        take_cell(collect, record->progress.cell != NULL ? record->progress.cell : "");
        break;
    case RECORD_FINDING:
        take_finding(collect, record, err);
        break;
    case RECORD_END:
        collect->ended = true;
        take_cell(collect, "");
        snprintf(collect->run.status, sizeof collect->run.status, "%s", record->end.status);
        add_conditions(collect, record->end.conditions);
        take_times(collect, json_object_get(record->object, "statistics"));
        break;
    case RECORD_DEVICE:
    case RECORD_LINK:
        break; /* facts belong to discovery */
    }
}

/* Lists the last value as skipped; it has no number. */
static void tell_skipped(struct run_parser *collect)
{
    const struct values *values = collect->run.values;
    const struct value *none = &values->item[values->count - 1];
    const char *axes = values_axes(values, none);
    if (json_array_size(collect->skipped) < SKIPPED_MAX)
        json_array_append_new(collect->skipped,
                              json_sprintf("%s %s %s%s%s: %s", metric_info(none->metric)->name,
                                           collect->graph->places[none->from].name,
                                           collect->graph->places[none->to].name,
                                           axes[0] != '\0' ? " " : "", axes, none->why_not));
}

/* Adds a missing value with its reason. If the run has a number for the cell, it stays. */
static void skip(struct run_parser *collect, const struct collect_cell *cell, const char *why)
{
    const struct value none = {.metric = cell->metric,
                               .source = VALUE_MEASURED,
                               .from = cell->from,
                               .to = cell->to,
                               .value = (double)NAN,
                               .low = (double)NAN,
                               .high = (double)NAN,
                               .measured_at_s = collect->now_s};
    if (collect->run.values->count < RUN_PARSER_VALUES_MAX &&
        values_add(collect->run.values, &none, "", why))
        tell_skipped(collect);
}

/* Adds a missing value for a line that is a broken value record. */
static void take_broken(struct run_parser *collect, const char *line, size_t length,
                        const char *detail)
{
    char why[200];
    if (!collect->begun || collect->ended || collect->run.values->count >= RUN_PARSER_VALUES_MAX)
        return;
    snprintf(why, sizeof why, "the probe printed no value of it: %.160s", detail);
    text_clean(why);
    if (record_add_broken(line, length, collect->graph, VALUE_MEASURED, collect->now_s, why,
                          collect->run.values))
        tell_skipped(collect);
}

bool run_parser_line(struct run_parser *collect, const char *line, size_t length)
{
    struct berth_err err = {0};
    struct record record;
    if (record_parse(line, length, &record, &err) == BERTH_OK) {
        take(collect, &record, &err);
        record_done(&record);
    }
    if (err.code == BERTH_OK)
        return true;
    take_broken(collect, line, length, err.detail);
    if (collect->bad_lines++ == 0)
        snprintf(collect->first_bad, sizeof collect->first_bad, "%s", err.detail);
    return collect->bad_lines < RUN_PARSER_BAD_LINES_MAX;
}

void run_parser_note(struct run_parser *collect, enum note_severity severity, const char *code,
                     const char *place, const char *text)
{
    struct run *run = &collect->run;
    size_t at = 0;
    while (at < run->note_count &&
           (strcmp(run->notes[at].code, code) != 0 || strcmp(run->notes[at].place, place) != 0))
        at++;
    if (at == run->note_count) {
        struct note *notes = realloc(run->notes, (run->note_count + 1) * sizeof *notes);
        if (notes == NULL)
            return;
        run->notes = notes;
        run->note_count++;
    }
    struct note *note = &run->notes[at];
    *note = (struct note){.severity = severity, .since_s = collect->now_s};
    snprintf(note->probe, sizeof note->probe, "%s", run->probe);
    snprintf(note->code, sizeof note->code, "%s", code);
    snprintf(note->place, sizeof note->place, "%s", place);
    snprintf(note->text, sizeof note->text, "%.255s", text);
    text_clean(note->text);
}

/* Notes an early end. Its missing cells are unknown, so the caller gets the reason instead. */
static void note_failure(struct run_parser *collect, const char *code, const char *why)
{
    char text[256]; /* untrusted text, cut */
    run_parser_note(collect, NOTE_WARNING, code, "machine0", why);
    snprintf(text, sizeof text, "%.255s", why);
    text_clean(text);
    if (json_array_size(collect->skipped) < SKIPPED_MAX)
        json_array_append_new(collect->skipped, json_string(text));
}

static void note_ending(struct run_parser *collect, const char *ending, const char *text)
{
    const struct collect_cell *cell = &collect->cell;
    char code[32], why[256];
    bool stopped_in_cell =
        cell->text[0] != '\0' && (strcmp(ending, "crashed") == 0 || strcmp(ending, "timeout") == 0);
    snprintf(code, sizeof code, "probe-%.20s", ending);
    if (!stopped_in_cell) {
        note_failure(collect, code, text);
        return;
    }
    const char *from = cell->known ? collect->graph->places[cell->from].name : "machine0";
    if (cell->known)
        snprintf(why, sizeof why, "%.140s, while it measured %.40s from %.19s to %.19s", text,
                 metric_info(cell->metric)->name, from, collect->graph->places[cell->to].name);
    else
        snprintf(why, sizeof why, "%.80s, while it measured %.150s", text, cell->text);
    run_parser_note(collect, NOTE_WARNING, code, from, why);
    const char *skipped = strcmp(ending, "crashed") == 0
                              ? "the probe crashed while it measured this"
                              : "the probe hung while it measured this";
    if (cell->known)
        skip(collect, cell, skipped);
    else if (json_array_size(collect->skipped) < SKIPPED_MAX)
        json_array_append_new(collect->skipped, json_sprintf("%s: %s", cell->text, skipped));
}

void run_parser_finish(struct run_parser *collect, const char *ending, const char *text,
                       int64_t elapsed_ns)
{
    char why[256];
    collect->run.elapsed_ns = elapsed_ns;
    if (ending[0] != '\0') {
        snprintf(collect->run.status, sizeof collect->run.status, "%s", ending);
        /* A user cancelled the run: that is no fault. */
        if (strcmp(ending, "cancelled") != 0 && strcmp(ending, "put-off") != 0)
            note_ending(collect, ending, text);
    } else if (!collect->ended) {
        snprintf(collect->run.status, sizeof collect->run.status, "failed");
        snprintf(why, sizeof why, "%.200s ended without an end record", text);
        note_failure(collect, "probe-failed", why);
    }
    if (collect->bad_lines > 0 && strcmp(ending, "garbage") != 0) {
        snprintf(why, sizeof why, "%.60s printed %zu line%s, the first: %.100s", text,
                 collect->bad_lines,
                 collect->bad_lines == 1 ? " that is no record" : "s that are no records",
                 collect->first_bad);
        note_failure(collect, "probe-garbage", why);
    }
}
