/**
 * Sizes and counts in the notation of the command line and of plugstack.conf. Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Parses 4G, 512KiB, 10MB or 4096 into bytes. False for any other text. */
bool lib_parse_size(const char *text, int64_t *ret_bytes);

/* Writes ": E is no unit; ..." for a text with an unknown unit, else "". Returns doubt. */
#define LIB_DOUBT_SIZE 128
const char *lib_size_doubt(const char *text, char doubt[LIB_DOUBT_SIZE]);

/* Parses decimal digits alone, a number from least to most. */
bool lib_parse_count(const char *text, long least, long most, long *ret_count);
