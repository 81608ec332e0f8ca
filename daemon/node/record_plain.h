/**
 * Reads the usual line of a measurement record without a tree. That is a value with its interval,
 * its keys in the order in which berth writes them. A node folder has up to millions of these.
 * Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/record.h"

struct record_plain {
    enum metric metric;
    char from[RECORD_PLACE_MAX + 1], to[RECORD_PLACE_MAX + 1];
    char axes[256]; /* canonical */
    double value, low, high;
    uint32_t n;
};

/* True only where record_parse accepts the line as a value with exactly these members. Any other
 * line, broken or not, is left to record_parse. The line ends with a newline or NUL. */
bool record_plain(const char *line, size_t length, struct record_plain *ret);

/* Reads metric, places and axes of such a line even when the rest is invalid, such as a number out
 * of bounds. False where they cannot be read, or axes stand behind the value. */
bool record_plain_cell(const char *line, size_t length, struct record_plain *ret);
