#include "plan_text.h"

#include <math.h>
#include <stdio.h>

/* 1.34, 13.4, 134, 1340: no exponent, no zeros behind. */
static void put(char *text, double number, const char *unit)
{
    int behind = number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
    double scale = behind == 0 ? 1 : behind == 1 ? 10 : 100, rounded = round(number * scale) / scale;
    snprintf(text, PLAN_TEXT_SIZE, "%.*f %s", rounded == round(rounded) ? 0 : behind, rounded, unit);
}

const char *plan_text_time(double ns, char text[PLAN_TEXT_SIZE])
{
    static const char *const unit[] = {"ns", "us", "ms", "s"};
    size_t i = 0;
    for (; ns >= 999.5 && i < 3; i++)
        ns /= 1e3;
    put(text, ns, unit[i]);
    return text;
}

const char *plan_text_size(double bytes, char text[PLAN_TEXT_SIZE])
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t i = 0;
    for (; bytes >= 1024 && i < 6; i++)
        bytes /= 1024;
    put(text, bytes, unit[i]);
    return text;
}

const char *plan_text_rate(double bytes_per_s, char text[PLAN_TEXT_SIZE])
{
    static const char *const unit[] = {"bytes/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    size_t i = 0;
    for (; bytes_per_s >= 999.5 && i < 4; i++)
        bytes_per_s /= 1e3;
    put(text, bytes_per_s, unit[i]);
    return text;
}
