/**
 * What other choices of gpus would take than the one that Bind made, so that its price can be
 * compared: a few, looked at one by one.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"
#include "plan/bind/price.h"
#include "plan/bind/room.h"

/* Says in the answer's reasons what the best of the others looked at takes that takes longer than
 * ours, and which gpus it has; or that all of them take as long, or that there is no other; and
 * where something moves to the host what ours take with memory elsewhere. slot: ours, by berth;
 * memory: by task; priced: ours. keeps_order: gpus ascend from task to task. room: where it is
 * known, choices whose tasks have none are not looked at, as their memory would be another. What
 * was priced last is no longer to be asked for. NO_MEMORY. */
enum berth_code plan_bind_other_say(struct bind_price *price, const uint16_t *slot,
                                    const place_id *memory, const struct bind_priced *priced,
                                    bool keeps_order, const struct bind_room *room,
                                    struct bind_answer *answer, struct berth_err *err);
