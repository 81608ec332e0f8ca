#include "plan/route/option.h"

#include <string.h>

/* Without a price. */
static void begin(const struct route_work *work, const struct way *ways, size_t count,
                  const char *shared, struct route_option *ret)
{
    ret->way_count = count;
    ret->worth_measuring[0] = '\0';
    ret->shared = shared;
    memset(ret->beside, 0, sizeof ret->beside);
    ret->is_known = ret->is_guess = ret->is_by_links = ret->is_evident = ret->is_clear = false;
    bool is_direct = count == 1 && ways->hop_count == 1;
    ret->is_together =
        plan_source_is_together(&work->ends, ways, count) &&
        (is_direct || plan_source_is_beside(&work->ends, ways, count, work->meanwhile,
                                            work->request.meanwhile_count));
    ret->knows_both = true;
    memcpy(ret->way, ways, count * sizeof *ways);
    for (size_t i = 0; i < count && work->request.both; i++)
        ret->knows_both = ret->knows_both && plan_way_knows_both(&ways[i]);
}

void plan_route_option_begin(const struct route_work *work, const struct way *ways, size_t count,
                             const char *shared, struct route_option *ret)
{
    begin(work, ways, count, shared, ret);
    ret->is_known = ways[0].pair[0] != NULL && (!plan_route_answer_is_direct(ret) ||
                                                plan_way_knows(&ways[0], work->ends.bytes));
    plan_route_price(ret, work->ends.bytes);
}

void plan_route_option_begin_by_links(const struct route_work *work, const struct way *ways,
                                      size_t count, struct route_option *ret)
{
    begin(work, ways, count, NULL, ret);
    ret->is_guess = ret->is_by_links = true;
    plan_route_price(ret, work->ends.bytes);
}
