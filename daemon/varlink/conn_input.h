/**
 * Reads what one peer sends, as long as there is room to keep it. Room beyond a connection's first
 * WIRE_FIRST_BYTES comes out of a budget, of each user and of everybody: a user may hold
 * input_bytes_per_user, and never more than what is left for others. One connection of each user
 * may grow beyond its user's share, so that of many messages that do not fit together one after the
 * other is completed. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "varlink/conn_share.h"
#include "varlink/server_limits.h"
#include "varlink/wire.h"

/* What all connections hold. Zero-initialise. */
struct conn_budget {
    size_t bytes;
    unsigned starved; /* connections that wait for room */
    bool was_freed;   /* since somebody looked */
};

struct conn_input {
    uv_stream_t *stream; /* borrowed; its data is the connection's */
    struct conn_budget *budget;
    struct conn_user *user;
    const struct server_limits *limits;
    struct wire wire;
    bool is_reading, is_ended, is_starved;

    /* bytes came; after many it reads no more until conn_input_read, in the user's turn */
    void (*filled)(struct conn_input *input);
    void (*ended)(struct conn_input *input);  /* the peer has shut its side down, or is gone */
    void (*failed)(struct conn_input *input); /* out of memory */
};

/* Reads, or does not: wanted is asked for what the caller knows, beside what there is room for.
 * False when it cannot be read. */
bool conn_input_read(struct conn_input *input, bool wanted);

/* Takes the oldest complete message; valid until conn_input_read is called with wanted. */
bool conn_input_next(struct conn_input *input, const char **ret_text, size_t *ret_length);

/* What was taken is done with: gives its memory back. */
void conn_input_taken(struct conn_input *input);

/* Gives all memory back. Returns how much of it came from the heap. */
size_t conn_input_done(struct conn_input *input);
