/* Searches on more slots than a complete search covers: few choices, ranks in order, and their
 * bound. */
#include "search_brute.h"

/* On more slots all choices are looked at where there are few: two tasks that trade places, tasks
 * with several slots, and all in rank order. */
static void few_choices_are_all_looked_at(void **state)
{
    (void)state;
    uint64_t seed = 17;
    for (uint64_t round = 0; round < 120; round++) {
        struct node *node =
            random_node(&seed, 9 + random_next(&seed) % 4, 2, 1 + random_next(&seed) % 2);
        assert_as_brute(node, "few", round);
        free(node);
        node = random_node(&seed, 9 + random_next(&seed) % 4, 3, 2 + random_next(&seed) % 2);
        node->problem.in_order = true;
        assert_as_brute(node, "few in order", round);
        free(node);
    }
}

#define HALF 20 /* slots of a package */

/* As long as nobody knows where a task's slots are in two packages. */
static struct search_cost price_in_one(void *context, const uint16_t *slot)
{
    const struct node *node = context;
    struct search_cost cost = price(context, slot);
    size_t each = node->problem.each;
    for (size_t b = 0; b < node->problem.tasks * each; b++) {
        bool is_away = slot[b] / HALF != slot[b - b % each] / HALF;
        cost.time_ns = is_away ? 1e18 : cost.time_ns;
        cost.sum_ns += is_away ? 1e18 : 0;
    }
    return cost;
}

static void in_rank_order_a_task_stays_where_its_price_is_known(void **state)
{
    (void)state;
    struct node *node = begin(2 * HALF, 8, 3, 1);
    uint16_t slot[24];
    for (size_t i = 0; i < 2 * HALF; i++) {
        arc_of(node, 0, i, i)->alone_ns = 5;
        for (size_t j = 0; j < 2 * HALF; j++)
            node->apart[i * 2 * HALF + j] = i / HALF != j / HALF;
    }
    for (int b = 0; b < 24; b++)
        flow(node, 0, b, -1);
    node->problem.in_order = true;
    node->problem.price = price_in_one;
    struct search_result result = search(node, slot);
    assert_true(result.is_proven && result.cost.time_ns == 5);
    for (size_t b = 1; b < 24; b++)
        assert_true(slot[b] > slot[b - 1] && slot[b] / HALF == slot[b - b % 3] / HALF);
    free(node);
}

/* Five that each of six sends, and gets, go through its port, wherever they are; over slots of
 * which nothing is known none goes. */
static void the_bound_knows_what_one_sends_to_all(void **state)
{
    (void)state;
    struct node *node = begin(20, 6, 1, 1);
    uint16_t slot[6];
    for (size_t i = 0; i < 20; i++)
        for (size_t j = 0; j < 20; j++) {
            struct search_arc *arc = arc_of(node, 0, i, j);
            bool is_known = i / 10 == j / 10;
            arc->alone_ns = is_known ? 3 : 1e18;
            if (is_known && i != j) {
                use(node, arc, i, 2);
                use(node, arc, 20 + j, 3);
            }
        }
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++)
            if (a != b)
                flow(node, 0, a, b);
    struct search_result result = search(node, slot);
    assert_true(result.is_proven && result.cost.time_ns == 15 && result.bound_ns == 15);
    free(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_choices_are_all_looked_at),
        cmocka_unit_test(in_rank_order_a_task_stays_where_its_price_is_known),
        cmocka_unit_test(the_bound_knows_what_one_sends_to_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
