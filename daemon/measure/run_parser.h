/**
 * Parses the output of one probe into a run: lines become values, notes and progress. Counts broken
 * lines and keeps the first one for a note; they never stop it.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/graph.h"
#include "node/metric.h"
#include "store/store.h"

#define RUN_PARSER_BAD_LINES_MAX 100 /* the caller stops the probe after so many */
#define RUN_PARSER_VALUES_MAX    1000000
#define RUN_PARSER_SETS_MAX      4096

/* Progress, and the latest value. */
struct run_progress {
    int64_t done, total;
    bool has_value;
    enum metric metric;
    place_id from, to;
    double value;
};

/* Cell that the probe reports as being measured; is_known: it is a cell of this node. */
struct run_cell {
    char text[204]; /* "" none */
    bool is_known;
    enum metric metric;
    place_id from, to;
};

#define RUN_PARSER_PLACES_MAX 256

struct run_parser {
    struct run run;
    struct run_cell cell;
    struct {
        const char *code; /* of record_findings */
        place_id at;
        unsigned paths;
        char text[200]; /* of the first path */
    } fault[RUN_PARSER_PLACES_MAX];
    size_t fault_count;
    /* times of the end record, in seconds: " (driver 0.25, rates 1.31)"; "" none */
    char spent[240];
    struct run_progress progress;
    const struct graph *graph; /* borrowed: names in the lines are its places */
    json_t *skipped;           /* array of {metric, what, why} (Health.Probe) */
    int64_t now_s;             /* measured_at_s of the values */
    int64_t begun_at_s;        /* started_at of the run record */
    size_t bad_lines;
    bool begun, ended; /* the run record, the end record was read */
    place_id at;       /* place of notes on the whole run; 0 the machine */
    char first_bad[256];
};

/* Fails with NO_MEMORY. graph must outlive it. */
enum berth_code run_parser_init(struct run_parser *ret_parser, const struct graph *graph,
                                const char *probe, const char *profile, int64_t now_s,
                                struct berth_err *err);
void run_parser_done(struct run_parser *parser);

/* Parses one line of output. Returns false when there were so many broken lines that the probe
 * should be stopped. */
bool run_parser_line(struct run_parser *parser, const char *line, size_t length);

/* Adds a note about the run at that place. Cuts text to fit. Replaces a note of the same code and
 * place. */
void run_parser_note(struct run_parser *parser, enum note_severity severity, const char *code,
                     const char *place, const char *text);

/* Acts as run_parser_note, with the note's cell. Sets its probe and its time. */
void run_parser_add_note(struct run_parser *parser, const struct note *note);

/* Lists what was not measured, while there is room: metric NULL and what "" where it is no value.
 */
void run_parser_list_skip(json_t *skipped, const char *metric, const char *what, const char *why);

/* Sets run.status and run.elapsed_ns and notes a failure. ending is "" for a normal end, which
 * needs the end record. Otherwise it is a status (crashed, timeout, garbage, cancelled, failed,
 * put-off), with text as the reason. When a probe crashed or was killed for silence, the note is at
 * the current cell's first place and names the cell. That cell gets a skip. */
void run_parser_finish(struct run_parser *parser, const char *ending, const char *text,
                       int64_t elapsed_ns);
