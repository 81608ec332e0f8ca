/**
 * Transfers together: how long an iteration takes, transfers that all are begun at the same moment,
 * each by its caller, between the places of a request. A table is made once for a request; what it
 * answers then allocates nothing, so that a search can ask for each of its candidates.
 *
 * A flow waits for what starting it costs, as its caller's clock sees that (t0_call_ns), and for
 * the launches of what the same caller begins before it. It moves its bytes at the rate that it has
 * alone (cost/transfer.h), or at less while resources that it shares are full (sim/sim.h): those
 * are what concurrent runs showed, else what structure states (cost/limits.h), which is labelled
 * so. Copies with the host that were measured together, and that no limit explains, get what they
 * got in that run. Flows between the same two places in one direction are moved by one engine, one
 * after the other.
 *
 * Intervals: an end deviates as far as the input that decided it, its own rate or what it shared;
 * the last of several independent ends is later by chance. Where it is not known that shares are
 * fair, the interval has the iteration also where one flow goes first.
 *
 * A flow from a place to itself moves nothing and takes no time: two tasks on one gpu. A table is
 * constant: any number of threads may ask, each with a scratch of its own.
 */
#pragma once
#include "cost/estimate.h"
#include "cost/evidence.h"
#include "cost/limits.h"
#include "cost/transfer.h"
#include "node/reasons.h"

#define LOAD_PLACES_MAX 256

/* How gpus copy to each other; best: whatever is faster alone, for each pair and size, as it is
 * with the host in any case (a kernel where it is faster by more than POLICY_SAME). */
enum load_by { LOAD_BEST, LOAD_COPY_ENGINE, LOAD_KERNEL };

/* What is known of a pair: nothing; what the links between are said to carry; a rate that somebody
 * published; a measured one. */
enum load_known { LOAD_NOTHING, LOAD_NOMINAL, LOAD_PUBLISHED, LOAD_MEASURED };

/* Bytes from one place of the table to another; from and to are its indices. bytes >= 0. */
struct load_flow {
    uint16_t from, to;
    double bytes;
    uint16_t turn; /* how many transfers its caller begins before it */
};

/* What starting a transfer costs: what it takes alone beyond its bytes at the rate of large ones,
 * and what keeps its caller from beginning the next. */
struct load_start {
    double start_ns, launch_ns;
};

/* What flows share. */
struct load_resource {
    char name[LIMIT_NAME_SIZE]; /* as GetNode and GetContention name it */
    struct limit_step step[LIMIT_STEPS_MAX];
    size_t step_count;
    /* of structure: nothing was measured together; low and high are NAN */
    bool is_nominal;
    const unsigned *apart;     /* private */
    const struct limit *limit; /* of the snapshot; NULL: of value */
    /* of the snapshot: what both directions of a pair got together; else NULL */
    const struct value *value;
};

/* A step: everything until the last flow has ended. */
struct load_time {
    double step_ns;
    double sum_ns; /* of the times of all flows */
};

/* One flow's part of a prediction. */
struct load_part {
    struct estimate time;
    double alone_ns;
    /* of the time: until its caller has launched what it begins before; what starting it costs */
    double waits_ns, starts_ns;
    /* the rest of alone_ns, in which its bytes move; they may take longer beside others */
    double bytes_ns;
    bool is_behind;                     /* an earlier one is moved by the same engine */
    const struct transfer *transfer;    /* of the table: what was taken; NULL it takes no time */
    const struct load_resource *shared; /* what slowed it last; NULL nothing */
    /* of the snapshot: these very transfers measured together, where that decides; NULL no */
    const struct set *seen;
};

struct load_prediction {
    /* low and high NAN where a number behind it has no interval. source: the most doubtful one of
     * its transfers and of what they share; at best a similar pair where it is not explained */
    struct estimate step;
    /* of high_ns: what the last would wait for if each caller waited for the others' calls; 0 no
     * interval, or no other */
    double waits_ns;
    size_t last;                        /* the flow that ends last */
    const struct load_resource *shared; /* what slowed that one last; NULL nothing */
    /* no concurrent run of its transfers got less together than shared limits explain */
    bool is_explained;
};

struct load_table;
struct load_scratch;

/* places are gpus, NUMA nodes and nics (a nic stands for everything outside the node), each once.
 * The snapshot outlives the table. NO_MEMORY; INVALID_PARAMETER when there are more than
 * LOAD_PLACES_MAX. */
enum berth_code plan_load_new(const struct snapshot *snap, const place_id *places, size_t count,
                              enum load_by by, struct load_table **ret, struct berth_err *err);
void plan_load_free(struct load_table *table); /* NULL is fine */

enum load_known plan_load_known(const struct load_table *table, size_t from, size_t to);

/* Alone, as its caller's clock sees it. 0 from a place to itself, and where nothing is known. */
double plan_load_alone_ns(const struct load_table *table, size_t from, size_t to, double bytes);

/* A transfer alone, while its bytes move. */
struct load_lone {
    double bytes_ns;
    unsigned kind; /* a bit, enum transfer_kind; 0: nothing is known of it */
};
struct load_lone plan_load_lone(const struct load_table *table, size_t from, size_t to,
                                double bytes);

/* Whether something says what starting the transfer costs that a flow is there, which is not known
 * of large ones either; false where nothing is known of it. */
bool plan_load_start(const struct load_table *table, size_t from, size_t to, double bytes,
                     struct load_start *ret);

size_t plan_load_resource_count(const struct load_table *table);
const struct load_resource *plan_load_resource(const struct load_table *table, size_t index);

/* The resources that the transfer alone uses, each once, as long as the table is there. */
const uint16_t *plan_load_used(const struct load_table *table, size_t from, size_t to, double bytes,
                               size_t *ret_count);
bool plan_load_uses(const struct load_table *table, size_t resource, size_t from, size_t to,
                    double bytes);

/* For up to most_flows flows at once. NULL when out of memory. */
struct load_scratch *plan_load_scratch_new(const struct load_table *table, size_t most_flows);
void plan_load_scratch_free(struct load_scratch *scratch); /* NULL is fine */

struct load_time plan_load_time(const struct load_table *table, const struct load_flow *flows,
                                size_t count, struct load_scratch *scratch);

/* The same where flows of which nothing says what starting them costs count with what start has for
 * each. */
struct load_time plan_load_time_from(const struct load_table *table, const struct load_flow *flows,
                                     size_t count, const struct load_start *start,
                                     struct load_scratch *scratch);

/* The same step with its interval. ret_parts: count of them, or NULL. */
struct load_prediction plan_load_predict(const struct load_table *table,
                                         const struct load_flow *flows, size_t count,
                                         struct load_scratch *scratch, struct load_part *ret_parts);

/* Cites what the flows' times rest on, from index start on (evidence NULL: not), and warns of what
 * is nominal, published or unknown in them, and of what was measured together and cannot be
 * explained. NO_MEMORY. */
enum berth_code plan_load_cite(const struct load_table *table, const struct load_flow *flows,
                               size_t count, struct load_scratch *scratch,
                               struct evidence *evidence, size_t start, struct reasons *warnings,
                               struct berth_err *err);

/* Cites what the flow that ends last rests on, and then what those do that the same thing slowed.
 * NO_MEMORY. */
enum berth_code plan_load_cite_last(const struct load_table *table, const struct load_flow *flows,
                                    size_t count, struct load_scratch *scratch,
                                    struct evidence *evidence, size_t start, struct berth_err *err);
