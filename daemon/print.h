/**
 * JSON as text, written front to back into a buffer that grows: for answers that are large or asked for all the time, of which no
 * tree is made first. Commas between members and elements come by themselves; brackets are the caller's to close.
 *
 * Running out of memory is remembered and everything after it ignored, so that it is asked for once, at the end.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct print {
    char *data;
    size_t length, size;
    bool failed; /* out of memory since print_init or print_clear */
};

/* Takes that much memory at once. False when there is none. */
bool print_init(struct print *print, size_t size);
void print_done(struct print *print);

/* Empty again; the memory stays. */
void print_clear(struct print *print);

void print_bytes(struct print *print, const char *bytes, size_t count); /* as they are, no comma */

/* One of { [ as the next value; one of } ] as its end. */
void print_open(struct print *print, char bracket);
void print_close(struct print *print, char bracket);

/* The name of the next member: a word of ours that needs no escape. */
void print_key(struct print *print, const char *key);

/* Values. Bytes that are no UTF-8 become question marks; NULL and what is not finite become null. A number has the fifteen digits that
 * survive the way through a double, and a real keeps a mark of being one: 96.2, 7.0. */
void print_string(struct print *print, const char *text);
void print_integer(struct print *print, int64_t value);
void print_real(struct print *print, double value);
void print_count(struct print *print, int64_t value); /* null below 0 */
void print_null(struct print *print);
void print_json(struct print *print, const json_t *value); /* recursion as deep as it is: for our own */
