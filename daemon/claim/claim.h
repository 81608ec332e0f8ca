/**
 * Folder daemon/claim: claims: who holds which places, for which purpose, until when; and who may.
 *
 * Main types: struct claim, struct claim_set, struct claim_owner.
 * Uses: base node
 * Public headers: around.h claim.h jobs.h owner.h plan.h permission.h set.h within.h
 * Shown by: tests/unit/claim, `berth claim`
 *
 * One claim: a right to places, for a purpose, until a time. Loop thread only; what is constant may
 * be read on another.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/request_limits.h"
#include "node/graph.h"

#define CLAIM_ID_SIZE    12
#define CLAIM_PLACE_SIZE 20

enum claim_purpose { CLAIM_COMPUTE, CLAIM_PROFILING };
const char *claim_purpose_name(enum claim_purpose purpose); /* the wire's names */

/* What a claim ends with, beside its time. pid 0 and cgroup NULL: nothing. */
struct claim_owner {
    pid_t pid;
    /* field 22 of /proc/PID/stat: a pid that was given to another process differs in it */
    uint64_t start_ticks;
    char *cgroup; /* path below /sys/fs/cgroup */
};

/* Constant once it is in a set: a change puts another one in its place, so that one thread may
 * write down what another changes. */
struct claim {
    unsigned refs; /* private */
    char id[CLAIM_ID_SIZE];
    char *places; /* names, comma separated, in the order of the node, none twice */
    enum claim_purpose purpose;
    char *configuration, *key; /* NULL none */
    uid_t uid;
    bool is_admins; /* an administrator made it */
    struct claim_owner owner;
    uint64_t deadline_ns;
    uint64_t version; /* the generation of the set that brought it, or changed it last */
    /* what Bind was asked under the key, and what it answered: JSON texts; NULL nothing yet */
    char *plan_asked;
    char *plan_answered;
};

/* A copy of spec with one reference and strings of its own; NULL when out of memory. */
struct claim *claim_new(const struct claim *spec);
struct claim *claim_ref(struct claim *claim);
void claim_unref(struct claim *claim); /* NULL is fine */

/* Steps through the names in claim->places: begin with *at = claim->places; false at the end. name
 * is cut to fit. */
bool claim_next_place(const char **at, char name[CLAIM_PLACE_SIZE]);

/* Whether inner is outer or stands inside it, as the node is built. */
bool claim_is_inside(const struct graph *graph, place_id outer, place_id inner);

/* The cpus that a claim on the place covers; NULL for what only stands next to cpus, and when
 * unknown. */
const struct cpuset *claim_cpus(const struct place *place);

/* "c1b2c3d4 of uid 1000 (key job7)". */
void claim_describe(const struct claim *claim, char *buffer, size_t size);
