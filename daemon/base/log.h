/**
 * One line to standard error, with the priority prefix of sd-daemon(3) when the journal reads it.
 * Only main.c, the server and the scheduler log; everything else reports. Never waits: a line that
 * a full pipe does not take is lost, counted, and the next one that gets through says how many
 * were.
 */
#pragma once
#include <stddef.h>

enum log_level {
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_NOTICE = 5,
    LOG_LEVEL_INFO = 6
};

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes text to ret, which ends with a NUL, as one line that shows what it says: control
 * characters, characters that turn or hide text (U+202E, U+200B and the like) and ends of lines as
 * \u and their number, bytes that are no UTF-8 as \x. What does not fit whole is left out. Returns
 * the length. */
size_t log_escape(const char *text, char *ret, size_t size);
