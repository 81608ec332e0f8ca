/**
 * Writes one line to standard error, with the priority prefix of sd-daemon(3) when the journal
 * reads it. Only main.c, the server and the scheduler log; everything else reports. Never waits: a
 * line that a full pipe does not take is lost and counted. The next line that gets through is
 * preceded by the number of lost ones.
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

/* Writes text to ret as one line with all its characters visible, and a NUL at its end. Control
 * characters, ends of lines and characters that turn or hide text (U+202E, U+200B and the like)
 * become \u and their number. Bytes that are no UTF-8 become \x. A character that does not fit
 * whole is left out. Returns the length. */
size_t log_escape(const char *text, char *ret, size_t size);
