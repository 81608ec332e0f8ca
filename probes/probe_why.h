/* One line that says why something could not be done. */
#pragma once
#include <stdbool.h>

struct probe_why {
    char text[200];
};

/* Sets the line (cut to fit) and returns false, so that a failing function can return it. why may be NULL. */
bool probe_why_set(struct probe_why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
