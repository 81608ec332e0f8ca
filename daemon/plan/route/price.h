/**
 * What an option of Route costs: alone, and beside what moves meanwhile. Route's own
 * (plan/route/route.c), while it makes an answer.
 */
#pragma once
#include "plan/route/answer.h"

/* While an answer is made. */
struct route_work {
    const struct snapshot *snap;
    struct route_request request; /* a gpu's memory that Linux shows as a NUMA node is the gpu */
    struct way_ends ends;
    struct route_answer *answer;
    struct move meanwhile[ROUTE_CONCURRENT_MAX];
};

/* The time of so many bytes by it, in what shares and pieces. */
void plan_route_price(struct route_option *option, double bytes);

/* In which way each of the request's other transfers moves, into work->meanwhile and work->ends.
 * INVALID_PARAMETER (meanwhile). */
enum berth_code plan_route_price_meanwhile(struct route_work *work, struct berth_err *err);

/* Slows the option by what its hops share with each other and with what moves meanwhile, and prices
 * it again. NO_MEMORY. */
enum berth_code plan_route_price_shared(struct route_work *work, struct route_option *option,
                                        struct berth_err *err);
