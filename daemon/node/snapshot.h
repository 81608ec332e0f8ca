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
struct resource_model;

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

struct snapshot {
    unsigned refs;                    /* atomic, private */
    uint64_t claims;                  /* atomic, private: see snapshot_claims */
    char id[48];                      /* same id: same graph and values */
    uint64_t generation;              /* 1, 2, 3, ... within this daemon's life */
    const struct graph *graph;        /* one reference held */
    const struct values *values;      /* owned */
    struct curves *curves;            /* atomic, private: of values; NULL not made yet */
    struct sets *sets;                /* owned; NULL none */
    struct resource_model *resources; /* atomic; of sets (resource_model_of); NULL not made yet */
    void (*free_resources)(struct resource_model *resources); /* atomic; frees them */
    /* atomic, private, one block: what planners know of each pair of memories (cost/pairs.h);
     * NULL not made yet */
    void *pairs;
    struct snapshot_kept *kept; /* atomic, private, owned */
    struct note *notes;         /* owned */
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
void snapshot_note_claims(struct snapshot *snapshot, uint64_t generation);
uint64_t snapshot_claims(const struct snapshot *snapshot);

/* The curves of values, made by whoever asks first, in some us for each curve: a start does not
 * wait for them, and a later snapshot has them when it is published. Any thread. NULL when out of
 * memory. */
const struct curves *snapshot_curves(struct snapshot *snapshot);
bool snapshot_has_curves(const struct snapshot *snapshot);

/* From then on the block, which malloc gave, is the snapshot's, and ends with it. Any thread. */
void snapshot_keep(struct snapshot *snapshot, struct snapshot_kept *take);

struct snapshot *snapshot_ref(struct snapshot *snapshot);
void snapshot_unref(struct snapshot *snapshot); /* NULL is fine */
