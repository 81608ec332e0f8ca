/* The transfer matrix while it is derived: cost/matrix.c, then cost/matrix_finish.c. */
#pragma once
#include "cost/limits.h"
#include "cost/matrix.h"

struct matrix {
    const struct snapshot *snap;
    const struct graph *graph;
    const struct limits *limits;
    place_id *memory; /* memory_count */
    size_t memory_count;
    int32_t *number;          /* by place: index into memory, -1 none */
    bool *is_gone;            /* by memory: nothing moves there */
    struct matrix_item *item; /* by from, to, mechanism; basis is set where is_known */
    bool *is_known;
    /* by memory, end, kind of the other end (a GPU), mechanism; NULL nothing is known */
    const struct value **most;
    /* share of a stated rate that transfers reach, by mechanism, between GPUs, kind of link; 0
     * unknown; below 0 only published transfers show it */
    double reached[MECHANISMS][2][LINK_KIND_COUNT];
};

bool matrix_same_model(const struct graph *graph, place_id a, place_id b);
bool matrix_has_own_sizes(const struct transfer *transfer);
