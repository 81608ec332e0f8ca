#include "common/why.h"

#include <stdarg.h>
#include <stdio.h>

const char *const probe_nevers[] = {
#define NEVER(id, text) text,
#include "nevers.def"
#undef NEVER
};

struct probe_size probe_size(int64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    struct probe_size size;
    double number = (double)bytes;
    size_t unit = 0;
    for (; number >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        number /= 1024;
    snprintf(size.text, sizeof size.text, "%.*g %s", number < 1000 ? 3 : 4, number, units[unit]);
    return size;
}

void probe_why_write(struct probe_why *why, const char *format, ...)
{
    if (why == NULL)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
}
