/* Crowds of a fair share: streams and limits that are connected, found by union-find. */
#include "sim/share_inner.h"

static uint16_t first_of(struct load_share *share, uint16_t limit)
{
    while (share->state[limit].with != limit)
        limit = share->state[limit].with = share->state[share->state[limit].with].with;
    return limit;
}

static size_t number_of(struct load_share *share, uint16_t limit)
{
    return share->state[first_of(share, limit)].crowd - 1U;
}

size_t load_share_crowds(struct load_share *share)
{
    size_t count = 0, streams = 0, limits = 0;
    for (size_t i = 0; i < share->active_count; i++)
        for (unsigned u = 1; u < share->active[i].use_count; u++)
            share->state[first_of(share, share->active[i].use[u])].with =
                first_of(share, share->active[i].use[0]);
    for (size_t i = 0; i < share->binding_count; i++) {
        struct state *first = &share->state[first_of(share, share->touched[i])];
        if (first->crowd == 0) {
            share->crowd[count] = (struct crowd){0};
            first->crowd = (uint16_t)++count;
        }
        share->crowd[first->crowd - 1U].limit_count++;
    }
    for (size_t i = 0; i < share->active_count; i++)
        share->crowd[number_of(share, share->active[i].use[0])].active_count++;
    for (size_t c = 0; c < count; c++) {
        struct crowd *crowd = &share->crowd[c];
        crowd->active = share->by_crowd + streams;
        crowd->going = share->going + streams;
        crowd->by_rate = share->by_rate + streams;
        crowd->limit = share->limit_by_crowd + limits;
        streams += crowd->active_count;
        limits += crowd->limit_count;
        crowd->active_count = crowd->limit_count = 0;
    }
    for (size_t i = 0; i < share->binding_count; i++) {
        struct crowd *crowd = &share->crowd[number_of(share, share->touched[i])];
        crowd->limit[crowd->limit_count++] = share->touched[i];
    }
    for (size_t i = 0; i < share->active_count; i++) {
        struct crowd *crowd = &share->crowd[number_of(share, share->active[i].use[0])];
        crowd->active[crowd->active_count++] = share->active[i];
    }
    return count;
}
