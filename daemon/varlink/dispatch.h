/**
 * One call, from its text to its outcome: it reads the envelope, finds the method, asks whether the
 * peer may, checks the parameters against the interface file and calls the handler. Knows nothing
 * of sockets.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "varlink/method.h"
#include "varlink/reply.h"
#include "varlink/service.h"

/* What calls are answered from. */
struct dispatch_context {
    const struct service *service;
    struct daemon *daemon;
    struct snapshot *(*snapshot)(struct daemon *daemon); /* the current one, borrowed */
};

struct dispatch {
    json_t *message;                     /* owned; NULL when there is no call */
    const struct service_method *method; /* NULL until it is known */
    bool more, oneway;
    bool is_checked; /* its parameters are what the method takes */
    bool is_large;   /* its message takes long to free, or is much memory */
};

/* Whether a message is small enough to be opened between others on the loop: below 0.1
 * milliseconds. */
bool dispatch_is_light(const char *text, size_t length);

/* Whether "oneway": true stands in a message that is not parsed, or in its beginning, and not in
 * what it contains. */
bool dispatch_may_be_oneway(const char *text, size_t length);

/* Parses length bytes. Fails with BAD_DATA when they are no JSON object (broken UTF-8, a key twice,
 * nesting past jansson's 2048 levels and NaN are none; a number beyond 64 bits or a double is read
 * as a real, which is no integer) and when memory is too short to read one that may be oneway, with
 * NO_MEMORY when it is for any other, and with INVALID_PARAMETER, for message, when it weighs more
 * than MESSAGE_WEIGHT_MAX (varlink/message_weight.h), or BAD_DATA when that one may be oneway,
 * which is seen before it is parsed. Leaves nothing to free then. Any thread. */
enum berth_code dispatch_open(struct dispatch *dispatch, const char *text, size_t length,
                              struct berth_err *err);

/* Checks the parameters already now, so that dispatch_call need not when they are right: of a large
 * message it takes milliseconds. Any thread. */
void dispatch_check(struct dispatch *dispatch, const struct service *service);

/* Runs the call. What the message said is needed no more then, as handlers keep copies. Whatever it
 * returns, dispatch->oneway says whether an answer is wanted and dispatch_interface how to name an
 * error. */
enum berth_code dispatch_call(struct dispatch *dispatch, const struct dispatch_context *context,
                              const struct peer *peer, struct outcome *ret_outcome,
                              struct berth_err *err);

/* Takes out of the call what its message said, for the caller to free. NULL, and nothing is taken,
 * when there is no memory for that. */
json_t *dispatch_take_message(struct dispatch *dispatch);

/* The interface that errors of this call are named after. */
const char *dispatch_interface(const struct dispatch *dispatch);

/* Writes a result as a reply and lets go of it; one that is NULL could not be made: NO_MEMORY. With
 * check it must be what the interface file declares; UNAVAILABLE says what is wrong with it. Any
 * thread, one at a time for a call. */
enum berth_code dispatch_print(const struct dispatch *dispatch, bool check, json_t *take_result,
                               bool continues, struct print *reply, struct berth_err *err);

/* The same for a result that the outcome writes itself. */
enum berth_code dispatch_write(const struct dispatch *dispatch, bool check,
                               const struct outcome *outcome, struct print *reply,
                               struct berth_err *err);

/* Whether an error is one that the interface file declares; as above. */
enum berth_code dispatch_check_error(const struct dispatch *dispatch, enum berth_code code,
                                     struct berth_err *err);

void dispatch_done(struct dispatch *dispatch);
