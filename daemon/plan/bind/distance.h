/**
 * The GPUs of tasks by distance, where nothing predicts a time: the GPUs of a task together, tasks
 * that exchange bytes near each other, and those that copy with the host, or of which nothing is
 * known, apart. A search like the one by time, with distances in place of times.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/gpus.h"
#include "plan/bind/objective.h"

struct bind_distance {
    const struct snapshot *snap;
    const struct bind_gpus *gpus;
    const struct bind_price *price; /* its flows; NULL: nothing is known to move */
    size_t tasks, each;
    const struct bind_objective_choice *choice;
};

/* Whether the price has flows between GPUs. */
bool plan_bind_distance_has_flows(const struct bind_price *price);

/* How much of the way to the host two GPUs share, of 1: a PCIe port or switch, a module; less: a
 * NUMA node, a package; 0 nothing. */
double plan_bind_distance_meet(const struct graph *graph, place_id a, place_id b);

/* The slots with the least distance. NO_MEMORY. */
enum berth_code plan_bind_distance_choose(const struct bind_distance *distance, uint16_t *ret_slot,
                                          struct berth_err *err);
