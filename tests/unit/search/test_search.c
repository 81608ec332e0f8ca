#include "search_brute.h"

static void the_best_of_all_choices_with_the_lowest_numbers(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (uint64_t round = 0; round < 1500; round++) {
        size_t slots = 1 + random_next(&seed) % 6, tasks = 1 + random_next(&seed) % slots;
        struct node *node = random_node(&seed, slots, tasks, 1);
        assert_as_brute(node, "one each", round);
        free(node);
        size_t each = 2 + random_next(&seed) % 2;
        node = random_node(&seed, 6, 1 + random_next(&seed) % (6 / each), each);
        assert_as_brute(node, "several each", round);
        free(node);
        slots = 1 + random_next(&seed) % 3;
        node = random_node(&seed, slots, slots + 1 + random_next(&seed) % 3, 1);
        assert_as_brute(node, "shared", round);
        free(node);
    }
}

static void units_have_room_for_so_many_tasks(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (uint64_t round = 0; round < 1500; round++) {
        uint16_t unit[6], most[3];
        for (size_t s = 0; s < 6; s++)
            unit[s] = round % 2                    ? (uint16_t)(s / 2)
                      : random_next(&seed) % 4 < 3 ? (uint16_t)(random_next(&seed) % 3)
                                                   : SEARCH_ANYWHERE;
        for (size_t u = 0; u < 3; u++)
            most[u] = (uint16_t)(random_next(&seed) % 3);
        size_t each = 1 + random_next(&seed) % 2, slots = each + random_next(&seed) % (7 - each);
        struct node *node =
            random_node(&seed, slots, 1 + random_next(&seed) % (slots / each), each);
        node->problem.unit = unit;
        node->problem.most = most;
        /* else there is one choice but for who has what, and room is no question */
        if (node->problem.tasks * each < slots)
            assert_as_brute(node, "room", round);
        free(node);
    }
}

static void what_is_alike_is_looked_at_once(void **state)
{
    (void)state;
    uint16_t slot[8];
    struct node *node = modules(8, 8);
    for (int t = 0; t < 8; t++)
        flow(node, 0, t, (t + 1) % 8);
    struct search_result result = search(node, slot);
    assert_true(result.is_proven && result.cost.time_ns == 4 &&
                result.cost.sum_ns == 4 * 1 + 4 * 4);
    for (int t = 0; t < 8; t++)
        assert_int_equal(slot[t], t);
    assert_true(result.looked < 30000); /* of 109600 partial choices */
    free(node);

    /* All slots alike, all tasks alike: one path down. */
    node = begin(8, 8, 1, 1);
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 8; j++)
            if (i != j) {
                arc_of(node, 0, i, j)->alone_ns = 5;
                flow(node, 0, (int)i, (int)j);
            }
    result = search(node, slot);
    assert_true(result.is_proven && result.looked <= 300 && result.cost.time_ns == 5);
    free(node);
}

static void two_that_talk_outside_part_and_two_that_exchange_meet(void **state)
{
    (void)state;
    uint16_t slot[4];
    struct node *node = modules(8, 2);
    flow(node, 1, 0, -1);
    flow(node, 1, 1, -1);
    struct search_result result = search(node, slot);
    assert_true(result.cost.time_ns == 3 && slot[0] == 0 && slot[1] == 2);
    free(node);
    node = modules(8, 2);
    flow(node, 0, 0, 1);
    flow(node, 0, 1, 0);
    result = search(node, slot);
    assert_true(result.cost.time_ns == 1 && slot[0] == 0 && slot[1] == 1);
    free(node);
}

/* Places on a ring, renamed at random; a ring of tasks fits it, which takes 1. */
static struct node *hidden_ring(size_t slots)
{
    struct node *node = begin(slots, slots, 1, 1);
    size_t place[SLOTS];
    uint64_t seed = 99;
    for (size_t i = 0; i < slots; i++)
        place[i] = i;
    for (size_t i = slots; i-- > 1;) {
        size_t j = random_next(&seed) % (i + 1), other = place[i];
        place[i] = place[j];
        place[j] = other;
    }
    for (size_t i = 0; i < slots; i++)
        for (size_t j = 0; j < slots; j++) {
            size_t steps = (place[j] + slots - place[i]) % slots;
            steps = steps < slots - steps ? steps : slots - steps;
            if (i != j)
                arc_of(node, 0, i, j)->alone_ns = (double)steps;
        }
    for (size_t t = 0; t < slots; t++) {
        flow(node, 0, (int)t, (int)((t + 1) % slots));
        flow(node, 0, (int)((t + 1) % slots), (int)t);
    }
    return node;
}

