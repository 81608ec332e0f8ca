#include "lib/size.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct unit {
    const char *name;
    double bytes;
} units[] = {
    {"", 1},       {"B", 1},        {"K", 0x1p10},   {"KiB", 0x1p10}, {"KB", 1e3},
    {"M", 0x1p20}, {"MiB", 0x1p20}, {"MB", 1e6},     {"G", 0x1p30},   {"GiB", 0x1p30},
    {"GB", 1e9},   {"T", 0x1p40},   {"TiB", 0x1p40}, {"TB", 1e12},
};

static const struct unit *find_unit(const char *name)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcasecmp(name, units[i].name) == 0)
            return &units[i];
    return NULL;
}

bool lib_parse_size(const char *text, int64_t *ret_bytes)
{
    size_t digits = strspn(text, "0123456789.");
    if (!isdigit((unsigned char)*text) || digits > 24)
        return false;
    char *end;
    double number = strtod(text, &end);
    if (end != text + digits)
        return false;
    const struct unit *unit = find_unit(end);
    double bytes = unit != NULL ? number * unit->bytes : 0;
    if (unit == NULL || bytes >= 0x1p62)
        return false;
    /* Whole numbers above 2^53 keep every digit. */
    *ret_bytes = unit->bytes == 1 && memchr(text, '.', digits) == NULL
                     ? (int64_t)strtoll(text, NULL, 10)
                     : (int64_t)floor(bytes);
    return true;
}

const char *lib_size_doubt(const char *text, char doubt[LIB_DOUBT_SIZE])
{
    const char *unit = text + strspn(text, "0123456789.");
    doubt[0] = '\0';
    if (isdigit((unsigned char)*text) && find_unit(unit) == NULL)
        snprintf(doubt, LIB_DOUBT_SIZE,
                 ": %.20s is no unit; B, K, M, G and T are (powers of 1024), and KB, MB, GB and TB "
                 "(powers of 1000)",
                 unit);
    return doubt;
}

bool lib_parse_count(const char *text, long least, long most, long *ret_count)
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
