/**
 * Replies as text: one buffer that every reply of the server is written into, NUL at its end
 * included.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/print.h"

/* Takes enough memory for any error reply, so that these never fail. False when there is none.
 * print_done ends it. */
bool reply_init(struct print *reply);

/* {"parameters":...} with "continues":true when more replies follow: what is printed between the
 * two is the parameters, one value. reply_end is false when memory ran out; the reply is empty
 * then. */
void reply_begin(struct print *reply);
bool reply_end(struct print *reply, bool continues);

/* Both, around a tree. */
bool reply_result(struct print *reply, const json_t *parameters, bool continues);

/* {"error":...,"parameters":...}: the name and parameters of errors.def. interface is the called
 * method's. Bytes that are no UTF-8 (a message may quote a file or be cut in the middle of a
 * character) become question marks. */
void reply_error(struct print *reply, const char *interface, const struct berth_err *err);
