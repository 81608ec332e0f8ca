/* A node as it is drawn, from replies written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/topo.h"

/* Single quotes for double ones: JSON is unreadable in C otherwise. */
static json_t *parse(const char *text)
{
    char *copy = strdup(text);
    for (char *c = copy; *c != '\0'; c++)
        if (*c == '\'')
            *c = '"';
    json_error_t where;
    json_t *json = json_loads(copy, 0, &where);
    if (json == NULL)
        fail_msg("%s at %d", where.text, where.position);
    free(copy);
    return json;
}

static void expect(const char *reply, bool utf8, const char *drawing)
{
    struct ui ui = {.width = 100, .utf8 = utf8};
    json_t *json = parse(reply);
    ui_topo(&ui, json, UI_TOPO_TREE | UI_TOPO_LINKS, NULL);
    json_decref(json);
    assert_false(ui.failed);
    assert_string_equal(ui.text, drawing);
    ui_done(&ui);
}

#define BASIS "'basis':{'snapshot':'s-1','claims':'0','origin':'live'}"

static const char small[] =
    "{'name':'vm','places':["
    "{'name':'machine0','kind':'machine','parent':null,'cpus':'0-1','details':{}},"
    "{'name':'package0','kind':'package','parent':'machine0','cpus':'0-1','model':'Some "
    "CPU','details':{}},"
    "{'name':'numa0','kind':'numa','parent':'package0','cpus':'0-1','capacity_bytes':8589934592,'"
    "details':{}},"
    "{'name':'llc0','kind':'llc','parent':'package0','numa':'numa0','cpus':'0-1','capacity_bytes':"
    "33554432,'details':{}},"
    "{'name':'core0','kind':'core','parent':'llc0','cpus':'0','details':{}},{'name':'core1','kind':"
    "'core','parent':'llc0','cpus':'1','details':{}},"
    "{'name':'pu0','kind':'pu','parent':'core0','cpus':'0','details':{}},{'name':'pu1','kind':'pu',"
    "'parent':'core1','cpus':'1','details':{}}"
    "],'links':[],'software':{'kernel':'6.1'},'disagreements':[]," BASIS "}";

static void what_a_driver_says_of_gpus(void **state)
{
    (void)state;
    expect("{'name':'vm','places':["
           "{'name':'machine0','kind':'machine','parent':null,'details':{}},"
           "{'name':'numa0','kind':'numa','parent':'machine0','capacity_bytes':8589934592,'details'"
           ":{}},"
           "{'name':'gpu0','kind':'gpu','parent':'numa0','model':'H200','details':{'nvlinks':'18','"
           "nvlinks_up':'18','processes':'0'}},"
           "{'name':'gpu1','kind':'gpu','parent':'numa0','model':'H200','details':{'nvlinks':'18','"
           "nvlinks_up':'16','processes':'2'}},"
           "{'name':'gpu2','kind':'gpu','parent':'numa0','model':'H200','details':{'state':'lost'}}"
           "],'links':[],'software':{},'disagreements':[]," BASIS "}",
           false,
           "3 gpus, all at numa0\n"
           "vm: 3 H200, 1 NUMA node\n"
           "\n"
           "numa0    8 GiB, no cpus\n"
           "|- gpu0  18 NVLinks\n"
           "|- gpu1  16 of 18 NVLinks, in use by 2 processes\n"
           "`- gpu2  lost\n");
}

static void a_small_machine(void **state)
{
    (void)state;
    expect(small, true,
           "no gpu; 2 cores and 8 GiB in 1 NUMA node\n"
           "vm: 2 cores, 2 cpus, 1 NUMA node, package0 Some CPU; kernel 6.1\n"
           "\n"
           "numa0  8 GiB, 2 cores, cpus 0-1, L3 llc0 32 MiB\n");
}

