/**
 * Streams of the same who: one engine moves them, so that together they get what one of them gets,
 * and count as one among others. Their bytes move in turns, the same time each, as long as they
 * have any: of those with as many bytes all end when all of their bytes have moved; one with fewer
 * ends when so many of each have.
 *
 * All of them count as there when the first begins, which is right to the launches that the others
 * wait for.
 *
 * A queue is a list of its streams in the order in which they end: what moves until the first has
 * ended, of all of them, then until the next has, and so on. Numbers only; allocates nothing.
 */
#pragma once
#include <stddef.h>

#include "sim/stream.h"

/* Lists each of count streams with those of its who that have bytes; who 0 is nobody's. head: room
 * for each who, from 0 on, whatever is there. Streams that are not first in a list have is_behind.
 */
void load_queue_make(struct load_stream *streams, size_t count, uint32_t *head);

/* When the streams of the list begin to move; how fast the fastest of its parts is alone. */
double load_queue_begin_ns(const struct load_stream *first);
double load_queue_bytes_per_s(const struct load_stream *first);

/* The stream's end, if its last byte moves then: no sooner than if all were its own, which one that
 * began later than the first of its queue would be. */
static inline void load_queue_end(struct load_stream *stream, double end_s)
{
    stream->end_ns = stream->start_ns - stream->begin_ns + end_s * 1e9;
    if (stream->queue_bytes > stream->bytes &&
        stream->end_ns < stream->start_ns + stream->bytes / stream->bytes_per_s * 1e9)
        stream->end_ns = stream->start_ns + stream->bytes / stream->bytes_per_s * 1e9;
}

/* All of the list as nothing else slows it. */
void load_queue_run(struct load_stream *first);
