/* A request of Route while its answer is made. */
#pragma once
#include "cost/iteration.h"
#include "plan/route/route.h"

struct route_work {
    const struct snapshot *snap;
    const struct graph *graph;
    const struct matrix *matrix;
    struct route_request request; /* memory of a gpu that Linux shows as a NUMA node is the gpu */
    double bytes;
    bool is_nominal; /* nothing is measured or published of a direct path: links stand for it */
    struct transfer concurrent[ROUTE_CONCURRENT_MAX];
    struct iteration *iteration; /* for PRICE_FLOWS_MAX flows */
    struct route_answer *answer;
};
