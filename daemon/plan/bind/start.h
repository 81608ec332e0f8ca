/**
 * What choices of gpus are put in order by where it is known of some transfers what starting them
 * costs and of others not: the others' times lack a part, which is no merit. They count as starting
 * like the fastest known of their kind; so no lower bound goes before a whole price for what is not
 * in it, and rates still decide.
 *
 * Where that is known of all of a kind, or of none, prices are compared as they are. Pure; any
 * thread. Of the price_* files alone.
 */
#pragma once
#include "plan/bind/price_inner.h"

/* Fills price->start and the kinds' start, once the table and the flows are there. False when out
 * of memory. */
bool plan_bind_start_find(struct bind_price *price);

/* What a flow of that kind takes alone in that order. */
double plan_bind_start_alone_ns(const struct bind_price *price, const struct kind *kind,
                                const struct load_flow *flow);

/* What each transfer that the same task begins before adds to that, at least. */
double plan_bind_start_launch_ns(const struct bind_price *price, const struct kind *kind,
                                 const struct load_flow *flow);

/* The step of what was loaded last, in that order. */
struct load_time plan_bind_start_time(struct bind_price *price);

/* By how much no time is more in that order than it is as it is. */
double plan_bind_start_most_ns(const struct bind_price *price);

/* Whether what was loaded last has a transfer of so few bytes that what starts it counts, of which
 * nothing says what that costs. */
bool plan_bind_start_lacks(const struct bind_price *price);
