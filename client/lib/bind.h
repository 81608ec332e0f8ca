/**
 * Bind's reply, for who has made the request by itself.
 */
#pragma once
#include "lib/lib.h"

/* Takes the parameters of the reply, also on failure. PROTOCOL, OUT_OF_MEMORY. */
int lib_bind_read(struct berth *berth, json_t *take_reply, struct berth_binding **ret_binding);
