/**
 * One line to standard error, with the priority prefix of sd-daemon(3) when the journal reads it. Only berthd.c, the
 * server and the scheduler log; everything else reports.
 */
#pragma once

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_NOTICE = 5, LOG_LEVEL_INFO = 6 };

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
