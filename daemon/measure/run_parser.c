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

enum berth_code run_parser_init(struct run_parser *ret_parser, const struct graph *graph,
                                const char *probe, const char *profile, int64_t now_s,
                                struct berth_err *err)
{
    struct run_parser parser = {
        .graph = graph, .now_s = now_s, .progress = {.from = PLACE_NONE, .to = PLACE_NONE}};
    parser.run.values = values_new();
    parser.run.sets = sets_new();
    parser.skipped = json_array();
    if (parser.run.values == NULL || parser.run.sets == NULL || parser.skipped == NULL) {
        run_parser_done(&parser);
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    }
    snprintf(parser.run.probe, sizeof parser.run.probe, "%s", probe);
    snprintf(parser.run.profile, sizeof parser.run.profile, "%s", profile);
    parser.run.started_at_s = now_s;
    *ret_parser = parser;
    return BERTH_OK;
}

void run_parser_done(struct run_parser *parser)
{
    run_done(&parser->run);
    json_decref(parser->skipped);
    *parser = (struct run_parser){0};
}

static void parse_value(struct run_parser *parser, const struct record *record,
                        struct berth_err *err)
{
    if (parser->run.values->count >= RUN_PARSER_VALUES_MAX) {
        err_set(err, BERTH_BAD_DATA, "more than %d values", RUN_PARSER_VALUES_MAX);
        return;
    }
    size_t before = parser->run.values->count;
    if (record_add_values(record, parser->graph, VALUE_MEASURED, parser->now_s, parser->run.values,
                          err) != BERTH_OK ||
        parser->run.values->count == before)
        return;
    const struct value *last = &parser->run.values->item[parser->run.values->count - 1];
    parser->progress.has_value = last->why_not == NULL;
    parser->progress.metric = last->metric;
    parser->progress.from = last->from;
    parser->progress.to = last->to;
    parser->progress.value = last->value;
}

static void parse_set(struct run_parser *parser, const struct record *record, struct berth_err *err)
{
    if (parser->run.sets->count >= RUN_PARSER_SETS_MAX)
        err_set(err, BERTH_BAD_DATA, "more than %d sets", RUN_PARSER_SETS_MAX);
    else
        record_add_set(record, parser->graph, VALUE_MEASURED, parser->now_s, parser->run.sets, err);
}

/* Returns the node's name of a place; records may use its address. */
static const char *name_of(const struct run_parser *parser, const char *text)
{
    place_id place = graph_find(parser->graph, text);
    return place == PLACE_NONE ? text : graph_place(parser->graph, place)->name;
}

void run_parser_list_skip(json_t *skipped, const char *metric, const char *what, const char *why)
{
    if (json_array_size(skipped) < SKIPPED_MAX)
        json_array_append_new(
            skipped, json_pack("{s:s?,s:s,s:s}", "metric", metric, "what", what, "why", why));
}

/* Lists "gpu0 to gpu1, gpu2 to gpu3 AXES" of a set, "gpu0 gpu1 AXES" of a value. */
static void list_skip(struct run_parser *parser, const struct record *record)
{
    char text[1024] = "";
    size_t used = 0, i;
    json_t *flow;
    json_array_foreach((json_t *)(uintptr_t)record->skip.flows, i, flow)
    {
        if (used < sizeof text)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%s to %s", i > 0 ? ", " : "",
                                 name_of(parser, json_string_value(json_object_get(flow, "from"))),
                                 name_of(parser, json_string_value(json_object_get(flow, "to"))));
    }
    if (used == 0)
        used = (size_t)snprintf(text, sizeof text, "%s %s", name_of(parser, record->skip.from),
                                name_of(parser, record->skip.to));
    if (record->skip.axes[0] != '\0' && used < sizeof text)
        snprintf(text + used, sizeof text - used, " %s", record->skip.axes);
    run_parser_list_skip(parser->skipped, metric_info(record->skip.metric)->name, text,
                         record->skip.why);
}

/* Parses "METRIC FROM TO", for a set followed by its flows. Keeps the text of unknown names,
 * because the probe knows them. */
