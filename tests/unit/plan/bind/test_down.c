/* A whole node of four gpus at an NVSwitch, measured in good order. Bind's plans and texts when a
 * gpu's link to the switch is down. */
#include "unit/plan/bind/bind_answer.h"

#include "discover/discover.h"

static struct fixture begin(const char *folder, const char *down)
{
    struct discovery found = {0};
    struct fixture f = {.allowed.given = true};
    assert_int_equal(discover_folder(folder, &found, &f.err), BERTH_OK);
    for (size_t i = 0; i < found.graph->link_count; i++) {
        struct link *link = &found.graph->links[i];
        bool is_its = (strcmp("all", down) == 0 ||
                       strcmp(graph_place(found.graph, link->from)->name, down) == 0) &&
                      graph_place(found.graph, link->to)->kind == PLACE_SWITCH;
        link->state = is_its ? LINK_DOWN : link->state;
    }
    f.snap = snapshot_new(found.graph, found.values, NULL, 0, 0, 1);
    assert_non_null(f.snap);
    f.snap->sets = found.sets;
    assert_true(derive_costs(f.snap));
    locality_cpus(found.graph, &f.allowed.cpus);
    graph_unref(found.graph);
    return f;
}

static void ask(struct fixture *f, struct traffic_request asked)
{
    struct traffic flows;
    assert_int_equal(plan_traffic(&asked, &flows, &f->err), BERTH_OK);
    struct bind_request request = {
        .tasks = asked.tasks, .gpus_per_task = 1, .traffic = &flows, .allowed = &f->allowed};
    plan_bind_done(&f->answer);
    assert_int_equal(plan_bind(f->snap, &request, &f->answer, &f->err), BERTH_OK);
    plan_traffic_done(&flows);
}

static void ask_pairs(struct fixture *f, int64_t tasks)
{
    ask(f, (struct traffic_request){
               .tasks = tasks, .pattern = TRAFFIC_PAIRS, .bytes = INT64_C(256) << 20});
}

static bool has_gpu(const struct fixture *f, int number)
{
    for (size_t t = 0; t < f->answer.task_count; t++)
        if (graph_place(f->snap->graph, f->answer.task[t].gpus[0])->number == number)
            return true;
    return false;
}

static void a_gpu_off_the_switch_comes_last_and_its_link_is_named_once(void **state)
{
    (void)state;
    struct fixture f = begin("tests/nodes/h200x4", "gpu0");
    ask_pairs(&f, 2);
    assert_false(has_gpu(&f, 0));
    assert_int_equal(lines_with(&f.answer.warnings, "is down"), 0);
    ask_pairs(&f, 4);
    assert_true(has_gpu(&f, 0));
    assert_int_equal(lines_with(&f.answer.warnings, "is down"), 1);
    assert_int_equal(lines_with(&f.answer.warnings, "the link between gpu0 and switch0 is down: "),
                     1);
    struct bind_request request = {.tasks = 3, .gpus_per_task = 1, .allowed = &f.allowed};
    plan_bind_done(&f.answer);
    /* by locality alone */
    assert_int_equal(plan_bind(f.snap, &request, &f.answer, &f.err), BERTH_OK);
    assert_false(has_gpu(&f, 0));
    end(&f);
}

static void every_link_that_is_down_is_named(void **state)
{
    (void)state;
    struct fixture f = begin("tests/nodes/h200x4", "all");
    ask_pairs(&f, 4);
    assert_int_equal(lines_with(&f.answer.warnings,
                                "and switch0 is down: what is known of it may be from before"),
                     4);
    end(&f);
}

static void both_directions_of_a_pair_limit_the_iteration(void **state)
{
    (void)state;
    struct fixture f = begin("tests/nodes/h200x4", "none");
    ask_pairs(&f, 2);
    assert_string_equal(f.answer.bottleneck, "gpu0-gpu1:both");
    end(&f);
}

/* Few bytes of which some start later: they are slowed while all move, though together, each with
 * what starts it, they get no more than fits. */
static void few_bytes_that_others_slow_say_so(void **state)
{
    (void)state;
    struct fixture f = begin("tests/nodes/h200x4", "none");
    ask(&f, (struct traffic_request){.tasks = 1, .host_bytes = 1 << 20});
    const struct reason *last = reason_with(&f.answer.reasons, REASON_LAST_TRANSFER);
    assert_true(last != NULL && last->number[1] > last->number[2]);
    assert_string_equal(f.answer.bottleneck, "numa0-gpu0:both");
    ask(&f, (struct traffic_request){.tasks = 2, .host_bytes = 300 << 10}); /* measured together */
    assert_int_equal(lines_with(&f.answer.reasons, "that is what it gets among 4 such transfers"),
                     1);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_off_the_switch_comes_last_and_its_link_is_named_once),
        cmocka_unit_test(every_link_that_is_down_is_named),
        cmocka_unit_test(both_directions_of_a_pair_limit_the_iteration),
        cmocka_unit_test(few_bytes_that_others_slow_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
