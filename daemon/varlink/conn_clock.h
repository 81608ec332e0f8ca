/**
 * What a connection waits for, and when it has waited too long. Times are the loop's, in ms.
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
    WAIT_PEER, /* nothing is read from the peer meanwhile: it could leave unseen */
};

/* Zero-initialise. */
struct conn_clock {
    enum conn_wait wait;
    uint64_t since_ms;  /* when wait began */
    bool is_unread;     /* bytes wait for the peer */
    uint64_t unread_ms; /* since when, or when some were last seen to have gone */
    uint64_t gone;      /* bytes that had gone then */
};

/* After anything happened: what it waits for now, whether that begins anew, and what of its replies
 * waits and has gone so far. */
void conn_clock_set(struct conn_clock *clock, enum conn_wait wait, bool anew, uint64_t unread,
                    uint64_t gone, uint64_t now_ms);

/* When to ask conn_clock_expired; CONN_NEVER. */
uint64_t conn_clock_due(const struct conn_clock *clock, const struct server_limits *limits);

/* Whether its time is over. With ret_look the peer may have left: see whether it is there. Goes on
 * measuring where it is not. */
bool conn_clock_expired(struct conn_clock *clock, const struct server_limits *limits, uint64_t gone,
                        uint64_t now_ms, bool *ret_look);
