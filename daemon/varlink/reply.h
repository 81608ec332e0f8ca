/**
 * Replies as text: one buffer that every reply of the server is written into, NUL at its end
 * included.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/print.h"

/* Allocates enough memory for any error reply, so that these never fail. False when out of memory.
 * print_done frees it. */
bool reply_init(struct print *reply);

/* Write {"parameters":...} around one printed value, with "continues":true when more replies
 * follow. reply_end is false when memory ran out; the reply is empty then. */
void reply_begin(struct print *reply);
bool reply_end(struct print *reply, bool continues);

/* Writes a whole reply around a tree. */
bool reply_result(struct print *reply, const json_t *parameters, bool continues);

/* Writes {"error":...,"parameters":...} with the name and parameters of errors.def. interface is
 * the called method's. Bytes that are no UTF-8 become question marks: a message may quote a file or
 * be cut in the middle of a character. */
void reply_error(struct print *reply, const char *interface, const struct berth_err *err);
