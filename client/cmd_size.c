/* Sizes and counts as people write them. */
#include "cmd.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool cmd_parse_size(const char *text, int64_t *ret_bytes)
{
    static const struct { const char *unit; double bytes; } units[] = {
        {"", 1}, {"B", 1},
        {"K", 0x1p10}, {"KiB", 0x1p10}, {"KB", 1e3},
        {"M", 0x1p20}, {"MiB", 0x1p20}, {"MB", 1e6},
        {"G", 0x1p30}, {"GiB", 0x1p30}, {"GB", 1e9},
        {"T", 0x1p40}, {"TiB", 0x1p40}, {"TB", 1e12},
    };
    size_t digits = strspn(text, "0123456789.");
    if (!isdigit((unsigned char)*text) || digits > 24)
        return false;
    char *end;
    double number = strtod(text, &end);
    if (end != text + digits)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcasecmp(end, units[i].unit) != 0)
            continue;
        double bytes = number * units[i].bytes;
        if (bytes >= 0x1p62)
            return false;
        /* Whole numbers above 2^53 keep every digit. */
        *ret_bytes = i < 2 && memchr(text, '.', digits) == NULL ? (int64_t)strtoll(text, NULL, 10) : (int64_t)floor(bytes);
        return true;
    }
    return false;
}

bool cmd_parse_count(const char *text, long least, long most, long *ret_count)
{
    char *end;
    size_t length = strlen(text);
    if (length == 0 || length > 18 || strspn(text, "0123456789") != length)
        return false;
    long count = strtol(text, &end, 10);
    if (count < least || count > most)
        return false;
    *ret_count = count;
    return true;
}
