/**
 * Ways by what links are said to carry, beside a direct one of which nothing was measured or
 * published: through another memory, and several at once. They are there to be compared with it and
 * may not lead, because nothing says what several transfers cost who starts them.
 *
 * Each hop gets what plan_pairs_move has of it; what they cost is plan/route/links_time.h's. Pure;
 * any thread.
 */
#pragma once
#include "plan/route/split.h"

/* What is known of the hop, else what stands for it, as slow as both directions at once make it
 * where those are asked for. False when nothing stands for it, and when out of memory. */
bool plan_links_hop(const struct way_ends *ends, place_id from, place_id to, enum move_by by,
                    struct move *ret);

#define LINKS_WAYS_MAX 32

/* The ways through one memory each by that mechanism, through the host's by copy engine only, in
 * the order of these places; no more than there is room for. Gives how many. */
size_t plan_links_ways(const struct way_ends *ends, enum move_by by, struct way *ret);

/* Of those the fastest through a memory of that kind, PLACE_NUMA or PLACE_GPU, the first of equals;
 * NULL there is none. */
const struct way *plan_links_fastest(const struct way_ends *ends, const struct way *ways,
                                     size_t count, enum place_kind kind);

/* Behind way[0], the direct one, puts as many of those, the widest first, as have no lane in common
 * (cost/lanes.h), are worth it and get SPLIT_LEAST bytes; room for SPLIT_WAYS_MAX is in way. Gives
 * how many there are with it. */
size_t plan_links_beside(const struct way_ends *ends, const struct way *ways, size_t count,
                         struct way *way);
