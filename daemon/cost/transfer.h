/**
 * A transfer between two memories of a node, alone, by one mechanism: its rate, its start-up times,
 * and the source of both. The time of so many bytes follows from them.
 *
 * Memories are NUMA nodes and GPUs. Pure; any thread.
 */
#pragma once
#include <stdbool.h>

#include "cost/agreement.h"
#include "cost/estimate.h"
#include "cost/evidence.h"
#include "node/curve.h"
#include "node/engine_limit.h"
#include "node/snapshot.h"
#include "node/transfer.h"

/* From here on a rate of large sizes gives the time. */
#define TRANSFER_LARGE_BYTES 16777216.0

/* A kernel is the program's own, or the runtime's where a variable makes it copy by kernel (axis
 * sdma=off). */
enum mechanism { MECHANISM_COPY_ENGINE, MECHANISM_KERNEL };
#define MECHANISMS 2

/* The number behind a rate (cost/matrix_rate.c). */
enum basis {
    BASIS_OWN,     /* a value of that transfer, measured, published or stated: rate */
    BASIS_REVERSE, /* the measured rate of the opposite direction */
    BASIS_ENGINE,  /* the published limit of such copy engines, below that of the links */
    BASIS_LINKS,   /* the stated rate of links, scaled by what transfers reach of such */
    BASIS_END,     /* the highest rate known at one end, below that of the links */
    BASIS_MEMORY,  /* half of the rate in the memory that GPU and cores share (MI300A) */
    BASIS_BOUND    /* a published bound of such accesses, below that of the links */
};

struct transfer {
    place_id from, to;
    enum mechanism by;
    unsigned kind;   /* one bit of enum transfer_kind */
    place_id driver; /* the GPU that does it; PLACE_NONE: a NIC */
    enum basis basis;
    enum source source; /* of the rate */
    const char *why;    /* static: the number behind the rate, for the end of a sentence */
    /* of the snapshot: the number behind the rate, nominal of links; NULL: with a NIC */
    const struct value *value;
    const char *axes; /* of the snapshot: of a rate of its own; "" others */
    double stated;    /* stated rate of the links, where these are the basis; 0 none */
    /* static: the published limit of such engines; NULL none */
    const struct engine_limit *engine;

    double bytes_per_s, low, high; /* of large sizes; low and high NAN unknown */
    /* of the snapshot; NULL unknown. Its times are those of a similar pair unless sizes is
     * SOURCE_MEASURED */
    const struct curve *curve;
    /* of sizes and start-up: SOURCE_MEASURED own, SOURCE_SIMILAR_PAIR another pair's,
     * SOURCE_LOWER_BOUND unknown */
    enum source sizes;
    double least_bytes;       /* the fewest that these sizes cover; INFINITY none */
    const struct value *call; /* of the snapshot: t0_call_ns is from it; NULL unknown */
    /* start-up times, see enum transfer_clock (node/transfer.h); NAN unknown */
    double t0_queue_ns, t0_call_ns, t0_chain_ns, t0_behind_ns, t0_launch_ns, t0_end_ns;
    /* relative deviation from one large transfer of its kind to the next; 0 unknown */
    double one;
    const struct agreement *drift; /* of the snapshot; NULL unknown */

    /* factor on the time of the bytes while as many go the other way, and its source; 1 alone */
    double slowdown;
    enum source slowdown_source;
    const struct value *both;   /* of the snapshot: the rate of both directions; NULL unknown */
    const struct set *both_set; /* the run that shows it, where no value does; NULL none */
};

/* Returns a transfer without a rate. */
struct transfer transfer_none(const struct graph *graph, place_id from, place_id to,
                              enum mechanism by);

/* Returns the time behind others in a queue. Where nothing gives the start-up it counts as 0. */
double transfer_queued_ns(const struct transfer *transfer, double bytes);
struct estimate transfer_queued(const struct transfer *transfer, double bytes);

/* Returns the part of that in which no byte moves. */
double transfer_start_ns(const struct transfer *transfer);

/* Returns the time of one call by the caller's clock; as queued where that is unknown. The interval
 * is that of one more call. */
double transfer_called_ns(const struct transfer *transfer, double bytes);
struct estimate transfer_called(const struct transfer *transfer, double bytes);

/* Returns half the 95 % interval of the start-up of one more call; 0 unknown. NAN: it matters, is
 * another pair's, and nothing shows its deviation. */
double transfer_call_half_ns(const struct transfer *transfer, double bytes);

/* Returns the time of the caller's thread for one launch, before the next transfer begins; 0
 * unknown. */
double transfer_launch_ns(const struct transfer *transfer);

/* Returns what the caller's clock adds to a queued transfer; 0 unknown. */
double transfer_call_more_ns(const struct transfer *transfer);

/* Missing numbers of the time of so many bytes: bits. */
enum transfer_lack {
    LACKS_START = 1,    /* the start-up matters and is unknown: it takes at least so long */
    LACKS_SIZE = 2,     /* neither measured sizes nor a rate of large ones cover so few bytes */
    LACKS_OWN_SIZES = 4 /* sizes or start-up of another pair are more than POLICY_SAME of it */
};

/* Returns the missing numbers (bits of enum transfer_lack) of the time of so many bytes, moved in
 * pieces, and the source of that time: that of the rate, or of the sizes where these matter. piece
 * and bytes are above 0. */
unsigned transfer_lacks(const struct transfer *transfer, double bytes, double piece);
enum source transfer_source(const struct transfer *transfer, double bytes, double piece);

static inline bool transfer_is_peer(const struct transfer *transfer)
{
    return (transfer->kind & (TRANSFER_PEER_ENGINE | TRANSFER_PEER_KERNEL)) != 0;
}

/* Returns the metric of rates of transfers of its kind. */
enum metric transfer_metric(const struct transfer *transfer);

/* Adds the numbers behind the transfer to the evidence, from index start on. */
void transfer_cite(const struct transfer *transfer, struct evidence *evidence, size_t start);
