/**
 * An option of Route as it begins: its ways, and what is known of them. Route's own
 * (plan/route/route.c), while it makes an answer.
 */
#pragma once
#include "plan/route/price.h"

/* With a price for when nothing moves meanwhile. shared: what slows it then, or NULL. */
void plan_route_option_begin(const struct route_work *work, const struct way *ways, size_t count,
                             const char *shared, struct route_option *ret);

/* By links, to be compared with a direct way by links. */
void plan_route_option_begin_by_links(const struct route_work *work, const struct way *ways,
                                      size_t count, struct route_option *ret);
