/* Helpers that read derived limits. Include behind cmocka.h. */
#pragma once
#include <math.h>
#include <string.h>

#include "cost/limits.h"
#include "cost/policy.h"

#define GB 1e9

static inline size_t found_count(const struct limits *limits)
{
    size_t count = 0;
    for (size_t i = 0; i < limits->count; i++)
        count += limits->item[i].source == LIMIT_RUNS;
    return count;
}

/* The first one found from runs with that name. */
static inline const struct limit *found(const struct limits *limits, const char *name)
{
    for (size_t i = 0; i < limits->count; i++)
        if (limits->item[i].source == LIMIT_RUNS && strcmp(limits->item[i].name, name) == 0)
            return &limits->item[i];
    for (size_t i = 0; i < limits->count; i++)
        if (limits->item[i].source == LIMIT_RUNS)
            print_message("there is %s, %zu users, from %u %.4g\n", limits->item[i].name,
                          limits->item[i].user_count, limits->item[i].step[0].flows,
                          limits->item[i].step[0].bytes_per_s);
    fail_msg("no %s", name);
    return NULL;
}

static inline bool has_twin(const struct limits *limits, const struct limit *limit,
                            const char *name)
{
    bool has = false;
    for (size_t i = 0; i < limit->twin_count; i++)
        has = has || strcmp(limits->item[limit->twin[i]].name, name) == 0;
    return has;
}

static inline void assert_all_reproduced(const struct limits *limits, const struct sets *sets)
{
    for (size_t i = 0; i < limits->run_count; i++) {
        assert_true(limits->run[i].is_reproduced);
        for (size_t f = 0; f < sets->item[i].flow_count; f++)
            assert_true(fabs(limits->run[i].predicted[f] / sets->item[i].flow[f].bytes_per_s - 1) <=
                        POLICY_SIMILAR);
    }
}