static void gpus_folds_links_and_disagreements(void **state)
{
    (void)state;
    expect(
        "{'name':'big','places':["
        "{'name':'machine0','kind':'machine','details':{}},"
        "{'name':'numa0','kind':'numa','parent':'machine0','cpus':'0-3','capacity_bytes':0,'"
        "details':{}},"
        "{'name':'llc0','kind':'llc','parent':'machine0','numa':'numa0','cpus':'0-1','capacity_"
        "bytes':1048576,'details':{}},"
        "{'name':'llc1','kind':'llc','parent':'machine0','numa':'numa0','cpus':'2-3','capacity_"
        "bytes':1048576,'details':{}},"
        "{'name':'core0','kind':'core','parent':'llc0','details':{}},{'name':'core1','kind':'"
        "core','parent':'llc0','details':{}},"
        "{'name':'core2','kind':'core','parent':'llc1','details':{}},{'name':'core3','kind':'"
        "core','parent':'llc1','details':{}},"
        "{'name':'gpu0','kind':'gpu','parent':'numa0','model':'M','capacity_bytes':1073741824,'"
        "pci':'0000:01:00.0','details':{}},"
        "{'name':'gpu1','kind':'gpu','parent':'numa0','model':'M','capacity_bytes':1073741824,'"
        "pci':'0000:01:00.1','details':{}},"
        "{'name':'gpu2','kind':'gpu','parent':'numa0','cpus':'2-3','model':'M','capacity_bytes':"
        "1073741824,'pci':'0000:02:00.0','details':{}},"
        "{'name':'nic0','kind':'nic','parent':'numa0','cpus':'2-3','pci':'0000:03:00.0',"
        "'details':{'"
        "interface':'eth\\u001b0'}},"
        "{'name':'numa1','kind':'numa','parent':'machine0','capacity_bytes':1073741824,'details'"
        ":{}},"
        "{'name':'numa2','kind':'numa','parent':'machine0','capacity_bytes':1073741824,'details'"
        ":{}}"
        "],'links':["
        "{'from':'gpu0','to':'gpu2','kind':'xgmi','width':4,'nominal_bytes_per_s':2e11,'"
        "measured_bytes_per_s':1.48e11,'state':'up'},"
        "{'from':'gpu1','to':'gpu2','kind':'xgmi','width':1,'nominal_bytes_per_s':5e10,'"
        "measured_bytes_per_s':null,'state':'down'},"
        "{'from':'gpu0','to':'numa0','kind':'pcie','width':16,'nominal_bytes_per_s':31.5e9,'"
        "measured_bytes_per_s':null,'state':'up'},"
        "{'from':'gpu9','to':'numa0','kind':'pcie','width':16,'nominal_bytes_per_s':31.5e9,'"
        "measured_bytes_per_s':null,'state':'up'}"
        "],'software':{},'disagreements':['one says 4, the other "
        "5'],'basis':{'origin':'recorded'}}",
        false,
        "3 gpus, all at numa0; 1 link down or degraded\n"
        "big (recorded): 3 M of 1 GiB, 1 nic, 4 cores, 3 NUMA nodes\n"
        "\n"
        "numa0      no memory, 4 cores, cpus 0-3\n"
        "|- llc0-1  2 x 1 MiB, 2 cores each, cpus 0-1 | 2-3\n"
        "|- gpu0-1  2 x 1 GiB, 01:00.0 ... .1, pcie x16 31.5 GB/s nominal\n"
        "|- gpu2    1 GiB, L3 llc1, 02:00.0\n"
        "`- nic0    eth?0, L3 llc1, 03:00.0\n"
        "numa1-2    2 x 1 GiB, no cpus\n"
        "\n"
        "Links (each way; nominal unless marked)\n"
        "        gpu0  gpu1  gpu2  nic0  L3    numa   cpus\n"
        "  gpu0     -     .    X4     N  -     numa0  0-3\n"
        "  gpu1     .     -   X1!     N  -     numa0  0-3\n"
        "  gpu2    X4   X1!     -     L  llc1  numa0  2-3\n"
        "  L at one L3; N at one NUMA node; . no direct link, or not at one NUMA node; ! down or "
        "degraded\n"
        "  X4   xgmi x4       200 GB/s  measured 148 GB/s  1 pair\n"
        "  X1!  xgmi x1 down  50 GB/s                      gpu1-gpu2\n"
        "\n"
        "The sources disagree\n"
        "  one says 4, the other 5\n");
}

