/**
 * Sets: transfers that were measured concurrently, and the rate of each. Contention between them
 * follows from comparing sets with each other and with transfers alone; a set of one flow is such a
 * transfer.
 *
 * The metric and the flows' places and axes identify a set. A sets object holds each once.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/graph.h"
#include "node/metric.h"
#include "node/values.h"

#define SETS_FLOWS_MAX 128

struct set_flow {
    place_id from, to;
    char *axes; /* canonical text; see node/values.h */
    double bytes_per_s;
    double low, high; /* 95 % interval; NAN unknown */
};

struct set {
    enum metric metric;
    enum value_source source;
    int64_t measured_at_s; /* 0 unknown */
    struct set_flow *flow; /* ascending by from, to, axes; the same flow may occur several times */
    size_t flow_count;
};

struct sets {
    struct set *item; /* ascending by metric, flow_count, flows */
    size_t count;
};

struct sets *sets_new(void);       /* NULL when out of memory */
void sets_free(struct sets *sets); /* NULL is fine */

/* Adds a copy, its flows in order. It replaces the same set unless that was measured and this one
 * was not. False when out of memory. */
bool sets_add(struct sets *sets, const struct set *set);

/* Adds all of other (NULL: none), which is unchanged. */
bool sets_add_all(struct sets *sets, const struct sets *other);
