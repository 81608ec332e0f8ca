/**
 * The text of a message before it is parsed: its weight, and its numerals. Any thread.
 */
#pragma once
#include <stddef.h>

/* Items that an array or object counts as. A parsed item takes about 0.1 microseconds and 100
 * bytes. */
#define MESSAGE_WEIGHT_NEST 4

/* Limit above every valid request: 37,449 flows, the most that fit in 1 MiB, weigh 262,146. */
#define MESSAGE_WEIGHT_MAX (270u * 1000)

/* Returns the weight of length bytes of JSON, the number of its items, as an estimate of the cost
 * of parsing. The content of strings has none. Text that is no JSON has an arbitrary weight. */
size_t message_weight(const char *text, size_t length);

/* Replaces numbers that jansson refuses as out of range by ones that it reads. The check of the
 * parameters can then name the offending one. Works in place, in one pass; the length stays. An
 * integer beyond 64 bits becomes a real of the same value to 15 digits. A number beyond a double
 * becomes the largest power of ten that a double holds, with its sign. All else stays, also text
 * that is no JSON. text[length] must be 0. */
void message_fit_numerals(char *text, size_t length);