static void many_slots_are_searched_within_bounds(void **state)
{
    (void)state;
    uint16_t slot[SLOTS], again[SLOTS];
    static const size_t sizes[] = {9, 12, 16, 24, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct node *node = hidden_ring(sizes[i]);
        struct search_result result = search(node, slot);
        assert_true(result.bound_ns >= 1 && result.cost.time_ns >= result.bound_ns);
        /* in order it is about half of them */
        assert_true(result.cost.time_ns <= (sizes[i] <= 24 ? 2 : 8));
        assert_true(price(node, slot).time_ns == result.cost.time_ns);
        unsigned char seen[SLOTS] = {0};
        for (size_t b = 0; b < sizes[i]; b++)
            assert_true(slot[b] < sizes[i] && !seen[slot[b]]++);
        struct search_result second = search(node, again);
        assert_true(memcmp(slot, again, sizes[i] * sizeof *slot) == 0 &&
                    second.looked == result.looked && second.priced == result.priced);
        free(node);
    }
}

/* 16 tasks that all use what is outside, of 24 slots in modules of two with a port each: 12 ports,
 * so that 4 are used twice at least: that is found, and no bound proves it. */
static void the_bound_knows_what_must_be_shared(void **state)
{
    (void)state;
    uint16_t slot[SLOTS];
    struct node *node = modules(24, 16);
    for (int t = 0; t < 16; t++)
        flow(node, 1, t, -1);
    struct search_result result = search(node, slot);
    assert_true(result.cost.time_ns == 6 && result.bound_ns == 3);
    free(node);
    node = modules(24, 12);
    for (int t = 0; t < 12; t++)
        flow(node, 1, t, -1);
    result = search(node, slot);
    assert_true(result.cost.time_ns == 3 && result.is_proven && result.bound_ns == 3);
    for (size_t b = 0; b < 12; b++)
        for (size_t c = 0; c < b; c++)
            assert_int_not_equal(slot[b] / 2, slot[c] / 2);
    free(node);
    /* One port for all: whatever is chosen, everything goes through it. */
    node = begin(16, 10, 1, 1);
    for (size_t i = 0; i < 16; i++) {
        arc_of(node, 0, i, i)->alone_ns = 1;
        use(node, arc_of(node, 0, i, i), 0, 1);
    }
    for (int t = 0; t < 10; t++)
        flow(node, 0, t, -1);
    result = search(node, slot);
    assert_true(result.is_proven && result.cost.time_ns == 10);
    free(node);
}

/* 24 tasks in a ring, which all use what is outside, on 8 slots with 4 ports: each port has 6, in
 * any choice, of which there are more than are looked at. */
static void the_bound_knows_what_ports_carry_together(void **state)
{
    (void)state;
    uint16_t slot[24];
    struct node *node = modules(8, 24);
    for (int t = 0; t < 24; t++) {
        flow(node, 0, t, (t + 1) % 24);
        flow(node, 1, t, -1);
    }
    struct search_result result = search(node, slot);
    assert_true(result.is_proven && result.cost.time_ns == 18 && result.bound_ns == 18);
    free(node);
}

