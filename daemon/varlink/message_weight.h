/**
 * What a message costs to parse, before it is parsed: its items, an array or object counting as
 * MESSAGE_WEIGHT_NEST of them. A parsed item takes about 0.1 microseconds and 100 bytes. Any
 * thread.
 */
#pragma once
#include <stddef.h>

#define MESSAGE_WEIGHT_NEST 4

/* No request is heavier: 37,449 flows, the most that fit in 1 MiB, weigh 262,146. */
#define MESSAGE_WEIGHT_MAX (270u * 1000)

/* The weight of length bytes of JSON; what stands in strings has none. Of what is no JSON, any
 * number. */
size_t message_weight(const char *text, size_t length);
