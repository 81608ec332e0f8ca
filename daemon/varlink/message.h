/**
 * The text of a message before it is parsed: its number of items, and its numerals. Any thread.
 */
#pragma once
#include <stddef.h>

/* Items that an array or object counts as. A parsed item takes about 0.1 microseconds and 100
 * bytes. */
#define MESSAGE_ITEMS_NEST 4

/* Limit above every valid request: 37,449 flows, the most that fit in 1 MiB, have 262,146. */
#define MESSAGE_ITEMS_MAX (270u * 1000)

/* Returns the number of items in length bytes of JSON, an estimate of the cost of parsing. The
 * content of strings has none. Text that is no JSON has an arbitrary number. */
size_t message_items(const char *text, size_t length);

/* Replaces numbers that jansson refuses as out of range by ones that it reads. The check of the
 * parameters can then name the offending one. Works in place, in one pass; the length stays. An
 * integer beyond 64 bits becomes a real of the same value to 15 digits. A number beyond a double
 * becomes the largest power of ten that a double holds, with its sign. All else stays, also text
 * that is no JSON. text[length] must be 0. */
void message_fit_numerals(char *text, size_t length);