static void in_order_and_several_each_hold_with_many(void **state)
{
    (void)state;
    uint16_t slot[SLOTS];
    struct node *node = hidden_ring(20);
    node->problem.tasks = 8;
    node->problem.flow_count = 0;
    for (int t = 0; t < 8; t++)
        flow(node, 0, t, (t + 1) % 8);
    node->problem.in_order = true;
    double in_order = search(node, slot).cost.time_ns;
    for (size_t b = 1; b < 8; b++)
        assert_true(slot[b] > slot[b - 1]);
    uint16_t first[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    assert_true(in_order <= price(node, first).time_ns);
    node->problem.in_order = false;
    assert_true(search(node, slot).cost.time_ns <= in_order);
    node->problem.tasks = 4;
    node->problem.each = 2;
    search(node, slot);
    for (size_t b = 0; b < 8; b += 2)
        assert_true(slot[b] < slot[b + 1]);
    free(node);

    /* 40 tasks share 12 slots: four slots have four, the others three. */
    node = modules(12, 40);
    for (int t = 0; t < 40; t += 2)
        flow(node, 0, t, t + 1);
    struct search_result result = search(node, slot);
    unsigned on[12] = {0}, full = 0;
    for (size_t b = 0; b < 40; b++)
        on[slot[b]]++;
    for (size_t s = 0; s < 12; s++) {
        assert_true(on[s] == 3 || on[s] == 4);
        full += on[s] == 4;
    }
    assert_int_equal(full, 4);
    assert_true(result.cost.time_ns <= 1);
    free(node);
}

/* The search where slots in order stand for what takes less by no more than that share. */
static struct search_result settle(struct node *node, double share, uint16_t *slot)
{
    node->problem.stays = share;
    struct search_result result = search(node, slot);
    node->problem.stays = 0;
    return result;
}

/* Slots in order take as long as far as is known, whatever their flows take together. */
static void in_order_where_nothing_is_faster(void **state)
{
    (void)state;
    uint16_t slot[4];
    struct node *node = begin(4, 3, 1, 1);
    for (size_t i = 0; i < 4; i++)
        arc_of(node, 0, i, i)->alone_ns = i == 1 ? 1005 : 1000;
    for (int t = 0; t < 3; t++)
        flow(node, 0, t, -1);
    struct search_result result = search(node, slot), settled;
    assert_true(slot[1] == 2 && slot[2] == 3 && result.cost.time_ns == 1000);
    settled = settle(node, 0.001, slot);
    assert_true(slot[1] == 2 && settled.cost.time_ns == 1000 && settled.settled == 0);
    settled = settle(node, 0.01, slot);
    assert_true(slot[1] == 1 && settled.cost.time_ns == 1005 && settled.bound_ns == 1000 &&
                settled.is_proven && fabs(settled.settled - 0.005) < 1e-9);
    arc_of(node, 0, 1, 1)->alone_ns = 1005;
    arc_of(node, 0, 3, 3)->alone_ns = arc_of(node, 0, 0, 0)->alone_ns = 1005;
    result = search(node, slot);
    assert_true(slot[2] == 2 && slot[1] == 1 && result.cost.time_ns == 1005);
    arc_of(node, 0, 1, 1)->alone_ns = 1004;
    arc_of(node, 0, 2, 2)->alone_ns = 1005;
    arc_of(node, 0, 3, 3)->alone_ns = 990;
    result = search(node, slot);
    assert_true(slot[2] == 3 && result.cost.time_ns == 1005);
    settled = settle(node, 0.001, slot);
    assert_true(slot[0] == 0 && slot[1] == 1 && slot[2] == 2 && settled.cost.time_ns == 1005 &&
                settled.bound_ns == 1005 && settled.is_proven);
    /* Farther from what a task needs is worse, whatever is equal beside. */
    node->far[2] = 1;
    search(node, slot);
    settle(node, 0.01, slot);
    assert_true(slot[2] == 3);
    free(node);
}

/* Of choices that take as long, the one whose flows share least on the way outside; slots in order
 * do not stand for it. */
static void outside_is_spread(void **state)
{
    (void)state;
    uint16_t slot[4];
    struct node *node = begin(8, 2, 1, 1);
    for (size_t i = 0; i < 8; i++) {
        arc_of(node, 0, i, i)->alone_ns = 1000;
        for (size_t j = 0; j < 8; j++)
            node->meet[i * 8 + j] = i / 2 == j / 2 ? 2 : i / 4 == j / 4;
    }
    node->problem.meet = node->meet;
    for (int t = 0; t < 2; t++)
        flow(node, 0, t, -1);
    struct search_result result = search(node, slot);
    assert_true(slot[0] == 0 && slot[1] == 4 && result.is_proven);
    settle(node, 0.01, slot);
    assert_true(slot[0] == 0 && slot[1] == 4);
    for (size_t i = 4; i < 8; i++)
        arc_of(node, 0, i, i)->alone_ns = 1001; /* time goes first */
    search(node, slot);
    assert_true(slot[0] == 0 && slot[1] == 2);
    free(node);
}

/* What settling may do to any choice: it takes no longer than is known, and no task's slots get
 * farther apart. */
static void settling_costs_no_more_than_is_known(void **state)
{
    (void)state;
    uint64_t seed = 11;
    unsigned ordered = 0;
    for (int round = 0; round < 1000; round++) {
        uint16_t slot[8], order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
        size_t each = 1 + random_next(&seed) % 2;
        struct node *node =
            random_node(&seed, 6, 2 + random_next(&seed) % (each > 1 ? 2 : 5), each);
        size_t gpus = node->problem.tasks * each;
        for (size_t a = 0; a < KINDS * 36; a++)
            node->arc[a].alone_ns *= 1 + 0.02 * (double)(random_next(&seed) % 100) / 100;
        struct search_result best = search(node, slot), settled;
        assert_true(best.is_proven);
        settled = settle(node, 0.02, slot);
        struct search_cost found = price(node, slot);
        add_far(node, slot, &found);
        assert_true(compare(&found, &settled.cost) == 0 && settled.bound_ns == best.bound_ns);
        assert_true(found.time_ns <= best.cost.time_ns * (1.02 + 1e-9) &&
                    found.apart <= best.cost.apart);
        assert_true(fabs(found.time_ns - best.cost.time_ns * (1 + settled.settled)) <=
                    1e-9 * found.time_ns);
        ordered += memcmp(slot, order, gpus * sizeof *slot) == 0;
        free(node);
    }
    assert_true(ordered > 50);
}

/* Tasks that nothing tells apart on all slots: the lowest numbers, proven with few
 * looks. */
static void where_there_is_one_choice_it_is_proven(void **state)
{
    (void)state;
    uint64_t seed = 3;
    uint16_t slot[6];
    struct node *node = begin(6, 6, 1, 1);
    for (size_t i = 0; i < 36; i++)
        arc_of(node, 0, i / 6, i % 6)->alone_ns = 1000 + (double)(random_next(&seed) % 100);
    for (int t = 0; t < 36; t++)
        if (t / 6 != t % 6)
            flow(node, 0, t / 6, t % 6);
    struct search_result result = search(node, slot);
    assert_true(result.is_proven && result.bound_ns == result.cost.time_ns && result.looked <= 200);
    for (uint16_t t = 0; t < 6; t++)
        assert_int_equal(slot[t], t);
    free(node);
}

/* Far above every bound. */
static struct search_cost dear_price(void *context, const uint16_t *slot)
{
    struct search_cost cost = price(context, slot);
    cost.time_ns *= 2;
    return cost;
}

/* A price of thousands of flows takes a part of a second: few are looked at. */
static void few_choices_are_priced_of_thousands_of_flows(void **state)
{
    (void)state;
    uint16_t slot[SLOTS];
    uint64_t seed = 3;
    struct node *node = begin(64, 64, 1, 1);
    for (size_t i = 0; i < 64; i++)
        for (size_t j = 0; j < 64; j++)
            if (i != j) {
                arc_of(node, 0, i, j)->alone_ns = 1 + (double)(random_next(&seed) % 1000);
                flow(node, 0, (int)i, (int)j);
            }
    node->problem.price = dear_price;
    struct search_result result;
    assert_true(plan_search(&node->problem, slot, &result));
    assert_in_range(result.priced, 1, 24);
    free(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_of_all_choices_with_the_lowest_numbers),
        cmocka_unit_test(units_have_room_for_so_many_tasks),
        cmocka_unit_test(what_is_alike_is_looked_at_once),
        cmocka_unit_test(two_that_talk_outside_part_and_two_that_exchange_meet),
        cmocka_unit_test(many_slots_are_searched_within_bounds),
        cmocka_unit_test(few_choices_are_priced_of_thousands_of_flows),
        cmocka_unit_test(the_bound_knows_what_must_be_shared),
        cmocka_unit_test(the_bound_knows_what_ports_carry_together),
        cmocka_unit_test(in_order_and_several_each_hold_with_many),
        cmocka_unit_test(in_order_where_nothing_is_faster),
        cmocka_unit_test(outside_is_spread),
        cmocka_unit_test(settling_costs_no_more_than_is_known),
        cmocka_unit_test(where_there_is_one_choice_it_is_proven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
