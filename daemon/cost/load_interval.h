/**
 * The interval of when the last of several streams ends, from the intervals of each. Pure.
 *
 * How the deviations of streams hang together is not known: the lower end is that of deviations in
 * common, the upper one that of deviations each on its own, which makes the last of many later.
 */
#pragma once
#include <stddef.h>

#include "cost/agreement.h"
#include "cost/evidence.h"
#include "cost/limits.h"

/* ends: 95 % intervals of count streams' ends; those at 0 do not count. low and high NAN when one
 * of them has no interval. time is the latest; high is no less than any of theirs. */
struct prediction load_interval_last(const struct prediction *ends, size_t count);

/* One stream that ends then: as far to both sides as alone; where something shared slowed it (NULL:
 * nothing), as far as what goes through that at least. drift: the relative deviation between what
 * is measured at one time and at another (cost/agreement.h) of its rate. */
struct prediction load_interval_one(double end_ns, const struct prediction *alone,
                                    const struct limit_step *shared, const struct agreement *drift);

/* With what starting it costs its caller, which deviates by itself by call_half_ns
 * (plan_move_call_half_ns); and launches_ns by which it is not known when it begins. */
struct prediction load_interval_begun(const struct prediction *end, double call_half_ns,
                                      double launches_ns);
