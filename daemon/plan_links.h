/**
 * Ways by what links are said to carry, beside a direct one of which nothing was measured or published: through another memory, and several at once. They are there to be compared with it and may not
 * lead, because nothing says what several transfers cost who starts them.
 *
 * Each hop gets what plan_pairs_move has of it. What starts a piece counts as nothing, so that pieces are no smaller than those whose rate says all (MOVE_LARGE_BYTES). Pure; any thread.
 */
#pragma once
#include "plan_split.h"

/* What is known of the hop, else what stands for it, as slow as both directions at once make it where those are asked for. False when nothing stands for it, and when out of memory. */
bool plan_links_hop(const struct way_ends *ends, place_id from, place_id to, enum move_by by, struct move *ret);

/* The fastest way through one memory of that kind, PLACE_NUMA or PLACE_GPU; the lowest number of equals. False when there is none. */
bool plan_links_through(const struct way_ends *ends, enum place_kind kind, enum move_by by, struct way *ret);

/* Of way[0], the direct one, and those through one memory each, of which room for SPLIT_WAYS_MAX is in way, the widest first: as many as have no lane in common (plan_lanes.h) and are worth it. Gives how many. */
size_t plan_links_beside(const struct way_ends *ends, enum move_by by, struct way *way);

/* As plan_split_time has it, without an interval. */
struct prediction plan_links_time(const struct way *way, size_t count, double bytes, double *ret_share, double *ret_chunk);
