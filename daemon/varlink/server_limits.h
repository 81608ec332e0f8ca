/**
 * What the server lets its peers use; see docs/PROTOCOL.md.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define SERVER_RESERVE 16

struct server_limits {
    size_t message_bytes; /* longest incoming message, NUL included: 1 MiB */
    /* a peer with more than this unread gets no new reply started: 256 KiB; see varlink/conn.h
     * for the rule */
    size_t unsent_bytes;
    size_t unsent_bytes_per_user; /* over all connections of a user; see varlink/conn.h, too */
    size_t unsent_bytes_in_all;
    /* of buffers for messages that are not complete or not called yet; see varlink/conn_input.h
     * for the rule */
    size_t input_bytes_per_user;
    size_t input_bytes_in_all;
    /* answered on the thread pool, or streams of what was made there, at once */
    unsigned large_calls_per_user;
    unsigned connections;          /* in all; root and the daemon's user get SERVER_RESERVE more */
    unsigned connections_per_user; /* root and the daemon's user are exempt */
    unsigned queued_calls;         /* pipelined calls of one connection waiting */
    /* a connection with no call pending and no stream is closed after this; 0 never */
    uint64_t idle_ms;
    /* a peer for whom bytes wait must read some of them within this */
    uint64_t unread_ms;
    uint64_t half_message_ms; /* a message must be complete this long after its first byte */
};
