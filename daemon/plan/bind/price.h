/**
 * The time of an iteration, when the tasks have these GPUs: flows between the places that they use,
 * priced by cost/load.h. A transfer between tasks with several GPUs each is split evenly, from each
 * GPU of one to each of the other.
 *
 * Flows begin in the order of their tasks: to the lowest task first, then those with the host or a
 * NIC. Copies that one GPU drives through one port go one after the other; where all tasks send to
 * all others by engine through one port each, a task begins with the next task, and so on round.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/estimate.h"
#include "cost/evidence.h"
#include "cost/load.h"
#include "cost/load_why.h"
#include "plan/bind/traffic_request.h"
#include "search/search.h"

#define PRICE_KINDS_MAX  64   /* sizes of flows; more count as the nearest below in the search */
#define PRICE_UNKNOWN_NS 1e18 /* of a flow that nothing known predicts: anything is better */
#define PRICE_NOWHERE    ((uint16_t)-1)

struct bind_price_request {
    const struct traffic *traffic;
    enum load_by by;
    size_t tasks, each;     /* GPUs of a task, at least 1 */
    const place_id *gpu;    /* allowed, ascending by number */
    const place_id *memory; /* by GPU: of a task on it; PLACE_NONE none */
    const place_id *nic;    /* likewise */
    size_t gpu_count;       /* at most SEARCH_SLOTS_MAX */
    /* flows with the host or a NIC may lack a price on some GPUs: choices with the fewest such
     * flows are compared by the others */
    bool may_lack;
};

/* The other end of a flow of a GPU. */
enum bind_end { END_GPU, END_TO_HOST, END_FROM_HOST, END_TO_NIC, END_FROM_NIC, ENDS };

/* Flows of one kind have the same bytes and the same sort of other end. */
struct bind_kind {
    enum bind_end end;
    double bytes;
    bool is_unpriced; /* nothing predicts such a flow on any GPU; of other kinds something does */
    /* the least start-up known of such flows, where it is known of some pairs and not of others:
     * the others are compared as if they had it. Else 0 */
    struct load_start start;
};

struct bind_price {
    const struct snapshot *snap;
    struct bind_price_request request;
    struct load_table *table;
    struct load_scratch *scratch;
    place_id *place; /* of the table: GPUs, then memories and NICs, each once */
    size_t place_count;
    uint16_t *memory, *nic;   /* by GPU: index of place; PRICE_NOWHERE */
    struct search_flow *flow; /* traffic by berth */
    double *bytes;            /* by flow */
    size_t flow_count;
    uint32_t *order; /* flows as their tasks begin them, task by task */
    bool is_round;   /* each task begins with the flow to the next one */
    struct bind_kind kind[PRICE_KINDS_MAX + ENDS];
    size_t kind_count;
    bool is_rounded;          /* some flows count as of a kind with fewer bytes */
    bool is_mixed;            /* some kind has a start */
    double lack_ns;           /* of a flow that lacks a price: more than any iteration takes */
    struct load_start *start; /* by flow: of its kind */
    /* Of the choice loaded last. */
    struct load_flow *load;
    struct load_part *part; /* of the choice priced last */
    size_t unknown;         /* flows that nothing predicts: then nothing predicts the iteration */
    size_t unpriced;        /* flows that are not in the time */
    size_t lacking;         /* those of them that have a price on other GPUs */
    struct load_flow unknown_one, unpriced_one; /* the first of them */
};

/* The arrays and the snapshot outlive it. INVALID_PARAMETER when there are too many places,
 * NO_MEMORY. */
enum berth_code plan_bind_price_new(const struct snapshot *snap,
                                    const struct bind_price_request *request,
                                    struct bind_price **ret, struct berth_err *err);
void plan_bind_price_free(struct bind_price *price); /* NULL is fine */

/* Whether some flows are between a GPU and the host. */
bool plan_bind_price_has_host(const struct bind_price *price);

/* Whether some flows could lack a price (may_lack), and others are between GPUs. */
bool plan_bind_price_could_lack(const struct bind_price *price);

/* Whether each task begins with the flow to the next one. */
bool plan_bind_price_is_round(const struct bind_price *price);

/* The mechanisms by which GPUs copy to each other, each pair by the faster: a bit for each enum
 * move_by. */
unsigned plan_bind_price_takes(const struct bind_price *price);

/* A flow of that kind: memory PRICE_NOWHERE is that of GPU from. */
struct load_flow plan_bind_price_flow(const struct bind_price *price, const struct bind_kind *kind,
                                      double bytes, size_t from, size_t to, uint16_t memory);

/* Whether something predicts it. */
bool plan_bind_price_knows(const struct bind_price *price, const struct load_flow *flow);

/* Its start-up as choices are compared. */
struct load_start plan_bind_price_start(const struct bind_price *price,
                                        const struct bind_kind *kind, const struct load_flow *flow);

/* Fills load: slot is an index of GPU by berth; memory by task, NULL: that of its first GPU. */
void plan_bind_price_load(struct bind_price *price, const uint16_t *slot, const place_id *memory);

/* The time by which choices are compared; of what was loaded last. */
struct load_time plan_bind_price_compared(struct bind_price *price);

/* The most by which that may exceed the predicted time. */
double plan_bind_price_assumed_ns(const struct bind_price *price);

struct bind_priced {
    /* NAN: something is unknown; high_ns NAN: it is a lower bound. source: at best a similar pair
     * where it is not explained or something is untried */
    struct estimate step;
    double compared_ns;
    bool is_least;     /* a lower bound */
    bool is_explained; /* cost/load.h */
    size_t lacking;
    size_t unstarted; /* flows of so few bytes that starting them counts, which nothing predicts */
    double waits_ns;  /* of its upper end: tasks that wait for each other's calls */
    size_t last;      /* the flow that ends last: index of part; valid as long as that */
    const struct load_resource *shared; /* slowed that one last; NULL nothing */
    struct load_untried untried;
};

struct bind_priced plan_bind_price_of(struct bind_price *price, const uint16_t *slot,
                                      const place_id *memory);

#define BIND_NO_TASK SIZE_MAX

/* One flow as priced last. */
struct bind_ride {
    size_t task, other;              /* other BIND_NO_TASK: memory, or another node */
    bool is_behind;                  /* it queues behind another of the same two places */
    const struct transfer *transfer; /* NULL it moves nothing, or nothing predicts it */
};
size_t plan_bind_price_ride_count(const struct bind_price *price);
struct bind_ride plan_bind_price_ride(const struct bind_price *price, size_t index);
