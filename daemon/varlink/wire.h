/**
 * Incoming bytes to messages: each ends with a NUL. One buffer that reads go into directly and
 * messages are taken from in place; every byte is looked at and moved a bounded number of times.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define WIRE_FIRST_BYTES 4096u /* most calls fit */

struct wire {
    char *data;         /* NULL while there is nothing to keep */
    size_t start, end;  /* data[start] to data[end - 1] came in and were not taken */
    size_t size, limit; /* of data now, and at most */
    unsigned complete;  /* whole messages in there */
};

void wire_init(struct wire *wire, size_t limit);
void wire_done(struct wire *wire);

/* By how many bytes wire_room would enlarge the buffer; the first WIRE_FIRST_BYTES count for
 * nothing. */
size_t wire_growth(const struct wire *wire);

/* Bytes of the buffer beyond the first WIRE_FIRST_BYTES. */
size_t wire_held(const struct wire *wire);

/* Bytes of the buffer that come from malloc; a larger one is a mapping of its own. */
size_t wire_heap(const struct wire *wire);

/* Frees an empty buffer of more than WIRE_FIRST_BYTES. What wire_next returned is gone. */
void wire_shrink(struct wire *wire);

/* Memory to read into: ret_size bytes, none when the buffer is full. False when out of memory. What
 * wire_next returned is gone.
 */
bool wire_room(struct wire *wire, char **ret_room, size_t *ret_size);

/* That many bytes were read into the room. */
void wire_filled(struct wire *wire, size_t size);

/* Takes the oldest complete message: its text, NUL-terminated, and its length without the NUL.
 * Valid until wire_room. */
bool wire_next(struct wire *wire, const char **ret_text, size_t *ret_length);

/* limit bytes wait, so that nothing more can be read. */
bool wire_is_full(const struct wire *wire);

/* The oldest message has begun and is not complete. When the wire is full as well, it is too long.
 */
bool wire_is_partial(const struct wire *wire);
