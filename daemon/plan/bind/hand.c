#include "plan/bind/hand.h"

int plan_bind_hand_compare(const struct nearness *a, const struct nearness *b)
{
    if (a->slowness != b->slowness)
        return a->slowness < b->slowness ? -1 : 1;
    return (a->distance > b->distance) - (a->distance < b->distance);
}

struct nearness *plan_bind_hand_near(const struct hand *hand, size_t task, size_t group)
{
    return &hand->near[task * hand->cores->group_count + group];
}

bool plan_bind_hand_is_nearest(const struct hand *hand, size_t task, size_t group)
{
    return plan_bind_hand_compare(plan_bind_hand_near(hand, task, group), &hand->nearest[task]) ==
           0;
}

void plan_bind_hand_take(struct hand *hand, size_t task, size_t group)
{
    struct bind_group *from = &hand->cores->group[group];
    from->tasks++;
    for (size_t i = 0; i < hand->cores->count && hand->missing[task] > 0 && from->free > 0; i++) {
        struct bind_core *core = &hand->cores->core[i];
        if (core->group != group || core->taken)
            continue;
        core->taken = true;
        cpuset_or(&hand->cpus[task], &core->use);
        from->free--;
        hand->missing[task]--;
    }
}

bool plan_bind_hand_is_wanted(const struct hand *hand, size_t task, size_t group)
{
    return hand->request->numa != NULL &&
           hand->cores->group[group].numa == hand->request->numa[task];
}

bool plan_bind_hand_in_one(const struct hand *hand, size_t a, size_t b, enum unit unit)
{
    const struct bind_group *x = &hand->cores->group[a], *y = &hand->cores->group[b];
    place_id mine = unit == UNIT_NUMA ? x->numa : x->package,
             other = unit == UNIT_NUMA ? y->numa : y->package;
    return a == b || (mine != PLACE_NONE && mine == other);
}

unsigned plan_bind_hand_free(const struct hand *hand, size_t group, enum unit unit)
{
    unsigned count = 0;
    for (size_t g = 0; g < hand->cores->group_count; g++)
        count += plan_bind_hand_in_one(hand, g, group, unit) ? hand->cores->group[g].free : 0;
    return count;
}

bool plan_bind_hand_is_beside(const struct hand *hand, size_t task, size_t group, enum unit unit)
{
    for (size_t g = 0; g < hand->cores->group_count; g++)
        if (plan_bind_hand_is_nearest(hand, task, g) && plan_bind_hand_in_one(hand, g, group, unit))
            return true;
    return false;
}

/* Less than 0: so many free are better than so many others. Where all fits that which leaves least,
 * else that which takes most. */
static int compare_room(unsigned a, unsigned b, unsigned missing)
{
    if ((a >= missing) != (b >= missing))
        return a >= missing ? -1 : 1;
    int more = (a > b) - (a < b);
    return a >= missing ? more : -more;
}

bool plan_bind_hand_goes_before(const struct hand *hand, size_t task, size_t a, size_t b)
{
    int order = hand->near != NULL ? plan_bind_hand_compare(plan_bind_hand_near(hand, task, a),
                                                            plan_bind_hand_near(hand, task, b))
                                   : 0;
    if (order == 0)
        order = (int)plan_bind_hand_is_wanted(hand, task, b) -
                (int)plan_bind_hand_is_wanted(hand, task, a);
    if (order == 0)
        order = compare_room(plan_bind_hand_free(hand, a, UNIT_NUMA),
                             plan_bind_hand_free(hand, b, UNIT_NUMA), hand->missing[task]);
    return order != 0 ? order < 0
                      : compare_room(hand->cores->group[a].free, hand->cores->group[b].free,
                                     hand->missing[task]) < 0;
}
