/**
 * Which of an answer's options goes first, and in what order the others follow. Route's own
 * (plan/route/route.c), while it makes an answer.
 *
 * Each option is judged by itself, against one direct way that every request for the same transfer
 * has in common: so that what is allowed besides, gpus or kernels, never makes what leads take
 * longer.
 */
#pragma once
#include "plan/route/answer.h"

/* The direct way that others are compared with: that of which something is known for such a size,
 * of which more is known (plan/route/source.h), by copy engine. NULL: none but a guess. */
const struct route_option *plan_route_order_direct(const struct route_answer *answer);

/* By which mechanisms there is a direct way of which something is known for such a size, a bit for
 * each: what other ways may be taken beside. */
unsigned plan_route_order_firsts(const struct route_answer *answer);

/* How many times as long as a direct way, as that which it is compared with must take: 1 +
 * ROUTE_DOUBT of a kernel beside an engine where its time rests on what was measured of other pairs
 * or not at all; else 1. */
double plan_route_order_worth(const struct route_option *option, const struct route_option *direct);

/* Whether an option may go first: what it rests on lets it (is_evident, which this finds), and it
 * is a direct way that is no guess and, by kernel, better by plan_route_order_worth; or what takes
 * several transfers, if it is better than the direct way that it is compared with by ROUTE_WORTH
 * for very many bytes (is_clear, which this finds), and by ROUTE_DOUBT for these. Both options are
 * priced. direct is of that answer. */
bool plan_route_order_may_lead(struct route_option *option, const struct route_option *direct);

/* By what is known, and then by time; first what may lead. */
void plan_route_order(struct route_answer *answer);