#define PAIR(from, to, value, source)                                                              \
    "{'from':'" from "','to':'" to "','value':" value ",'source':'" source "'}"

/* A link to a switch has the slowest measured pair of its gpu, in its words; published pairs and
 * links that were measured stay. */
static void links_to_a_switch_have_the_rate_of_pairs(void **state)
{
    (void)state;
    json_t *node = parse(
        "{'name':'n','places':["
        "{'name':'machine0','kind':'machine','details':{}},"
        "{'name':'gpu0','kind':'gpu','parent':'machine0','model':'M','details':{}},"
        "{'name':'gpu1','kind':'gpu','parent':'machine0','model':'M','details':{}},"
        "{'name':'gpu2','kind':'gpu','parent':'machine0','model':'M','details':{}},"
        "{'name':'switch0','kind':'switch','parent':'machine0','details':{}}],'links':["
        "{'from':'gpu0','to':'switch0','kind':'nvlink','width':18,'nominal_bytes_per_s':4.78e11,"
        "'measured_bytes_per_s':null,'state':'up'},"
        "{'from':'gpu1','to':'switch0','kind':'nvlink','width':18,'nominal_bytes_per_s':4.78e11,"
        "'measured_bytes_per_s':null,'state':'up'},"
        "{'from':'gpu2','to':'switch0','kind':'nvlink','width':9,'nominal_bytes_per_s':2.39e11,"
        "'measured_bytes_per_s':null,'state':'up'},"
        "{'from':'gpu0','to':'gpu1','kind':'pcie','width':16,'nominal_bytes_per_s':6e10,"
        "'measured_bytes_per_s':5e10,'state':'up'}"
        "],'software':{},'disagreements':[]," BASIS "}");
    json_t *matrix = parse("{'cells':[" PAIR("gpu0", "gpu1", "3.97e11", "measured") "," PAIR(
        "gpu1", "gpu0", "3.98e11", "measured") "," PAIR("gpu2", "gpu1", "1e11", "published") "]}");
    struct ui ui = {.width = 100};
    ui_node_add_pairs(node, NULL);
    ui_topo(&ui, node, UI_TOPO_TREE | UI_TOPO_LINKS, NULL);
    assert_null(strstr(ui.text, "slowest"));
    assert_non_null(strstr(ui.text, "switch0  between gpu0-2\n"));
    ui_done(&ui);
    ui_node_add_pairs(node, matrix);
    ui_topo(&ui, node, UI_TOPO_LINKS, NULL);
    assert_non_null(strstr(ui.text,
                           "nvlink x18  478 GB/s  slowest pair measured 397 GB/s  gpu0-switch0, "
                           "gpu1-switch0\n"));
    assert_non_null(strstr(ui.text, "pcie x16    60 GB/s   measured 50 GB/s"));
    assert_non_null(strstr(ui.text, "nvlink x9   239 GB/s                                  gpu2-"));
    assert_false(ui.failed);
    ui_done(&ui);
    json_decref(matrix);
    json_decref(node);
}

