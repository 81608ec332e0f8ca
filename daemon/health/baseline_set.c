/* A set of baselines and expected hardware: growth and release. */
#include "health/baseline.h"

#include <stdlib.h>

bool baseline_set_init(struct baseline_set *set)
{
    *set = (struct baseline_set){.values = values_new()};
    return set->values != NULL;
}

void baseline_set_done(struct baseline_set *set)
{
    values_free(set->values);
    free(set->baseline);
    free(set->samples);
    free(set->place);
    *set = (struct baseline_set){0};
}

bool baseline_set_add(struct baseline_set *set, enum metric metric, place_id from, place_id to,
                      const char *axes, const struct baseline *baseline,
                      const struct baseline_values *samples)
{
    size_t at = set->values->count;
    if (at == set->room) {
        size_t room = set->room + set->room / 2 + 64;
        struct baseline *more = realloc(set->baseline, room * sizeof *more);
        if (more == NULL)
            return false;
        set->baseline = more;
        struct baseline_values *more_samples = realloc(set->samples, room * sizeof *more_samples);
        if (more_samples == NULL)
            return false;
        set->samples = more_samples;
        set->room = room;
    }
    struct value key = {.metric = metric, .from = from, .to = to, .value = baseline->median};
    if (!values_add(set->values, &key, axes, NULL))
        return false;
    set->baseline[at] = *baseline;
    set->samples[at] = *samples;
    return true;
}

bool baseline_set_add_place(struct baseline_set *set, const struct expected_place *place)
{
    if (set->place_count == set->place_room) {
        size_t room = 2 * set->place_room + 16;
        struct expected_place *more = realloc(set->place, room * sizeof *more);
        if (more == NULL)
            return false;
        set->place = more;
        set->place_room = room;
    }
    set->place[set->place_count++] = *place;
    return true;
}
