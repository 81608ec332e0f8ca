/**
 * Folder daemon/plan/alloc: memories and kinds of allocation for a buffer: the price of each, and
 *   the order of the options.
 *
 * Main types: struct alloc_request, struct alloc_answer.
 * Uses: base node cost
 * Public headers: alloc.h
 * Shown by: tests/unit/plan/alloc, `berth alloc`
 *
 * Allocate: which memory for a buffer that is used in a given way, and which kind of allocation:
 * ordinary (system), pinned, managed, a gpu's own. Everything that all who use it reach is priced
 * by what is known of them using it (cost/memuse.h). docs/ADVICE.md has the formulas.
 *
 * Pure; any thread.
 */
#pragma once
#include "base/free_memory.h"
#include "cost/evidence.h"
#include "cost/memuse.h"
#include "node/allowed.h"
#include "node/reasons.h"

struct alloc_request {
    int64_t bytes;
    const struct memuse_access *access;
    size_t access_count; /* 0: the allowed cpus read all of it once */
    unsigned kinds;      /* bits 1 << enum memkind; 0: all that there are */
    const struct allowed *allowed;
    struct free_memory_view free;
};

/* of what an option says of accesses by bits; of further ones it says nothing */
#define ALLOC_ACCESS_BITS 64

/* Parts of an option's time behind those of the accesses. */
enum { ALLOC_SETUP, ALLOC_RETURN, ALLOC_MORE_PARTS };

struct alloc_option {
    struct memkind_place place;
    bool xnack;       /* only with HSA_XNACK=1 in the environment */
    bool is_gpus_own; /* device memory that is one with a processor's, and gpus alone use it */
    bool is_unsure;   /* nothing says whether all who use it reach it: no prediction */
    struct prediction predicted; /* of one more time */
    /* the same with the interval of the median, by which options are compared */
    struct prediction median;
    struct prediction setup; /* of median: until the memory is there; 0 not known */
    /* bits by access: nothing known says what that gpu gets of this, its own memory, and of all
     * else the time is known; not predicted then */
    uint64_t unmeasured;
    /* of such an option: the time if its own memory were no faster for each of those gpus than
     * the next best; NAN nothing is known of any */
    double at_most_ns;
    /* of an option without a time, because one access may take longer than its bytes alone: what
     * these take, by which it is put in order; NAN else */
    double bytes_ns;
    bool at_least;   /* predicted is a lower bound: low_ns is time_ns, high_ns NAN */
    bool is_ceiling; /* likewise, of rates that are stated or bounded (struct memrate_basis) */
    bool is_own;     /* of the one gpu that uses the buffer, in whatever kind */
    bool is_nearest; /* no other option is nearer to who uses it */
    /* and one for want of something (enum memrate_floor): it stands behind what is predicted; 0
     * it is none */
    unsigned floor;
    bool by_links;   /* predicted rests on what links are said to carry */
    uint64_t linked; /* bits by access: of which */
    bool by_other;   /* or on what is known of other transfers */
    /* or on what starting other kernels of the same gpus costs, to more than a hundredth
     * (MOVE_MATTERS) */
    bool by_start;
    /* or on what a gpu is known to get of other host memory, because they are said to carry more */
    bool by_least;
    /* of the answer: what each access takes, then getting the memory (ALLOC_SETUP), then what
     * comes back to cores (ALLOC_RETURN); NAN not known */
    double *part;
    /* -1 unknown; of a gpu as its driver was asked last, and at most: what the driver keeps for
     * itself is not free */
    int64_t free_bytes;
    int64_t free_at_s; /* when that was; -1 unknown */
    /* locality_distance from who uses it most, -1 where it is that gpu's own; NAN when nobody is
     * anywhere */
    double distance;
    size_t why, why_count; /* a range of the answer's evidence */
};

struct alloc_answer {
    struct alloc_option *option; /* owned; best first */
    size_t count;
    struct memkind_node node; /* owned; for memkind_call */
    double *part;             /* owned; the options' parts */
    struct evidence evidence;
    struct reasons warnings;
    struct reasons reasons; /* what decided, a sentence each */
};

/* Fails with INVALID_PARAMETER (bytes, accesses: naming it), NOT_ENOUGH (bytes of memory; cores of
 * a place), NOTHING_ALLOWED (no memory or gpu is, or all who use it reach none of the kinds),
 * NOT_MEASURED when there are several memories and neither values nor structure tell them apart,
 * UNAVAILABLE (memuse_init), NO_MEMORY. The snapshot is not changed, but its curves may be made. */
enum berth_code plan_alloc(const struct snapshot *snap, const struct alloc_request *request,
                           struct alloc_answer *ret, struct berth_err *err);
void plan_alloc_done(struct alloc_answer *answer);
