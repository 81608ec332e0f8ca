/**
 * Sets of transfers with the host that no fair shares explain, and of which each transfer is taken
 * to get what it got there: known of a table. Those of one sort that nothing tells apart
 * (cost/alike.h) have one's rates. Asked for once, when a table has its rides.
 */
#pragma once
#include "cost/load_table.h"

/* False when out of memory. */
bool plan_load_known_find(struct load_table *table);
