#include "varlink/wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Large buffers are mappings of their own: they grow without a copy, and freeing them returns them
 * to the system, independent of malloc. */
#define MAPPED_BYTES (64u * 1024)

static void release(char *data, size_t size)
{
    if (size > MAPPED_BYTES)
        munmap(data, size);
    else
        free(data);
}

/* NULL: out of memory; data stays. */
static char *enlarge(char *data, size_t size, size_t larger)
{
    if (larger <= MAPPED_BYTES)
        return realloc(data, larger);
    if (size > MAPPED_BYTES) {
        void *moved = mremap(data, size, larger, MREMAP_MAYMOVE);
        return moved != MAP_FAILED ? moved : NULL;
    }
    void *mapped = mmap(NULL, larger, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    if (size > 0)
        memcpy(mapped, data, size);
    free(data);
    return mapped;
}

void wire_init(struct wire *wire, size_t limit) { *wire = (struct wire){.limit = limit}; }

void wire_done(struct wire *wire)
{
    release(wire->data, wire->size);
    *wire = (struct wire){.limit = wire->limit};
}

static void move_to_front(struct wire *wire)
{
    memmove(wire->data, wire->data + wire->start, wire->end - wire->start);
    wire->end -= wire->start;
    wire->start = 0;
}

/* Moving costs time for each byte: only when it yields at least as much room, or when the buffer
 * cannot grow. */
static bool is_to_move(const struct wire *wire)
{
    return wire->end == wire->size && wire->start > 0 &&
           (wire->start >= wire->size / 2 || wire->size >= wire->limit);
}

/* Returns the size that wire_room gives the buffer. */
static size_t next_size(const struct wire *wire)
{
    if (wire->end < wire->size || is_to_move(wire) || wire->size >= wire->limit)
        return wire->size;
    size_t size = wire->size == 0 ? WIRE_FIRST_BYTES : wire->size * 2;
    return size < wire->limit ? size : wire->limit;
}

static size_t held(size_t size) { return size > WIRE_FIRST_BYTES ? size - WIRE_FIRST_BYTES : 0; }

size_t wire_held(const struct wire *wire) { return held(wire->size); }

size_t wire_growth(const struct wire *wire) { return held(next_size(wire)) - held(wire->size); }

size_t wire_heap(const struct wire *wire) { return wire->size <= MAPPED_BYTES ? wire->size : 0; }

void wire_shrink(struct wire *wire)
{
    if (wire->start == wire->end && wire->size > WIRE_FIRST_BYTES)
        wire_done(wire);
}

bool wire_room(struct wire *wire, char **ret_room, size_t *ret_size)
{
    if (wire->start == wire->end)
        wire->start = wire->end = 0;
    wire_shrink(wire);
    if (is_to_move(wire))
        move_to_front(wire);
    size_t size = next_size(wire);
    if (size > wire->size) {
        char *data = enlarge(wire->data, wire->size, size);
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

bool wire_is_partial(const struct wire *wire)
{
    return wire->complete == 0 && wire->end > wire->start;
}
