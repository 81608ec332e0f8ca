#include "share.h"

#include <math.h>

double share_capacity(const struct share_resource *resource, unsigned flows)
{
    double capacity = resource->capacity;
    for (size_t i = 0; i < resource->step_count && resource->step[i].flows <= flows; i++)
        capacity = resource->step[i].capacity;
    return capacity;
}

static void fill_rooms(const struct share_resource *resources, size_t resource_count,
                       struct share_room *room, struct share_flow **flows, size_t flow_count)
{
    for (size_t i = 0; i < resource_count; i++)
        room[i] = (struct share_room){0};
    for (size_t i = 0; i < flow_count; i++)
        for (size_t k = 0; k < flows[i]->use_count; k++)
            room[flows[i]->use[k].resource].flows++;
    for (size_t i = 0; i < resource_count; i++)
        room[i].left = share_capacity(&resources[i], room[i].flows);
}

static double alone(const struct share_resource *resources, const struct share_flow *flow)
{
    double rate = flow->limit;
    for (size_t k = 0; k < flow->use_count; k++)
        rate =
            fmin(rate, share_capacity(&resources[flow->use[k].resource], 1) / flow->use[k].weight);
    return rate;
}

static void proportional(const struct share_resource *resources, struct share_room *room,
                         struct share_flow **flows, size_t flow_count)
{
    for (size_t i = 0; i < flow_count; i++) {
        flows[i]->rate = alone(resources, flows[i]);
        for (size_t k = 0; k < flows[i]->use_count; k++)
            room[flows[i]->use[k].resource].growth += flows[i]->rate * flows[i]->use[k].weight;
    }
    for (size_t i = 0; i < flow_count; i++) {
        double part = 1;
        for (size_t k = 0; k < flows[i]->use_count; k++) {
            const struct share_room *own = &room[flows[i]->use[k].resource];
            part = fmin(part, own->left / own->growth);
        }
        flows[i]->rate *= part;
    }
}

static double speed(enum share_discipline discipline, const struct share_flow *flow)
{
    return discipline == SHARE_UNFAIR ? 1 / (1 + (double)flow->rank) : 1;
}

/* A negative rate marks a flow that still grows: minus one minus its rate. */
static bool is_growing(const struct share_flow *flow) { return flow->rate < 0; }
static double rate_of(const struct share_flow *flow)
{
    return is_growing(flow) ? -1 - flow->rate : flow->rate;
}

/* How far all can grow until the first limit or resource is reached. */
static double next_stop(enum share_discipline discipline, struct share_room *room,
                        size_t resource_count, struct share_flow **flows, size_t flow_count)
{
    double step = INFINITY;
    for (size_t i = 0; i < resource_count; i++)
        room[i].growth = 0;
    for (size_t i = 0; i < flow_count; i++) {
        if (!is_growing(flows[i]))
            continue;
        double own = speed(discipline, flows[i]);
        step = fmin(step, (flows[i]->limit - rate_of(flows[i])) / own);
        for (size_t k = 0; k < flows[i]->use_count; k++)
            room[flows[i]->use[k].resource].growth += own * flows[i]->use[k].weight;
    }
    for (size_t i = 0; i < resource_count; i++)
        if (room[i].growth > 0)
            step = fmin(step, room[i].left / room[i].growth);
    return fmax(step, 0);
}

static bool is_stopped(const struct share_resource *resources, const struct share_room *room,
                       const struct share_flow *flow)
{
    static const double enough = 1 - 1e-12;
    if (rate_of(flow) >= flow->limit * enough)
        return true;
    for (size_t k = 0; k < flow->use_count; k++) {
        const struct share_room *own = &room[flow->use[k].resource];
        if (own->left <=
            share_capacity(&resources[flow->use[k].resource], own->flows) * (1 - enough))
            return true;
    }
    return false;
}

void share_rates(enum share_discipline discipline, const struct share_resource *resources,
                 size_t resource_count, struct share_room *room, struct share_flow **flows,
                 size_t flow_count)
{
    fill_rooms(resources, resource_count, room, flows, flow_count);
    if (discipline == SHARE_PROPORTIONAL) {
        proportional(resources, room, flows, flow_count);
        return;
    }
    for (size_t i = 0; i < flow_count; i++)
        flows[i]->rate = -1;
    for (size_t growing = flow_count; growing > 0;) {
        double step = next_stop(discipline, room, resource_count, flows, flow_count);
        for (size_t i = 0; i < flow_count; i++)
            if (is_growing(flows[i])) {
                double more = step * speed(discipline, flows[i]);
                flows[i]->rate -= more;
                for (size_t k = 0; k < flows[i]->use_count; k++)
                    room[flows[i]->use[k].resource].left -= more * flows[i]->use[k].weight;
            }
        size_t stopped = 0;
        for (size_t i = 0; i < flow_count; i++)
            if (is_growing(flows[i]) && is_stopped(resources, room, flows[i])) {
                flows[i]->rate = rate_of(flows[i]);
                stopped++;
            }
        growing = stopped > 0 ? growing - stopped : 0;
    }
    for (size_t i = 0; i < flow_count; i++)
        flows[i]->rate = rate_of(flows[i]);
}
