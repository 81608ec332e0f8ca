/**
 * What goes out on a stream: at once where the socket takes it, the rest when it can be. Loop
 * thread only.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct outbox {
    /* borrowed; close it through uv_close as usual, what is unsent is freed then */
    uv_stream_t *stream;

    /* of memory, for what waits: sums that are kept up to date, of its user and of everybody;
     * borrowed */
    size_t *held_bytes[2];
    uint64_t queued_bytes; /* that ever had to wait */

    /* Some of what waited is sent, or (ok false) nothing more can be. Not called for what went at
     * once, nor once the stream closes. */
    void (*moved)(struct outbox *outbox, bool ok);
};

/* Sends a copy of data. False when the peer is gone or memory is short; the stream is of no use
 * then. */
bool outbox_send(struct outbox *outbox, const char *data, size_t length);

/* The same without a copy: data comes from malloc, and is freed when it is sent or cannot be. */
bool outbox_give(struct outbox *outbox, char *take_data, size_t length);

/* Bytes that wait for the peer to read. */
size_t outbox_unsent(const struct outbox *outbox);

/* Bytes that waited and have gone. */
uint64_t outbox_gone(const struct outbox *outbox);
