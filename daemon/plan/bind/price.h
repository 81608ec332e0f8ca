/**
 * The time of an iteration, when the tasks have these GPUs: flows between the places that they use,
 * priced by cost/iteration.h. A transfer between tasks with several GPUs each is split evenly, from
 * each GPU of one to each of the other.
 *
 * A task begins its flows with that to the next task, and so on round, then those with the host or
 * a NIC. A flow that nothing predicts is left out of the time, which is a lower bound then; between
 * choices it counts by distance, as more than any time.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/estimate.h"
#include "cost/iteration.h"
#include "cost/iteration_why.h"
#include "plan/bind/traffic_request.h"
#include "search/search.h"

#define PRICE_KINDS_MAX 64 /* sizes of flows; more count as the nearest below in the search */

struct bind_price_request {
    /* NULL: nothing is known to move; tasks are near their memory and apart from each other */
    const struct traffic *traffic;
    enum copy_by by;
    size_t tasks, each;     /* GPUs of a task, at least 1 */
    const place_id *gpu;    /* allowed, ascending by number */
    const place_id *memory; /* by GPU: of a task on it; PLACE_NONE none */
    const place_id *nic;    /* likewise */
    size_t gpu_count;       /* at most SEARCH_SLOTS_MAX */
    const double *apart;    /* by GPU and GPU: plan_bind_distances */
};

/* The other end of a flow of a GPU. */
enum bind_end { END_GPU, END_TO_HOST, END_FROM_HOST, END_TO_NIC, END_FROM_NIC, ENDS };

/* The places of a flow; PLACE_NONE: there is none. */
struct bind_ends {
    place_id from, to;
};

/* A start-up: what passes before the first byte moves, and what keeps the caller from the next. */
struct bind_start {
    double start_ns, launch_ns;
};

/* Flows of one kind have the same bytes and the same sort of other end. */
struct bind_kind {
    enum bind_end end;
    double bytes;
    /* the least start-up known of such flows: those of which none is known are compared with it */
    struct bind_start start;
};

/* A flow between two places, without a user where nothing moves or nothing predicts it. */
struct bind_known {
    struct flow flow;
    struct bind_ends ends;
    bool is_known, is_filled;
};

struct bind_price {
    const struct snapshot *snap;
    struct bind_price_request request;
    struct iteration *iteration;
    struct search_flow *flow; /* of gpus of tasks, task by task, as they begin them */
    double *bytes;            /* by flow */
    size_t flow_count;
    struct bind_kind kind[PRICE_KINDS_MAX + ENDS];
    size_t kind_count;
    struct bind_known *known; /* by kind, GPU, GPU; with the memory next to the first */
    bool is_rounded;          /* some flows count as of a kind with fewer bytes */
    double assumed_ns;        /* the most that is such of a pair of which no start-up is known */
    double most_bytes;        /* of a flow */
    struct flow *load;        /* of the choice compared last */
    uint16_t *turn;           /* by flow: how many its task launches before it */
};

/* The arrays and the snapshot outlive it. NO_MEMORY. */
enum berth_code plan_bind_price_new(const struct snapshot *snap,
                                    const struct bind_price_request *request,
                                    struct bind_price **ret, struct berth_err *err);
void plan_bind_price_free(struct bind_price *price); /* NULL is fine */

/* Returns true when some flows have such an end. */
bool plan_bind_price_has(const struct bind_price *price, enum bind_end end);

/* Returns a flow of that kind between two GPUs, or with a memory: PLACE_NONE is that of GPU from.
 * own is there for the result, which lasts as long as both. */
const struct bind_known *plan_bind_price_flow(const struct bind_price *price,
                                              const struct bind_kind *kind, double bytes,
                                              size_t from, size_t to, place_id memory,
                                              struct bind_known *own);

/* Returns false where nothing says what starting the flow costs. */
bool plan_bind_price_has_start(const struct flow *flow);

/* Adds to such a flow the start-up of its kind. Returns the launch of any. */
double plan_bind_price_start(const struct bind_kind *kind, struct flow *flow);

/* Returns what a flow between two GPUs that nothing predicts counts: 1, and more with the distance.
 */
double plan_bind_price_lack(const struct bind_price *price, const struct bind_kind *kind,
                            size_t from, size_t to);

/* Prices a choice for a search, with the memory next to its GPUs (context: the price). */
struct search_cost plan_bind_price_search(void *context, const uint16_t *slot);

/* A choice of GPUs with its price: the record that explanations are made of. */
struct bind_choice {
    uint16_t *slot;    /* owned; by gpu of a task */
    place_id *memory;  /* owned; by task */
    struct flow *flow; /* owned; with its results */
    /* NAN: nothing predicts any of it; high_ns NAN: it takes at least so long. source: at best a
     * similar pair where runs contradict it, or something in it was not measured together */
    struct estimate time;
    enum source rates;          /* of the most doubtful rate of its transfers */
    double compared_ns;         /* with the start-up that the kinds of its flows have */
    size_t unpriced;            /* flows that are not in the time */
    struct bind_ends one;       /* the first of these */
    size_t unstarted;           /* flows of so few bytes that their unknown start-up matters */
    bool is_nearest;            /* each task has the memory next to its first GPU */
    bool is_explained;          /* no run contradicts it (cost/iteration.h) */
    double waits_ns;            /* of high_ns: tasks that wait for each other's calls */
    size_t last;                /* the flow that ends last */
    const struct limit *shared; /* slowed that one last; NULL nothing */
    struct untried untried;
};

/* Makes one for that price, with slots and memory of 0. False when out of memory;
 * plan_bind_choice_done in any case. */
bool plan_bind_choice_init(struct bind_choice *choice, const struct bind_price *price);
void plan_bind_choice_done(struct bind_choice *choice);

/* Prices slot and memory; the record is valid as long as the price. */
void plan_bind_price_of(struct bind_price *price, struct bind_choice *choice);

/* Returns the task at each end of a flow; the second is BIND_NO_TASK for memory or a NIC. */
#define BIND_NO_TASK SIZE_MAX
size_t plan_bind_price_task(const struct bind_price *price, size_t flow);
size_t plan_bind_price_peer(const struct bind_price *price, size_t flow);
