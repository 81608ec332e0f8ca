#include "cost/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/limits_inner.h"

/* ---- pairs and limits ---- */

struct limits_pair *limits_pair_of(const struct limits *limits, place_id from, place_id to)
{
    uint16_t x = limits->slot[from], y = limits->slot[to];
    return x == UINT16_MAX || y == UINT16_MAX ? NULL : &limits->pair[x * limits->slot_count + y];
}

const struct limits_pair *limits_pair(const struct limits *limits, place_id from, place_id to)
{
    static const struct limits_pair none = {.unstated = LIMITS_NO_LINK,
                                            .narrowest = LIMITS_NO_LINK};
    const struct limits_pair *pair = limits_pair_of(limits, from, to);
    return pair != NULL ? pair : &none;
}

bool limits_pair_has(const struct limits_pair *pair, size_t count, size_t limit)
{
    bool has = false;
    for (size_t i = 0; i < count && !has; i++)
        has = pair->use[i] == limit;
    return has;
}

bool limits_link_kind(const struct limits *limits, const struct limits_pair *pair,
                      enum link_kind *ret)
{
    if (!(pair->bytes_per_s > 0) || pair->narrowest == LIMITS_NO_LINK)
        return false;
    *ret = limits->graph->links[pair->narrowest].kind;
    return true;
}

struct limit *limits_find(const struct limits *limits, const struct limit_role *role)
{
    for (size_t i = 0; i < limits->count && limits->item[i].source != LIMIT_RUNS; i++) {
        const struct limit_role *its = &limits->item[i].role;
        if (its->part == role->part && its->direction == role->direction &&
            its->place == role->place && its->other == role->other)
            return &limits->item[i];
    }
    return NULL;
}

static bool is_user(const struct limit *limit, place_id from, place_id to, const char *axes)
{
    bool is = limit->has_role;
    for (size_t i = 0; i < limit->user_count && !is; i++)
        is = limit->user[i].from == from && limit->user[i].to == to &&
             strcmp(limit->user[i].axes, axes) == 0;
    return is;
}

bool limits_uses(const struct limits *limits, const struct limit *limit, place_id from, place_id to,
                 const char *axes)
{
    const struct limits_pair *pair = limits_pair(limits, from, to);
    return limits_pair_has(pair, pair->use_count, (size_t)(limit - limits->item)) &&
           is_user(limit, from, to, axes);
}

size_t limits_of(const struct limits *limits, unsigned kind, place_id from, place_id to,
                 const char *axes, uint16_t ret[LIMITS_USES_MAX])
{
    const struct limits_pair *pair = limits_pair(limits, from, to);
    size_t count = 0;
    for (size_t i = pair->part_count; i < pair->use_count; i++) {
        const struct limit *limit = &limits->item[pair->use[i]];
        if (transfer_kind_of(limit->metric) == kind && is_user(limit, from, to, axes))
            ret[count++] = pair->use[i];
    }
    for (size_t i = 0; i < pair->part_count; i++) {
        const struct limit *limit = &limits->item[pair->use[i]];
        if (limit->step_count > 0 && (limit->kinds == 0 || (limit->kinds & kind) != 0))
            ret[count++] = pair->use[i];
    }
    return count;
}

static bool is_way(const struct limit *limit)
{
    return limit->role.direction != LIMIT_BOTH && limit->role.part < LIMIT_MEMORY;
}

static bool is_on(const struct limits_pair *pair, uint16_t item)
{
    bool is = limits_pair_has(pair, pair->part_count, item);
    for (size_t i = 0; i < pair->other_count && !is; i++)
        is = pair->other[i] == item;
    return is;
}

bool limits_meet(const struct limits *limits, struct limits_ends a, struct limits_ends b)
{
    const struct limits_pair *x = limits_pair(limits, a.from, a.to),
                             *y = limits_pair(limits, b.from, b.to);
    bool meet = x == y || !x->is_known || !y->is_known;
    for (size_t i = 0; i < x->part_count && !meet; i++)
        meet = is_way(&limits->item[x->use[i]]) && is_on(y, x->use[i]);
    for (size_t i = 0; i < x->other_count && !meet; i++)
        meet = is_on(y, x->other[i]);
    return meet;
}

double limits_capacity(const struct limit_step *step, size_t count, size_t users)
{
    double capacity = INFINITY;
    for (size_t i = 0; i < count && step[i].flows <= users; i++)
        capacity = step[i].bytes_per_s;
    return capacity;
}

static int compare_alone(const void *a, const void *b)
{
    const struct value *x = a, *y = b;
    if (x->metric != y->metric)
        return x->metric < y->metric ? -1 : 1;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to > y->to) - (x->to < y->to);
}

const struct value *limits_alone(const struct limits *limits, enum metric metric, place_id from,
                                 place_id to)
{
    const struct value key = {.metric = metric, .from = from, .to = to};
    return bsearch(&key, limits->alone, limits->alone_count, sizeof key, compare_alone);
}

uint16_t limits_add(struct limits *limits)
{
    size_t count = limits->count;
    if ((count & (count - 1)) == 0) {
        struct limit *more =
            realloc(limits->item, (count > 0 ? 2 * count : 1) * sizeof *limits->item);
        if (more == NULL || count >= UINT16_MAX) {
            limits->item = more != NULL ? more : limits->item;
            return UINT16_MAX;
        }
        limits->item = more;
    }
    limits->item[count] = (struct limit){.source = LIMIT_STATED};
    return (uint16_t)limits->count++;
}

void limits_free(struct limits *limits)
{
    if (limits == NULL)
        return;
    for (size_t i = 0; i < limits->count; i++)
        free(limits->item[i].user);
    for (size_t i = 0; i < limits->run_count; i++)
        free(limits->run[i].predicted);
    free(limits->item);
    free(limits->run);
    free(limits->alone);
    free(limits->pair);
    free(limits->slot);
    free(limits);
}
