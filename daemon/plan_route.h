/**
 * Route: the ways in which bytes can go from one memory to another, and what each costs. docs/ADVICE.md has the formulas.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan_step.h"

#define ROUTE_HOPS_MAX      3
#define ROUTE_CROSSOVERS    8
#define ROUTE_CHUNK_LEAST   65536

#define ROUTE_MEANWHILE_MAX (STEP_FLOWS_MAX - ROUTE_HOPS_MAX)

struct route_transfer {
    place_id from, to;
    int64_t bytes;
};

struct route_request {
    place_id from, to;
    int64_t bytes;
    bool overlap;         /* the gpus must stay free to compute: no kernels */
    bool both;            /* as many bytes go the other way meanwhile */
    const struct route_transfer *meanwhile; /* begin with it, each in the way that is fastest alone */
    size_t meanwhile_count; /* at most ROUTE_MEANWHILE_MAX */
    const struct allowed *allowed;
};

/* One mechanism all the way: a copy at once, or hop after hop in pieces that follow each other. */
struct route_option {
    struct move hop[ROUTE_HOPS_MAX];
    size_t hop_count;
    bool is_known;            /* for such a size; else starting it counts as nothing */
    bool unknown_both;        /* both directions were asked for, and what they get of a hop was not measured */
    double chunk_bytes;       /* 0: in one piece */
    struct prediction predicted;
    const struct resource_found *shared; /* of the snapshot: what it shares with what moves meanwhile and is slowed by; NULL nothing */
    size_t why, why_count;    /* a range of the answer's evidence */
};

/* Below bytes the first option wins, from there on the second. */
struct route_crossover {
    int64_t bytes;
    size_t below, above;
};

struct route_answer {
    struct route_option *option; /* owned; fastest first */
    size_t count;
    struct route_crossover crossover[ROUTE_CROSSOVERS]; /* ascending by bytes; none when something moves meanwhile */
    size_t crossover_count;
    double b80_bytes;            /* from this size on the first option gets 80 % of its highest rate; NAN unknown, or something moves meanwhile */
    struct plan_evidence evidence;
    struct plan_warnings warnings;
};

/* Fails with INVALID_PARAMETER (from, to, bytes, meanwhile: naming it), NOTHING_ALLOWED, NOT_MEASURED when nothing is known of any way, NO_MEMORY. */
enum berth_code plan_route(struct snapshot *snap, const struct route_request *request, struct route_answer *ret, struct berth_err *err);
void plan_route_done(struct route_answer *answer);

/* How long an option takes for so many bytes, in the pieces that suit these best; ret_chunk NULL: not asked. */
struct prediction plan_route_time(const struct route_option *option, double bytes, double *ret_chunk);
