/* What a structure is made of (cost/resource_make.c) and asked of (cost/resource_structure.c). */
#pragma once
#include "cost/resource_structure.h"

/* Of two places: from one to the other. */
struct resource_pair {
    double bytes_per_s;
    uint32_t unstated, narrowest; /* links */
    const struct value *cores;
    uint16_t use[RESOURCE_STRUCTURE_USES];
    uint8_t use_count;
    bool several;
    bool over_host; /* between gpus: no way over links of gpus is known */
    /* it has one of several ways over gpus; over several switches bytes go at once */
    bool is_guess;
};

/* NULL when one of them is no end of transfers, or there are too many. */
struct resource_pair *resource_structure_pair(const struct resource_structure *structure,
                                              place_id from, place_id to);
