/**
 * JSON whose numbers are beyond what the parser keeps, made such that it keeps them, so that the
 * call can be told which of its parameters it is.
 */
#pragma once
#include <stddef.h>

/* In place, in one pass, the length stays: an integer beyond 64 bits becomes a real of the same
 * value to 15 digits, what is beyond a double the largest power of ten that a double holds, with
 * its sign. All else stays, also text that is no JSON. text[length] must be 0. */
void numeral_fit(char *text, size_t length);
