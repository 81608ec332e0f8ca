/**
 * The measurement record, for output of probes, stores and node folders; one JSON object a line.
 * docs/RECORD.md has the format.
 *
 * record_parse is independent of a node: places are names. Every string is borrowed from the parsed
 * line and valid until record_done.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "node/metric.h"
#include "node/sets.h"
#include "node/transfer.h"
#include "node/values.h"

#define RECORD_SCHEMA     1
#define RECORD_LINE_MAX   65536 /* bytes of one line, newline included */
#define RECORD_PLACE_MAX  64    /* a place's name, PCI address or uuid */
#define RECORD_NUMBER_MIN 1e-9  /* every rate, time or ratio of a node is at least this ... */
/* ... and at most this, so that their quotients are finite */
#define RECORD_NUMBER_MAX      1e18
#define RECORD_REPETITIONS_MAX 1000000

enum record_kind {
    RECORD_RUN,
    RECORD_DEVICE,
    RECORD_LINK,
    RECORD_VALUE,
    RECORD_SET,
    RECORD_SKIP,
    RECORD_FINDING,
    RECORD_PROGRESS,
    RECORD_LOAD,
    RECORD_END
};

struct record_sample {
    int64_t bytes;
    double median_ns, low_ns, high_ns; /* NAN absent */
    uint32_t n;
};

struct record_flow {
    const char *from, *to;
    char axes[256];
    double bytes_per_s, low, high; /* low, high: NAN absent */
};

struct record {
    enum record_kind kind;
    json_t *object; /* the whole line, owned; conditions and axes are read from here */
    union {
        struct {
            const char *probe, *backend;
            int64_t started_at;
            enum value_source source;
            json_t *conditions;
        } run;
        struct {
            const char *gpu;
        } device; /* the rest stays in object for backend_facts */
        struct {
            const char *from, *to;
        } link; /* likewise */
        struct {
            enum metric metric;
            const char *from, *to;
            char axes[256];
            /* NAN absent; value absent when there are samples */
            double value, low, high;
            double t0_ns[TRANSFER_CLOCKS]; /* NAN absent */
            /* 95 % of single calls were between these; NAN absent */
            double t0_call_low_ns, t0_call_high_ns;
            uint32_t n, t0_call_n; /* 0 absent */
            struct record_sample *samples;
            size_t sample_count;
        } value;
        struct {
            enum metric metric;
            struct record_flow *flows;
            size_t flow_count;
        } set;
        struct {
            enum metric metric;
            const char *from, *to, *why;
            char axes[256];
            /* array of objects with from and to: the set without a measurement; NULL if it is no
             * set */
            const json_t *flows;
        } skip;
        struct {
            const char *code, *from, *to, *why;
        } finding; /* code: one of record_findings */
        struct {
            int64_t done, total;
            const char *cell; /* "metric from to" of the cell that begins now; NULL none */
        } progress;
        /* a place under load in one interval, or the reason that it has no load */
        struct {
            const char *place, *why; /* why: NULL it has a rate */
            double bytes_per_s;
            double flop_per_s, clock_mhz, power_w, temperature_c; /* NAN absent */
            const char *throttle;                                 /* "" absent */
        } load;
        /* status: complete, cancelled, budget, failed */
        struct {
            const char *status;
            int64_t elapsed_ns;
            json_t *conditions;
        } end;
    };
};

/* Findings of a probe: wrong-bytes, gpu-lost; all critical. */
extern const char *const record_findings[]; /* NULL-terminated */

/* Parses one line. Unknown keys are ignored (a newer probe). Unknown record kinds and malformed
 * lines fail with BAD_DATA, which names the error. Errors are wrong JSON, a missing key, a wrong
 * type, a number out of range, and an interval that excludes its value. A schema other than
 * RECORD_SCHEMA is an error, too. Nothing to free on failure. */
enum berth_code record_parse(const char *line, size_t length, struct record *ret_record,
                             struct berth_err *err);
void record_done(struct record *record);

/* Writes a value record's axes as canonical text, with bytes as one more where that is above 0.
 * Fails with BAD_DATA where the metric has no such axis. */
enum berth_code record_axes(const struct record *record, enum metric metric, int64_t bytes,
                            char *ret_axes, size_t size, struct berth_err *err);
