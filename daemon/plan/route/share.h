/**
 * Ways taken at once: what each of them gets of what they share.
 *
 * A way's hops follow each other in pieces, so that all of them move at the rate of the slowest; a
 * hop that could do more uses no more of what it shares. Over a *lane* (cost/lanes.h) several ways
 * go only where it is known, and was seen to carry as much as they get together. What concurrent
 * runs showed (cost/limits.h) is shared max-min fairly: nobody gets less than another who
 * could do with less. So is host memory of which they showed nothing: by what its cores get of it,
 * or is stated; both directions together, where both are asked for.
 *
 * Where as many bytes go the other way meanwhile, over the same places, the run in which just these
 * transfers with the host were measured says what they get, and what they get once the faster
 * direction has ended follows from the above; without such a run no more than two ways with the
 * host are weighed.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/route/way.h"

#define SHARE_WAYS_MAX 8

/* Slows the hops of count ways, at most SHARE_WAYS_MAX, by what they share; they come as
 * plan_way_direct or plan_way_through gave them, or from here. False: a lane is not known, or too
 * narrow, or more than two ways with the host of which nobody measured both directions; the hops'
 * slowdowns are then anything. ret_shared: what slows the one that is slowed most, of the snapshot;
 * NULL nothing. */
bool plan_share_ways(const struct way_ends *ends, struct way *way, size_t count,
                     const char **ret_shared);

/* What other ways may use beside these, which plan_share_ways has weighed. */
void plan_share_room(const struct way_ends *ends, const struct way *way, size_t count,
                     struct way_room *ret);
