/**
 * What cost/load.h answers from: for each pair of places and each mechanism the transfer alone and
 * the resources that it uses; and the runs that no limit explains. Constant once made.
 */
#pragma once
#include "cost/load.h"
#include "cost/matrix.h"
#include "sim/sim.h"

/* One pair by one mechanism. */
struct load_transfer {
    struct transfer alone;
    enum load_known known;
    unsigned kind; /* enum transfer_kind */
    bool several;  /* its path is not known: others are as wide and as short */
    uint32_t use;  /* the first of its resources in the table's use */
    uint16_t use_count;
    double start_ns;  /* of a queued one's time, what passes before its first byte moves */
    double launch_ns; /* what starting it keeps its caller from starting the next */
};

/* A concurrent run that is taken as it was measured. */
struct load_run {
    const struct set *set;             /* of the snapshot */
    uint32_t transfer[SETS_FLOWS_MAX]; /* of its flows, by number */
    /* mean rate of those that write host memory, and of those that read it: which of these came
     * first is chance; own, and of all similar runs */
    double own[2], rate[2];
};

struct load_table {
    const struct snapshot *snap;
    const struct matrix *matrix;
    place_id *place;
    size_t place_count;
    enum load_by by;
    struct load_transfer *transfer; /* by mechanism, from, to */
    size_t transfer_count;
    struct load_resource *resource;
    size_t resource_count, resource_room;
    uint16_t *index;         /* of a resource, by limit of the snapshot; SIM_NO_LIMIT none */
    struct sim_limit *limit; /* by resource */
    struct sim_step *step;   /* of these, LIMIT_STEPS_MAX each */
    uint16_t *use;
    size_t use_count, use_room;
    struct load_run *run;
    size_t run_count;
};

static inline struct load_transfer *
plan_load_table_transfer(const struct load_table *table, enum mechanism by, size_t from, size_t to)
{
    return &table->transfer[((size_t)by * table->place_count + from) * table->place_count + to];
}

/* A transfer's number, from 1 on. */
static inline uint32_t plan_load_table_number(const struct load_table *table,
                                              const struct load_transfer *transfer)
{
    return (uint32_t)(transfer - table->transfer) + 1;
}

/* Of all pairs of count places. NULL when out of memory. */
struct load_table *plan_load_table_new(const struct snapshot *snap, const place_id *places,
                                       size_t count, enum load_by by);

/* As its caller's clock sees it. ret_bytes_ns: the part of it in which bytes move; NULL fine. */
double plan_load_table_alone_ns(const struct load_transfer *transfer, double bytes,
                                double *ret_bytes_ns);

/* The transfer that a flow is: with LOAD_BEST the faster one; NULL when nothing is known, or from
 * and to are the same. */
const struct load_transfer *plan_load_table_choose(const struct load_table *table, size_t from,
                                                   size_t to, double bytes);

/* What one step needs while it is looked at. */
struct load_scratch {
    const struct load_table *table;
    struct sim *sim;
    struct sim_flow *flow;
    const struct load_transfer **transfer; /* of each flow; NULL it takes no time */
    const struct load_run **run;           /* of each flow: what it got there decides; NULL none */
    struct load_part *part;
    struct sim_limit *limit; /* the table's, but for those that depend on kinds */
    struct sim_step *step;   /* of those */
    unsigned *kinds;
};

/* The resource that slowed a flow last; NULL none. */
static inline const struct load_resource *plan_load_shared(const struct load_scratch *scratch,
                                                           size_t i)
{
    uint16_t at = scratch->flow[i].slowed_by;
    return at != SIM_NO_LIMIT ? &scratch->table->resource[at] : NULL;
}

/* Sets one flow, which begins at once and starts in no time; transfer NULL: it takes no time. */
void plan_load_set_flow(struct load_scratch *scratch, size_t i,
                        const struct load_transfer *transfer, double bytes, double bytes_ns);

/* Sets, for count flows, the limits that depend on the kinds of transfers. */
void plan_load_limit_by_kinds(struct load_scratch *scratch, size_t count);

/* Half the 95 % interval of a flow's end, relative; NAN unknown. */
double plan_load_spread(const struct load_scratch *scratch, size_t i);

/* The latest end where what is full goes to the first flows, or to the last ones. */
double plan_load_run_in_order(struct load_scratch *scratch, size_t count, bool from_last);
