#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void log_line(enum log_level level, const char *format, ...)
{
    char line[1024];
    int used = getenv("JOURNAL_STREAM") != NULL ? snprintf(line, sizeof line, "<%d>", (int)level) : snprintf(line, sizeof line, "berthd: ");
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, args);
    va_end(args);
    if (length < 0)
        return;
    size_t total = (size_t)used + (size_t)length;
    if (total > sizeof line - 2)
        total = sizeof line - 2;
    for (size_t i = (size_t)used; i < total; i++)
        if ((unsigned char)line[i] < 0x20)
            line[i] = ' ';
    line[total] = '\n';
    /* One write a line, so that lines of several writers do not mix; a full pipe or closed stderr loses it. */
    ssize_t written = write(STDERR_FILENO, line, total + 1);
    (void)written;
}
