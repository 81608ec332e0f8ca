/**
 * Replaces numbers that jansson refuses as out of range by ones that it reads. The check of the
 * parameters can then name the offending one.
 */
#pragma once
#include <stddef.h>

/* Works in place, in one pass; the length stays. An integer beyond 64 bits becomes a real of the
 * same value to 15 digits. A number beyond a double becomes the largest power of ten that a double
 * holds, with its sign. All else stays, also text that is no JSON. text[length] must be 0. */
void numeral_fit(char *text, size_t length);
