/*
 * What transfers with something outside the gpus need at least, however tasks are spread: where
 * they share nothing with what gpus send each other, those of gpus that share take as long as they
 * do by themselves, which is priced for every few tasks that may be there. Then the tasks are
 * spread over all such groups of gpus so that the slowest takes least. Of plan/bind/price.c alone.
 */
#pragma once
#include "plan/bind/price_inner.h"

/* Once arcs are there. 0 where that says nothing: tasks of several gpus or that share one, more
 * gpus than a search looks at all choices of, transfers that lack a price, or too much to price.
 * ret_ns is in the order of choices, as plan_bind_start has it. False when out of memory. */
bool plan_bind_crowds(struct bind_price *price, double *ret_ns);
