/* A flow of the tasks' traffic where its task is: between which places of the table. Private to
 * plan_bind_price. */
#pragma once
#include "plan/bind/price_inner.h"

/* A flow with this sort of other end on these slots; memory NOWHERE: that of the gpu. */
struct load_flow plan_bind_flow_between(const struct bind_price *price, enum outside outside,
                                        double bytes, size_t from, size_t to, uint16_t memory);

/* Whether something says what it takes. */
bool plan_bind_flow_is_known(const struct bind_price *price, const struct load_flow *flow);
