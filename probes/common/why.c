#include "common/why.h"

#include <stdarg.h>
#include <stdio.h>

void probe_why_write(struct probe_why *why, const char *format, ...)
{
    if (why == NULL)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
}