static void a_slow_link_is_named(void **state)
{
    (void)state;
    static const char *const links[][4] = {
        {"gpu0", "gpu1", "xgmi", "76e9"},  {"gpu1", "gpu2", "xgmi", "70e9"},
        {"gpu0", "gpu2", "xgmi", "22e9"},  {"gpu0", "numa0", "pcie", "55e9"},
        {"gpu1", "numa0", "pcie", "27e9"}, {"gpu2", "numa0", "pcie", "50e9"},
        {"gpu3", "numa0", "pcie", "13e9"}, /* of another model */
    };
    char reply[4096];
    size_t used = (size_t)snprintf(reply, sizeof reply,
                                   "{'name':'n','places':[{'name':'machine0','kind':'machine'},"
                                   "{'name':'numa0','kind':'numa','parent':'machine0'}");
    for (int g = 0; g < 4; g++)
        used += (size_t)snprintf(
            reply + used, sizeof reply - used,
            ",{'name':'gpu%d','kind':'gpu','parent':'numa0','model':'%s','details':{}}", g,
            g < 3 ? "M" : "old");
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        used += (size_t)snprintf(reply + used, sizeof reply - used,
                                 "%s{'from':'%s','to':'%s','kind':'%s','width':2,"
                                 "'nominal_bytes_per_s':1e11,'measured_bytes_per_s':%s,"
                                 "'state':'up'}",
                                 i == 0 ? "],'links':[" : ",", links[i][0], links[i][1],
                                 links[i][2], links[i][3]);
    snprintf(reply + used, sizeof reply - used, "],'software':{},'disagreements':[]," BASIS "}");
    json_t *node = parse(reply);
    struct ui ui = {.width = 100};
    ui_topo(&ui, node, UI_TOPO_TREE | UI_TOPO_LINKS, NULL);
    assert_non_null(strstr(ui.text, "gpu0  M, pcie x2 55 GB/s\n"));
    assert_non_null(strstr(ui.text, "gpu1  M, pcie x2 27 GB/s, SLOW\n"));
    assert_non_null(strstr(ui.text, "gpu2  M, pcie x2 50 GB/s\n"));
    assert_non_null(strstr(ui.text, "gpu3  old, pcie x2 13 GB/s\n"));
    assert_non_null(strstr(ui.text, "3 pairs, SLOW: gpu0-gpu2\n"));
    ui_done(&ui);
    /* a copy engine that is slow alone, which kernels do not show */
    json_t *all = json_object_get(node, "links");
    for (size_t i = 0; i < 3; i++) {
        json_object_set_new(json_array_get(all, i), "measured_bytes_per_s", json_real(48e9));
        json_object_set_new(json_array_get(all, i), "engine_bytes_per_s",
                            json_real(i == 2 ? 9e9 : 40e9));
    }
    ui = (struct ui){.width = 100};
    ui_topo(&ui, node, UI_TOPO_TREE | UI_TOPO_LINKS, NULL);
    assert_non_null(strstr(ui.text, "SLOW: gpu0-gpu2 by engine, 9 GB/s\n"));
    ui_done(&ui);
    json_decref(node);
}

static void what_is_known_and_no_more(void **state)
{
    (void)state;
    expect("{'name':'n','places':["
           "{'name':'machine0','kind':'machine','details':{}},"
           "{'name':'numa0','kind':'numa','parent':'machine0','cpus':null,'capacity_bytes':null,'"
           "details':{'cpu_count':'64'}},"
           "{'name':'gpu0','kind':'gpu','parent':'numa0','model':'M','pci':'0000:01:00.0','details'"
           ":{}},"
           "{'name':'gpu1','kind':'gpu','parent':'numa0','model':'M','pci':'0000:01:00.0','details'"
           ":{}},"
           "{'name':'numa1','kind':'numa','parent':'machine0','cpus':null,'capacity_bytes':"
           "4294967296,'details':{'memory':'MCDRAM'}},"
           "{'name':'numa2','kind':'numa','parent':'machine0','cpus':null,'capacity_bytes':"
           "4294967296,'details':{'memory':'MCDRAM'}},"
           "{'name':'numa3','kind':'numa','parent':'machine0','cpus':null,'capacity_bytes':"
           "4294967296,'details':{}}"
           "],'links':[{'from':'machine0','to':'numa0','kind':'membus','width':0,'nominal_bytes_"
           "per_s':null,'measured_bytes_per_s':null,'state':'up'}],"
           "'software':{},'disagreements':[]," BASIS "}",
           false,
           "2 gpus, all at numa0\n"
           "n: 2 M, 4 NUMA nodes\n"
           "\n"
           "numa0      64 cpus\n"
           "`- gpu0-1  2 x, 01:00.0\n"
           "numa1-2    2 x 4 GiB, MCDRAM, no cpus\n"
           "numa3      4 GiB, no cpus\n");
}

