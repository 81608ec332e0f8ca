/* What plan/bind/price.h works with: private to its parts. */
#pragma once
#include "plan/bind/price.h"

/* more sizes of flows than that are taken for the nearest below, in what the search knows beside
 * prices */
#define KINDS_MAX 64

/* Flows of a kind have the same bytes and the same sort of other end. */
enum outside {
    OUTSIDE_NONE,
    OUTSIDE_TO_HOST,
    OUTSIDE_FROM_HOST,
    OUTSIDE_TO_NIC,
    OUTSIDE_FROM_NIC,
    OUTSIDES
};

struct kind {
    enum outside outside;
    double bytes;
    uint16_t least_turn; /* of its flows, wherever tasks are */
    bool is_unpriced;    /* nothing is known of it on any gpu, though of others something is */
    /* with which those count in the order of choices of which nothing says what starting them
     * costs, though of others something does (plan/bind/start.h) */
    struct load_start start;
};

struct bind_price {
    const struct snapshot *snap;
    struct bind_price_request request;
    struct load_table *table;
    struct load_scratch *scratch;
    place_id *place; /* of the table: gpus, then memories and nics, each once */
    size_t place_count;
    uint16_t *memory, *nic;   /* by gpu: index of place; NOWHERE */
    struct search_flow *flow; /* traffic by berth */
    double *bytes;            /* by flow */
    size_t flow_count;
    uint32_t *order; /* flows as their tasks begin them, task by task */
    bool is_round;   /* each task begins with what is for the next one */
    struct kind kind[KINDS_MAX + OUTSIDES];
    size_t kind_count;
    bool is_rounded;        /* flows are of kinds with fewer bytes */
    struct load_flow *load; /* the same between places */
    struct load_part *part;
    /* of its kind, by flow; NULL: choices are put in order by their prices */
    struct load_start *start;
    /* flows that count as nothing where they were loaded last, though something is known of such
     * elsewhere */
    size_t lacking;
    double lack_ns; /* what one such costs in a search: more than any choice takes */
    /* flows that count as nothing, because nothing is known of any such */
    size_t unpriced;
    struct load_flow unpriced_one; /* the first of them that was loaded last */
    /* of those of which nothing is known, the first that was loaded last */
    struct load_flow unknown;
    /* For the search. */
    struct search_arc *arc;
    struct search_use *use;
    size_t use_count, use_room;
    uint16_t *sort;
    double *start_ns; /* by resource */
};

#define NOWHERE    ((uint16_t)-1)
#define UNKNOWN_NS 1e18 /* of a flow that nothing known predicts: anything is better */

/* Fills load, with the memory next to a task's first gpu where none is given; returns how many of
 * the flows nothing known predicts: those move nothing then, as those that are unpriced everywhere,
 * or may lack a price, which are counted in unpriced alone. Where nothing else moves they are
 * unknown. */
size_t plan_bind_price_load(struct bind_price *price, const uint16_t *slot, const place_id *memory);
