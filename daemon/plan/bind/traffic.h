/**
 * The gpus of Bind by traffic: those for which an iteration of it takes least, and by distance
 * where nothing predicts that; with the record of what was chosen and of gpus in order.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"
#include "plan/bind/collective.h"
#include "plan/bind/gpus.h"
#include "plan/bind/price.h"

struct bind_traffic {
    struct bind_price *price; /* of how gpus copy in what was chosen; NULL: tasks have no gpus */
    enum copy_by by;          /* how */
    /* by allowed gpu: whose cores a task on it would have; NONE unknown */
    place_id *numa;
    place_id *memory, *nic;         /* likewise its memory and nic */
    place_id *task_numa;            /* by task: whose cores it should have */
    struct bind_choice ours, order; /* chosen; as a launcher gives gpus out */
    /* what a library took among these for an all-reduce */
    struct bind_collective collective, order_collective;
    /* cores of a task, where gpus without so many for all their tasks were left aside; 0: none */
    int64_t roomy_cores;
    struct search_result found;
    /* by how gpus copy (enum copy_by): the chosen ones, and the most doubtful of their rates; NAN
     * unknown, or not looked for */
    struct bind_how {
        double time_ns;
        enum source rates;
    } how[3];
    double bound_ns; /* no choice takes less; NAN unknown */
    bool is_chosen;  /* by a predicted time */
    /* nothing predicts what any choice takes, and structure alone says which gpus tasks that send
     * each other bytes have */
    bool is_placed;
};

/* Fills the answer's gpu, for which there is room. INVALID_PARAMETER when there are too many GPUs;
 * NO_MEMORY. plan_bind_traffic_done in any case. */
enum berth_code plan_bind_traffic_choose(const struct snapshot *snap,
                                         const struct bind_request *request,
                                         const struct bind_gpus *gpus, struct bind_cores *cores,
                                         struct bind_answer *answer, struct bind_traffic *ret,
                                         struct berth_err *err);

void plan_bind_traffic_done(struct bind_traffic *traffic);
