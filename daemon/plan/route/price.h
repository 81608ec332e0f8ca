/**
 * The time of an option of Route for any number of bytes.
 *
 * Each hop of a part is a flow of the part's bytes, at the rate that they have alone in pieces; it
 * begins when the first piece is there, and the part ends when the last piece has passed the hops
 * behind. One run of the simulator (cost/iteration.h) has the hops of all parts, the same hops back
 * where both directions are asked for, and the concurrent transfers of the request. Pieces are
 * powers of two with known times; the best size is taken. Parts begin one after the other, as one
 * thread starts them, have as many bytes as let them end together, and their ends are waited for
 * one after the other. Pure; any thread.
 */
#pragma once
#include "cost/iteration.h"
#include "plan/route/work.h"

#define PRICE_CHUNK_LEAST 65536         /* pieces are powers of two from here on */
#define PRICE_CHUNKS      15            /* up to 1 GiB */
#define PRICE_LEAST_PART  65536         /* fewer bytes are not worth a part of their own */
#define PRICE_MANY        17179869184.0 /* very many bytes: 16 GiB */
#define PRICE_FLOWS_MAX   (ROUTE_CONCURRENT_MAX + 2 * ROUTE_PARTS_MAX * ROUTE_HOPS_MAX)

/* A part with all that does not depend on the bytes: the times of each size of piece. */
struct price_pipe {
    const struct route_part *part;  /* has to stay */
    double rate;                    /* bytes per second of very many, alone */
    double least_bytes;             /* least with known times; fewer count as so many */
    double launch_ns;               /* of each piece, for the thread that starts them */
    double end_ns;                  /* wait for its end, in a split */
    double late_ns;                 /* later end, where nobody measured events */
    double more_ns[ROUTE_HOPS_MAX]; /* of the first piece of each hop, on top of a queued one */
    size_t least_chunk;             /* least piece with known times of all hops */
    /* a piece of a hop alone; the first of all hops; each further one */
    double one_ns[PRICE_CHUNKS][ROUTE_HOPS_MAX], first_ns[PRICE_CHUNKS], each_ns[PRICE_CHUNKS];
};

/* An option while it is priced. */
struct price {
    const struct route_work *work;
    size_t count;
    struct price_pipe pipe[ROUTE_PARTS_MAX];
    bool is_alone; /* nothing slows it */
    struct flow flow[PRICE_FLOWS_MAX];
    size_t flows;
    double launch_ns; /* the concurrent transfers are there when the option is begun */
    /* by part */
    double bytes[ROUTE_PARTS_MAX], chunk[ROUTE_PARTS_MAX], alone_ns[ROUTE_PARTS_MAX],
        before_ns[ROUTE_PARTS_MAX], end_ns[ROUTE_PARTS_MAX];
    struct transfer back[ROUTE_PARTS_MAX][ROUTE_HOPS_MAX]; /* where both directions move */
};

/* Returns the time of a part alone, and its rate for very many bytes. */
double price_path(const struct route_part *part, bool is_direct, double bytes, double *ret_rate);

/* Prepares the pricing of an option, which has to stay. */
void price_begin(const struct route_work *work, const struct route_option *option,
                 struct price *ret);

/* Returns the time of so many bytes by all parts. */
double price_time_ns(struct price *price, double bytes);

/* Sets shares, pieces, time and what the option shares; where it may lead the time of very many
 * bytes, and where it takes less than most_ns the interval and is_at_least, too. */
void price_option(const struct route_work *work, bool may_lead, double most_ns,
                  struct route_option *option);

/* Bytes per second of very many, alone. */
double price_hop_rate(const struct transfer *hop);

/* Bytes that a part moves at a time. */
double price_piece(const struct route_part *part, double bytes);
