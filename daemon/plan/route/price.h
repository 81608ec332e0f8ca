/**
 * The time of an option of Route for any number of bytes, from its hops as slow as they are
 * (plan/route/share.h).
 *
 * A part's pieces follow each other: the first goes all the way, each hop begun when the one before
 * has ended; each further piece adds what the slowest hop takes for it, or what starting it costs
 * the caller's thread. Pieces are powers of two of which something is known; the best size is
 * taken. Parts begin one after the other, as one thread starts them, have as many bytes as let them
 * end together, and their ends are waited for one after the other. Pure; any thread.
 */
#pragma once
#include "plan/route/route.h"

#define PRICE_LEAST_PART 65536 /* fewer bytes are not worth a part of their own */

/* A part with what does not depend on the bytes: what each size of piece costs. */
struct price_pipe {
    const struct route_part *part; /* has to stay */
    double rate;                   /* bytes per second of very many */
    double least_bytes;            /* fewer count as so many: of fewer nothing is known */
    double begin_ns;    /* of the first piece, beyond what its hops take when they are queued */
    double launch_ns;   /* of each piece, for the thread that starts them */
    double end_ns;      /* for the end of it, where others are waited for, too */
    double late_ns;     /* so much later it may be seen to end */
    size_t least_chunk; /* the first piece of whose size something is known of all hops */
    double first_ns[PAIRS_CHUNKS], each_ns[PAIRS_CHUNKS];
};
void price_begin(const struct route_part *part, bool is_direct, struct price_pipe *ret);

/* When so many bytes have come by all parts. */
double price_time_ns(const struct price_pipe *const *pipe, size_t count, double bytes);

/* Bytes per second that very many approach: of one hop, of a part, of an option. */
double price_hop_rate(const struct move *hop);
double price_part_rate(const struct route_part *part);
double price_rate(const struct route_option *option);

/* Kernels that run at once on that gpu. */
size_t price_kernels(const struct route_option *option, place_id gpu);

/* The option's shares, pieces and time. */
void price_shares(struct route_option *option, double bytes);

/* With the interval of that time, and whether it is a lower bound. */
void price_option(struct route_option *option, double bytes);

/* Whether each of several parts has enough bytes to be worth it. */
bool price_is_enough(const struct route_option *option, double bytes);

/* How many bytes a part moves at a time. */
double price_piece(const struct route_part *part, double bytes);
