/**
 * Parts that requests share, from JSON. The server has checked names and types against the
 * interface; these check what the values mean, and refuse a wrong type all the same. An absent
 * member and null are the same.
 *
 * Unlike elsewhere, ret is set on failure too: to what an absent member gives. A caller that looks
 * at it before it looks at the code finds nothing there, never what was on the stack.
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

/* The member "allowed" of params; absent: the whole node, given is false. NOTHING_ALLOWED when cpus
 * or memory is empty or names nothing that this node has; NO_SUCH_PLACE; INVALID_PARAMETER
 * (allowed.cpus, ...); NO_MEMORY. The caller ends ret with allowed_done. */
enum berth_code request_allowed(const struct graph *graph, const json_t *params,
                                struct allowed *ret, struct berth_err *err);

/* An integer from min to max; fallback when absent. INVALID_PARAMETER naming it. */
enum berth_code request_int(const json_t *params, const char *name, int64_t min, int64_t max,
                            int64_t fallback, int64_t *ret, struct berth_err *err);

/* The text of that name, of 1 to max bytes without control characters, so that it can be written on
 * one line; NULL when absent. Borrowed from params. INVALID_PARAMETER naming it. */
enum berth_code request_text(const json_t *params, const char *name, size_t max, const char **ret,
                             struct berth_err *err);

/* One of the words (NULL-terminated), as its index; fallback when absent. */
enum berth_code request_word(const json_t *params, const char *name, const char *const *words,
                             int fallback, int *ret, struct berth_err *err);

/* The array of that name, or NULL when absent. */
enum berth_code request_array(const json_t *params, const char *name, size_t max,
                              const json_t **ret, struct berth_err *err);

/* The place that a JSON string names; parameter is for the error. */
enum berth_code request_place(const struct graph *graph, const json_t *name, const char *parameter,
                              place_id *ret, struct berth_err *err);

/* NO_SUCH_PLACE, whose detail says what there is: of the kind that the name begins with, else of
 * each kind. */
enum berth_code request_no_such_place(const struct graph *graph, const char *name,
                                      struct berth_err *err);

/* INVALID_PARAMETER to where the metric is between two places and these are one. */
enum berth_code request_ends(const struct graph *graph, enum metric metric, place_id from,
                             place_id to, struct berth_err *err);

/* The places that the array "places" names, by place id; NULL when it is absent or empty.
 * NO_SUCH_PLACE, INVALID_PARAMETER, NO_MEMORY. The caller frees. */
enum berth_code request_places(const struct graph *graph, const json_t *params, bool **ret,
                               struct berth_err *err);

/* The object "where" as canonical axes of the metric; "" when it is absent. INVALID_PARAMETER. */
enum berth_code request_axes(const json_t *params, enum metric metric, char *buffer, size_t size,
                             struct berth_err *err);
