#include "common/axes.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

void probe_axes_add(struct probe_axes *axes, const char *key, const char *format, ...)
{
    assert(axes->count < PROBE_AXES_MAX);
    va_list args;
    va_start(args, format);
    snprintf(axes->text[2 * axes->count], sizeof axes->text[0], "%s", key);
    vsnprintf(axes->text[2 * axes->count + 1], sizeof axes->text[0], format, args);
    va_end(args);
    axes->count++;
}

void probe_axes_print(const struct probe_axes *axes, struct probe_line *line)
{
    probe_line_open(line, "axes");
    for (size_t i = 0; i < axes->count; i++)
        probe_line_text(line, axes->text[2 * i], axes->text[2 * i + 1]);
    probe_line_close(line);
}
