/**
 * Error counters of places, each with the reading before it, errors that the kernel
 * logged, and runs whose GPUs were throttled.
 * Text of node folders and of the state directory: docs/RECORD.md, Counters.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/kernel_events.h"
#include "node/throttled.h"

#define COUNTERS_MAX       4096
#define COUNTERS_FILE_MAX  (8u << 20)
#define COUNTERS_AT_SIZE   16 /* a PCI address, "0000:c1:00.0" */
#define COUNTERS_VALUE_MAX INT64_C(1000000000000000)
#define COUNTERS_WINDOW_S  3600

enum counter {
#define COUNTER(id, name, finding, severity, per_hour, about) COUNTER_##id,
#include "counters.def"
#undef COUNTER
    COUNTER_COUNT
};

/* Severities of schema/counters.def, as those of a finding. */
enum { COUNTER_WARNING = 1, COUNTER_CRITICAL = 2, COUNTER_STATE = -1 };

struct counter_info {
    const char *name, *finding, *about;
    int severity;
    int per_hour; /* COUNTER_STATE, or the largest rise in an hour that is no finding */
};

const struct counter_info *counters_info(enum counter counter);

/* A value and two earlier readings: the rise is that since @before, an hour or more ago where there
 * is such a reading. middle becomes the next before. */
struct counter_value {
    char at[COUNTERS_AT_SIZE];
    enum counter counter;
    int64_t value, at_s;
    int64_t before, before_at_s;
    int64_t middle, middle_at_s;
};

struct counters {
    char boot_id[40]; /* boot whose counters these are; "" unknown */
    struct counter_value *value;
    size_t count;
    struct kernel_events events;
    struct throttles throttles;
    size_t garbage; /* sources of the last reading without a number, lines without an event */
    char first_garbage[160];
};

void counters_done(struct counters *counters);

/* Copies all; false when out of memory. */
bool counters_copy(const struct counters *from, struct counters *ret);

/* Enters a reading. A counter that is lower than before began anew. One beyond COUNTERS_MAX is
 * noted as garbage. False when out of memory. */
bool counters_enter(struct counters *counters, const char *at, enum counter counter, int64_t value,
                    int64_t at_s);

/* Notes a source that gave no number. */
__attribute__((format(printf, 2, 3))) void counters_note_garbage(struct counters *counters,
                                                                 const char *format, ...);

/* Returns the rise of a counter, 0 for a state; ret_seconds is the time that it took. */
int64_t counters_rise(const struct counter_value *value, int64_t *ret_seconds);

/* True when the value is a finding by its row of schema/counters.def. */
bool counters_is_out_of_line(const struct counter_value *value);

/* Parses the text; lines that are no record, or for which memory runs out, are garbage. */
void counters_parse(const char *text, struct counters *ret);

/* Returns new text; NULL when out of memory. */
char *counters_print(const struct counters *counters);
