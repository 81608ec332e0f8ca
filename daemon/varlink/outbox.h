/**
 * Output of one stream: sends at once as much as the socket accepts, and queues the rest. Loop
 * thread only.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"

struct outbox {
    /* borrowed; close it through uv_close as usual, which frees unsent data */
    uv_stream_t *stream;

    /* memory of queued data: sums of the user and of all users, kept up to date; borrowed */
    size_t *held_bytes[2];
    uint64_t queued_bytes; /* bytes that were ever queued */
    bool has_passed;       /* files, which the peer may not have read yet */

    /* Called when some queued data is sent, or with ok false when no more can be. Not called for
     * data that was sent at once, nor after the stream closes. */
    void (*moved)(struct outbox *outbox, bool ok);
};

/* Sends a copy of data. False when the peer is gone or memory is short; the stream is useless
 * then. */
bool outbox_send(struct outbox *outbox, const char *data, size_t length);

/* Sends data without a copy: it comes from malloc, and is freed when it is sent or cannot be. */
bool outbox_give(struct outbox *outbox, char *take_data, size_t length);

/* Sends a copy of data and passes files with it, OUTBOX_PASSED_MAX at most; the caller keeps its
 * descriptors. One such message waits for the peer at a time: UNAVAILABLE while one does, or other
 * data, or where the kernel refuses. Nothing is sent then. */
#define OUTBOX_PASSED_MAX 4
enum berth_code outbox_pass(struct outbox *outbox, const char *data, size_t length,
                            const int *descriptor, size_t count, struct berth_err *err);

/* Returns the bytes that wait for the peer to read. */
size_t outbox_unsent(const struct outbox *outbox);

/* Returns the queued bytes that were sent. */
uint64_t outbox_gone(const struct outbox *outbox);
