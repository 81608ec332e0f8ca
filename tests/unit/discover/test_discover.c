#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "discover/discover.h"
#include "discover/draft.h"
#include "unit/base/tree.h"

static char folder[TREE_SIZE];

static int make_folder(void **state)
{
    (void)state;
    tree_make(folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    tree_remove(folder);
    return 0;
}

static bool write_file(void *arg, const char *file, const char *text, size_t length)
{
    (void)arg;
    char path[512];
    snprintf(path, sizeof path, "/%s", file);
    tree_put_bytes(folder, path, text, length);
    return true;
}

static void put(const char *file, const char *text) { write_file(NULL, file, text, strlen(text)); }

static bool same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static void assert_same(const struct discovery *a, const struct discovery *b)
{
    assert_string_equal(a->graph->fingerprint, b->graph->fingerprint);
    assert_string_equal(a->graph->name, b->graph->name);
    assert_int_equal(a->graph->place_count, b->graph->place_count);
    for (size_t i = 0; i < a->graph->place_count; i++) {
        const struct place *x = &a->graph->places[i], *y = &b->graph->places[i];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->parent, y->parent);
        assert_int_equal(x->numa, y->numa);
        assert_true(x->capacity_bytes == y->capacity_bytes);
        assert_int_equal(x->detail_count, y->detail_count);
    }
    assert_int_equal(a->graph->link_count, b->graph->link_count);
    for (size_t i = 0; i < a->graph->link_count; i++) {
        const struct link *x = &a->graph->links[i], *y = &b->graph->links[i];
        assert_int_equal(x->from, y->from);
        assert_int_equal(x->to, y->to);
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->width, y->width);
        assert_true(same_number(x->nominal_bytes_per_s, y->nominal_bytes_per_s));
    }
    assert_int_equal(a->graph->resource_count, b->graph->resource_count);
    assert_int_equal(a->values->count, b->values->count);
    for (size_t i = 0; i < a->values->count; i++) {
        const struct value *x = &a->values->item[i], *y = &b->values->item[i];
        assert_int_equal(x->metric, y->metric);
        assert_int_equal(x->source, y->source);
        assert_int_equal(x->from, y->from);
        assert_int_equal(x->to, y->to);
        assert_string_equal(values_axes(a->values, x), values_axes(b->values, y));
        assert_true(same_number(x->value, y->value) && same_number(x->low, y->low) &&
                    same_number(x->high, y->high));
        assert_true(x->measured_at_s == y->measured_at_s && x->n == y->n);
    }
}

static void this_machine_is_seen_and_recorded(void **state)
{
    (void)state;
    const struct files io = {""};
    struct discovery live = {0}, again = {0};
    struct berth_err err = {0};
    assert_int_equal(discover_live(&io, NULL, &live, &err), BERTH_OK);
    assert_true(graph_count(live.graph, PLACE_PU) >= 1);
    assert_true(graph_count(live.graph, PLACE_CORE) >= 1);
    assert_true(graph_count(live.graph, PLACE_NUMA) >= 1);
    assert_int_equal(live.graph->origin, ORIGIN_LIVE);
    const struct folder_contents contents = {live.graph, ORIGIN_LIVE, live.values,
                                             NULL,       NULL,        NULL};
    assert_int_equal(discover_write_folder(&io, NULL, &contents, write_file, NULL, &err), BERTH_OK);
    assert_int_equal(discover_folder(folder, &again, &err), BERTH_OK);
    assert_int_equal(again.graph->origin, ORIGIN_RECORDED);
    assert_same(&live, &again);
    discovery_done(&live);
    discovery_done(&again);
}

/* Tests run at the top of the source tree. */
static void a_folder_records_as_itself(void **state)
{
    const char *name = *state;
    char path[128];
    struct discovery first = {0}, again = {0};
    struct berth_err err = {0};
    const struct files io = {""};
    snprintf(path, sizeof path, "tests/nodes/%s", name);
    assert_int_equal(discover_folder(path, &first, &err), BERTH_OK);
    make_folder(state);
    static const char shapes[] = "AMD Instinct MI250X/507@1790000000,0000:c1:00.0>numa3: host-copy "
                                 "256x132u4 2e+10 1e+10 3e+10 1e+10";
    const struct folder_contents contents = {
        first.graph, first.graph->origin, first.values, first.sets, NULL, shapes};
    assert_int_equal(discover_write_folder(&io, path, &contents, write_file, NULL, &err), BERTH_OK);
    assert_int_equal(discover_folder(folder, &again, &err), BERTH_OK);
    remove_folder(state);
    assert_string_equal(again.shapes, shapes);
    assert_int_equal(first.graph->origin, again.graph->origin);
    assert_same(&first, &again);
    discovery_done(&first);
    discovery_done(&again);
}

static bool stop_at_once(void *arg, const char *file, const char *text, size_t length)
{
    (void)text;
    (void)length;
    assert_string_equal(file, "node.json");
    ++*(int *)arg;
    return false;
}

