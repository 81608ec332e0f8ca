/**
 * Why tasks have these gpus, cores and memory where nothing says what they move: sentences for a
 * person.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"
#include "plan/bind/stream.h"

/* Adds to the answer's reasons; its tasks have all that they get. gpus: how many were allowed;
 * order: of the cores of tasks without gpus; is_placed: gpus are by what tasks send each other
 * (plan/bind/structure.h). */
void plan_bind_near_say(const struct snapshot *snap, const struct bind_cores *cores, size_t gpus,
                        enum bind_order order, bool is_placed, struct bind_answer *answer);
