#include "print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool print_init(struct print *print, size_t size)
{
    *print = (struct print){.data = malloc(size), .size = size};
    return print->data != NULL;
}

void print_done(struct print *print)
{
    free(print->data);
    *print = (struct print){0};
}

void print_clear(struct print *print)
{
    print->length = 0;
    print->failed = false;
}

/* Room for count bytes more; NULL when there is none. The caller adds what it wrote to length. */
static char *room(struct print *print, size_t count)
{
    if (print->failed)
        return NULL;
    if (count > print->size - print->length) {
        size_t size = print->size > 0 ? print->size * 2 : 1024;
        while (count > size - print->length)
            size *= 2;
        char *larger = realloc(print->data, size);
        if (larger == NULL) {
            print->failed = true;
            return NULL;
        }
        print->data = larger;
        print->size = size;
    }
    return print->data + print->length;
}

void print_bytes(struct print *print, const char *bytes, size_t count)
{
    char *at = room(print, count);
    if (at == NULL)
        return;
    memcpy(at, bytes, count);
    print->length += count;
}

static void put(struct print *print, char c) { print_bytes(print, &c, 1); }

/* A comma, unless a bracket was opened or a key stands there. */
static void separate(struct print *print)
{
    char last = print->length > 0 ? print->data[print->length - 1] : '[';
    if (last != '{' && last != '[' && last != ':')
        put(print, ',');
}

void print_open(struct print *print, char bracket)
{
    separate(print);
    put(print, bracket);
}

void print_close(struct print *print, char bracket) { put(print, bracket); }

void print_key(struct print *print, const char *key)
{
    size_t length = strlen(key);
    separate(print);
    char *at = room(print, length + 3);
    if (at == NULL)
        return;
    at[0] = '"';
    memcpy(at + 1, key, length);
    at[length + 1] = '"';
    at[length + 2] = ':';
    print->length += length + 3;
}

/* Text. */

/* The bytes of the character at c when it is well-formed UTF-8 beyond ASCII, else 0. */
static size_t utf8_length(const unsigned char *c)
{
    size_t length = c[0] >= 0xc2 && c[0] <= 0xdf ? 2 : c[0] >= 0xe0 && c[0] <= 0xef ? 3 : c[0] >= 0xf0 && c[0] <= 0xf4 ? 4 : 0;
    for (size_t i = 1; i < length; i++)
        if (c[i] < 0x80 || c[i] > 0xbf)
            return 0;
    bool overlong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool beyond = (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf4 && c[1] > 0x8f); /* surrogates; past U+10FFFF */
    return overlong || beyond ? 0 : length;
}

static bool is_plain(unsigned char c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

/* What is no plain character: escaped, copied or replaced. Returns how many bytes of it were used. */
static size_t put_special(struct print *print, const unsigned char *c)
{
    size_t length = *c < 0x80 ? 1 : utf8_length(c);
    char escape[8];
    if (*c == '"' || *c == '\\')
        print_bytes(print, (const char[]){'\\', (char)*c}, 2);
    else if (*c < 0x20)
        print_bytes(print, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", *c));
    else if (length > 0)
        print_bytes(print, (const char *)c, length);
    else
        put(print, '?');
    return length > 0 ? length : 1;
}

void print_string(struct print *print, const char *text)
{
    if (text == NULL) {
        print_null(print);
        return;
    }
    separate(print);
    put(print, '"');
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0';) {
        const unsigned char *begin = c;
        while (is_plain(*c))
            c++;
        print_bytes(print, (const char *)begin, (size_t)(c - begin));
        if (*c != '\0')
            c += put_special(print, c);
    }
    put(print, '"');
}

/* Numbers. */

/* Digits of value, at least count of them, ending before end; returns where they begin. */
static char *digits(uint64_t value, int count, char *end)
{
    for (; value != 0 || count > 0; value /= 10, count--)
        *--end = (char)('0' + value % 10);
    return end;
}

void print_integer(struct print *print, int64_t value)
{
    char text[24], *end = text + sizeof text;
    char *c = digits(value < 0 ? -(uint64_t)value : (uint64_t)value, 1, end);
    if (value < 0)
        *--c = '-';
    separate(print);
    print_bytes(print, c, (size_t)(end - c));
}

void print_count(struct print *print, int64_t value)
{
    if (value >= 0)
        print_integer(print, value);
    else
        print_null(print);
}

/* Most of what is measured has six digits. When value is the double nearest to whole / 10^places and whole has at most fifteen digits,
 * these are its digits; the division rounds correctly, so comparing tells. Returns the length of the text, 0 when value is not like that. */
static size_t short_real(double value, char *text, size_t size)
{
    static const double power[] = {1, 10, 100, 1e3, 1e4, 1e5, 1e6};
    double size_of = fabs(value);
    if (size_of < 1e-4 && size_of > 0) /* printed with an exponent */
        return 0;
    for (int places = 0; places < (int)(sizeof power / sizeof *power) && size_of * power[places] < 1e15; places++) {
        double whole = rint(size_of * power[places]);
        if (whole / power[places] != size_of)
            continue;
        char *end = text + size, *c;
        uint64_t scale = (uint64_t)power[places], before = (uint64_t)whole / scale, after = (uint64_t)whole % scale;
        c = digits(after, places > 0 ? places : 1, end);
        *--c = '.';
        c = digits(before, 1, c);
        if (signbit(value) && value != 0)
            *--c = '-';
        memmove(text, c, (size_t)(end - c));
        return (size_t)(end - c);
    }
    return 0;
}

void print_real(struct print *print, double value)
{
    char text[40];
    if (!isfinite(value)) {
        print_null(print);
        return;
    }
    separate(print);
    size_t length = short_real(value, text, sizeof text);
    if (length > 0) {
        print_bytes(print, text, length);
        return;
    }
    length = (size_t)snprintf(text, sizeof text, "%.15g", value);
    print_bytes(print, text, length);
    if (strpbrk(text, ".e") == NULL)
        print_bytes(print, ".0", 2);
}

void print_null(struct print *print)
{
    separate(print);
    print_bytes(print, "null", 4);
}

/* Trees. jansson's own printing notes every container in a hash table, to find loops; ours cannot have any, and it costs half of
 * a reply. */

static void print_members(struct print *print, const json_t *object)
{
    const char *key;
    json_t *member;
    print_open(print, '{');
    json_object_foreach((json_t *)object, key, member)
    {
        print_string(print, key);
        put(print, ':');
        print_json(print, member);
    }
    print_close(print, '}');
}

static void print_elements(struct print *print, const json_t *array)
{
    print_open(print, '[');
    for (size_t i = 0; i < json_array_size(array); i++)
        print_json(print, json_array_get(array, i));
    print_close(print, ']');
}

void print_json(struct print *print, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        print_members(print, value);
        return;
    case JSON_ARRAY:
        print_elements(print, value);
        return;
    case JSON_STRING:
        print_string(print, json_string_value(value));
        return;
    case JSON_INTEGER:
        print_integer(print, json_integer_value(value));
        return;
    case JSON_REAL:
        print_real(print, json_real_value(value));
        return;
    case JSON_TRUE:
        separate(print);
        print_bytes(print, "true", 4);
        return;
    case JSON_FALSE:
        separate(print);
        print_bytes(print, "false", 5);
        return;
    case JSON_NULL:
        break;
    }
    print_null(print);
}
