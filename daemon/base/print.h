/**
 * JSON as text, written front to back into a buffer that grows: for answers that are large or
 * frequent, without a tree. Commas between members and elements are added automatically; the caller
 * closes brackets.
 *
 * Running out of memory sets failed, and every later call does nothing, so the caller checks once,
 * at the end.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct print {
    char *data;
    size_t length, size;
    bool failed; /* out of memory since print_init or print_clear */
};

/* Allocates size bytes at once. False when out of memory. */
bool print_init(struct print *print, size_t size);
void print_done(struct print *print);

/* Empties the text; the memory stays. */
void print_clear(struct print *print);

/* Return memory for count more bytes, NULL when out of memory. print_grow is the slow path, for a
 * full buffer. */
char *print_grow(struct print *print, size_t count);
static inline char *print_room(struct print *print, size_t count)
{
    return !print->failed && count <= print->size - print->length ? print->data + print->length
                                                                  : print_grow(print, count);
}

/* Adds bytes unchanged, without a comma. Inline, like the functions below, because a matrix is made
 * of a million of these. */
static inline void print_bytes(struct print *print, const char *bytes, size_t count)
{
    char *at = print_room(print, count);
    if (at == NULL)
        return;
    memcpy(at, bytes, count);
    print->length += count;
}

/* Writes the comma before the next key or value where one is due: not behind an opened bracket or a
 * key. The caller has made room for it. */
static inline void print_comma(struct print *print)
{
    char last = print->length > 0 ? print->data[print->length - 1] : '[';
    if (last != '{' && last != '[' && last != ':')
        print->data[print->length++] = ',';
}

/* Add one of { [ as the next value, and one of } ] as its end. */
static inline void print_open(struct print *print, char bracket)
{
    if (print_room(print, 2) == NULL)
        return;
    print_comma(print);
    print->data[print->length++] = bracket;
}

static inline void print_close(struct print *print, char bracket)
{
    print_bytes(print, &bracket, 1);
}

/* Adds a word of ours that needs no escape, in quotes, as a key or a value. False when there is no
 * room for it and a colon. */
static inline bool print_quoted(struct print *print, const char *word)
{
    size_t length = strlen(word);
    if (print_room(print, length + 4) == NULL)
        return false;
    print_comma(print);
    print->data[print->length++] = '"';
    print_bytes(print, word, length);
    print->data[print->length++] = '"';
    return true;
}

/* Adds the name of the next member. */
static inline void print_key(struct print *print, const char *key)
{
    if (print_quoted(print, key))
        print->data[print->length++] = ':';
}

/* Adds a word of ours, which needs no escape, as the next value. */
static inline void print_name(struct print *print, const char *name) { print_quoted(print, name); }

/* Add the next value. Bytes that are no UTF-8 become question marks; NULL and numbers that are not
 * finite become null. A number has the fifteen digits that survive the conversion through a double.
 * A real stays recognizable as a real: 96.2, 7.0. */
void print_string(struct print *print, const char *text);
void print_integer(struct print *print, int64_t value);
void print_real(struct print *print, double value);
void print_count(struct print *print, int64_t value); /* null below 0 */
void print_null(struct print *print);
/* recurses as deep as value is nested: for trees of our own */
void print_json(struct print *print, const json_t *value);

/* Returns the text that json_dumps() with these flags should give; the caller frees it. NULL when
 * out of memory. The reason: json_dumps() leaves out the names of members that it had no memory for
 * and calls that a success (2.14, do_dump()). */
char *print_tree(const json_t *value, size_t flags);
