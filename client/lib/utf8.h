/**
 * Whether a text is UTF-8, and so something that JSON can hold. Not exported; the command, which
 * has the library inside it, checks its arguments with this too.
 */
#pragma once
#include <stdbool.h>

bool lib_utf8_is_valid(const char *text);
