/**
 * Pairs: what is known of a transfer between any two memories of a node by either mechanism, looked
 * up once for a snapshot, so that an answer that weighs hundreds of ways costs some microseconds.
 *
 * Constant once made; any thread.
 */
#pragma once
#include "cost/lanes.h"
#include "cost/limits.h"
#include "cost/move.h"

#define PAIRS_CHUNK_LEAST 65536 /* pieces are powers of two from here on */
#define PAIRS_CHUNKS      15    /* up to 1 GiB */
#define PAIRS_LIMITS_MAX  12

/* One hop by one mechanism, measured or published. */
struct pair {
    struct move move; /* alone: slowdown is 1 */
    /* while as many bytes go the other way; where that was not measured as slow as others are at
     * most, where none was as plan_pairs_both has it */
    struct move both;
    bool knows_both, both_is_others;
    /* whose numbers stand for it where one of several is to be chosen (cost/alike.h): another
     * pair's, or its own */
    const struct move *alike;
    /* likewise what both directions get together; NULL: not measured */
    const struct value *alike_both;
    /* the first piece of whose size something is known; PAIRS_CHUNKS none */
    size_t least_chunk;
    double queued_ns[PAIRS_CHUNKS]; /* of each piece, alone */
    /* alone, without what starts it: no piece up to this one takes less for each byte */
    double floor_ns_per_byte[PAIRS_CHUNKS];
    double start_ns;          /* of each piece, in which no byte moves */
    double least_bytes;       /* the fewest of which something is known */
    double least_ns_per_byte; /* alone: no number of bytes takes less for each */
    double more_ns;           /* what the caller's clock sees on top of a queued one */
    /* what each one costs the caller's thread; where nobody measured that, no less than one that
     * is queued takes; 0 not known */
    double launch_ns;
    /* what each one that waits for another stream's event takes on top of a queued one; 0 not
     * known */
    double chain_ns;
    /* as more_ns and launch_ns, of one that waits for another hop's end, which is not there yet;
     * where nobody measured that all of a call, and two launches where nobody measured waits */
    double behind_more_ns, behind_launch_ns;
    const struct lanes *lanes; /* not known where it has more limits than there is room for */
    /* what concurrent runs showed it to share, and host memory of which none did
     * (plan_pairs_limit) */
    uint16_t limit[PAIRS_LIMITS_MAX];
    unsigned limit_count;
    bool is_peer; /* between gpus */
    /* with the host's memory, unless a gpu has that in common with its cores */
    bool is_with_host;
};

struct plan_pairs;

/* Derived of a snapshot whose curves and resources are derived (cost/derive.h). NULL when out of
 * memory. */
struct plan_pairs *plan_pairs_new(const struct snapshot *snap);
void plan_pairs_free(struct plan_pairs *pairs); /* NULL is fine */

/* NULL: nothing is measured or published. */
const struct pair *plan_pairs_find(const struct plan_pairs *pairs, place_id from, place_id to,
                                   enum move_by by);

/* The memories of the node: gpus and NUMA nodes, in the order of their places. */
size_t plan_pairs_memories(const struct plan_pairs *pairs, const place_id **ret_memory);

/* What bytes go over between two memories, whether or not anything is known of such transfers. */
const struct lanes *plan_pairs_lanes(const struct plan_pairs *pairs, place_id from, place_id to);

/* The most that any one transfer over the lane gets, whose number is its bit's. */
double plan_pairs_lane(const struct plan_pairs *pairs, size_t lane);

/* Something that transfers share: what it carries by how many use it, as concurrent runs showed;
 * or, where none did, what is known of it otherwise. */
struct pair_limit {
    const char *name; /* of the snapshot's resources, as step is */
    const struct limit_step *step;
    size_t step_count;
    double stated;        /* bytes per second; 0: step says */
    unsigned stated_from; /* so many users share it */
    bool is_both;         /* what goes the other way meanwhile uses it, too */
};

/* One of those in pair->limit. */
struct pair_limit plan_pairs_limit(const struct plan_pairs *pairs, uint16_t limit);

/* What a transfer is priced by: what is measured or published of it; else what was measured of the
 * same the other way (plan_move_is_back), or, where links say nothing, published; else what the
 * links between are said to carry, but no more than the most that is known (move->most) at either
 * end of transfers with the same kind of memory, by that mechanism and in that direction, or, where
 * nothing is, in the other one; with the host, where nothing is of that mechanism, of the other one
 * (between gpus copy engines are narrower than links by design, and say nothing of kernels; of
 * kernels that is also what a gpu's only read or write of that memory). Memory that another gpu has
 * in common with its cores (MI300A), of which nothing is known itself, is that gpu's: ret is of the
 * gpu then; between it and that gpu kernels get half of what they stream there, or of what firmware
 * says of it (plan_move_is_own). False when nothing is known, or they are not two different
 * memories of which one is a gpu's, or gpus of two vendors, whose runtimes do not open each
 * other's. */
bool plan_pairs_move(const struct snapshot *snap, const struct plan_pairs *pairs, place_id from,
                     place_id to, enum move_by by, struct move *ret);

/* How many times longer the bytes of a transfer take while as many go the other way, where nobody
 * measured that: beside another as any two, whose lanes have two directions. Of one
 * gpu's kernels in both it is so where they share the gpu (plan_way_kernels). */
double plan_pairs_both(const struct snapshot *snap, const struct move *move);

/* Whether that mechanism is priced by links alone where the other one was measured or published.
 * Such a price goes before no other (plan/route/source.h). */
bool plan_pairs_is_guess(const struct plan_pairs *pairs, place_id from, place_id to,
                         enum move_by by);

/* Whether bytes on their way to elsewhere may stop there: a gpu, or memory of the host's own. */
bool plan_pairs_passes(const struct plan_pairs *pairs, place_id id);
