/**
 * A snapshot: the node's graph plus all values at one moment. Immutable once published and
 * reference counted atomically: a work function on another thread may keep one while the daemon
 * publishes the next.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "node/curve.h"
#include "node/graph.h"
#include "node/sets.h"
#include "node/values.h"

struct baseline;
struct plan_pairs;     /* cost/pairs.h */
struct resource_model; /* cost/resource_model.h */

enum note_severity { NOTE_INFO, NOTE_WARNING, NOTE_CRITICAL };

/* Something about the node that is not a value: a probe that crashed, a store that could not be
 * read. */
struct note {
    char probe[16]; /* whose latest run says it; "" it is of no run */
    char code[32];  /* "probe-crashed", "store-memory-only", ... lower case, stable */
    int severity;   /* 0 info, 1 warning, 2 critical */
    char place[20]; /* "machine0" when none fits better */
    char text[256];
    int64_t since_s; /* 0 unknown */
};

#define FINDING_SUBJECT_SIZE 384

/* A finding that stands since an earlier moment. code, place and subject name it;
 * health/assessment.h.
 */
struct opened {
    char code[32], place[20], subject[FINDING_SUBJECT_SIZE];
    int64_t since_s;
};

/* What a planner works out once of a snapshot and keeps with it: one block that begins with this.
 */
struct snapshot_kept {
    struct snapshot_kept *next;
};

/* What planners rest on. Made of graph, values and sets in this order before the snapshot is shared
 * (cost/derive.h), constant from then on. */
struct derived {
    struct curves *curves;                 /* of values */
    struct resource_model *resources;      /* of sets: what transfers share */
    struct plan_pairs *pairs;              /* of each pair of memories: what a transfer costs */
    void (*free)(struct derived *derived); /* frees all three; NULL: nothing is derived */
};

struct snapshot {
    unsigned refs;               /* atomic, private */
    uint64_t claims;             /* atomic, private: see snapshot_claims */
    char id[48];                 /* same id: same graph and values */
    uint64_t generation;         /* 1, 2, 3, ... within this daemon's life */
    const struct graph *graph;   /* one reference held */
    const struct values *values; /* owned */
    struct sets *sets;           /* owned; NULL none */
    struct derived derived;      /* owned */
    struct snapshot_kept *kept;  /* atomic, private, owned */
    struct note *notes;          /* owned */
    size_t note_count;
    int64_t last_probe_at_s; /* 0 never */
    /* owned; one for each item of values, in their order; NULL: nothing is known of the past */
    struct baseline *baseline;
    struct opened *opened; /* owned */
    size_t opened_count;
    bool has_standin; /* values of it come from a stand-in for a GPU's driver */
    /* owned; how the GPU probe found kernels are launched best, in its own words; NULL not known */
    char *shapes;
};

/* take_values and the notes (copied) belong to the snapshot afterwards; graph gets one more
 * reference. id becomes the first 8 digits of the fingerprint, a dash and generation. NULL when out
 * of memory (take_values is freed). */
struct snapshot *snapshot_new(const struct graph *graph, struct values *take_values,
                              const struct note *notes, size_t note_count, int64_t last_probe_at_s,
                              uint64_t generation);

/* Of all that is in it: the graph's, or standin. */
enum origin snapshot_origin(const struct snapshot *snapshot);

/* The generation of the claims in force, which answers name beside the snapshot's id. It is no part
 * of the snapshot: it is noted here, where every answer passes, and moves on while the rest stays.
 * Any thread. */
void snapshot_note_claims(const struct snapshot *snapshot, uint64_t generation);
uint64_t snapshot_claims(const struct snapshot *snapshot);

/* From then on the block, which malloc gave, is the snapshot's, and ends with it. Any thread. */
void snapshot_keep(const struct snapshot *snapshot, struct snapshot_kept *take);

const struct snapshot *snapshot_ref(const struct snapshot *snapshot);
void snapshot_unref(const struct snapshot *snapshot); /* NULL is fine */
