/* What a search for gpus knows beside prices: what each transfer takes alone between each two gpus,
 * and what it puts on what others use as well. Of plan/bind/price.c alone. */
#pragma once
#include "plan/bind/price_inner.h"

/* Fills arc, use, sort and start_ns. False when out of memory. */
bool plan_bind_arcs(struct bind_price *price);
