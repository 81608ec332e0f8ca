/**
 * The gpus of Bind by traffic: those for which a step of it takes least, what it is predicted to
 * take, and why.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"
#include "plan/bind/gpus.h"
#include "plan/bind/mechanism.h"
#include "plan/bind/price.h"
#include "plan/bind/room.h"

struct bind_traffic {
    /* of how gpus copy in what was chosen; NULL: there is no traffic between or from gpus */
    struct bind_price *price;
    enum load_by by; /* how */
    /* by allowed gpu: whose cores a task on it would have; NONE unknown */
    place_id *numa;
    place_id *memory, *nic;    /* likewise its memory and nic */
    place_id *task_numa;       /* by task: whose cores it should have, as is priced */
    uint16_t *slot, *in_order; /* allowed gpus by berth: chosen; as a launcher gives them out */
    place_id *task_memory;     /* by task */
    place_id *order_memory;    /* by task: what each would have with gpus in order */
    bool is_order_real;        /* that was found: there is something that moves to or from memory */
    struct bind_room room;     /* for how many tasks, where that was looked for */
    /* a task's, where gpus without so many for all their tasks were left aside; 0: none were */
    int64_t roomy_cores;
    struct search_result found;
    /* what the best found takes, by how gpus copy (enum load_by), or the chosen gpus where
     * nothing better could be found */
    struct bind_by how[3];
    double bound_ns;    /* no choice takes less by any of these; 0 unknown */
    bool in_rank_order; /* gpus ascend from task to task */
    bool is_chosen;
    /* nothing predicts what any choice takes, and structure alone says which gpus tasks that send
     * each other bytes have */
    bool is_placed;
};

/* Fills the answer's gpu, for which there is room: by time where something predicts it (is_chosen),
 * else by distance. INVALID_PARAMETER when there are too many GPUs; NO_MEMORY.
 * plan_bind_traffic_done in any case. */
enum berth_code plan_bind_traffic_choose(const struct snapshot *snap,
                                         const struct bind_request *request,
                                         const struct bind_gpus *gpus, struct bind_cores *cores,
                                         struct bind_answer *answer, struct bind_traffic *ret,
                                         struct berth_err *err);

void plan_bind_traffic_done(struct bind_traffic *traffic);
