/* State of one assessment, shared by its parts: the findings so far and the selected places. */
#pragma once
#include "health/assessment.h"

struct findings {
    const struct snapshot *snap;
    const bool *selected;
    const struct health_limits *limits;
    struct finding *finding;
    size_t count, room;
    size_t measured; /* number of measured values in the selected places */
    bool is_cut;
};

/* True when the place, a place above it or its nearest NUMA node is selected. */
bool findings_is_selected(const struct findings *findings, place_id id);

/* Adds an empty finding of that severity, code and place. Returns NULL when out of memory. Valid
 * until the next call. */
struct finding *findings_add(struct findings *findings, enum severity severity, const char *code,
                             const char *place);
