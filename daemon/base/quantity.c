#include "base/quantity.h"

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
    snprintf(text, QUANTITY_SIZE, "%.*f %s", rounded == round(rounded) ? 0 : behind, rounded, unit);
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

const char *quantity_time(double ns, char text[QUANTITY_SIZE])
{
    static const char *const unit[] = {"ns", "\u00b5s", "ms", "s"};
    return put_in(text, ns, 1e3, 999.5, unit, sizeof unit / sizeof *unit);
}

const char *quantity_size(double bytes, char text[QUANTITY_SIZE])
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    return put_in(text, bytes, 1024, 1024, unit, sizeof unit / sizeof *unit);
}

void quantity_sizes(double a, double b, char text_a[QUANTITY_SIZE], char text_b[QUANTITY_SIZE])
{
    quantity_size(a, text_a);
    quantity_size(b, text_b);
    if (a == b || strcmp(text_a, text_b) != 0)
        return;
    snprintf(text_a, QUANTITY_SIZE, "%.0f bytes", a);
    snprintf(text_b, QUANTITY_SIZE, "%.0f bytes", b);
}

const char *quantity_rate(double bytes_per_s, char text[QUANTITY_SIZE])
{
    static const char *const unit[] = {"bytes/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    return put_in(text, bytes_per_s, 1e3, 999.5, unit, sizeof unit / sizeof *unit);
}
