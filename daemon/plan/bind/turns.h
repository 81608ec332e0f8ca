/* The order in which each task begins its transfers: to the lowest task first, and then those with
 * the host or a nic. Private to plan_bind_price. */
#pragma once
#include "plan/bind/price_inner.h"

/* Fills order, and the flows' and kinds' turns as far as they are the same wherever tasks are.
 * Copies that one gpu drives through one port go one after the other: where all tasks send to all
 * others by engine and began with the same one's they would wait for that, and take up to twice as
 * long. There a task begins with what is for the next task, then for the one after that, and so on
 * round all of them. False without memory. */
bool plan_bind_turns_find(struct bind_price *price);

/* Fills the turns of load: what tasks on one gpu send each other is not launched. */
void plan_bind_turns_take(struct bind_price *price);
