/**
 * Collects what one probe prints into a run: lines in, values, notes and progress out. A broken
 * line never stops it; it is counted, and the first one is kept for the note.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/graph.h"
#include "node/metric.h"
#include "store/store.h"

#define RUN_PARSER_BAD_LINES_MAX 100 /* after so many the rest is not worth reading */
#define RUN_PARSER_VALUES_MAX    1000000
#define RUN_PARSER_SETS_MAX      4096

/* How far it is, and the last thing it measured. */
struct collect_progress {
    int64_t done, total;
    bool has_value;
    enum metric metric;
    place_id from, to;
    double value;
};

/* What is being measured right now, as the probe says it: known when it is a cell of this node. */
struct collect_cell {
    char text[204]; /* "" nothing was said */
    bool known;
    enum metric metric;
    place_id from, to;
};

#define RUN_PARSER_PLACES_MAX 256

struct run_parser {
    struct run run;
    struct collect_cell cell;
    struct {
        const char *code; /* of record_findings */
        place_id at;
        unsigned paths;
        char text[200]; /* of the first */
    } wrong[RUN_PARSER_PLACES_MAX];
    size_t wrong_count;
    /* " (driver 0.25, rates 1.31)", in seconds, as the end record has it; "" it says nothing */
    char spent[240];
    struct collect_progress progress;
    const struct graph *graph; /* borrowed: names in the lines are its places */
    json_t *skipped;           /* array of strings, "memory_latency llc0 numa1: why" */
    int64_t now_s;             /* measured_at_s of the values */
    size_t bad_lines;
    bool begun, ended; /* saw the run record, the end record */
    char first_bad[256];
};

/* NO_MEMORY. graph must outlive it. */
enum berth_code run_parser_init(struct run_parser *ret_collect, const struct graph *graph,
                                const char *probe, const char *profile, int64_t now_s,
                                struct berth_err *err);
void run_parser_done(struct run_parser *collect);

/* One line as the probe printed it. False when it has printed so much rubbish that it should be
 * stopped. */
bool run_parser_line(struct run_parser *collect, const char *line, size_t length);

/* Something about the run that a person should know: a finding at that place. text is cut to fit.
 * One more with the code and place of an earlier one goes over it. */
void run_parser_note(struct run_parser *collect, enum note_severity severity, const char *code,
                     const char *place, const char *text);

/* What became of it, into run.status, run.elapsed_ns and one note when something is wrong: ending
 * is "" for a normal end (then the end record must be there), else a status (crashed, timeout,
 * garbage, cancelled, failed, put-off) with text as the reason. What was being measured when a
 * probe crashed or was killed for its silence is in the note, which is at the place where it
 * begins, and gets a skip. */
void run_parser_finish(struct run_parser *collect, const char *ending, const char *text,
                       int64_t elapsed_ns);
