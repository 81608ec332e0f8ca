/**
 * What a call of io.berth.Placement.Bind asks for, from JSON.
 */
#pragma once
#include <jansson.h>

#include "plan_bind.h"
#include "plan_traffic.h"

struct bind_asked {
    struct bind_request request;
    struct allowed allowed;
    int64_t *ranks;         /* owned, one for each task; NULL not given */
    struct traffic traffic; /* owned; none also where a pattern leaves these ranks nobody to send to */
    bool names_traffic;     /* a pattern or flows */
    const char *key;        /* borrowed; NULL none */
    bool shows_all;
};

/* INVALID_PARAMETER, NO_SUCH_PLACE, NOTHING_ALLOWED, NOT_ENOUGH (more than memory holds), NO_MEMORY. The caller ends ret with query_bind_request_done also on failure. */
enum berth_code query_bind_request(const struct graph *graph, const json_t *params, struct bind_asked *ret, struct berth_err *err);
void query_bind_request_done(struct bind_asked *asked);
