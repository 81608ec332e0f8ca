/* One line with the reason of a failure. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct probe_why {
    char text[200];
};

/* Reasons that hold whatever is tried, schema/nevers.def. */
enum probe_never {
#define NEVER(id, text) PROBE_##id,
#include "nevers.def"
#undef NEVER
    PROBE_NEVERS
};
extern const char *const probe_nevers[PROBE_NEVERS];

/* A size in a line: "512 MiB", "1.5 GiB", "4095 bytes". Its text lives as long as the expression
 * around the call. */
struct probe_size {
    char text[32];
};
struct probe_size probe_size(int64_t bytes);

/* Writes the line, cut to fit. why may be NULL. */
void probe_why_write(struct probe_why *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes the line and is false, so that a failing function can return it. A macro, so that
 * analyzers of its callers see the false. */
#define probe_why_set(why, ...) (probe_why_write((why), __VA_ARGS__), false)
