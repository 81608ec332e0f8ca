/**
 * Baselines by series, for import into and export from the store.
 */
#pragma once
#include "health/baseline.h"
#include "node/values.h"

#define EXPECTED_TEXT_SIZE 64

/* Hardware that belongs to the baselines. */
struct expected_place {
    char identity[EXPECTED_TEXT_SIZE]; /* PCI address, or the place's name if it has none */
    char kind[16], place[20];
    char model[EXPECTED_TEXT_SIZE]; /* "" unknown */
    int64_t seen_s;                 /* time when it was first found */
};

struct baseline_set {
    /* keys, one item for each series in the order of adding: metric, from, to, axes; never
     * finished */
    struct values *values;
    struct baseline *baseline;       /* by item */
    struct baseline_values *samples; /* by item */
    size_t room;
    struct expected_place *place; /* hardware that was measured */
    size_t place_count, place_room;
};

bool baseline_set_init(struct baseline_set *set); /* false when out of memory */
void baseline_set_done(struct baseline_set *set);

/* Copies its arguments. Returns false when out of memory. */
bool baseline_set_add(struct baseline_set *set, enum metric metric, place_id from, place_id to,
                      const char *axes, const struct baseline *baseline,
                      const struct baseline_values *samples);
bool baseline_set_add_place(struct baseline_set *set, const struct expected_place *place);
