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
    /* matches the method's parameters in the .varlink file; freed when the handler returns */
    json_t *params;
    const struct peer *peer;
    bool more;
    const struct snapshot *snap; /* borrowed; snapshot_ref to keep it beyond the handler */
    struct daemon *daemon;
};

enum outcome_kind { OUTCOME_RESULT, OUTCOME_WORK, OUTCOME_STREAM };

/* Results of a stream's next(). ERROR ends the stream too. */
enum stream_step { STREAM_WAIT, STREAM_REPLY, STREAM_LAST, STREAM_ERROR };

struct outcome {
    enum outcome_kind kind;
    json_t *result; /* RESULT: the reply's parameters, owned by the outcome */

    /* work runs on the thread pool and uses only state: no part of the daemon but referenced
     * snapshots. WORK: makes the result. STREAM: optional, runs once before the first next(). */
    void *state;
    enum berth_code (*work)(void *state, json_t **ret_result, struct berth_err *err);

    /* RESULT and WORK: optional, writes the reply's parameters, one JSON object, from state where a
     * tree would cost more than the rest of the answer. WORK: runs on the thread pool, in place of
     * work. A failure drops the written text. */
    enum berth_code (*write)(void *state, struct print *reply, struct berth_err *err);

    /* RESULT and WORK with write: files that are passed with the reply, in state; borrowed. 0:
     * none. A caller that has not read the reply with such files before gets UNAVAILABLE. */
    const int *descriptor;
    size_t descriptor_count;

    /* STREAM: called on the loop after each wake of the notifier, when the peer has room. Gives at
     * most one reply a call. A caller without more gets only the reply of STREAM_LAST. */
    enum stream_step (*next)(void *state, json_t **ret_reply, struct berth_err *err);
    bool acts; /* next has the call's effect, so it is called for a oneway call, too */

    void (*free_state)(void *state); /* always called at the end, on the loop */
};

/* On failure the outcome is untouched and the error is sent. That is the fourth outcome, ERROR. */
typedef enum berth_code (*method_handler)(const struct call *call, struct outcome *ret,
                                          struct berth_err *err);

struct method {
    const char *name; /* "io.berth.Fabric.GetNode" */
    enum method_access access;
    /* NULL: not implemented in this version, reported only to peers with access */
    method_handler handle;
};

/* The table, serve/methods.c; ends with a NULL name. */
extern const struct method methods[];
