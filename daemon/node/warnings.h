/**
 * Warnings of an answer. Pure; any thread.
 */
#pragma once
#include <stddef.h>

#define WARNINGS_MAX   24
#define WARNING_LENGTH 200

/* Warnings for the caller about an answer, one sentence each. Zero-initialise. */
struct warnings {
    size_t count;
    char line[WARNINGS_MAX][WARNING_LENGTH];
};

/* Adds a line, once. When there is no room, the last line becomes one that reports it. */
void warnings_add(struct warnings *warnings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds "task 3: text", or "task 3 and 2 more: text" when it holds for other tasks already. */
void warnings_add_task(struct warnings *warnings, size_t task, const char *text);
