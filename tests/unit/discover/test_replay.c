/*
 * Every node folder is loaded and compared with its answer file tests/replay/<folder>.json. Folders
 * are those of tests/nodes and of $BERTH_NODES (default ../shared/nodes, where that is at hand); a
 * folder without an answer file must load all the same when it has a node.json. There each hwloc
 * XML file is also loaded alone; <folder>.<file without .xml>.json is its answer.
 */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "discover/discover.h"

#define LOAD_NS 50e6                  /* a node loads in under 50 ms of processor time, */
#define NOISE   (BERTH_DEBUG ? 4 : 1) /* and this much more where sanitizers are at work; */
/* the best of these counts, and where others are at work it gets some more */
#define TRIES_MIN 3
#define TRIES_MAX 20

static json_t *answer_of(const char *name)
{
    char path[512];
    json_error_t where;
    snprintf(path, sizeof path, "tests/replay/%s.json", name);
    if (access(path, R_OK) != 0)
        return NULL;
    json_t *answer = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    if (answer == NULL)
        fail_msg("%s:%d: %s", path, where.line, where.text);
    return answer;
}

static place_id place_named(const struct graph *graph, const char *name)
{
    place_id id = graph_find(graph, name);
    if (id == PLACE_NONE)
        fail_msg("there is no %s", name);
    return id;
}

static void check_invariants(const struct discovery *found)
{
    const struct graph *graph = found->graph;
    for (size_t i = 0; i < graph->place_count; i++) {
        const struct place *place = &graph->places[i];
        if (i > 0) {
            assert_true(place->kind >= place[-1].kind);
            assert_true(place->kind != place[-1].kind || place->number > place[-1].number);
        }
        if (place->kind == PLACE_PU)
            assert_int_equal(graph->places[place->parent].kind, PLACE_CORE);
        if (place->kind == PLACE_CORE || place->kind == PLACE_LLC || place->kind == PLACE_PU)
            assert_non_null(place->cpus);
        if (place->kind == PLACE_CORE)
            assert_int_equal(place->number, cpuset_next(place->cpus, 0));
        if (place->cpus != NULL && place->kind <= PLACE_PU && graph->places[0].cpus != NULL)
            assert_true(cpuset_contains(graph->places[0].cpus, place->cpus));
        if (place->kind == PLACE_GPU && place->pci != NULL && i > 0 &&
            place[-1].kind == PLACE_GPU && place[-1].pci != NULL)
            assert_true(strcmp(place->pci, place[-1].pci) >= 0);
        if (place->kind == PLACE_MODULE) {
            size_t parts = 0;
            for (size_t k = 0; k < graph->place_count; k++)
                parts += graph->places[k].parent == (place_id)i;
            assert_true(parts >= 2);
        }
    }
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        assert_true(link->from < link->to && link->width >= 0);
        assert_true(isnan(link->nominal_bytes_per_s) || link->nominal_bytes_per_s > 0);
    }
    for (size_t i = 0; i < found->values->count; i++)
        assert_true(isnan(found->values->item[i].value) ==
                    (found->values->item[i].why_not != NULL));
    assert_int_equal(strlen(graph->fingerprint), 32);
}

static void check_links(const struct graph *graph, const json_t *wanted)
{
    size_t index;
    json_t *one;
    json_array_foreach(wanted, index, one)
    {
        const char *from, *to, *kind_name;
        int width, found = 0;
        enum link_kind kind;
        assert_int_equal(json_unpack(one, "[s,s,s,i]", &from, &to, &kind_name, &width), 0);
        assert_true(link_kind_parse(kind_name, &kind));
        place_id a = place_named(graph, from), b = place_named(graph, to);
        for (size_t i = 0; i < graph->link_count; i++) {
            const struct link *link = &graph->links[i];
            found += link->kind == kind && link->width == width &&
                     ((link->from == a && link->to == b) || (link->from == b && link->to == a));
        }
        if (found != 1)
            fail_msg("%d links %s %s %s of width %d", found, from, to, kind_name, width);
    }
}