static void parse_cell(struct run_parser *parser, const char *text)
{
    char metric[64], from[72], to[72], set[8];
    struct run_cell *cell = &parser->cell;
    *cell = (struct run_cell){.from = PLACE_NONE, .to = PLACE_NONE};
    snprintf(cell->text, sizeof cell->text, "%s", text);
    if (sscanf(cell->text, "%63s %71s %71s %7s", metric, from, to, set) != 3 ||
        !metric_parse(metric, &cell->metric))
        return;
    cell->from = graph_find(parser->graph, from);
    cell->to = graph_find(parser->graph, to);
    cell->is_known = cell->from != PLACE_NONE && cell->to != PLACE_NONE;
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
static void parse_finding(struct run_parser *parser, const struct record *record,
                          struct berth_err *err)
{
    place_id from = graph_find(parser->graph, record->finding.from),
             to = graph_find(parser->graph, record->finding.to);
    const char *code = known_code(record->finding.code);
    if (from == PLACE_NONE || to == PLACE_NONE) {
        err_no_such_place(err, from == PLACE_NONE ? record->finding.from : record->finding.to);
        return;
    }
    const struct place *a = graph_place(parser->graph, from), *b = graph_place(parser->graph, to);
    place_id at = a->kind != PLACE_GPU && b->kind == PLACE_GPU ? to : from;
    size_t i = 0;
    while (i < parser->fault_count && (parser->fault[i].at != at || parser->fault[i].code != code))
        i++;
    if (i == RUN_PARSER_PLACES_MAX)
        return; /* enough findings */
    const char *place = graph_place(parser->graph, at)->name;
    char text[256];
    if (i == parser->fault_count) {
        parser->fault_count++;
        parser->fault[i].code = code;
        parser->fault[i].at = at;
        parser->fault[i].paths = 0;
        if (strcmp(code, "gpu-lost") == 0)
            snprintf(parser->fault[i].text, sizeof parser->fault[i].text,
                     "%s answers no longer: %.150s", place, record->finding.why);
        else
            snprintf(parser->fault[i].text, sizeof parser->fault[i].text,
                     "what goes from %s to %s arrives wrong: %.115s", a->name, b->name,
                     record->finding.why);
    }
    if (++parser->fault[i].paths > 1)
        snprintf(text, sizeof text, "%s; so do %u more of its paths", parser->fault[i].text,
                 parser->fault[i].paths - 1);
    else
        snprintf(text, sizeof text, "%s", parser->fault[i].text);
    run_parser_note(parser, NOTE_CRITICAL, code, place, text);
}

static void parse_run(struct run_parser *parser, const struct record *record, struct berth_err *err)
{
    if (parser->begun) {
        err_set(err, BERTH_BAD_DATA, "a second run record");
        return;
    }
    parser->begun = true;
    parser->begun_at_s = record->run.started_at;
    snprintf(parser->run.backend, sizeof parser->run.backend, "%s", record->run.backend);
    if (record->run.conditions == NULL)
        return;
    parser->run.conditions = print_tree(record->run.conditions, JSON_COMPACT);
    if (parser->run.conditions == NULL)
        err_set(err, BERTH_NO_MEMORY, "out of memory");
}

/* Merges conditions that are known only at the end. Keeps the old ones when out of memory. */
static void add_conditions(struct run_parser *parser, json_t *more)
{
    if (json_object_size(more) == 0)
        return;
    json_t *all = parser->run.conditions == NULL ? json_object()
                                                 : json_loads(parser->run.conditions, 0, NULL);
    char *text = json_object_update(all, more) == 0 ? print_tree(all, JSON_COMPACT) : NULL;
    json_decref(all);
    if (text == NULL)
        return;
    free(parser->run.conditions);
    parser->run.conditions = text;
}

/* Formats the times among the statistics from 5 ms on. */
static void parse_times(struct run_parser *parser, const json_t *statistics)
{
    char text[sizeof parser->spent - 4] = "";
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
        snprintf(parser->spent, sizeof parser->spent, " (%s)", text);
}

static void parse_record(struct run_parser *parser, const struct record *record,
                         struct berth_err *err)
{
    if (!parser->begun && record->kind != RECORD_RUN) {
        err_set(err, BERTH_BAD_DATA, "a record before the run record");
        return;
    }
    if (parser->ended) {
        err_set(err, BERTH_BAD_DATA, "a record after the end record");
        return;
    }
    switch (record->kind) {
    case RECORD_RUN:
        parse_run(parser, record, err);
        break;
    case RECORD_VALUE:
        parse_value(parser, record, err);
        break;
    case RECORD_SKIP:
        parse_value(parser, record, err);
        if (err->code == BERTH_OK)
            list_skip(parser, record);
        break;
    case RECORD_SET:
        parse_set(parser, record, err);
        break;
    case RECORD_PROGRESS:
        parser->progress.done = record->progress.done;
        parser->progress.total = record->progress.total;
        parse_cell(parser, record->progress.cell != NULL ? record->progress.cell : "");
        break;
    case RECORD_FINDING:
        parse_finding(parser, record, err);
        break;
    case RECORD_END:
        parser->ended = true;
        parse_cell(parser, "");
        snprintf(parser->run.status, sizeof parser->run.status, "%s", record->end.status);
        add_conditions(parser, record->end.conditions);
        parse_times(parser, json_object_get(record->object, "statistics"));
        break;
    case RECORD_DEVICE:
    case RECORD_LINK:
    case RECORD_LOAD:
        break; /* facts belong to discovery, rates under load are no values */
    }
}

/* Lists the last value as skipped; it has no number. */
static void list_last_skip(struct run_parser *parser)
{
    const struct values *values = parser->run.values;
    const struct value *none = &values->item[values->count - 1];
    const char *axes = values_axes(values, none);
    char text[256];
    snprintf(text, sizeof text, "%s %s%s%s", parser->graph->places[none->from].name,
             parser->graph->places[none->to].name, axes[0] != '\0' ? " " : "", axes);
    run_parser_list_skip(parser->skipped, metric_info(none->metric)->name, text, none->why_not);
}

/* Adds a missing value with its reason. If the run has a number for the cell, it stays. */
static void skip(struct run_parser *parser, const struct run_cell *cell, const char *why)
{
    const struct value none = {.metric = cell->metric,
                               .source = VALUE_MEASURED,
                               .from = cell->from,
                               .to = cell->to,
                               .value = (double)NAN,
                               .low = (double)NAN,
                               .high = (double)NAN,
                               .measured_at_s = parser->now_s};
    if (parser->run.values->count < RUN_PARSER_VALUES_MAX &&
        values_add(parser->run.values, &none, "", why))
        list_last_skip(parser);
}

/* Adds a missing value for a line that is a broken value record. */
static void parse_broken(struct run_parser *parser, const char *line, size_t length,
                         const char *detail)
{
    char why[200];
    if (!parser->begun || parser->ended || parser->run.values->count >= RUN_PARSER_VALUES_MAX)
        return;
    snprintf(why, sizeof why, "the probe printed no value of it: %.160s", detail);
    text_clean(why);
    if (record_add_broken(line, length, parser->graph, VALUE_MEASURED, parser->now_s, why,
                          parser->run.values))
        list_last_skip(parser);
}

bool run_parser_line(struct run_parser *parser, const char *line, size_t length)
{
    struct berth_err err = {0};
    struct record record;
    if (record_parse(line, length, &record, &err) == BERTH_OK) {
        parse_record(parser, &record, &err);
        record_done(&record);
    }
    if (err.code == BERTH_OK)
        return true;
    parse_broken(parser, line, length, err.detail);
    if (parser->bad_lines++ == 0)
        snprintf(parser->first_bad, sizeof parser->first_bad, "%s", err.detail);
    return parser->bad_lines < RUN_PARSER_BAD_LINES_MAX;
}

void run_parser_note(struct run_parser *parser, enum note_severity severity, const char *code,
                     const char *place, const char *text)
{
    struct note note = {.severity = severity};
    snprintf(note.code, sizeof note.code, "%s", code);
    snprintf(note.place, sizeof note.place, "%s", place);
    snprintf(note.text, sizeof note.text, "%.255s", text);
    run_parser_add_note(parser, &note);
}

void run_parser_add_note(struct run_parser *parser, const struct note *note)
{
    struct run *run = &parser->run;
    size_t at = 0;
    while (at < run->note_count && (strcmp(run->notes[at].code, note->code) != 0 ||
                                    strcmp(run->notes[at].place, note->place) != 0))
        at++;
    if (at == run->note_count) {
        struct note *notes = realloc(run->notes, (run->note_count + 1) * sizeof *notes);
        if (notes == NULL)
            return;
        run->notes = notes;
        run->note_count++;
    }
    struct note *added = &run->notes[at];
    *added = *note;
    added->since_s = parser->now_s;
    snprintf(added->probe, sizeof added->probe, "%s", run->probe);
    text_clean(added->text);
}

/* Notes an early end. Its missing cells are unknown, so the caller gets the reason instead. */
static void note_failure(struct run_parser *parser, const char *code, const char *why)
{
    char text[256]; /* untrusted text, cut */
    run_parser_note(parser, NOTE_WARNING, code, parser->graph->places[parser->at].name, why);
    snprintf(text, sizeof text, "%.255s", why);
    text_clean(text);
    run_parser_list_skip(parser->skipped, NULL, "", text);
}

static void note_ending(struct run_parser *parser, const char *ending, const char *text)
{
    const struct run_cell *cell = &parser->cell;
    char code[32];
    bool stopped_in_cell =
        cell->text[0] != '\0' && (strcmp(ending, "crashed") == 0 || strcmp(ending, "timeout") == 0);
    snprintf(code, sizeof code, "probe-%.20s", ending);
    if (!stopped_in_cell) {
        note_failure(parser, code, text);
        return;
    }
    struct note note = {.severity = NOTE_WARNING, .place = "machine0"};
    snprintf(note.code, sizeof note.code, "%s", code);
    if (cell->is_known) {
        const struct place *places = parser->graph->places;
        snprintf(note.place, sizeof note.place, "%s", places[cell->from].name);
        snprintf(note.to, sizeof note.to, "%s", places[cell->to].name);
        snprintf(note.metric, sizeof note.metric, "%s", metric_info(cell->metric)->name);
        snprintf(note.text, sizeof note.text, "%.140s, while it measured %.40s from %s to %s", text,
                 note.metric, note.place, note.to);
    } else {
        snprintf(note.text, sizeof note.text, "%.80s, while it measured %.150s", text, cell->text);
    }
    run_parser_add_note(parser, &note);
    const char *skipped = strcmp(ending, "crashed") == 0
                              ? "the probe crashed while it measured this"
                              : "the probe hung while it measured this";
    if (cell->is_known)
        skip(parser, cell, skipped);
    else
        run_parser_list_skip(parser->skipped, NULL, cell->text, skipped);
}

void run_parser_finish(struct run_parser *parser, const char *ending, const char *text,
                       int64_t elapsed_ns)
{
    char why[256];
    parser->run.elapsed_ns = elapsed_ns;
    if (ending[0] != '\0') {
        snprintf(parser->run.status, sizeof parser->run.status, "%s", ending);
        /* A user cancelled the run: that is no fault. */
        if (strcmp(ending, "cancelled") != 0 && strcmp(ending, "put-off") != 0)
            note_ending(parser, ending, text);
    } else if (!parser->ended) {
        snprintf(parser->run.status, sizeof parser->run.status, "failed");
        snprintf(why, sizeof why, "%.200s ended without an end record", text);
        note_failure(parser, "probe-failed", why);
    }
    if (parser->bad_lines > 0 && strcmp(ending, "garbage") != 0) {
        snprintf(why, sizeof why, "%.60s printed %zu line%s, the first: %.100s", text,
                 parser->bad_lines,
                 parser->bad_lines == 1 ? " that is no record" : "s that are no records",
                 parser->first_bad);
        note_failure(parser, "probe-garbage", why);
    }
}
