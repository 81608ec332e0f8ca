/**
 * Folder daemon/plan/route: paths between two memories: direct, through others, several at once;
 *   the price of each, and the order of the options.
 *
 * Main types: struct route_request, struct route_option, struct route_answer.
 * Uses: base node cost
 * Public headers: call.h route.h
 * Shown by: tests/unit/plan/route, `berth route`
 *
 * Route enumerates options (plan/route/paths.h), each of up to four parts, and each part of up to
 * three hops. The hops become flows, and one run of the simulator has them all
 * (plan/route/price.h). One rule orders the options (plan/route/order.h).
 *
 * Pure; any thread.
 */
#pragma once
#include "base/request_limits.h"
#include "cost/estimate.h"
#include "cost/evidence.h"
#include "cost/limits.h"
#include "cost/matrix.h"
#include "node/allowed.h"
#include "node/reasons.h"

#define ROUTE_HOPS_MAX     3
#define ROUTE_PARTS_MAX    4
#define ROUTE_OPTIONS_MAX  24
#define ROUTE_CROSSOVERS   8
#define ROUTE_PIECES_AHEAD 4 /* pieces that a program has buffers for between two hops */
#define ROUTE_COMMAND_SIZE 160

struct route_transfer {
    place_id from, to;
    int64_t bytes;
};

struct route_request {
    place_id from, to;
    int64_t bytes;
    bool overlap;          /* the gpus must stay free to compute: no kernels */
    bool both;             /* as many bytes go the other way at the same time */
    bool allow_unmeasured; /* options may lead without measurements */
    bool direct;           /* only direct options, without evidence, sizes and reasons */
    /* begin with it, each by the mechanism that is faster alone */
    const struct route_transfer *concurrent;
    size_t concurrent_count; /* at most ROUTE_CONCURRENT_MAX */
    const struct allowed *allowed;
};

/* Bytes that go from one end to the other by one mechanism, hop after hop. */
struct route_part {
    struct transfer hop[ROUTE_HOPS_MAX]; /* alone, or as a run of the option's hops shows it */
    size_t hop_count;
    bool in_one_piece;  /* the hops' runtimes do not see each other: the program waits between */
    double share;       /* of the bytes */
    double chunk_bytes; /* of the pieces in which they follow each other; 0: in one piece */
    /* of each hop that is a kernel: all that its gpu runs at once, also for concurrent transfers */
    uint8_t kernels[ROUTE_HOPS_MAX];
};

/* One part with all bytes, or several that end together. */
struct route_option {
    struct route_part part[ROUTE_PARTS_MAX];
    size_t part_count;
    enum source source; /* of the hop of which least is known */
    /* one run has its transfers of each kind, or they would keep up taking turns, or there is one
     */
    bool is_together;
    bool knows_both;  /* both directions at once were measured of each hop, or are not asked for */
    bool knows_size;  /* such a size was measured; else starting it counts as nothing */
    bool is_at_least; /* the time is a lower bound: nobody got a rate, or starting is not known */
    bool may_lead_at_all; /* for some size: by its source, and its gain for very many bytes */
    bool may_lead;        /* for this size */
    /* of an option faster than the first: the command that measures the missing numbers of it, or
     * of the first; "" none */
    char worth_measuring[ROUTE_COMMAND_SIZE];
    struct estimate predicted;  /* its source is that of the most doubtful hop or limit */
    double many_ns;             /* time of very many bytes */
    const struct limit *shared; /* of the snapshot: the limit that slows it; NULL none */
    const struct set *run;      /* of the snapshot: its hops in this run decide; NULL none */
    bool is_shared_stated;      /* no run shows the capacity of a limit that slows it */
    size_t why, why_count;      /* a range of the answer's evidence */
};

/* Below bytes the first option wins, from there on the second. */
struct route_crossover {
    int64_t bytes;
    size_t below, above;
};

struct route_answer {
    /* owned, ROUTE_OPTIONS_MAX at most; the first is the one to take, the others follow as they
     * are fast, those of which such a size is known before the others */
    struct route_option *option;
    size_t count;
    /* ascending by bytes; none beside concurrent transfers */
    struct route_crossover crossover[ROUTE_CROSSOVERS];
    size_t crossover_count;
    /* from this size on the first option gets 80 % of its highest rate; NAN unknown, or beside
     * concurrent transfers */
    double b80_bytes;
    struct evidence evidence;
    struct reasons warnings, reasons;
};

/* Fails with INVALID_PARAMETER (from, to, bytes, concurrent: naming it), NOTHING_ALLOWED,
 * NOT_ENOUGH when an end cannot hold so many bytes, UNAVAILABLE when an end is a gpu that was lost
 * or is cut into slices, NOT_MEASURED when nothing is known of any path, NO_MEMORY. */
enum berth_code plan_route(const struct snapshot *snap, const struct route_request *request,
                           struct route_answer *ret, struct berth_err *err);
void plan_route_done(struct route_answer *answer);

/* True for one transfer. */
static inline bool route_is_direct(const struct route_option *option)
{
    return option->part_count == 1 && option->part[0].hop_count == 1;
}
