/* Begin and end of a call, for driver.c and driver_streams.c. */
#pragma once
#include "driver.h"
#include "world.h"

/* Enters the world and takes the call's time. False: it failed, by a planned fault or because of
 * what happened before, the world is left, and ret_code says how. After true it is to be ended by
 * driver_end. ret_stuck: a planned fault makes what the call starts never end. */
bool driver_begin(struct driver_call call, enum model_call group, struct world **ret_world,
                  bool *ret_stuck, enum code *ret_code);
enum code driver_end(struct world *world, enum code code);

/* NULL: none of ours. */
struct world_stream *driver_stream(struct world *world, struct driver_call call, void *stream);
