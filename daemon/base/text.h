/**
 * Text from outside, made what every other part may rely on: what a file, a library, a program or a
 * peer says may hold anything.
 */
#pragma once
#include <stddef.h>

/* Bytes of the character at text when it is well-formed UTF-8 beyond ASCII, else 0. */
size_t text_utf8_length(const char *text);

/* In place: each byte that is part of no UTF-8 character becomes '?', each control character a
 * blank, so that text is one line and a JSON string. Cutting a text can break its last character:
 * clean it afterwards. */
void text_clean(char *text);
