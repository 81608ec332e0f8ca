/**
 * Contradiction: a set in which a transfer got clearly more, or alone clearly something else, than
 * its own value says, as after one of both was measured again on hardware that changed. The pair's
 * own value counts then, and the set says nothing of what is shared.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/sets.h"
#include "node/values.h"

struct contradiction {
    const struct value *value; /* what it contradicts; NULL nothing */
    size_t flow;               /* of the set */
};

/* One for each set into ret, which has room for all. False when out of memory. */
bool contradict_find(const struct values *values, const struct sets *sets,
                     struct contradiction *ret);
