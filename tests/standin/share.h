/**
 * How flows that run at the same time share what they use. Written for the stand-in drivers alone;
 * the planner has its own and shares no code with it.
 *
 * A flow uses each of its resources with a weight: bytes that pass the resource for each byte of
 * the flow.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define SHARE_USES_MAX  24
#define SHARE_STEPS_MAX 16

enum share_discipline {
    SHARE_MAXMIN, /* all grow alike, until a limit or a full resource stops them */
    /* a resource that is asked for too much gives each the same part of what that one would get
     * alone */
    SHARE_PROPORTIONAL,
    SHARE_UNFAIR /* as the first, but flow i grows with 1 / (1 + rank) of the speed */
};

/* What n flows get of a resource together: capacity, and from step[i].flows flows on
 * step[i].capacity; ascending. */
struct share_resource {
    double capacity;
    size_t step_count;
    struct {
        unsigned flows;
        double capacity;
    } step[SHARE_STEPS_MAX];
};

struct share_flow {
    double limit;  /* its own rate; above 0 */
    unsigned rank; /* for SHARE_UNFAIR */
    size_t use_count;
    struct {
        unsigned resource;
        double weight;
    } use[SHARE_USES_MAX];
    double rate; /* result */
};

double share_capacity(const struct share_resource *resource, unsigned flows);

/* Sets the rate of every flow. room is for resource_count elements of struct share_room, which the
 * caller keeps; so that no call needs memory. */
struct share_room {
    double left, growth;
    unsigned flows;
};
void share_rates(enum share_discipline discipline, const struct share_resource *resources,
                 size_t resource_count, struct share_room *room, struct share_flow **flows,
                 size_t flow_count);
