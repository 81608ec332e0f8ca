/**
 * Parts shared by requests, read from JSON. The server has checked names and types against the
 * interface. These functions check values, and types as well. An absent member equals null.
 *
 * Unlike elsewhere, ret is set on failure too, to the value of an absent member. So a caller that
 * reads it before the code never reads uninitialised memory.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/request_limits.h"
#include "node/allowed.h"
#include "node/graph.h"
#include "node/metric.h"

_Static_assert(BIND_THREADS_MAX == CPUSET_MAX && ALLOC_CORES_MAX == CPUSET_MAX,
               "as many cpus as a set holds");

/* Reads the member "allowed"; absent: the whole node, with given false. Fails with NOTHING_ALLOWED
 * when cpus or memory is empty or has nothing on this node, NO_SUCH_PLACE, INVALID_PARAMETER
 * (allowed.cpus, ...), NO_MEMORY. End ret with allowed_done. */
enum berth_code request_allowed(const struct graph *graph, const json_t *params,
                                struct allowed *ret, struct berth_err *err);

/* Reads an integer from min to max; fallback when absent. Fails with INVALID_PARAMETER, which names
 * it. */
enum berth_code request_int(const json_t *params, const char *name, int64_t min, int64_t max,
                            int64_t fallback, int64_t *ret, struct berth_err *err);

/* Reads a text of 1 to max bytes without control characters, so that it fits on one line; NULL when
 * absent. Borrowed from params. Fails with INVALID_PARAMETER, which names it. */
enum berth_code request_text(const json_t *params, const char *name, size_t max, const char **ret,
                             struct berth_err *err);

/* Reads one of the words (NULL-terminated) as its index; fallback when absent. Fails with
 * INVALID_PARAMETER. */
enum berth_code request_word(const json_t *params, const char *name, const char *const *words,
                             int fallback, int *ret, struct berth_err *err);

/* Reads an array of at most max items; NULL when absent. Borrowed from params. Fails with
 * INVALID_PARAMETER. */
enum berth_code request_array(const json_t *params, const char *name, size_t max,
                              const json_t **ret, struct berth_err *err);

/* Returns the place that a JSON string names; errors name parameter. Fails with NO_SUCH_PLACE,
 * INVALID_PARAMETER. */
enum berth_code request_place(const struct graph *graph, const json_t *name, const char *parameter,
                              place_id *ret, struct berth_err *err);

/* Fails with NO_SUCH_PLACE. The detail lists the places of the kind that the name begins with, or
 * else of each kind. */
enum berth_code request_no_such_place(const struct graph *graph, const char *name,
                                      struct berth_err *err);

/* Fails with INVALID_PARAMETER (to) when the metric is between two places and both ends are the
 * same. */
enum berth_code request_ends(const struct graph *graph, enum metric metric, place_id from,
                             place_id to, struct berth_err *err);

/* Reads the array "places" as flags by place id; NULL when it is absent or empty. Fails with
 * NO_SUCH_PLACE, INVALID_PARAMETER, NO_MEMORY. The caller frees *ret. */
enum berth_code request_places(const struct graph *graph, const json_t *params, bool **ret,
                               struct berth_err *err);

/* Reads the object "where" as canonical axes of the metric; "" when absent. Fails with
 * INVALID_PARAMETER. */
enum berth_code request_axes(const json_t *params, enum metric metric, char *buffer, size_t size,
                             struct berth_err *err);
