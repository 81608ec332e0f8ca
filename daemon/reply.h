/**
 * Replies as text: one buffer that every reply of the server is written into, NUL at its end included.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct reply {
    char *data;
    size_t length; /* of the last reply, NUL included */
    size_t size;
};

/* Takes enough memory for any error reply, so that these never fail. False when there is none. */
bool reply_init(struct reply *reply);
void reply_done(struct reply *reply);

/* {"parameters":...} with "continues":true when more replies follow. False when out of memory; the reply is empty then.
 * Recursion is as deep as parameters are: they are our own. */
bool reply_result(struct reply *reply, const json_t *parameters, bool continues);

/* {"error":...,"parameters":...}: the name and parameters of errors.def. interface is the called method's. Bytes that are
 * no UTF-8 (a message may quote a file or be cut in the middle of a character) become question marks. */
void reply_error(struct reply *reply, const char *interface, const struct berth_err *err);
