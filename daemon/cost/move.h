/**
 * What moving bytes from one memory to another costs, alone, by one mechanism: from the curve of
 * that transfer where there is one, else from its rate, else from what the links between are said
 * to carry.
 *
 * Memories are NUMA nodes and gpus. Pure; any thread.
 */
#pragma once
#include "base/err.h"
#include "cost/evidence.h"
#include "node/curve.h"
#include "node/engine_limit.h"
#include "node/graph.h"
#include "node/metric.h"
#include "node/snapshot.h"

#define MOVE_LARGE_BYTES 16777216.0 /* from here on a rate of large sizes says all */

#define MOVE_MATTERS 0.01 /* of a time: what is less of it does not matter */

/* A kernel is the program's own, or the runtime's where that was told at its start to copy by
 * kernel (axis sdma=off). */
enum move_by { MOVE_COPY_ENGINE, MOVE_KERNEL };

/* One way for one hop. */
struct move {
    place_id from, to;
    enum move_by by;
    place_id driver;           /* the gpu that does it */
    const struct curve *curve; /* of the snapshot; NULL none */
    /* the curve, and what starting one costs, are another pair's (cost/like.h) */
    bool is_like;
    /* there is no curve, and what starting one costs is another pair's */
    bool is_start_like;
    /* of the snapshot: bytes per second for large sizes; NULL: only nominal is known */
    const struct value *rate;
    /* of the snapshot: links are said to carry more than this, the most that is known at one end
     * (plan_pairs_move), or of cores over the link between two packages; NULL: no such */
    const struct value *most;
    /* static: what stops such engines though links carry more, where only links tell of the rate
     * (node/engine_limit.h): kernels go before it where both take as long; NULL nothing */
    const struct engine_limit *engine;
    /* only links tell of the rate, which is what such reach of this; 0 no such */
    double stated;
    /* static: what else was seen to reach that; NULL nobody says what such links reach */
    const char *reach;
    double bytes_per_s, low, high;  /* of large sizes; low and high NAN unknown */
    double t0_queue_ns, t0_call_ns; /* NAN unknown */
    /* of pieces, and of further ways (node/transfer.h); NAN unknown */
    double t0_chain_ns, t0_behind_ns, t0_launch_ns, t0_end_ns;
    /* how much large transfers of that kind deviate from one to the next, relative
     * (cost/agree.h); 0 unknown */
    double one;
    const struct value *call; /* of the snapshot: where t0_call_ns is from; NULL unknown */
    /* of the snapshot: how far such measurements are apart where they should not be; NULL unknown
     */
    const struct agreement *drift;
    /* of the snapshot: what both directions get together; NULL: not looked for or not known */
    const struct value *both;
    /* of the snapshot: where just these two were measured together, and no value says it; NULL:
     * not looked for or not known */
    const struct set *both_set;
    /* how many times longer the bytes take, not what starts them, while as many go the other way;
     * 1 alone */
    double slowdown;
    /* some of slowdown is by what nobody measured: the time has no interval */
    bool is_slowed_by_guess;
};

/* The better of what is known for that mechanism; measured goes before published and nominal, which
 * is what links are said to carry, however little was ever seen to go over such (whoever prices
 * transfers asks plan_pairs_move). False when nothing is known, or they are not two different
 * memories of which one is a gpu's. A way of which one part's width nobody states has none. */
bool plan_move_find(const struct snapshot *snap, place_id from, place_id to, enum move_by by,
                    struct move *ret);

#define MOVE_WHY_SIZE 96

/* ": nothing says what goes between package0 and package1", the reason why nothing is known of a
 * pair that links join, each stated but for that one, or of two gpus that no runtime copies
 * between;
 * "" there is none such. */
void plan_move_why_not(const struct snapshot *snap, place_id from, place_id to,
                       char text[MOVE_WHY_SIZE]);

/* Whether its rate is by what a gpu's kernels get of the memory that it has in common with its
 * cores (MI300A), in move->most: a copy from there to there gets half of that. */
bool plan_move_is_own(const struct move *move);

/* Whether its rate is a bound that is published of such accesses, in move->most. */
bool plan_move_is_bounded(const struct move *move);

/* Whether nobody got its rate: links or firmware are said to carry so much, or it is the most that
 * is known at an end, or a bound, so that bytes take at least as long. */
bool plan_move_is_ceiling(const struct move *move);

/* Whether its rate is what is published of such engines (move->engine), of which links are said to
 * carry more. */
bool plan_move_is_engines(const struct move *move);

/* Whether its rate is what the same two memories get in the other direction, in move->most. */
bool plan_move_is_back(const struct move *move);

/* plan_move_find without what links are said to carry: false where nobody measured or published a
 * rate. */
bool plan_move_rated(const struct snapshot *snap, place_id from, place_id to, enum move_by by,
                     struct move *ret);

/* From then on the same transfer in the opposite direction goes on beside it. False when what both
 * get was not measured: nothing changes then. */
bool plan_move_both(const struct snapshot *snap, struct move *move);

/* The time of one transfer that is queued already behind others. Without a curve and without
 * t0_queue_ns, what starting it costs counts as 0. NAN never. */
struct prediction plan_move_queued(const struct move *move, double bytes);

/* The same without an interval. */
double plan_move_queued_ns(const struct move *move, double bytes);

/* The part of that time in which no byte moves. */
double plan_move_start_ns(const struct move *move);

/* What the caller's clock sees of one call: the same, with starting it; as queued where that is not
 * known. Its interval is that of one more call, from how far calls were apart, those between other
 * places and in other runs too (cost/agree.h). */
struct prediction plan_move_called(const struct move *move, double bytes);

/* Whether sizes of another pair, or what starting one costs there, stand for what nobody measured
 * of this one, and that is more than MOVE_MATTERS of what so many bytes take in such pieces, the
 * first with what its caller sees: the pair's own rate says the rest. bytes and piece are above 0.
 */
bool plan_move_is_by_another(const struct move *move, double bytes, double piece);

/* Half the 95 % interval of what starting one more call costs, from how far calls were apart that
 * were made one after the other (move->call), and between other places (move->drift); 0 nothing
 * says. NAN where it matters and is of another pair, and nothing says how far that is off. */
double plan_move_call_half_ns(const struct move *move, double bytes);

/* How long launching such a transfer takes its caller, before it begins: half of what a call costs
 * beyond a queued one, for launching and seeing the end are not measured apart, and no more than
 * what starting a queued one costs; that where what a call costs is not known. 0 not known. */
double plan_move_launch_ns(const struct move *move);

/* The kind (enum transfer_kind) of transfers together with which it was measured, if any were. */
unsigned plan_move_kind(const struct graph *graph, const struct move *move);

/* Whether the time of bytes rests on sizes that were measured: a curve, not below a quarter of its
 * least size unless what a call costs was measured, too; or large bytes and a rate. */
bool plan_move_knows(const struct move *move, double bytes);

/* Whether what starting a transfer costs is not known at all, and so few bytes are moved that it
 * matters: it takes at least what its bytes do. */
bool plan_move_lacks_start(const struct move *move, double bytes);

/* The fewest bytes of which plan_move_knows. */
double plan_move_least(const struct move *move);

/* What it is measured as. */
enum metric plan_move_metric(const struct graph *graph, const struct move *move);

/* Evidence for the move: its rate and what starting it costs, or what stands for it, which may be
 * what links are said to carry. NO_MEMORY. */
enum berth_code plan_move_cite(const struct graph *graph, const struct move *move,
                               struct evidence *evidence, size_t start, struct berth_err *err);