static void a_long_line_keeps_the_bars_of_the_tree(void **state)
{
    (void)state;
    static const char model[] = "a model with so many words in its name that no line of a terminal "
                                "holds all of them at once";
    char reply[2048];
    snprintf(reply, sizeof reply,
             "{'name':'n','places':["
             "{'name':'machine0','kind':'machine','details':{}},"
             "{'name':'package0','kind':'package','parent':'machine0','model':'%s','details':{}},"
             "{'name':'gpu0','kind':'gpu','parent':'package0','model':'%s','details':{}},"
             "{'name':'gpu1','kind':'gpu','parent':'package0','model':'other %s','details':{}},"
             "{'name':'package1','kind':'package','parent':'machine0','model':'P','details':{}}"
             "],'links':[],'software':{},'disagreements':[]," BASIS "}",
             model, model, model);
    expect(reply, false,
           "2 gpus\n"
           "n: 2 gpus, 2 packages\n"
           "\n"
           "package0  a model with so many words in its name that no line of a terminal holds all "
           "of them at\n"
           "|         once\n"
           "|- gpu0   a model with so many words in its name that no line of a terminal holds all "
           "of them at\n"
           "|         once\n"
           "`- gpu1   other a model with so many words in its name that no line of a terminal "
           "holds all of them\n"
           "          at once\n"
           "package1  P\n");
}

/* A reply that is not as promised is drawn as far as it makes sense. */
static void odd_replies(void **state)
{
    (void)state;
    static const char *const replies[] = {
        "{}",
        "{'places':5,'links':{},'software':[],'disagreements':7,'basis':3}",
        "{'places':[1,null,{},{'name':7}],'links':[1,{}]}",
        "{'places':[{'name':'a0','kind':'numa','parent':'a0'},{'name':'b0','kind':'llc','parent':'"
        "c0'},{'name':'c0','kind':'llc','parent':'b0'}]}",
        "{'places':[{'name':'machine0','kind':'machine','parent':'x0'},{'name':'x0','kind':'"
        "package','parent':'machine0'},{'name':'machine0','kind':'machine'}]}",
        ("{'places':[{'name':'machine0','kind':'machine'},{'name':'gpu1','kind':'gpu','cpus':'9-1'}"
         ",{'name':'gpu2','kind':'gpu','cpus':'99999999999999999999'}],"
         "'links':[{'from':'gpu1','to':'gpu2','kind':'','width':-5,'nominal_bytes_per_s':'x'},{'"
         "from':'gpu1','to':'gpu1','kind':'xgmi','width':99999999999}]}"),
    };
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        struct ui ui = {.width = 60};
        json_t *json = parse(replies[i]);
        ui_topo(&ui, json, UI_TOPO_TREE | UI_TOPO_LINKS, NULL);
        json_decref(json);
        assert_false(ui.failed);
        assert_non_null(ui.text);
        ui_done(&ui);
    }
}

static void colour_is_only_on_request(void **state)
{
    (void)state;
    struct ui ui = {.width = 100, .colour = true};
    json_t *json = parse(small);
    ui_topo(&ui, json, UI_TOPO_TREE | UI_TOPO_LINKS, NULL);
    json_decref(json);
    assert_memory_equal(ui.text, "\033[1mno gpu; ", 12);
    ui_done(&ui);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_machine),
        cmocka_unit_test(what_a_driver_says_of_gpus),
        cmocka_unit_test(gpus_folds_links_and_disagreements),
        cmocka_unit_test(links_to_a_switch_have_the_rate_of_pairs),
        cmocka_unit_test(a_slow_link_is_named),
        cmocka_unit_test(what_is_known_and_no_more),
        cmocka_unit_test(a_long_line_keeps_the_bars_of_the_tree),
        cmocka_unit_test(odd_replies),
        cmocka_unit_test(colour_is_only_on_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
