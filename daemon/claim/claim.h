/**
 * Folder daemon/claim: claims: who holds which places, for which purpose, until when; and who may.
 *
 * Main types: struct claim, struct claim_set, struct claim_owner.
 * Uses: base node
 * Public headers: around.h claim.h jobs.h owner.h plan.h permission.h set.h
 * Shown by: tests/unit/claim, `berth claim`
 *
 * One claim: a right to places, for a purpose, until a deadline. Loop thread only; other threads
 * may read the constant part of a referenced claim.
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
const char *claim_purpose_name(enum claim_purpose purpose); /* wire names */

/* Process or cgroup whose end ends the claim before its deadline. pid 0 and cgroup NULL: none. */
struct claim_owner {
    pid_t pid;
    /* field 22 of /proc/PID/stat; distinguishes a later process with the same pid */
    uint64_t start_ticks;
    char *cgroup; /* path below /sys/fs/cgroup */
};

/* One claim. Constant while it is in a set: a change replaces it. So another thread may read it
 * during a change. */
struct claim {
    unsigned refs; /* private */
    char id[CLAIM_ID_SIZE];
    char *places; /* names, comma separated, in the order of the node, each once */
    enum claim_purpose purpose;
    char *configuration, *key; /* NULL none */
    uid_t uid;
    bool is_admins; /* made by an administrator */
    struct claim_owner owner;
    uint64_t deadline_ns;
    uint64_t version; /* generation of the set at its last change */
    /* request and answer of Bind under the key: JSON texts; NULL none yet */
    char *plan_asked;
    char *plan_answered;
};

/* Returns a copy of spec with one reference and its own strings; NULL when out of memory. */
struct claim *claim_new(const struct claim *spec);
struct claim *claim_ref(struct claim *claim);
void claim_unref(struct claim *claim); /* NULL is fine */

/* True when a process or a cgroup owns the claim; false for NULL. */
bool claim_has_owner(const struct claim *claim);

/* Iterates over the names in claim->places. Begin with *at = claim->places; returns false at the
 * end. Cuts name to fit. */
bool claim_next_place(const char **at, char name[CLAIM_PLACE_SIZE]);

/* True when inner is outer or inside it in the hardware tree. */
bool claim_is_inside(const struct graph *graph, place_id outer, place_id inner);

/* Returns the cpus that a claim on the place covers. NULL when they are unknown, or when the place
 * contains none, as a NIC near cpus. */
const struct cpuset *claim_cpus(const struct place *place);

/* Writes "c1b2c3d4 of uid 1000 (key job7)". */
void claim_describe(const struct claim *claim, char *buffer, size_t size);
