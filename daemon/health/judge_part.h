/* What the parts of the judge share: the findings so far, and the question whether a place is asked
 * about. */
#pragma once
#include "health/judge.h"

struct judge_work {
    const struct snapshot *snap;
    const bool *selected;
    const struct judge_limits *limits;
    struct finding *finding;
    size_t count, room;
    size_t measured; /* values looked at that were measured */
    bool is_cut;
};

/* The place, something above it, or the NUMA node it is nearest to is selected. */
bool judge_part_asks(const struct judge_work *work, place_id id);

/* A new finding with nothing but these; NULL when out of memory. Valid until the next one. */
struct finding *judge_part_add(struct judge_work *work, enum severity severity, const char *code,
                               const char *place);
