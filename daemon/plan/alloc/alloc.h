/**
 * Folder daemon/plan/alloc: memory for a buffer: options of a memory and a kind of allocation, the
 *   time of each, and their order.
 *
 * Main types: struct alloc_request, struct alloc_answer.
 * Uses: base node cost
 * Public headers: alloc.h
 * Shown by: tests/unit/plan/alloc, `berth alloc`
 *
 * Allocate: an option is a memory (of a NUMA node or a gpu) with a kind of allocation (system,
 * pinned, managed, device) that all users of the buffer reach. Its time is one sum
 * (cost/memtime.h): each user's reads, writes or random accesses, getting the memory (first touch,
 * pinning), and the way back of managed memory to cores. Options stand in this order:
 * 1. memory that has room, before memory without
 * 2. times by measured and published numbers; nominal ones, unless no memory is nearer; lower
 *    bounds; unknown ones. A gpu's own memory without a figure counts as the fastest that is known
 *    for that gpu, because nothing farther is faster.
 * 3. by time; of times that differ by less than POLICY_SAME the nearest, then the plainest kind
 *
 * Pure; any thread.
 */
#pragma once
#include "base/free_memory.h"
#include "cost/estimate.h"
#include "cost/evidence.h"
#include "cost/memkind.h"
#include "node/allowed.h"
#include "node/reasons.h"

/* Use of the buffer as the caller states it. */
struct alloc_access {
    place_id by; /* PLACE_NONE: the allowed cpus */
    int64_t reads_bytes, writes_bytes;
    bool random;
    int64_t cores; /* 0: all it has */
};

struct alloc_request {
    int64_t bytes;
    const struct alloc_access *access;
    size_t access_count; /* 0: the allowed cpus read all of it once */
    unsigned kinds;      /* bits 1 << enum memkind; 0: all that there are */
    const struct allowed *allowed;
    struct free_memory_view free;
};

/* Parts of an option's time behind those of the accesses: until the memory is there, and until
 * managed memory is back with the cores. */
enum { ALLOC_SETUP, ALLOC_RETURN, ALLOC_MORE_PARTS };

struct alloc_option {
    struct memkind_place place;
    bool xnack;                  /* only with HSA_XNACK=1 in the environment */
    bool is_unsure;              /* some users may not reach it: no prediction */
    const struct estimate *part; /* of the answer: of each access, then ALLOC_MORE_PARTS */
    struct estimate predicted;   /* of one more time */
    double setup_ns;             /* until the memory is there, a part of predicted; NAN unknown */
    struct estimate order;       /* decides the order, also without a prediction */
    /* locality_distance from the heaviest user, -1 for that gpu's own; NAN when it is anywhere */
    double distance;
    int64_t free_bytes;    /* -1 unknown; of a gpu at most, as its driver reported it */
    int64_t free_at_s;     /* when that was; -1 unknown */
    bool is_short;         /* a NUMA node has less free than the buffer now */
    size_t why, why_count; /* a range of the answer's evidence */
};

struct alloc_answer {
    struct alloc_option *option; /* owned; best first */
    size_t count;
    struct estimate *part; /* owned; the options' parts */
    struct evidence evidence;
    struct reasons warnings;
    struct reasons reasons; /* the deciding facts */
};

/* Fails with INVALID_PARAMETER (bytes, accesses: naming it), NOT_ENOUGH (bytes of memory; cores of
 * a place), NOTHING_ALLOWED (no memory, gpu or core is, or all users reach none of the kinds),
 * NOT_MEASURED when there are several memories and neither values nor structure tell them apart,
 * UNAVAILABLE (a gpu that stopped answering or is in MIG mode; the node's cores are not known),
 * NO_MEMORY. */
enum berth_code plan_alloc(const struct snapshot *snap, const struct alloc_request *request,
                           struct alloc_answer *ret, struct berth_err *err);
void plan_alloc_done(struct alloc_answer *answer);
