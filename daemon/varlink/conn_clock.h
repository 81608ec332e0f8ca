/**
 * Time limits of one connection, by its reason to wait. Times are the loop's, in ms.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "varlink/server_limits.h"

#define CONN_NEVER UINT64_MAX

enum conn_wait {
    WAIT_NONE,
    WAIT_IDLE, /* for the next call */
    WAIT_HALF, /* for the rest of a message */
    WAIT_PEER, /* for an answer, without reading: the peer could leave unnoticed */
};

/* Zero-initialise. */
struct conn_clock {
    enum conn_wait wait;
    uint64_t since_ms; /* begin of wait */
    bool is_unread;    /* bytes wait for the peer */
    /* time of the last progress of the unread bytes, or of the first unread byte */
    uint64_t unread_ms;
    uint64_t gone; /* bytes sent by then */
};

/* Notes the state after an event: the reason to wait, and the bytes that wait for the peer and that
 * were sent so far. With anew the wait begins again. */
void conn_clock_set(struct conn_clock *clock, enum conn_wait wait, bool anew, uint64_t unread,
                    uint64_t gone, uint64_t now_ms);

/* Returns the time of the next conn_clock_expired; CONN_NEVER. */
uint64_t conn_clock_due(const struct conn_clock *clock, const struct server_limits *limits);

/* True when the time is over. With ret_must_check the peer may have left, and the caller checks
 * that; the wait begins again if it has not. */
bool conn_clock_expired(struct conn_clock *clock, const struct server_limits *limits, uint64_t gone,
                        uint64_t now_ms, bool *ret_must_check);
