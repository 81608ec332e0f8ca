/**
 * What cost/load.h answers from: for each pair of places and each mechanism the transfer alone and
 * the resources that it uses.
 */
#pragma once
#include "cost/load.h"
#include "cost/pairs.h"
#include "sim/sim.h"

/* One pair by one mechanism. */
struct load_ride {
    struct move move;
    enum load_known known;
    unsigned kind; /* enum transfer_kind */
    bool several;  /* which way its bytes go is not known: others are as wide and as short */
    uint32_t use;  /* the first of its resources in the table's use */
    uint16_t use_count;
    double start_ns;  /* of a queued one's time, what passes before its first byte moves */
    double launch_ns; /* what starting it keeps its caller from starting the next */
};

/* A run that is taken as it was measured. */
struct load_run {
    const uint32_t *who;       /* ascending: rides by their number */
    const double *bytes_per_s; /* of each */
    size_t count;
    const struct set *set; /* of the snapshot */
};

struct load_table {
    const struct snapshot *snap;
    const struct plan_pairs *pairs;
    place_id *place;
    size_t place_count;
    enum load_by by;
    struct load_ride *ride; /* by mechanism, from, to */
    struct load_resource *resource;
    struct sim_limit *limit; /* the same as numbers */
    struct sim_step *step;   /* of these, LIMIT_STEPS_MAX each */
    size_t resource_count, resource_room;
    uint16_t *use;
    size_t use_count, use_room, most_uses;
    /* runs that what was found does not explain, with all of their flows in the table */
    struct load_run *known;
    size_t known_count;
    uint32_t *who; /* of these sets: rides by their number */
    double *who_bytes_per_s;
};

/* ride's place in the table. */
static inline struct load_ride *plan_load_table_ride(const struct load_table *table,
                                                     enum move_by by, size_t from, size_t to)
{
    return &table->ride[((size_t)by * table->place_count + from) * table->place_count + to];
}

/* A ride's number, from 1 on. */
static inline uint32_t plan_load_table_number(const struct load_table *table,
                                              const struct load_ride *ride)
{
    return (uint32_t)(ride - table->ride) + 1;
}

/* place_count, snap and by are set already, all else zero. False when out of memory;
 * plan_load_table_empty frees what there is either way. */
bool plan_load_table_fill(struct load_table *table, const place_id *places);
void plan_load_table_empty(struct load_table *table);

/* As its caller's clock sees it. ret_bytes_ns: the part of it in which bytes move; NULL fine. */
double plan_load_table_alone_ns(const struct load_ride *ride, double bytes, double *ret_bytes_ns);

/* The transfer that a flow is: with LOAD_BEST the faster one; NULL when nothing is known, or from
 * and to are the same. */
const struct load_ride *plan_load_table_choose(const struct load_table *table, size_t from,
                                               size_t to, double bytes);

/* A transfer as it was chosen once: steps that are weighed one after the other have most of them in
 * common. */
struct load_memo {
    double bytes; /* 0: none */
    double time_ns, bytes_ns;
    const struct load_ride *ride; /* NULL it takes no time */
    uint16_t from, to;
};

/* What one step needs while it is looked at. */
struct load_scratch {
    const struct load_table *table;
    struct sim *sim;
    struct sim_flow *flow;
    /* of each flow the run that says what it gets; NULL none */
    const struct load_run **run;
    /* what limits by the kinds in the step: the table's but for those */
    struct sim_limit *limit;
    struct sim_step *step;
    unsigned *kinds;
    const struct load_ride **ride; /* of each flow; NULL it takes no time */
    struct prediction *end;
    struct load_memo *memo; /* by pair, those of several pairs in one place where there are many */
    size_t memo_count;
};
