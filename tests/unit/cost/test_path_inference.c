/* The path of a transfer among several, on the node of eight GCDs: the requested sets identify it
 * for every possible path of the hardware. */
#include "unit/node/built_nodes.h"

#include "cost/path_inference.h"
#include "discover/discover.h"
#include "measure/probe_sets.h"

#define GB     1e9
#define ENGINE (37.5 * GB) /* what a copy engine gets over one link of 50 GB/s */

struct fixture {
    struct discovery found;
    struct link_paths *paths;
    struct values *values;
    struct sets *sets;
};

static struct fixture begin(void)
{
    struct fixture f = {.values = values_new(), .sets = sets_new()};
    struct berth_err err = {0};
    assert_int_equal(discover_folder("tests/nodes/mi250x", &f.found, &err), BERTH_OK);
    f.paths = link_paths_new(f.found.graph);
    assert_true(f.paths != NULL && f.values != NULL && f.sets != NULL);
    values_finish(f.values);
    return f;
}

static void end(struct fixture *f)
{
    link_paths_free(f->paths);
    values_free(f->values);
    sets_free(f->sets);
    discovery_done(&f->found);
}

static place_id gpu(const struct fixture *f, int number)
{
    return nodes_place(f->found.graph, PLACE_GPU, number);
}

static void add(struct fixture *f, const struct path_question *pair, double own, double beside)
{
    struct set_flow flow[] = {
        {pair->from, pair->to, (char *)"", own, own, own},
        {pair->beside_from, pair->beside_to, (char *)"", beside, beside, beside}};
    struct set set = {.metric = METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT,
                      .source = VALUE_MEASURED,
                      .flow = flow,
                      .flow_count = 2};
    assert_true(sets_add(f->sets, &set));
}

static void add_alone(struct fixture *f, place_id from, place_id to)
{
    struct set_flow flow = {from, to, (char *)"", ENGINE, ENGINE, ENGINE};
    assert_true(sets_add(f->sets, &(struct set){.metric = METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT,
                                                .source = VALUE_MEASURED,
                                                .flow = &flow,
                                                .flow_count = 1}));
}

static bool goes_over(const struct fixture *f, const struct link_path *way, place_id a, place_id b)
{
    bool goes = false;
    for (size_t i = 0; i < way->step_count; i++) {
        const struct link *link = &f->found.graph->links[way->step[i].link];
        goes |= (way->step[i].back ? link->to : link->from) == a &&
                (way->step[i].back ? link->from : link->to) == b;
    }
    return goes;
}

static bool is_same(const struct link_path *a, const struct link_path *b)
{
    return a->step_count == b->step_count &&
           memcmp(a->step, b->step, a->step_count * sizeof *a->step) == 0;
}

/* choice: which of its ways each pair takes, a bit each. */
static void measure(struct fixture *f, unsigned choice)
{
    struct path_question asked[PATH_INFERENCE_MOST];
    size_t count = path_inference_ask(f->paths, f->found.graph, asked, PATH_INFERENCE_MOST);
    assert_int_equal(count, 12); /* 0-3, 0-4, 1-2, 2-6, 4-7 and 5-6, in each direction */
    for (size_t i = 0; i < count; i++) {
        struct link_path way[4];
        assert_int_equal(link_path_all(f->paths, asked[i].from, asked[i].to, way, 4), 2);
        assert_int_not_equal(asked[i].from, asked[i].beside_from);
        bool meet = goes_over(f, &way[choice >> i & 1], asked[i].beside_from, asked[i].beside_to);
        assert_int_not_equal(
            meet, goes_over(f, &way[~choice >> i & 1], asked[i].beside_from, asked[i].beside_to));
        add(f, &asked[i], meet ? 25 * GB : ENGINE, meet ? 25 * GB : ENGINE);
        add_alone(f, asked[i].from, asked[i].to);
        add_alone(f, asked[i].beside_from, asked[i].beside_to);
    }
}

static void each_way_is_told(void **state)
{
    (void)state;
    for (unsigned choice = 0; choice < 1 << 12; choice += 273) {
        struct fixture f = begin();
        struct path_question asked[PATH_INFERENCE_MOST];
        measure(&f, choice);
        size_t count = path_inference_ask(f.paths, f.found.graph, asked, PATH_INFERENCE_MOST);
        for (size_t i = 0; i < count; i++) {
            struct link_path way[4], found;
            link_path_all(f.paths, asked[i].from, asked[i].to, way, 4);
            assert_true(path_inference_find(f.paths, f.found.graph, f.values, f.sets, asked[i].from,
                                            asked[i].to, &found));
            assert_false(found.is_one_of_several);
            assert_true(is_same(&found, &way[choice >> i & 1]));
        }
        end(&f);
    }
}

