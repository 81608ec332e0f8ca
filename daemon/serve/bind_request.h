/**
 * What a call of io.berth.Placement.Bind asks for, from JSON.
 */
#pragma once
#include <jansson.h>

#include "plan/bind/bind.h"
#include "plan/bind/traffic_request.h"

/* What each flow of a pattern carries where nobody says, nor what goes to the host: which gpus suit
 * a shape depends little on its size. */
#define BIND_BYTES_ASSUMED (INT64_C(64) << 20)

struct bind_asked {
    json_t *params; /* owned until the traffic is read */
    struct bind_request request;
    struct allowed allowed;
    int64_t *ranks; /* owned, one for each task; NULL not given */
    /* owned; none also where a pattern leaves these ranks nobody to send to */
    struct traffic traffic;
    bool names_traffic;   /* a pattern or flows */
    bool is_size_assumed; /* of a pattern: host_bytes, else BIND_BYTES_ASSUMED */
    const char *key;      /* borrowed; NULL none */
    bool shows_all;
};

/* All but the traffic. INVALID_PARAMETER, NO_SUCH_PLACE, NOTHING_ALLOWED, NO_MEMORY. The caller
 * ends ret with query_bind_request_done also on failure. */
enum berth_code query_bind_request(const struct graph *graph, json_t *params,
                                   struct bind_asked *ret, struct berth_err *err);

/* The traffic: of a million tasks or thousands of flows it takes milliseconds. INVALID_PARAMETER,
 * NOT_ENOUGH (more than memory holds), NO_MEMORY. Any thread. */
enum berth_code query_bind_traffic(const struct graph *graph, struct bind_asked *asked,
                                   struct berth_err *err);
void query_bind_request_done(struct bind_asked *asked);
