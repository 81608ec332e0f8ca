/* State of one assessment, shared by its parts: the findings so far and the selected places. */
#pragma once
#include "health/judge.h"

struct judge_work {
    const struct snapshot *snap;
    const bool *selected;
    const struct judge_limits *limits;
    struct finding *finding;
    size_t count, room;
    size_t measured; /* number of measured values in the selected places */
    bool is_cut;
};

/* True when the place, a place above it or its nearest NUMA node is selected. */
bool judge_part_asks(const struct judge_work *work, place_id id);

/* Adds an empty finding of that severity, code and place. Returns NULL when out of memory. Valid
 * until the next call. */
struct finding *judge_part_add(struct judge_work *work, enum severity severity, const char *code,
                               const char *place);
