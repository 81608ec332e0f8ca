/**
 * A call of io.berth.Placement.Bind, read from JSON.
 */
#pragma once
#include <jansson.h>

#include "plan/bind/bind.h"
#include "plan/bind/traffic_request.h"

/* Size of each flow of a pattern when neither bytes nor host_bytes are given. The choice of GPUs
 * depends little on it. */
#define BIND_BYTES_ASSUMED (INT64_C(64) << 20)

struct bind_asked {
    json_t *params; /* owned until the traffic is read */
    struct bind_request request;
    struct allowed allowed;
    int64_t *ranks; /* owned, one for each task; NULL not given */
    /* owned; empty also when a pattern has no partners for these ranks */
    struct traffic traffic;
    enum traffic_pattern pattern;
    int64_t bytes_assumed; /* the pattern has no size: host_bytes, else BIND_BYTES_ASSUMED; 0 */
    const char *key;       /* borrowed; NULL none */
    bool shows_all;
};

/* Reads all but the traffic. Fails with INVALID_PARAMETER, NO_SUCH_PLACE, NOTHING_ALLOWED,
 * NO_MEMORY. End ret with query_bind_request_done, also on failure. */
enum berth_code query_bind_request(const struct graph *graph, json_t *params,
                                   struct bind_asked *ret, struct berth_err *err);

/* Reads the traffic, which takes milliseconds for a million tasks or thousands of flows. Fails with
 * INVALID_PARAMETER, NOT_ENOUGH (more than memory holds), NO_MEMORY. Any thread. */
enum berth_code query_bind_traffic(const struct graph *graph, struct bind_asked *asked,
                                   struct berth_err *err);
void query_bind_request_done(struct bind_asked *asked);
