/* Helpers that read the results of a resource model. Include behind cmocka.h. */
#pragma once
#include <math.h>
#include <string.h>

#include "cost/resource_model.h"

#define GB 1e9

static inline const struct resource_found *found(const struct resource_model *model,
                                                 const char *name)
{
    for (size_t i = 0; i < model->found_count; i++)
        if (strcmp(model->found[i].name, name) == 0)
            return &model->found[i];
    for (size_t i = 0; i < model->found_count; i++)
        print_message("there is %s, %zu users, from %u %.4g\n", model->found[i].name,
                      model->found[i].user_count, model->found[i].step[0].flows,
                      model->found[i].step[0].bytes_per_s);
    fail_msg("no %s", name);
    return NULL;
}

static inline void assert_all_reproduced(const struct resource_model *model,
                                         const struct sets *sets)
{
    for (size_t i = 0; i < model->set_count; i++) {
        assert_true(model->set[i].is_reproduced);
        for (size_t f = 0; f < sets->item[i].flow_count; f++)
            assert_true(fabs(model->set[i].predicted[f] / sets->item[i].flow[f].bytes_per_s - 1) <=
                        RESOURCE_TOLERANCE);
    }
}
