/**
 * Kinds of predictions whose errors are alike: the method, the form of what is predicted, its
 * users, its size, and the source of the number. Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cost/estimate.h"
#include "cost/memkind.h"
#include "node/graph.h"
#include "plan/bind/traffic_request.h"

struct alloc_request;
struct bind_request;
struct route_option;
struct route_request;

enum report_method { REPORT_BIND, REPORT_ROUTE, REPORT_ALLOCATE, REPORT_METHODS };

struct report_kind {
    enum report_method method;
    unsigned form;      /* bits, by method (report_kind.c) */
    unsigned users;     /* binary logarithm of tasks, of transfers, or of accesses */
    unsigned size;      /* logarithm to base 4 of the bytes that bytes names */
    enum source source; /* set by report_view_name */
    int64_t bytes;      /* of the request: a transfer, a buffer, the largest flow; 0 none */
};

/* Return the kind of what these methods predict, without the source. */
struct report_kind report_kind_bind(const struct bind_request *request,
                                    enum traffic_pattern pattern, int64_t gpus_per_task);
struct report_kind report_kind_route(const struct graph *graph, const struct route_request *request,
                                     const struct route_option *option);
struct report_kind report_kind_alloc(const struct alloc_request *request, enum memkind kind,
                                     const struct graph *graph);

/* A kind as a number, without its bytes, and back; false for a number that is of none. */
uint32_t report_kind_pack(const struct report_kind *kind);
bool report_kind_unpack(uint32_t number, struct report_kind *ret);

/* The method's name on the wire, and the form in words, such as "ring, host, gpus". */
const char *report_kind_method(const struct report_kind *kind);
#define REPORT_KIND_SIZE 64
const char *report_kind_text(const struct report_kind *kind, char text[REPORT_KIND_SIZE]);
