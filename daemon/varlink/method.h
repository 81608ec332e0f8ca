/**
 * Methods: a row of one table each. A handler gets checked arguments and a snapshot and returns one
 * of four outcomes; the connection does the sending. No handler blocks.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/peer.h"
#include "base/print.h"

struct daemon;   /* serve/daemon.h; the server only passes it on */
struct snapshot; /* node/snapshot.h; likewise */

enum method_access { ACCESS_ANY, ACCESS_ADMIN };

struct call {
    const struct method *method;
    /* an object that matches the method's parameters in the .varlink file; gone when the handler
     * returns */
    json_t *params;
    const struct peer *peer;
    bool more;
    struct snapshot *snap; /* borrowed; snapshot_ref to keep it beyond the handler */
    struct daemon *daemon;
};

enum outcome_kind { OUTCOME_RESULT, OUTCOME_WORK, OUTCOME_STREAM };

/* What a stream's next() found. ERROR ends the stream too. */
enum stream_step { STREAM_WAIT, STREAM_REPLY, STREAM_LAST, STREAM_ERROR };

struct outcome {
    enum outcome_kind kind;
    json_t *result; /* RESULT: the reply's parameters, owned by the outcome */

    /* work runs on the thread pool over state alone: for WORK it makes the result; for STREAM it is
     * optional and runs once before the first next(). It touches nothing of the daemon but
     * referenced snapshots in state. */
    void *state;
    enum berth_code (*work)(void *state, json_t **ret_result, struct berth_err *err);

    /* RESULT and WORK may write the reply's parameters, one JSON object, from state instead: where
     * a tree would cost more than the rest of the answer. For WORK it runs where work would. What
     * it wrote before it failed is dropped. */
    enum berth_code (*write)(void *state, struct print *reply, struct berth_err *err);

    /* STREAM: called on the loop whenever the notifier was woken and the peer has room; gives at
     * most one reply a call. A caller without more gets the one reply of STREAM_LAST only. */
    enum stream_step (*next)(void *state, json_t **ret_reply, struct berth_err *err);
    bool acts; /* next has the call's effect: it is called for a oneway call, too */

    void (*free_state)(void *state); /* always called in the end, on the loop */
};

/* On failure the outcome is untouched and the error is sent. That is the fourth outcome, ERROR. */
typedef enum berth_code (*method_handler)(const struct call *call, struct outcome *ret,
                                          struct berth_err *err);

struct method {
    const char *name; /* "io.berth.Fabric.GetNode" */
    enum method_access access;
    /* NULL: this version does not answer it, but says so only to whom it may */
    method_handler handle;
};

/* The table, serve/methods.c; ends with a NULL name. */
extern const struct method methods[];
