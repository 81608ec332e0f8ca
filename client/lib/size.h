/**
 * Sizes and counts as people write them, on the command line and in plugstack.conf. Pure; any
 * thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Bytes of 4G, 512KiB, 10MB or 4096. False: it is no such size. */
bool lib_parse_size(const char *text, int64_t *ret_bytes);

/* ": E is no unit; ..." of a text whose unit is unknown, else "". Returns doubt. */
#define LIB_DOUBT_SIZE 128
const char *lib_size_doubt(const char *text, char doubt[LIB_DOUBT_SIZE]);

/* Decimal digits alone, from least to most. */
bool lib_parse_count(const char *text, long least, long most, long *ret_count);
