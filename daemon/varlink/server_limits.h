/**
 * Limits of the server on its peers' use; see docs/PROTOCOL.md.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define SERVER_RESERVE 16

struct server_limits {
    size_t message_bytes; /* longest incoming message, NUL included */
    /* unread replies of a connection; beyond it no new reply begins, see varlink/conn.h */
    size_t unsent_bytes;
    size_t unsent_bytes_per_user; /* over all connections of a user; see varlink/conn.h */
    size_t unsent_bytes_in_all;
    /* buffers for messages that are incomplete or not called yet; see varlink/conn_input.h */
    size_t input_bytes_per_user;
    size_t input_bytes_in_all;
    /* calls on the thread pool, and streams that began there, at once */
    unsigned large_calls_per_user;
    unsigned connections;          /* in all; root and the daemon's user get SERVER_RESERVE more */
    unsigned connections_per_user; /* root and the daemon's user are exempt */
    unsigned queued_calls;         /* waiting pipelined calls of one connection */
    /* a connection without a pending call or stream is closed after this; 0 never */
    uint64_t idle_ms;
    /* a peer must read some of its waiting bytes within this */
    uint64_t unread_ms;
    uint64_t half_message_ms; /* a message must be complete this long after its first byte */
};
