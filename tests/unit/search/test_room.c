/* Room for tasks, with more slots than are looked at one by one: unit/search/test_search.c has
 * those of few slots. */
#include "search_nodes.h"

/* The fastest slots are all in the unit that has room for two, and tasks go elsewhere though it
 * takes longer. */
static void many_slots_keep_to_the_room(void **state)
{
    (void)state;
    struct node *node = modules(16, 6);
    uint16_t unit[16], slot[16] = {0}, most[] = {2, 4}, in_unit[2] = {0};
    struct search_result free_result, result;
    uint64_t seed = 3;
    for (size_t s = 0; s < 16; s++) {
        node->far[s] = (double)(random_next(&seed) % 2);
        unit[s] = s >= 8;
        arc_of(node, 1, s, s)->alone_ns = s < 8 ? 3 : 7;
    }
    for (int t = 0; t < 6; t++)
        flow(node, 1, t, -1);
    assert_true(plan_search(&node->problem, slot, &free_result) && free_result.cost.time_ns == 6);
    node->problem.unit = unit;
    node->problem.most = most;
    assert_true(plan_search(&node->problem, slot, &result));
    for (size_t t = 0; t < 6; t++)
        in_unit[unit[slot[t]]]++;
    assert_true(result.cost.over == 0 && result.cost.time_ns == 7 && in_unit[0] == 2 &&
                in_unit[1] == 4);
    free(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_slots_keep_to_the_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
