/**
 * Equivalence classes: items whose confidence intervals overlap form one class, and one of them
 * stands for all, so that noise decides no choice. Numbers only. Pure.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLASSES_SIZES 3

struct classes_item {
    uint32_t sort; /* only items of one sort join a class */
    bool is_best;  /* stands for others rather than one that is not */
    /* By size, with intervals. A low or high that is NAN gets the rounding of stated figures. Items
     * are sorted by the last size. */
    double value[CLASSES_SIZES], low[CLASSES_SIZES], high[CLASSES_SIZES];
    uint32_t stands; /* result: index of the item that stands for it */
};

/* Fills stands: of each class the item nearest to the middle of what all intervals have in common.
 * False when out of memory. */
bool classes_find(struct classes_item *item, size_t count);