static void check_values(const struct discovery *found, const json_t *wanted)
{
    size_t index;
    json_t *one;
    json_array_foreach(wanted, index, one)
    {
        const char *name, *from, *to, *axes, *source;
        double number;
        enum metric metric;
        assert_int_equal(
            json_unpack(one, "[s,s,s,s,F,s]", &name, &from, &to, &axes, &number, &source), 0);
        assert_true(metric_parse(name, &metric));
        const struct value *value =
            values_find(found->values, metric, place_named(found->graph, from),
                        place_named(found->graph, to), axes);
        if (value == NULL)
            fail_msg("no value of %s from %s to %s [%s]", name, from, to, axes);
        assert_string_equal(value_source_name(value->source), source);
        if (fabs(value->value - number) > 1e-9 * fabs(number))
            fail_msg("%s from %s to %s is %.12g, not %.12g", name, from, to, value->value, number);
    }
}

static void check_place_texts(const struct graph *graph, const json_t *wanted,
                              const char *(*of)(const struct graph *, const struct place *))
{
    const char *name;
    json_t *text;
    json_object_foreach((json_t *)wanted, name, text)
    {
        const char *is = of(graph, graph_place(graph, place_named(graph, name)));
        if (strcmp(is, json_string_value(text)) != 0)
            fail_msg("%s has %s, not %s", name, is, json_string_value(text));
    }
}

static const char *name_of(const struct graph *graph, place_id id)
{
    return id == PLACE_NONE ? "" : graph->places[id].name;
}
static const char *parent_of(const struct graph *graph, const struct place *place)
{
    return name_of(graph, place->parent);
}
static const char *numa_of(const struct graph *graph, const struct place *place)
{
    return name_of(graph, place->numa);
}
static const char *pci_of(const struct graph *graph, const struct place *place)
{
    (void)graph;
    return place->pci == NULL ? "" : place->pci;
}
static const char *memory_of(const struct graph *graph, const struct place *place)
{
    (void)graph;
    const char *memory = place_detail(place, "memory");
    return memory == NULL ? "" : memory;
}

