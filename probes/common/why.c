#include "common/why.h"

#include <stdarg.h>
#include <stdio.h>

const char *const probe_nevers[] = {
#define NEVER(id, text) text,
#include "nevers.def"
#undef NEVER
};

void probe_why_write(struct probe_why *why, const char *format, ...)
{
    if (why == NULL)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
}
