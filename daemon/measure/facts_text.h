/* Gathers what `berth-probe-gpu --facts` prints, a line at a time. One thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define FACTS_TEXT_MAX (4u << 20) /* 64 devices with all their links are 100 kB */

struct facts_text {
    char *text; /* NULL nothing yet */
    size_t length;
    bool is_lost; /* not all of it: no memory, or too much */
};

/* without the newline */
void facts_text_add(struct facts_text *facts, const char *line, size_t length);

/* All of it, the caller's to free; NULL when there is nothing, or not all. Begins anew. */
char *facts_text_take(struct facts_text *facts);
