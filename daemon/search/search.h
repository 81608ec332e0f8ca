/**
 * Folder daemon/search: assignment of tasks to GPUs at least cost: exact with one bound, local
 *   search beyond. Numbers only.
 *
 * Main types: struct search_problem.
 * Uses: nobody
 * Public headers: search.h
 * Shown by: tests/unit/search, build/bench/bind
 *
 * A choice gives each gpu of a task a slot (a GPU of the node). Costs are compared field by field,
 * in the order of struct search_cost; of equal costs the lowest slots win, gpu by gpu. Numbers that
 * differ by less than SEARCH_SAME of them are equal.
 *
 * Bound: no choice takes less time than its slowest flow alone, nor than the flows through a
 * resource need there. Both hold for the gpus that have a slot already, whatever the others get.
 *
 * Up to SEARCH_EXACT_SLOTS slots, or SEARCH_EXACT_CHOICES choices: branch and bound; equivalent
 * tasks are tried once. More, or more prices than there may be: local search, moves and swaps from
 * several starts with fixed seeds and counts. Whole choices are priced by the caller's simulator.
 *
 * Pure: the same problem has the same answer. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEARCH_EXACT_SLOTS   8
#define SEARCH_EXACT_CHOICES 50000
#define SEARCH_SLOTS_MAX     256
#define SEARCH_ANYWHERE      UINT16_MAX
#define SEARCH_SAME          1e-9

struct search_cost {
    size_t over; /* tasks beyond the room of their unit */
    double lack; /* of flows that have no time */
    double time_ns;
    double apart; /* between the slots of each task */
    double sum_ns;
    double far; /* of slots from the host, with what their flows meet on the way */
};

/* The time for which one flow alone keeps a resource busy. */
struct search_use {
    uint16_t resource;
    double ns;
};

/* A flow of one kind between two slots. */
struct search_arc {
    double alone_ns;
    double lack;             /* 0 unless nothing says its time, which is 0 then */
    double launch_ns;        /* for each flow that its task begins before it */
    uint32_t use, use_count; /* a range of the problem's uses */
};

/* Flows of one kind differ only in their ends. */
struct search_flow {
    uint16_t kind;
    int32_t from, to; /* gpus; to -1: between from and the host or a NIC */
    uint16_t turn;    /* how many its task begins before it */
};

struct search_problem {
    size_t slots;
    /* each task has each gpus, numbered one after the other, on ascending slots. More gpus
     * than slots (each is 1 then): all slots have as many, or one less than the fullest */
    size_t tasks, each;
    bool in_order; /* slots ascend from task to task */
    const struct search_flow *flow;
    size_t flow_count;
    size_t kinds;
    /* by kind, from's slot, to's slot; of a flow without to, by kind and twice from's slot */
    const struct search_arc *arc;
    const struct search_use *use;
    double same;  /* a share: no choice is looked for that takes less time by no more */
    double stays; /* likewise: slots in order stand for one that takes less by no more; 0 not */
    size_t resources;
    const double *start_ns; /* by resource: what its flows take beside their uses */
    const double *far;      /* by slot */
    const double *apart;    /* by slot and slot: of one task */
    const double *meet;     /* by slot and slot: of two flows without to; NULL nothing */
    const uint16_t *unit;   /* by slot of a task's first gpu, or SEARCH_ANYWHERE */
    const uint16_t *most;   /* by unit: tasks with room there; NULL: room for all */
    /* fills time_ns and lack, at least their bounds, and sum_ns; the rest is added */
    struct search_cost (*price)(void *context, const uint16_t *slot);
    void *context;
};

struct search_result {
    struct search_cost cost;
    bool is_proven;          /* nothing takes less time by more than is the same */
    double bound_ns;         /* no choice takes less time */
    double settled;          /* how much more than the best the slots in order take that stand for
                              * it, as a fraction of its time */
    uint64_t looked, priced; /* partial and whole choices */
};

/* The best found; ret_slot has room for tasks * each gpus. False when out of memory. */
bool plan_search(const struct search_problem *problem, uint16_t *ret_slot,
                 struct search_result *ret);

/* Gives out slots as a launcher does: the first to the first gpus, as evenly as it goes. ret_slot
 * has room for gpus. */
void plan_search_in_order(size_t slots, size_t gpus, uint16_t *ret_slot);
