/**
 * Allocate: which memory for a buffer that is used in a given way. Ordinary (system) memory of every NUMA node that has some;
 * the cost is what is known of the cores that touch it (memrate.h). docs/ADVICE.md has the formulas.
 *
 * Pure; any thread.
 */
#pragma once
#include "memfree.h"
#include "plan.h"

#define ALLOC_LINE_BYTES 64 /* what one random access fetches */

struct alloc_access {
    place_id by;         /* PLACE_NONE: the allowed cpus */
    int64_t reads_bytes, writes_bytes;
    bool random;
    int64_t cores;       /* 0: all it has */
};

struct alloc_request {
    int64_t bytes;
    const struct alloc_access *access;
    size_t access_count; /* 0: the allowed cpus read all of it once */
    const struct allowed *allowed;
    struct memfree_view free;
};

struct alloc_option {
    place_id memory;
    struct prediction predicted;
    int64_t free_bytes; /* -1 unknown */
    double distance;    /* plan_distance from who uses it most; NAN when nobody is anywhere */
    size_t why, why_count; /* a range of the answer's evidence */
};

struct alloc_answer {
    struct alloc_option *option; /* owned; best first */
    size_t count;
    struct plan_evidence evidence;
    struct plan_warnings warnings;
};

/* Fails with INVALID_PARAMETER (bytes, accesses: naming it), NOT_ENOUGH (bytes of memory; cores of a place), NOTHING_ALLOWED, NOT_MEASURED
 * when there are several memories and neither values nor structure tell them apart, UNAVAILABLE when the node's cores are not known, NO_MEMORY. */
enum berth_code plan_alloc(const struct snapshot *snap, const struct alloc_request *request, struct alloc_answer *ret, struct berth_err *err);
void plan_alloc_done(struct alloc_answer *answer);
