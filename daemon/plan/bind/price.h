/**
 * What a step of the tasks' traffic takes, when the tasks have these gpus: the gpus that may be
 * used, the memory and the nic next to each of them, and the flows between.
 *
 * With several gpus a task, a flow is split evenly: from each gpu of one task to each of the other.
 * Pure; any thread.
 */
#pragma once
#include "cost/evidence.h"
#include "cost/load.h"
#include "cost/load_untried.h"
#include "node/reasons.h"
#include "plan/bind/traffic_request.h"
#include "search/search.h"

/* Transfers' times together whose intervals overlap are equally long as far as is known. Where they
 * have none, as where links are only said to carry so much, those are that differ by less than
 * this: so far are stated figures rounded. */
#define PRICE_SAME_UNKNOWN 0.01
/* of a time: a choice that is better by more goes before the gpus in order, however little is known
 */
#define PRICE_SETTLED 0.03
/* of a time or rate: a smaller difference is not worth a word, nor more than one way of copying */
#define PRICE_WORTH 0.005
/* of a transfer's time: where waiting and starting take more, a rate says little of it */
#define PRICE_STARTS      0.1
#define PRICE_STARTS_ONLY 0.99 /* where they take more, a rate says nothing of it */

struct bind_price;

struct bind_price_request {
    const struct traffic *traffic;
    enum load_by by;
    size_t tasks, each;     /* gpus of a task, at least 1 */
    const place_id *gpu;    /* that may be used, ascending by number */
    const place_id *memory; /* by gpu: where a task on it would have its memory; PLACE_NONE none */
    const place_id *nic;    /* likewise the nic it would use */
    size_t gpu_count;       /* at most SEARCH_SLOTS_MAX */
    /* what goes with the host or a nic may lack a price on some gpus: of choices those with the
     * fewest such transfers are weighed, by what the others take */
    bool may_lack;
};

/* The arrays and the snapshot outlive it. INVALID_PARAMETER when there are too many places,
 * NO_MEMORY. */
enum berth_code plan_bind_price_new(const struct snapshot *snap,
                                    const struct bind_price_request *request,
                                    struct bind_price **ret, struct berth_err *err);
void plan_bind_price_free(struct bind_price *price); /* NULL is fine */

#define BIND_SHARING_GPUS 4

/* What several transfers use and some of them are slowed by. */
struct bind_sharing {
    const struct load_resource *resource;
    /* flows through it, those of one way between the same two places as one */
    size_t users;
    double together_bytes_per_s;                /* what they get at first */
    double alone_bytes_per_s, most_bytes_per_s; /* the slowest and the fastest of them, alone */
    /* some of them are so small that alone they get less than large ones, with what starts them */
    bool is_by_size;
    place_id gpu[BIND_SHARING_GPUS]; /* whose flows they are, the first of them */
    size_t gpu_count;                /* all of them */
};

#define BIND_SHARINGS_MAX 64

struct bind_priced {
    /* NAN where a flow's rate is not known; low_ns is time_ns, and high_ns NAN, where that is a
     * lower bound */
    struct prediction step;
    /* something is not in it, so that it takes at least so long: what starting few bytes costs,
     * or transfers of which nothing is known (low_ns is time_ns then) */
    bool is_least;
    /* transfers of so few bytes of which nothing says what starting them costs */
    size_t unstarted;
    /* the step, as choices are put in order by it: where what starting costs is known of some
     * transfers and not of others, no less than it (plan/bind/start.h) */
    double ordered_ns;
    double assumed_ns; /* what of that may be more than the step at most */
    /* transfers of which that is so, and which are not unknown everywhere */
    size_t lacking;
    double waits_ns; /* what of its upper end is tasks that wait for each other's calls */
    char bottleneck[LIMIT_NAME_SIZE]; /* "" nothing shared */
    /* as of struct load_prediction; is_measured: nor is anything untried */
    bool is_explained, is_measured;
    struct load_untried untried;
    place_id untried_ends[2][2];                    /* from and to of its two flows */
    struct bind_sharing sharing[BIND_SHARINGS_MAX]; /* that of the flow that ends last first */
    size_t sharing_count;
    /* of the flow that ends last, valid as long as the price; NULL: nothing moves, or it is not
     * known how */
    const struct move *slowest;
    double slowest_bytes, slowest_ns, slowest_alone_ns;
    double slowest_waits_ns, slowest_starts_ns, slowest_bytes_ns; /* of it as of struct load_part */
    size_t slowest_turn; /* how many its task begins before it */
    /* how many transfers, it and others, go the same way between the same two places, in turns */
    size_t slowest_queue;
    double slowest_queue_ns; /* slowest_bytes_ns of all of these */
    /* of the snapshot: what was measured together and decides when that one ends; NULL nothing */
    const struct set *seen;
    /* what slows that one though nothing else goes through; NULL none */
    const struct load_resource *narrow;
};

