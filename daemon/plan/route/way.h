/**
 * A way from one memory to another: at once, or hop after hop through other memories in pieces that
 * follow each other. What it costs, and which ways there are.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/pairs.h"

#define WAY_HOPS_MAX 3

struct way {
    /* of the snapshot; NULL: nothing is measured or published of the hop */
    const struct pair *pair[WAY_HOPS_MAX];
    struct move hop[WAY_HOPS_MAX]; /* the same, with what slows it in this request */
    size_t hop_count;
};

/* From one end to the other as a request has it. */
struct way_ends {
    const struct graph *graph;
    const struct plan_pairs *pairs;
    place_id from, to;
    double bytes;
    const struct snapshot *snap;
    bool both; /* as many bytes go the other way meanwhile */
    /* only ways through other memories that move more bytes per second; 0: all */
    double least_rate;
    /* ways that are taken together lead only over hops of which that was measured, or of which
     * that of others of the mechanism stands for it */
    bool both_is_known;
    const struct allowed *allowed; /* ways lead through nothing else */
    const place_id *without;       /* nor through these of them; NULL when there are none */
    size_t without_count;
};

/* What each piece costs the thread that starts all of them: a launch for each hop with its events;
 * where nobody measured that, a launch and as much again for each hop that waits for another's end.
 * 0 not known. */
double plan_way_launch_ns(const struct way *way);

/* In the pieces that suit so many bytes best, of which none is there before it was started, and
 * each first hop's start is waited for; ret_chunk NULL: not asked, 0: in one piece. A piece is a
 * power of two of which something is known. behind_ns: what each piece costs what is started behind
 * all of them; it counts for their size only. */
struct prediction plan_way_time(const struct way *way, double bytes, double behind_ns,
                                double *ret_chunk);

/* The same without an interval, some times cheaper. */
double plan_way_time_ns(const struct way *way, double bytes, double behind_ns, double *ret_chunk);

/* What pieces of one size cost whatever the bytes: the first one all the way, each further one, and
 * the first over all but the slowest hop. */
struct way_piece {
    double first_ns, each_ns, rest_ns;
};

/* The hops of a way of which something is known, each so many times slower than alone: what is
 * priced again and again. */
struct way_hops {
    const struct pair *pair[WAY_HOPS_MAX];
    double slowdown[WAY_HOPS_MAX];
    /* of each piece, for the thread that starts them; of the first one, to what its hops take
     * when they are queued */
    double launch_ns, more_ns;
    double behind_ns; /* as plan_way_time has it; set before anything is priced */
    /* least_ns_per_byte, slowed: of the slowest hop, of all */
    double most_ns_per_byte, sum_ns_per_byte;
    size_t least_chunk; /* the first piece of whose size something is known of all */
    size_t count;
    /* the piece at which the search for the best begins: that which was best last; PAIRS_CHUNKS:
     * none was */
    size_t from;
    uint32_t worked_out; /* bits of the sizes that piece has */
    struct way_piece piece[PAIRS_CHUNKS];
};
void plan_way_hops(const struct way *way, struct way_hops *ret);

/* What pieces of size k cost. */
struct way_piece plan_way_hops_piece(struct way_hops *hops, size_t k);

/* plan_way_time_ns of them. */
double plan_way_hops_time_ns(struct way_hops *hops, double bytes, double *ret_chunk);

/* Bytes per second that very many approach, by all of a way and by one of its hops. */
double plan_way_rate(const struct way *way);
double plan_way_hop_rate(const struct move *hop);

/* Whether more is known for such a size than a rate of large ones, which would count starting as
 * nothing. */
bool plan_way_knows(const struct way *way, double bytes);

/* What is weighed beside a direct way counts as taking no less than the fewest bytes take of which
 * each hop's time is known (fewer take no longer): so much of bytes, or that. */
double plan_way_counted(const struct way *way, double bytes);

/* Whether what both directions get at once was measured of each hop. */
bool plan_way_knows_both(const struct way *way);

/* One program's kernels on one gpu share the blocks that it holds, launched with fewer each
 * (plan/bind/mechanism.c says the same of a step's): a part must be enough to fill a link. */
#define WAY_KERNELS_MAX 4

/* How many kernels that gpu runs at once for those ways. */
size_t plan_way_kernels(const struct way *way, size_t count, place_id gpu);

#define WAY_ROOM_HOPS 24

/* What ways that are taken leave of the lanes that they use. */
struct way_room {
    const struct pair *taken[WAY_ROOM_HOPS]; /* their hops, which no other way may have, too */
    size_t taken_count;
    struct lanes used;
    double left[64 * LANES_WORDS]; /* bytes per second, by lane; of those that are used */
};

/* False when nothing is measured or published of it. */
bool plan_way_direct(const struct way_ends *ends, enum move_by by, struct way *ret);

enum way_through { WAY_HOST, WAY_GPU, WAY_TWO_GPUS };

/* The fastest of those through one NUMA node's memory, through one gpu or through two, each hop by
 * that mechanism; fewer bytes than are known of a hop counting as those that are, and not those for
 * which there is no room (NULL: nothing else is taken). The lowest numbers of equals. False when
 * there is none that takes less than limit_ns. */
bool plan_way_through(const struct way_ends *ends, enum way_through through, enum move_by by,
                      const struct way_room *room, double limit_ns, struct way *ret);

/* Whether the request lets bytes that go elsewhere stop there. */
bool plan_way_may_pass(const struct way_ends *ends, place_id via);

/* Whether it finds room for all that it gets alone, and no gpu in it copies by more than
 * WAY_KERNELS_MAX kernels at once. */
bool plan_way_fits(const struct way_ends *ends, const struct way *way, const struct way_room *room);
