/**
 * Bind's reply, for callers that write the request themselves.
 */
#pragma once
#include "lib/lib.h"

/* Reads the parameters of the reply, and takes them also on failure. Fails with PROTOCOL,
 * OUT_OF_MEMORY. */
int lib_bind_read(struct berth *berth, json_t *take_reply, struct berth_binding **ret_binding);
