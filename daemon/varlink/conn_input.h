/**
 * Reads the bytes of one peer, as long as there is room to keep them. Room beyond a connection's
 * first WIRE_FIRST_BYTES comes out of a budget, of each user and of all. A user may hold
 * input_bytes_per_user, and at most as much as is left for others. One connection of each user may
 * grow beyond this limit, so that messages that do not fit together are completed one after the
 * other. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "varlink/conn_share.h"
#include "varlink/server_limits.h"
#include "varlink/wire.h"

/* Input buffers of all connections. Zero-initialise. */
struct conn_budget {
    size_t bytes;
    unsigned starved; /* connections that wait for room */
    bool was_freed;   /* since feed_starved ran */
};

struct conn_input {
    uv_stream_t *stream; /* borrowed; its data is the connection's */
    struct conn_budget *budget;
    struct conn_user *user;
    const struct server_limits *limits;
    struct wire wire;
    bool is_reading, is_ended, is_starved;

    /* bytes came; after a large read, reading stops until conn_input_read in the user's turn */
    void (*filled)(struct conn_input *input);
    void (*ended)(struct conn_input *input);  /* the peer has shut its side down, or is gone */
    void (*failed)(struct conn_input *input); /* out of memory */
};

/* Starts or stops reading. It reads while is_enabled and while there is room. False when reading
 * fails to start. */
bool conn_input_read(struct conn_input *input, bool is_enabled);

/* Frees the buffer of messages that have been answered. */
void conn_input_release(struct conn_input *input);

/* Frees all memory. Returns the number of bytes of it that came from the heap. */
size_t conn_input_done(struct conn_input *input);
