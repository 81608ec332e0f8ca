#include "base/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

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

char *print_grow(struct print *print, size_t count)
{
    if (print->failed)
        return NULL;
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
    return larger + print->length;
}

static void put(struct print *print, char c) { print_bytes(print, &c, 1); }

/* Adds a word that needs no quotes. */
static void print_word(struct print *print, const char *word, size_t length)
{
    if (print_room(print, length + 1) == NULL)
        return;
    print_comma(print);
    print_bytes(print, word, length);
}

/* Text. */

static bool is_plain(unsigned char c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

/* Adds a character that is not plain: escaped, copied or replaced. Returns the number of its
 * bytes. */
static size_t put_special(struct print *print, const unsigned char *c)
{
    size_t length = *c < 0x80 ? 1 : text_utf8_length((const char *)c);
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

#define PIECE_BYTES 256 /* of a text, with room made for all of them at once */

void print_string(struct print *print, const char *text)
{
    if (text == NULL) {
        print_null(print);
        return;
    }
    const unsigned char *c = (const unsigned char *)text;
    if (print_room(print, 2) == NULL)
        return;
    print_comma(print);
    put(print, '"');
    for (;;) {
        size_t length = 0, most = strnlen((const char *)c, PIECE_BYTES);
        char *at = print_room(print, most + 1);
        if (at == NULL)
            return;
        for (; length < most && is_plain(c[length]); length++)
            at[length] = (char)c[length];
        print->length += length;
        c += length;
        if (*c == '\0')
            break;
        if (length < most)
            c += put_special(print, c);
    }
    put(print, '"');
}

/* Numbers. */

/* Writes the digits of value, at least count of them, ending before end. Returns their
 * beginning. */
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
    print_word(print, c, (size_t)(end - c));
}

void print_count(struct print *print, int64_t value)
{
    if (value >= 0)
        print_integer(print, value);
    else
        print_null(print);
}

/* Writes the digits of a real with few decimals; most measured values have six digits. When value
 * is the double nearest to whole / 10^places and whole has at most fifteen digits, these are its
 * digits. The division rounds correctly, so a comparison decides. The digits end before end.
 * Returns their beginning, or end for any other value. */
static char *short_real(double value, char *end)
{
    static const double power[] = {1, 1e3, 1e6};
    static const int64_t scale[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    double size_of = fabs(value);
    if (size_of < 1e-4 && size_of > 0) /* printed with an exponent */
        return end;
    for (int i = 0; i < 3 && size_of * power[i] < 1e15; i++) {
        int64_t whole = (int64_t)(size_of * power[i] + 0.5);
        if ((double)whole / power[i] != size_of)
            continue;
        int places = 3 * i;
        for (; places > 1 && whole % 10 == 0; places--)
            whole /= 10;
        char *c = digits((uint64_t)(whole % scale[places]), places > 0 ? places : 1, end);
        *--c = '.';
        c = digits((uint64_t)(whole / scale[places]), 1, c);
        if (value < 0)
            *--c = '-';
        return c;
    }
    return end;
}

void print_real(struct print *print, double value)
{
    char text[40], *end = text + sizeof text;
    if (!isfinite(value)) {
        print_null(print);
        return;
    }
    const char *c = short_real(value, end);
    if (c < end) {
        print_word(print, c, (size_t)(end - c));
        return;
    }
    int length = snprintf(text, sizeof text, "%.15g", value);
    print_word(print, text, (size_t)length);
    if (strpbrk(text, ".e") == NULL)
        print_bytes(print, ".0", 2);
}

void print_null(struct print *print) { print_word(print, "null", 4); }

/* Trees. jansson's own printing notes every container in a hash table, to find loops. Ours cannot
 * have any, and it costs half of a reply. */

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
        print_word(print, "true", 4);
        return;
    case JSON_FALSE:
        print_word(print, "false", 5);
        return;
    case JSON_NULL:
        break;
    }
    print_null(print);
}

static int put_piece(const char *bytes, size_t count, void *arg)
{
    struct print *print = arg;
    print_bytes(print, bytes, count);
    return print->failed ? -1 : 0;
}

char *print_tree(const json_t *value, size_t flags)
{
    struct print print = {0};
    bool ok = json_dump_callback(value, put_piece, &print, flags) == 0;
    put(&print, '\0');
    if (ok && !print.failed)
        return print.data;
    print_done(&print);
    return NULL;
}
