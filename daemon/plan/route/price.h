/**
 * The time of an option of Route for any number of bytes, with slowed hops
 * (plan/route/contention.h).
 *
 * A part's pieces follow each other: the first goes all the way, each hop begun when the one before
 * has ended; each further piece adds the time of the slowest hop, or of its launch in the
 * caller's thread. Pieces are powers of two with known times; the best size is taken. Parts begin
 * one after the other, as one thread starts them, have as many bytes as let them end together, and
 * their ends are waited for one after the other. Pure; any thread.
 */
#pragma once
#include "plan/route/route.h"

#define PRICE_CHUNK_LEAST 65536 /* pieces are powers of two from here on */
#define PRICE_CHUNKS      15    /* up to 1 GiB */
#define PRICE_LEAST_PART  65536 /* fewer bytes are not worth a part of their own */

/* A part with all that does not depend on the bytes: the times of each size of piece. */
struct price_pipe {
    const struct route_part *part; /* has to stay */
    double rate;                   /* bytes per second of very many */
    double least_bytes;            /* least with known times; fewer count as so many */
    double begin_ns;               /* of the first piece, on top of its queued hops */
    double launch_ns;              /* of each piece, for the thread that starts them */
    double end_ns;                 /* wait for its end, in a split */
    double late_ns;                /* later end, where nobody measured events */
    size_t least_chunk;            /* least piece with known times of all hops */
    double first_ns[PRICE_CHUNKS], each_ns[PRICE_CHUNKS];
};
void price_begin(const struct route_part *part, bool is_direct, struct price_pipe *ret);

/* Returns the time of so many bytes by all parts. */
double price_time_ns(const struct price_pipe *const *pipe, size_t count, double bytes);

/* Bytes per second that very many approach: of one hop, of a part, of an option. */
double price_hop_rate(const struct transfer *hop);
double price_part_rate(const struct route_part *part);
double price_rate(const struct route_option *option);

/* Kernels that run at once on that gpu. */
size_t price_kernels(const struct route_option *option, place_id gpu);

/* Sets the option's shares, pieces and time. */
void price_shares(struct route_option *option, double bytes);

/* Sets the interval of that time, too, and is_at_least. */
void price_option(struct route_option *option, double bytes);

/* True when each of several parts has enough bytes. */
bool price_is_enough(const struct route_option *option, double bytes);

/* Bytes that a part moves at a time. */
double price_piece(const struct route_part *part, double bytes);
