/**
 * A use of a buffer: cores or a gpu that read and write it, and what that costs in a memory.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/gpurate.h"
#include "node/allowed.h"
#include "node/reasons.h"

#define MEMUSE_LINE_BYTES 64   /* what one random access fetches */
#define MEMUSE_SHORT_NS   1000 /* a stream that takes less may take less than one access */

/* As the caller says it. */
struct memuse_access {
    place_id by; /* PLACE_NONE: the allowed cpus */
    int64_t reads_bytes, writes_bytes;
    bool random;
    int64_t cores; /* 0: all it has */
};

struct memuse {
    place_id gpu; /* PLACE_NONE: who are cores */
    struct memkind_gpu reached;
    struct accessor who; /* owned */
    double read_bytes, write_bytes;
    bool random;
    bool said[MEMKIND_COUNT]; /* that it does not reach such memory, or that nobody knows */
};

/* INVALID_PARAMETER (accesses), NOT_ENOUGH (cores of a place), NOTHING_ALLOWED (no core is),
 * UNAVAILABLE (a gpu that stopped answering or is in MIG mode; the node's cores are not known),
 * NO_MEMORY. */
enum berth_code memuse_init(const struct memkind_node *node, const struct snapshot *snap,
                            const struct memuse_access *access, const struct allowed *allowed,
                            struct memuse *ret, struct berth_err *err);
void memuse_done(struct memuse *use);

/* Whether it reaches an allocation; a warning says why one that it does not reach is left out.
 * ret_xnack is set, never cleared, where it takes HSA_XNACK=1. */
enum memkind_reach memuse_reaches(struct memuse *use, const struct memkind_node *node,
                                  const struct snapshot *snap, const struct memkind_place *place,
                                  struct reasons *warnings, bool *ret_xnack);

/* What cores pay for the memory that NUMA node numa is, in a buffer of span bytes; NAN when nothing
 * known predicts it. NO_MEMORY. */
enum berth_code memuse_cores(const struct memuse *use, const struct memkind_node *node,
                             const struct snapshot *snap, place_id numa, double span,
                             struct memrate_basis *basis, struct memtime *ret,
                             struct berth_err *err);

/* What a gpu pays: at->gpu is use->gpu. */
enum berth_code memuse_gpu(const struct memuse *use, const struct gpurate *at,
                           struct memrate_basis *basis, struct memtime *ret, struct berth_err *err);
