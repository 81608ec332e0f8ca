/**
 * A stream of bytes that shares limits with others (sim/share.h), and an engine with those of its
 * who (sim/queue.h). Numbers only.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define LOAD_NO_LIMIT UINT16_MAX

struct load_seen;

/* What a limit lets through, from so many of its users on. */
struct resource_step {
    unsigned flows; /* from so many users on */
    double bytes_per_s;
    double low, high; /* what the runs allow; NAN: one run alone, without an interval, says it */
    /* half the 95 % interval of what one more run gets, relative; NAN: a run has no interval */
    double spread;
};

struct load_stream {
    double start_ns;    /* what starting it costs */
    double begin_ns;    /* of that, how long its caller starts others first */
    double bytes_per_s; /* alone; above 0 */
    double bytes;
    const uint16_t *use; /* the limits that it uses, each once */
    unsigned use_count;
    unsigned kind; /* one bit */
    /* in load_seen: streams of one are moved by one engine, and count as one (sim/queue.h); 0 of
     * nobody else's */
    uint32_t who;
    uint16_t shared; /* result: the limit that slowed it last, LOAD_NO_LIMIT none */
    /* result: others of its who end before it, or with it, and stand for it among those that
     * share something */
    bool is_behind;
    double known_bytes_per_s;   /* private */
    struct load_stream *behind; /* private: of the same who, the one that ends next */
    /* private: what that engine moves until this one ends, from the end of the one before on, and
     * how fast alone */
    double part_bytes, part_bytes_per_s;
    double queue_bytes;           /* private: the same from the beginning on */
    double end_ns;                /* result */
    const struct load_seen *seen; /* result: what it got there decided when it ended; NULL no */
};
