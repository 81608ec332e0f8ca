#include "node/warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void warnings_add(struct warnings *warnings, const char *format, ...)
{
    char line[WARNING_LENGTH];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    text_clean(line); /* after truncation it may end in half a character */
    for (size_t i = 0; i < warnings->count; i++)
        if (strcmp(warnings->line[i], line) == 0)
            return;
    if (warnings->count < WARNINGS_MAX)
        memcpy(warnings->line[warnings->count++], line, sizeof line);
    else
        snprintf(warnings->line[WARNINGS_MAX - 1], WARNING_LENGTH,
                 "there are more warnings than fit here");
}

void warnings_add_task(struct warnings *warnings, size_t task, const char *text)
{
    for (size_t i = 0; i < warnings->count; i++) {
        size_t first, more = 0;
        const char *rest = strstr(warnings->line[i], ": ");
        if (rest == NULL || strcmp(rest + 2, text) != 0 ||
            sscanf(warnings->line[i], "task %zu and %zu more", &first, &more) < 1)
            continue;
        snprintf(warnings->line[i], WARNING_LENGTH, "task %zu and %zu more: %s", first, more + 1,
                 text);
        return;
    }
    warnings_add(warnings, "task %zu: %s", task, text);
}
