/**
 * One call, from its text to its outcome. It reads the envelope, finds the method, checks the
 * peer's permission, checks the parameters against the interface file and calls the handler. It
 * knows nothing of sockets.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "varlink/method.h"
#include "varlink/reply.h"
#include "varlink/service.h"

/* Sources of every answer. */
struct dispatch_context {
    const struct service *service;
    struct daemon *daemon;
    const struct snapshot *(*snapshot)(struct daemon *daemon); /* the current one, borrowed */
};

struct dispatch {
    json_t *message;                     /* owned; NULL when there is no call */
    const struct service_method *method; /* NULL until it is found */
    bool more, oneway;
    bool is_checked; /* the call's parameters match the method's declaration */
    bool is_large;   /* the message takes long to free, or is much memory */
};

/* True when a message is small enough to be parsed between others on the loop: below 0.1 ms. */
bool dispatch_is_light(const char *text, size_t length);

/* True when "oneway": true stands at the top level of a message, complete or only its beginning,
 * that has not been parsed. */
bool dispatch_may_be_oneway(const char *text, size_t length);

/* Parses length bytes. Leaves nothing to free on failure. Any thread.
 *
 * Fails with BAD_DATA when they are no JSON object: broken UTF-8, a key twice, nesting past
 * jansson's 2048 levels or NaN. A number beyond 64 bits or a double is read as a real, which is no
 * integer. Fails with NO_MEMORY when memory is too short, and with INVALID_PARAMETER, for message,
 * when it has more items than MESSAGE_ITEMS_MAX (varlink/message.h). Both become BAD_DATA when
 * the message may be oneway, which is found without parsing. */
enum berth_code dispatch_open(struct dispatch *dispatch, const char *text, size_t length,
                              struct berth_err *err);

/* Checks the parameters in advance, so that dispatch_call skips the check when they are right: for
 * a large message it takes milliseconds. Any thread. */
void dispatch_check(struct dispatch *dispatch, const struct service *service);

/* Runs the call. Handlers keep copies, so the message may be freed afterwards. After success and
 * failure dispatch->oneway says whether the peer expects an answer, and dispatch_interface how to
 * name an error. */
enum berth_code dispatch_call(struct dispatch *dispatch, const struct dispatch_context *context,
                              const struct peer *peer, struct outcome *ret_outcome,
                              struct berth_err *err);

/* Moves the message out of the call, for the caller to free. NULL, and nothing is moved, when out
 * of memory. */
json_t *dispatch_take_message(struct dispatch *dispatch);

/* Returns the interface that errors of this call are named after. */
const char *dispatch_interface(const struct dispatch *dispatch);

/* Writes a result as a reply and frees the result. A NULL result fails with NO_MEMORY. With check
 * it must match the interface file; UNAVAILABLE says how it differs. Any thread, one at a time for
 * a call. */
enum berth_code dispatch_print(const struct dispatch *dispatch, bool check, json_t *take_result,
                               bool continues, struct print *reply, struct berth_err *err);

/* Does the same for a result that the outcome writes itself. */
enum berth_code dispatch_write(const struct dispatch *dispatch, bool check,
                               const struct outcome *outcome, struct print *reply,
                               struct berth_err *err);

/* Checks that the interface file declares an error; fails like dispatch_print. */
enum berth_code dispatch_check_error(const struct dispatch *dispatch, enum berth_code code,
                                     struct berth_err *err);

void dispatch_done(struct dispatch *dispatch);