/* Whether anything is moved to or from the tasks' memory: else it makes no difference which that
 * is. */
bool plan_bind_price_has_host(const struct bind_price *price);

/* Whether prices are of tasks that each begin with what is for the next one, and so on round all of
 * them; else with what is for the lowest. */
bool plan_bind_price_is_round(const struct bind_price *price);

/* Whether some transfer could lack a price (may_lack): beside what gpus send each other; where that
 * is all that moves it decides. */
bool plan_bind_price_could_lack(const struct bind_price *price);

/* Whether what starting costs is known of some transfers and not of others, so that choices are put
 * in order by more than their prices. */
bool plan_bind_price_is_mixed(const struct bind_price *price);

/* slot: index of gpu by berth. memory: by task, in place of the gpu's; NULL: the gpu's. */
struct bind_priced plan_bind_price_of(struct bind_price *price, const uint16_t *slot,
                                      const place_id *memory);

/* Whether a step takes notably more or less when tasks begin their transfers in another order than
 * is priced; one round all tasks is told anyway. What was priced last is no longer to be asked for.
 */
bool plan_bind_price_is_by_order(struct bind_price *price, const uint16_t *slot,
                                 const place_id *memory);

#define BIND_NO_TASK SIZE_MAX

/* One flow as it was priced last. */
struct bind_ride {
    /* the tasks at its ends; other BIND_NO_TASK: memory, or another node */
    size_t task, other;
    bool is_behind;          /* it goes in turns with another of the same two places */
    const struct move *move; /* NULL it moves nothing, or nothing is known of it */
};
size_t plan_bind_price_ride_count(const struct bind_price *price);
struct bind_ride plan_bind_price_ride(const struct bind_price *price, size_t index);

/* Whether gpus copy to each other at all, and by which mechanisms if each pair takes the faster
 * one: a bit for each enum move_by. Both may be said where one would do. */
unsigned plan_bind_price_takes(struct bind_price *price);

/* Cites at most that many numbers that the slowest flow and those that share its bottleneck rest
 * on, its own first; warns of what is unknown or nominal in any flow, unless warnings is NULL. What
 * was priced last is no longer to be asked for. NO_MEMORY. */
enum berth_code plan_bind_price_cite(struct bind_price *price, const uint16_t *slot,
                                     const place_id *memory, size_t most, struct evidence *evidence,
                                     struct reasons *warnings, struct berth_err *err);

/* Warns, behind the prefix, where it is not known which of several ways transfers take that a link
 * slows, and of what was not measured and not said yet. What was priced last is no longer to be
 * asked for. */
void plan_bind_price_warn_of_ways(struct bind_price *price, const uint16_t *slot,
                                  const place_id *memory, const char *prefix,
                                  struct reasons *warnings);

struct bind_price_choice {
    bool in_order;
    const double *far; /* search/search.h */
    const double *apart;
    const double *meet; /* of what is moved to and from the host; not looked at where nothing is */
    const uint16_t *unit, *most; /* likewise; NULL: room for all */
};

/* The slots for which the step takes least, settled by its interval (plan_search_settle); bound_ns,
 * which no choice's price is below, is NAN where flows have too many different sizes for one. Once
 * for each price. NO_MEMORY. */
enum berth_code plan_bind_price_search(struct bind_price *price,
                                       const struct bind_price_choice *choice, uint16_t *ret_slot,
                                       struct search_result *ret, struct berth_err *err);
