/**
 * Splits incoming bytes into messages: each ends with a NUL. Reads go directly into one buffer, and
 * messages are returned in place. Every byte is read and moved a bounded number of times.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define WIRE_FIRST_BYTES 4096u /* most calls fit */

struct wire {
    char *data;         /* NULL while empty */
    size_t start, end;  /* data[start] to data[end - 1] are pending */
    size_t size, limit; /* of data now, and at most */
    unsigned complete;  /* whole pending messages */
};

void wire_init(struct wire *wire, size_t limit);
void wire_done(struct wire *wire);

/* Returns the growth of the buffer in bytes by wire_room, beyond the first WIRE_FIRST_BYTES. */
size_t wire_growth(const struct wire *wire);

/* Returns the size of the buffer in bytes beyond the first WIRE_FIRST_BYTES. */
size_t wire_held(const struct wire *wire);

/* Returns the bytes of the buffer that come from malloc; a larger one is a mapping of its own. */
size_t wire_heap(const struct wire *wire);

/* Frees an empty buffer of more than WIRE_FIRST_BYTES. Invalidates the text of wire_next. */
void wire_shrink(struct wire *wire);

/* Returns memory to read into: ret_size bytes, none when the buffer is full. False when out of
 * memory. Invalidates the text of wire_next. */
bool wire_room(struct wire *wire, char **ret_room, size_t *ret_size);

/* Adds that many bytes, which were read into the room. */
void wire_filled(struct wire *wire, size_t size);

/* Removes the oldest complete message: its text, NUL-terminated, and its length without the NUL.
 * Valid until wire_room. */
bool wire_next(struct wire *wire, const char **ret_text, size_t *ret_length);

/* True when limit bytes wait, so that nothing more can be read. */
bool wire_is_full(const struct wire *wire);

/* True when the oldest message has begun and is not complete. When the wire is full as well, it is
 * too long. */
bool wire_is_partial(const struct wire *wire);
