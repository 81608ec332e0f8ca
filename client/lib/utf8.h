/**
 * Check that a text is UTF-8 and so may stand in JSON. Not exported. The command, which includes
 * the library, checks its arguments with it.
 */
#pragma once
#include <stdbool.h>

bool lib_utf8_is_valid(const char *text);