/* Nothing measured, something that tells nothing, or sets that contradict each other: it stays one
 * of several. */
static void what_sets_do_not_tell_stays_open(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct link_path found, first;
    place_id from = gpu(&f, 0), to = gpu(&f, 3);
    assert_true(link_path_find(f.paths, from, to, &first) && first.is_one_of_several);
    assert_true(path_inference_find(f.paths, f.found.graph, f.values, NULL, from, to, &found) &&
                found.is_one_of_several);
    add(&f, &(struct path_question){from, to, gpu(&f, 1), gpu(&f, 3)}, 25 * GB, 25 * GB);
    /* nobody knows what they get alone */
    assert_true(path_inference_find(f.paths, f.found.graph, f.values, f.sets, from, to, &found) &&
                found.is_one_of_several);
    add_alone(&f, from, to);
    add_alone(&f, gpu(&f, 1), gpu(&f, 3));
    assert_true(path_inference_find(f.paths, f.found.graph, f.values, f.sets, from, to, &found) &&
                !found.is_one_of_several && goes_over(&f, &found, gpu(&f, 1), gpu(&f, 3)));
    /* Both of one gpu: its engines may be what slows them; that they are not slowed tells. */
    add_alone(&f, from, gpu(&f, 2));
    add(&f, &(struct path_question){from, to, from, gpu(&f, 2)}, 25 * GB, 25 * GB);
    assert_true(path_inference_find(f.paths, f.found.graph, f.values, f.sets, from, to, &found) &&
                !found.is_one_of_several);
    add(&f, &(struct path_question){from, to, gpu(&f, 1), gpu(&f, 3)}, ENGINE, ENGINE);
    add(&f, &(struct path_question){from, to, from, gpu(&f, 2)}, ENGINE, ENGINE);
    assert_true(path_inference_find(f.paths, f.found.graph, f.values, f.sets, from, to, &found) &&
                found.is_one_of_several && is_same(&found, &first));
    /* A pair with one way only has it whatever was measured. */
    assert_true(path_inference_find(f.paths, f.found.graph, f.values, f.sets, gpu(&f, 1),
                                    gpu(&f, 7), &found) &&
                !found.is_one_of_several && found.step_count == 3);
    assert_false(path_inference_find(f.paths, f.found.graph, f.values, f.sets, from, from, &found));
    end(&f);
}

static void the_probe_is_asked_in_its_names(void **state)
{
    (void)state;
    struct fixture f = begin();
    char *text = probe_sets(f.found.graph, "amd"), *none = probe_sets(f.found.graph, "nvidia"),
         name[300];
    assert_true(text != NULL && none != NULL);
    snprintf(name, sizeof name, "%s>%s+%s>%s", graph_place(f.found.graph, gpu(&f, 0))->pci,
             graph_place(f.found.graph, gpu(&f, 3))->pci,
             graph_place(f.found.graph, gpu(&f, 1))->pci,
             graph_place(f.found.graph, gpu(&f, 3))->pci);
    assert_memory_equal(text, name, strlen(name));
    size_t commas = 0;
    for (const char *c = text; *c != '\0'; c++)
        commas += *c == ',';
    /* 12 that show paths; each transfer in parts by kernel and by copy engine */
    assert_int_equal(commas, 11 + 2 * 56);
    /* From gpu0 to gpu2 the widest paths beside the link are over gpu1 and gpu3, and over gpu6 and
     * gpu4: 50 GB/s each. */
    const char *pci[8];
    for (int i = 0; i < 8; i++)
        pci[i] = graph_place(f.found.graph, gpu(&f, i))->pci;
    snprintf(name, sizeof name, "kernel/%s>%s+%s>%s+%s>%s+%s>%s+%s>%s+%s>%s+%s>%s,", pci[0], pci[2],
             pci[0], pci[1], pci[1], pci[3], pci[3], pci[2], pci[0], pci[6], pci[6], pci[4], pci[4],
             pci[2]);
    assert_non_null(strstr(text, name));
    assert_string_equal(none, "");
    free(text);
    free(none);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_way_is_told),
                                       cmocka_unit_test(what_sets_do_not_tell_stays_open),
                                       cmocka_unit_test(the_probe_is_asked_in_its_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
