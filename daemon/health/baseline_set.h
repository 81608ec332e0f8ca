/**
 * Baselines by series, as they go from the store to a file and back.
 */
#pragma once
#include "health/baseline.h"
#include "node/values.h"

#define EXPECTED_TEXT_SIZE 64

/* A piece of hardware that a machine had. */
struct expected_place {
    char identity[EXPECTED_TEXT_SIZE]; /* its PCI address where it has one, else its place */
    char kind[16], place[20];
    char model[EXPECTED_TEXT_SIZE]; /* "" unknown */
    int64_t seen_s;                 /* when it was first seen */
};

struct baseline_set {
    /* one item for each series, never finished: metric, from, to and axes count, in the order of
     * adding */
    struct values *values;
    struct baseline *baseline;       /* of each item */
    struct baseline_values *samples; /* of each item */
    size_t room;
    struct expected_place *place; /* what hardware goes with them */
    size_t place_count, place_room;
};

bool baseline_set_init(struct baseline_set *set); /* false when out of memory */
void baseline_set_done(struct baseline_set *set);

/* False when out of memory. */
bool baseline_set_add(struct baseline_set *set, enum metric metric, place_id from, place_id to,
                      const char *axes, const struct baseline *baseline,
                      const struct baseline_values *samples);
bool baseline_set_add_place(struct baseline_set *set, const struct expected_place *place);
