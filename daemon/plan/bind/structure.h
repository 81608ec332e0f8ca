/**
 * The gpus of Bind by structure, where tasks send each other bytes and nothing known says what any
 * choice takes: who exchanges is close together, what goes to the host is spread.
 *
 * A choice is weighed by how far its bytes go and by whom they meet, as locality_distance has it:
 * that puts choices in order and is no time. Pure; any thread.
 */
#pragma once
#include "plan/bind/objective.h"

/* Whether there is anything that it could go by: some task sends another bytes. */
bool plan_bind_structure_tells(const struct bind_price *price);

/* How much of the way to the host two gpus share: a PCIe port or switch, a module, a NUMA node, a
 * package; 0 nothing. */
double plan_bind_structure_meet(const struct graph *graph, place_id a, place_id b);

/* The slots with the shortest ways. NO_MEMORY. */
enum berth_code plan_bind_structure_choose(struct bind_price *price,
                                           const struct bind_objective_choice *choice,
                                           uint16_t *ret_slot, struct berth_err *err);
