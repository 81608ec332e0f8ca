/**
 * What planners share. Planning is a pure function of (snapshot, request): no clock, no I/O, no hardware; what
 * the outside knows (free memory) comes in with the request. Planners know nothing of JSON.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpuset.h"
#include "err.h"
#include "graph.h"
#include "snapshot.h"

/* Expected time and its 95 % interval; NAN where nothing known predicts it. */
struct prediction {
    double time_ns, low_ns, high_ns;
};

/* The part of the node a request may use, resolved to places. */
struct allowed {
    bool given;         /* false: the whole node was meant; the answer warns */
    struct cpuset cpus; /* only cpus of the node */
    bool *memory;       /* owned, by place id; NULL: all */
    bool *gpus;         /* likewise */
    bool gpus_claimed;  /* gpus were allowed, and others have claimed all of them */
};

void plan_allowed_done(struct allowed *allowed);
static inline bool plan_allows_memory(const struct allowed *allowed, place_id id) { return allowed->memory == NULL || allowed->memory[id]; }
static inline bool plan_allows_gpu(const struct allowed *allowed, place_id id) { return allowed->gpus == NULL || allowed->gpus[id]; }

#define PLAN_WARNINGS 24
#define PLAN_WARNING_LENGTH 200

/* What the caller should know about an answer, one sentence each. Zero-initialise. */
struct plan_warnings {
    size_t count;
    char line[PLAN_WARNINGS][PLAN_WARNING_LENGTH];
};

/* Adds a line, once. When there is no room, the last line becomes one that says so. */
void plan_warn(struct plan_warnings *warnings, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "task 3: text", or "task 3 and 2 more: text" when it was said of others already. */
void plan_warn_task(struct plan_warnings *warnings, size_t task, const char *text);

/* The values an answer rests on, and the sets of transfers measured together, of the snapshot. Zero-initialise. */
struct plan_evidence {
    const struct value **item; /* NULL: it is set */
    const struct set **set;    /* beside item */
    size_t count, room;
    struct plan_stated *stated; /* private: items that are no values of the snapshot */
};

/* Adds value unless it stands at or after index start already. False when out of memory. */
bool plan_evidence_add(struct plan_evidence *evidence, size_t start, const struct value *value);
bool plan_evidence_add_set(struct plan_evidence *evidence, size_t start, const struct set *set);

/* What goes from one place to another by the mechanism of that metric, which the snapshot has no value of: what links are said to carry (nominal), or what is published of such gpus. */
bool plan_evidence_add_stated(struct plan_evidence *evidence, size_t start, enum metric metric, enum value_source source, place_id from, place_id to, double bytes_per_s);

/* One of another's, which need not last as long. */
bool plan_evidence_add_same(struct plan_evidence *evidence, size_t start, const struct plan_evidence *other, size_t index);

/* What stands from index first on comes before the rest, of which those that say the same as one before (metric, axes, and a value within 5 %) are left out; then at most that many. */
void plan_evidence_few(struct plan_evidence *evidence, size_t first, size_t most);
void plan_evidence_done(struct plan_evidence *evidence);

/* NotEnough; the detail says what there is. */
enum berth_code plan_not_enough(struct berth_err *err, const char *what, int64_t wanted, int64_t available, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* All cpus of the node. */
void plan_node_cpus(const struct graph *graph, struct cpuset *ret_cpus);

/* The NUMA node a place is in or nearest to; a package's when it has one only. PLACE_NONE when unknown or ambiguous. */
place_id plan_numa(const struct graph *graph, place_id id);

/* The nearest place of a kind at or above id, PLACE_NONE when there is none. */
place_id plan_above(const struct graph *graph, place_id id, enum place_kind kind);

/* The firmware's distance between two NUMA nodes, in either direction; NULL when not stated. */
const struct value *plan_numa_distance(const struct snapshot *snap, place_id a, place_id b);

/* How far apart two places are, for putting them in order and nothing else: 0 they share cpus (a gpu and the llc it hangs on),
 * 10 they share a NUMA node, else the firmware's distance between their NUMA nodes, else 20 in one package, 30 elsewhere. */
double plan_distance(const struct snapshot *snap, place_id a, place_id b);