static void a_visitor_may_stop(void **state)
{
    (void)state;
    struct discovery found = {0};
    const struct files io = {""};
    int calls = 0;
    assert_int_equal(discover_folder("tests/nodes/mi250x", &found, NULL), BERTH_OK);
    const struct folder_contents contents = {
        found.graph, ORIGIN_RECORDED, found.values, found.sets, NULL, NULL};
    assert_int_equal(
        discover_write_folder(&io, "tests/nodes/mi250x", &contents, stop_at_once, &calls, NULL),
        BERTH_OK);
    assert_int_equal(calls, 1);
    discovery_done(&found);
}

static void fingerprints_tell_hardware_apart(void **state)
{
    (void)state;
    struct discovery a = {0}, b = {0}, c = {0};
    assert_int_equal(discover_folder("tests/nodes/mi250x", &a, NULL), BERTH_OK);
    assert_int_equal(discover_folder("tests/nodes/mi250x", &b, NULL), BERTH_OK);
    assert_int_equal(discover_folder("tests/nodes/mi300a", &c, NULL), BERTH_OK);
    assert_string_equal(a.graph->fingerprint, b.graph->fingerprint);
    assert_string_not_equal(a.graph->fingerprint, c.graph->fingerprint);
    assert_int_equal(strspn(a.graph->fingerprint, "0123456789abcdef"), 32);
    /* the firmware kept 100 MiB more this time */
    b.graph->places[graph_find(b.graph, "numa0")].capacity_bytes -= 100 << 20;
    char text[33];
    fingerprint(b.graph, text);
    assert_string_equal(text, a.graph->fingerprint);
    b.graph->places[graph_find(b.graph, "numa0")].capacity_bytes /= 2; /* memory was taken out */
    fingerprint(b.graph, text);
    assert_string_not_equal(text, a.graph->fingerprint);
    discovery_done(&a);
    discovery_done(&b);
    discovery_done(&c);
}

static void a_nic_has_its_identifier_from_the_factory(void **state)
{
    (void)state;
    struct discovery a = {0};
    char text[33];
    assert_int_equal(discover_folder("tests/nodes/mi250x", &a, NULL), BERTH_OK);
    place_id id = graph_next(a.graph, PLACE_NIC, 0);
    assert_int_not_equal(id, PLACE_NONE);
    struct place *nic = &a.graph->places[id];
    assert_non_null(nic->pci);
    char *own = nic->uuid;
    nic->uuid = "0000:1111:2222:3333"; /* of another node of equal hardware */
    fingerprint(a.graph, text);
    assert_string_equal(text, a.graph->fingerprint);
    nic->uuid = own;
    discovery_done(&a);
}

static void refuses(const char *why)
{
    struct discovery none = {0};
    struct berth_err err = {0};
    assert_int_equal(discover_folder(folder, &none, &err), BERTH_BAD_DATA);
    if (strstr(err.detail, why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.detail, why);
    assert_null(none.graph);
}

static void broken_folders_say_what_is_wrong(void **state)
{
    (void)state;
    refuses("neither node.json nor an hwloc XML");
    put("node.json", "{\"hwloc\": \"topology.xml\"");
    refuses("node.json is no JSON object: line 1");
    put("node.json", "[]");
    refuses("node.json is no JSON object");
    put("node.json", "{\"hwloc\": \"topology.xml\"}");
    refuses("topology.xml, which is not there");
    put("node.json", "{\"hwloc\": \"/etc/passwd\"}");
    refuses("leaves the folder");
    put("node.json", "{\"hwloc\": \"a/../../b\"}");
    refuses("leaves the folder");
    put("node.json", "{\"hwloc\": 3}");
    refuses("hwloc is no text");
    put("node.json", "{\"origin\": \"live\"}");
    refuses("origin is not");
    put("node.json", "{\"origin\": {\"kfd\": \"invented\"}}");
    refuses("origin is not");
    put("node.json", "{\"name\": \"a/b\"}");
    refuses("name has a slash");
    put("node.json", "{\"kfd\": \"kfd\"}");
    refuses("no topology/nodes");
    char path[128];
    snprintf(path, sizeof path, "%s/link.xml", folder);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    put("node.json", "{\"hwloc\": \"link.xml\"}");
    refuses("leaves the folder");
    put("node.json", "{\"hwloc\": \"topology.xml\"}");
    put("topology.xml", "hello");
    refuses("topology.xml is no hwloc XML");
    put("topology.xml", "<?xml version=\"1.0\"?>\n<topology version=\"3.0\">\n</topology>\n");
    refuses("format 3.0");
    put("topology.xml",
        "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">\n <object type=\"Machine\"");
    refuses("cut off");
    put("topology.xml", "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">\n</topology>\n");
    refuses("broken");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(this_machine_is_seen_and_recorded, make_folder,
                                        remove_folder),
        cmocka_unit_test_prestate(a_folder_records_as_itself, (void *)"mi250x"),
        cmocka_unit_test_prestate(a_folder_records_as_itself, (void *)"gh200-quad"),
        cmocka_unit_test_prestate(a_folder_records_as_itself, (void *)"memoryless-v1"),
        cmocka_unit_test(a_visitor_may_stop),
        cmocka_unit_test(fingerprints_tell_hardware_apart),
        cmocka_unit_test(a_nic_has_its_identifier_from_the_factory),
        cmocka_unit_test_setup_teardown(broken_folders_say_what_is_wrong, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
