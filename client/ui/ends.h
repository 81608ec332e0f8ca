/**
 * The best and the worst of many values, as the first line of an answer. Names are borrowed.
 */
#pragma once
#include "ui/ui.h"

struct ui_end {
    const char *from, *to, *source; /* source: NULL unsaid */
    double value;                   /* not NAN */
};

/* Prints "397 to 398 GB/s", "397 GB/s" or "999 ns to 1.01 us". */
void ui_ends_range(struct ui *ui, double low, double high, const char *unit);

/* Prints "best gpu1 to gpu3 398 GB/s, worst 310 GB/s in 12 cells": of values that differ by 5 % at
 * most noise says which is best, so none is named. Prints "all 12 alike, 397 to 398 GB/s" where all
 * do. A source other than measured is named. better: 1 higher is, -1 lower, 0 unknown. count: at
 * least 1. */
void ui_ends_put(struct ui *ui, const struct ui_end *value, size_t count, const char *unit,
                 int better);
