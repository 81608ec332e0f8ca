/**
 * Estimates the cost of parsing a message, before it is parsed: the number of its items. An array
 * or object counts as MESSAGE_WEIGHT_NEST items. A parsed item takes about 0.1 microseconds and 100
 * bytes. Any thread.
 */
#pragma once
#include <stddef.h>

#define MESSAGE_WEIGHT_NEST 4

/* Limit above every valid request: 37,449 flows, the most that fit in 1 MiB, weigh 262,146. */
#define MESSAGE_WEIGHT_MAX (270u * 1000)

/* Returns the weight of length bytes of JSON; the content of strings has none. Text that is no JSON
 * has an arbitrary weight. */
size_t message_weight(const char *text, size_t length);
