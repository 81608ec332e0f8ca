/**
 * Cleans text from outside: from a file, a library, a program or a peer, which may send any bytes.
 * The rest of the daemon relies on one line of UTF-8.
 */
#pragma once
#include <stddef.h>

/* Returns the number of bytes of the character at text when it is well-formed UTF-8 beyond ASCII,
 * else 0. */
size_t text_utf8_length(const char *text);

/* Cleans text in place: each byte that is part of no UTF-8 character becomes '?', each control
 * character a blank. The result is one line and a JSON string. Cutting a text can break its last
 * character: clean it afterwards. */
void text_clean(char *text);
