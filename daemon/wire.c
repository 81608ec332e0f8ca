#include "wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_BYTES = 4096,     /* most calls fit */
    KEPT_BYTES = 64 * 1024, /* an empty buffer larger than this is given back */
};

void wire_init(struct wire *wire, size_t limit) { *wire = (struct wire){.limit = limit}; }

void wire_done(struct wire *wire)
{
    free(wire->data);
    *wire = (struct wire){.limit = wire->limit};
}

static void move_to_front(struct wire *wire)
{
    memmove(wire->data, wire->data + wire->start, wire->end - wire->start);
    wire->end -= wire->start;
    wire->start = 0;
}

bool wire_room(struct wire *wire, char **ret_room, size_t *ret_size)
{
    if (wire->start == wire->end) {
        wire->start = wire->end = 0;
        if (wire->size > KEPT_BYTES)
            wire_done(wire);
    }
    /* Moving costs what is moved: only when at least as much room comes of it, or when the buffer cannot grow. */
    if (wire->end == wire->size && wire->start > 0 && (wire->start >= wire->size / 2 || wire->size >= wire->limit))
        move_to_front(wire);
    if (wire->end == wire->size && wire->size < wire->limit) {
        size_t size = wire->size == 0 ? FIRST_BYTES : wire->size * 2;
        if (size > wire->limit)
            size = wire->limit;
        char *data = realloc(wire->data, size);
        if (data == NULL)
            return false;
        wire->data = data;
        wire->size = size;
    }
    *ret_room = wire->data + wire->end;
    *ret_size = wire->size - wire->end;
    return true;
}

void wire_filled(struct wire *wire, size_t size)
{
    assert(size <= wire->size - wire->end);
    const char *at = wire->data + wire->end, *end = at + size;
    while (at < end && (at = memchr(at, '\0', (size_t)(end - at))) != NULL) {
        wire->complete++;
        at++;
    }
    wire->end += size;
}

bool wire_next(struct wire *wire, const char **ret_text, size_t *ret_length)
{
    if (wire->complete == 0)
        return false;
    const char *text = wire->data + wire->start;
    size_t length = strlen(text);
    wire->start += length + 1;
    wire->complete--;
    *ret_text = text;
    *ret_length = length;
    return true;
}

bool wire_is_full(const struct wire *wire) { return wire->end - wire->start >= wire->limit; }

bool wire_is_partial(const struct wire *wire) { return wire->complete == 0 && wire->end > wire->start; }
