/* Collects the output of `berth-probe-gpu --facts`, line by line. One thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define FACTS_TEXT_MAX (4u << 20) /* 64 devices with all their links take 100 kB */

struct facts_text {
    char *text; /* NULL nothing yet */
    size_t length;
    bool is_lost; /* incomplete: out of memory, or too long */
};

/* without the newline */
void facts_text_add(struct facts_text *facts, const char *line, size_t length);

/* Returns the complete text, which the caller frees, and begins anew. NULL when it is empty or
 * incomplete. */
char *facts_text_take(struct facts_text *facts);
