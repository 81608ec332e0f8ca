#include "cost/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* 1.34, 13.4, 134, 1340: no exponent, no zeros behind. */
static void put(char *text, double number, const char *unit)
{
    int behind = number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
    double scale = behind == 0   ? 1
                   : behind == 1 ? 10
                                 : 100,
           rounded = round(number * scale) / scale;
    snprintf(text, PLAN_TEXT_SIZE, "%.*f %s", rounded == round(rounded) ? 0 : behind, rounded,
             unit);
}

/* In the largest of the units, each so many times the one before, that leaves at least one. */
static const char *put_in(char *text, double number, double times, double most,
                          const char *const *unit, size_t units)
{
    size_t i = 0;
    for (; number >= most && i + 1 < units; i++)
        number /= times;
    put(text, number, unit[i]);
    return text;
}

const char *plan_text_time(double ns, char text[PLAN_TEXT_SIZE])
{
    static const char *const unit[] = {"ns", "\u00b5s", "ms", "s"};
    return put_in(text, ns, 1e3, 999.5, unit, sizeof unit / sizeof *unit);
}

const char *plan_text_size(double bytes, char text[PLAN_TEXT_SIZE])
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    return put_in(text, bytes, 1024, 1024, unit, sizeof unit / sizeof *unit);
}

void plan_text_sizes(double a, double b, char text_a[PLAN_TEXT_SIZE], char text_b[PLAN_TEXT_SIZE])
{
    plan_text_size(a, text_a);
    plan_text_size(b, text_b);
    if (a == b || strcmp(text_a, text_b) != 0)
        return;
    snprintf(text_a, PLAN_TEXT_SIZE, "%.0f bytes", a);
    snprintf(text_b, PLAN_TEXT_SIZE, "%.0f bytes", b);
}

const char *plan_text_rate(double bytes_per_s, char text[PLAN_TEXT_SIZE])
{
    static const char *const unit[] = {"bytes/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    return put_in(text, bytes_per_s, 1e3, 999.5, unit, sizeof unit / sizeof *unit);
}
