/**
 * A snapshot: the node's graph plus all values at one moment. Immutable once published and
 * reference counted atomically: a work function on another thread may keep one while the daemon
 * publishes the next.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "node/counters.h"
#include "node/curve.h"
#include "node/graph.h"
#include "node/sets.h"
#include "node/values.h"

struct baseline;
struct matrix; /* cost/matrix.h */
struct limits; /* cost/limits.h */
struct usage;  /* cost/usage.h */

enum note_severity { NOTE_INFO, NOTE_WARNING, NOTE_CRITICAL };

/* A note about the node that is not a value: a probe that crashed, a store that could not be
 * read. */
struct note {
    char probe[16]; /* probe whose latest run wrote the note; "" for no run */
    char code[32];  /* "probe-crashed", "store-memory-only", ... lower case, stable */
    int severity;   /* 0 info, 1 warning, 2 critical */
    char place[20]; /* "machine0" when none fits better */
    char text[256];
    int64_t since_s; /* 0 unknown */
    /* cell in which a probe crashed or hung, from place; "" no cell */
    char metric[40], to[20];
};

#define FINDING_SUBJECT_SIZE 384

/* A finding since an earlier moment, named by code, place and subject; health/assessment.h. */
struct opened {
    char code[32], place[20], subject[FINDING_SUBJECT_SIZE];
    int severity;           /* as of a note */
    double value, expected; /* NAN none */
    int64_t since_s;
    bool is_unconfirmed; /* seen by one measurement, where a second must confirm it */
};

/* A cell that is to be measured again, because its value is an unconfirmed finding. */
struct second_look {
    enum metric metric;
    place_id from, to;
    int64_t due_s;
};

/* Data for planners, derived from graph, values and sets in this order before the snapshot is
 * shared (cost/derive.h). Constant from then on. */
struct derived {
    struct curves *curves;                 /* of values */
    struct limits *limits;                 /* of sets: shared limits of transfers */
    struct matrix *matrix;                 /* transfers between memories, alone */
    struct usage *usage;                   /* the limits that they share, with those of NICs */
    void (*free)(struct derived *derived); /* frees all; NULL: none are derived */
};

struct snapshot {
    unsigned refs;               /* atomic, private */
    char id[48];                 /* same id: same graph and values */
    uint64_t generation;         /* 1, 2, 3, ... within this daemon's life */
    const struct graph *graph;   /* one reference held */
    const struct values *values; /* owned */
    struct sets *sets;           /* owned; NULL none */
    struct derived derived;      /* owned */
    struct note *notes;          /* owned */
    size_t note_count;
    int64_t last_probe_at_s; /* 0 never */
    /* owned; one for each item of values, in their order; NULL: no known past */
    struct baseline *baseline;
    struct opened *opened; /* owned */
    size_t opened_count;
    struct second_look *second_look; /* owned; of unconfirmed findings */
    size_t second_look_count;
    struct counters counters; /* owned; error counters of the places */
    bool has_standin;         /* some values come from a stand-in for a GPU's driver */
    /* owned; tuned launch shapes of kernels (node/tuning.h); NULL unknown */
    char *shapes;
};

/* Makes a snapshot, which owns take_values and copies the notes; graph gets one more reference. The
 * id is the first 8 digits of the fingerprint, a dash and generation. NULL when out of memory
 * (take_values is freed). */
struct snapshot *snapshot_new(const struct graph *graph, struct values *take_values,
                              const struct note *notes, size_t note_count, int64_t last_probe_at_s,
                              uint64_t generation);

/* Returns the origin of all data: the graph's, or standin. */
enum origin snapshot_origin(const struct snapshot *snapshot);

const struct snapshot *snapshot_ref(const struct snapshot *snapshot);
void snapshot_unref(const struct snapshot *snapshot); /* NULL is fine */

/* True when predictions by one do not hold by the other: another graph, a value or a concurrent run
 * more or less, or a number that differs by more than SNAPSHOT_SAME with intervals that do not
 * overlap. */
#define SNAPSHOT_SAME 0.05
bool snapshot_value_differs(const struct value *a, const struct value *b); /* their numbers */
bool snapshot_differs(const struct snapshot *a, const struct snapshot *b);
