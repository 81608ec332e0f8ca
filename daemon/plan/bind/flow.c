#include "plan/bind/flow.h"

struct load_flow plan_bind_flow_between(const struct bind_price *price, enum outside outside,
                                        double bytes, size_t from, size_t to, uint16_t memory)
{
    uint16_t slot = (uint16_t)from, host = memory != NOWHERE ? memory : price->memory[from],
             nic = price->nic[from];
    switch (outside) {
    case OUTSIDE_TO_HOST:
        return (struct load_flow){.from = slot, .to = host, .bytes = bytes};
    case OUTSIDE_FROM_HOST:
        return (struct load_flow){.from = host, .to = slot, .bytes = bytes};
    case OUTSIDE_TO_NIC:
        return (struct load_flow){.from = slot, .to = nic, .bytes = bytes};
    case OUTSIDE_FROM_NIC:
        return (struct load_flow){.from = nic, .to = slot, .bytes = bytes};
    case OUTSIDE_NONE:
    case OUTSIDES:
        break;
    }
    return (struct load_flow){.from = slot, .to = (uint16_t)to, .bytes = bytes};
}

bool plan_bind_flow_is_known(const struct bind_price *price, const struct load_flow *flow)
{
    return flow->from == flow->to ||
           (flow->from != NOWHERE && flow->to != NOWHERE &&
            plan_load_known(price->table, flow->from, flow->to) != LOAD_NOTHING);
}