static void check_answer(const struct discovery *found, const json_t *answer)
{
    const struct graph *graph = found->graph;
    const char *kind_name;
    json_t *count;
    assert_string_equal(origin_name(graph->origin),
                        json_string_value(json_object_get(answer, "origin")));
    json_object_foreach(json_object_get(answer, "places"), kind_name, count)
    {
        enum place_kind kind;
        assert_true(place_kind_parse(kind_name, &kind));
        if ((json_int_t)graph_count(graph, kind) != json_integer_value(count))
            fail_msg("%zu %ss, not %d", graph_count(graph, kind), kind_name,
                     (int)json_integer_value(count));
    }
    if (json_object_get(answer, "link_count") != NULL)
        assert_int_equal(graph->link_count,
                         json_integer_value(json_object_get(answer, "link_count")));
    check_links(graph, json_object_get(answer, "links"));
    check_place_texts(graph, json_object_get(answer, "parent"), parent_of);
    check_place_texts(graph, json_object_get(answer, "numa"), numa_of);
    check_place_texts(graph, json_object_get(answer, "pci"), pci_of);
    check_place_texts(graph, json_object_get(answer, "memory"), memory_of);
    check_values(found, json_object_get(answer, "values"));
    const json_t *sentences = json_object_get(answer, "disagreements");
    for (size_t i = 0;
         i < graph->disagreement_count && json_array_size(sentences) != graph->disagreement_count;
         i++)
        print_message("  %s\n", graph->disagreements[i]);
    assert_int_equal(graph->disagreement_count, json_array_size(sentences));
    for (size_t i = 0; i < graph->disagreement_count; i++)
        if (strstr(graph->disagreements[i], json_string_value(json_array_get(sentences, i))) ==
            NULL)
            fail_msg("\"%s\" does not say \"%s\"", graph->disagreements[i],
                     json_string_value(json_array_get(sentences, i)));
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* must_load: without an answer file, or with one that gives no error. */
static void check_folder(const char *folder, const char *name, bool must_load)
{
    json_t *answer = answer_of(name);
    const char *error = json_string_value(json_object_get(answer, "error"));
    double best = INFINITY;
    if (answer == NULL && !must_load)
        return;
    for (int i = 0; i < TRIES_MIN || (i < TRIES_MAX && best >= LOAD_NS * NOISE); i++) {
        struct discovery found = {0};
        struct berth_err err = {0};
        double begin = now_ns();
        enum berth_code code = discover_folder(folder, &found, &err);
        best = fmin(best, now_ns() - begin);
        if (error != NULL) {
            assert_int_equal(code, BERTH_BAD_DATA);
            if (strstr(err.detail, error) == NULL)
                fail_msg("%s: \"%s\" does not say \"%s\"", name, err.detail, error);
            continue;
        }
        if (code != BERTH_OK)
            fail_msg("%s: %s", name, err.detail);
        if (i == 0) {
            check_invariants(&found);
            if (answer != NULL)
                check_answer(&found, answer);
        }
        discovery_done(&found);
    }
    print_message("%-50s %5.1f ms%s\n", name, best / 1e6,
                  error != NULL    ? ", refused"
                  : answer == NULL ? ", no answer file"
                                   : "");
    assert_true(best < LOAD_NS * NOISE);
    json_decref(answer);
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    assert_non_null(file);
    assert_non_null(text);
    text[fread(text, 1, (1 << 20) - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* One XML file as a folder of its own. */
static void check_alone(const char *path, const char *name)
{
    char folder[] = "/tmp/test_replay.XXXXXX", copy[64];
    char *text = read_text(path);
    if (strstr(text, "<topology") != NULL) {
        assert_non_null(mkdtemp(folder));
        snprintf(copy, sizeof copy, "%s/topology.xml", folder);
        FILE *file = fopen(copy, "w");
        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        fclose(file);
        check_folder(folder, name, true);
        unlink(copy);
        rmdir(folder);
    }
    free(text);
}

static void check_all(const char *nodes, bool xml_alone)
{
    struct dirent **folders, **files;
    int count = scandir(nodes, &folders, NULL, alphasort);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        char folder[512], path[1024], name[600];
        snprintf(folder, sizeof folder, "%s/%s", nodes, folders[i]->d_name);
        snprintf(path, sizeof path, "%s/node.json", folder);
        if (folders[i]->d_name[0] != '.')
            check_folder(folder, folders[i]->d_name, access(path, R_OK) == 0);
        int file_count = folders[i]->d_name[0] == '.' || !xml_alone
                             ? 0
                             : scandir(folder, &files, NULL, alphasort);
        for (int k = 0; k < file_count; k++) {
            const char *dot = strrchr(files[k]->d_name, '.');
            if (dot != NULL && strcmp(dot, ".xml") == 0) {
                snprintf(path, sizeof path, "%s/%s", folder, files[k]->d_name);
                snprintf(name, sizeof name, "%s.%.*s", folders[i]->d_name,
                         (int)(dot - files[k]->d_name), files[k]->d_name);
                check_alone(path, name);
            }
            free(files[k]);
        }
        if (file_count > 0)
            free(files);
        free(folders[i]);
    }
    free(folders);
}

static void our_nodes_are_as_they_should(void **state)
{
    (void)state;
    check_all("tests/nodes", false);
}

static void other_nodes_are_as_they_should(void **state)
{
    (void)state;
    const char *nodes = getenv("BERTH_NODES");
    if (nodes == NULL)
        nodes = "../shared/nodes";
    if (access(nodes, R_OK) != 0) {
        print_message("%s is not at hand\n", nodes);
        skip();
    }
    check_all(nodes, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_nodes_are_as_they_should),
        cmocka_unit_test(other_nodes_are_as_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
