/**
 * The transfers of a node as users of limits: for each ordered pair of memories and NICs, and each
 * mechanism, the transfer alone with the numbers of its class, and the limits that it shares with
 * others. A NIC stands for all outside the node.
 *
 * The limits are those of cost/limits.h with the capacities that an iteration counts with: of
 * similar limits found from runs the mean; a stated one at least what runs show of the same part,
 * and of a PCIe port the share that transfers reach of their links. To these come limits of single
 * pairs (LIMIT_PAIR).
 *
 * Derived once from the other derived data; constant from then on, for any number of threads.
 */
#pragma once
#include "cost/limits.h"
#include "cost/transfer.h"
#include "node/snapshot.h"
#include "sim/sim.h"

#define USAGE_PLACES_MAX 256 /* memories, then NICs; of more nothing is known */

/* How GPUs copy to each other: by the faster mechanism, for each pair and size, or by one. With the
 * host the faster one is taken in any case, a kernel where it saves more than POLICY_SAME. */
enum copy_by { COPY_BEST, COPY_BY_ENGINE, COPY_BY_KERNEL };

struct user {
    struct transfer alone;
    unsigned limit_count;  /* 0: nothing slows it */
    bool is_pair_limited;  /* the first one is that of its pair */
    const uint16_t *limit; /* indices of usage->limit, each once */
    uint32_t pair;         /* number of its two places in this order, from 1 on */
};

/* A concurrent run of copies by engine that read and write one host memory, whose uneven shares no
 * limit explains: its transfers get no more than there. */
struct usage_run {
    const struct set *set; /* of the snapshot */
    const struct user *user[SETS_FLOWS_MAX];
    size_t count;
    /* of those that write host memory, and that read it: mean there, and of all similar runs */
    double own[2], rate[2];
};

struct usage {
    const struct snapshot *snap;
    struct limit *limit; /* the first are those of the snapshot's limits, in their order */
    size_t limit_count;
    struct sim_limit *sim; /* the same as numbers; none counts by kinds */
    struct usage_run *run;
    size_t run_count;
    struct sim_step *step; /* private, as all below */
    place_id *place;
    uint16_t *slot; /* by place: index of place; UINT16_MAX none */
    size_t place_count;
    struct user *user; /* by mechanism, from, to; kind of alone 0: nothing is known */
    size_t user_count;
    uint16_t *use;
};

/* NULL when out of memory. */
struct usage *usage_new(const struct snapshot *snap);
void usage_free(struct usage *usage); /* NULL is fine */

/* Returns NULL where nothing is known of the transfer, and from a place to itself. */
const struct user *usage_find(const struct usage *usage, place_id from, place_id to,
                              enum mechanism by);

/* Returns the transfer by which so many bytes are moved; NULL as above. */
const struct user *usage_choose(const struct usage *usage, place_id from, place_id to, double bytes,
                                enum copy_by by);
