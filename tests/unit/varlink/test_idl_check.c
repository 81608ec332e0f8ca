/* Values against types: each wrong value is refused with the path of the wrong part, each right one
 * is accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "varlink/idl.h"

static const char *const text =
    "interface a.b\n"
    "type Access (by: string, pattern: ?(stream, random), cores: ?int)\n"
    "type Tree (value: int, left: ?Tree)\n"
    "method M(bytes: int, share: ?float, on: ?bool, accesses: "
    "?[]Access, where: ?[string]int, any: ?object,\n"
    "  kinds: ?[](a, b), holes: ?[]?int, tree: ?Tree) -> ()\n";

static const struct {
    const char *json, *path; /* path NULL: it matches */
} cases[] = {
    {"{'bytes':1}", NULL},
    {"{'bytes':1,'share':null,'accesses':null,'where':null}", NULL},
    {"{'bytes':1,'share':2}", NULL},
    {"{'bytes':1,'share':2.5,'on':true,'any':{'x':[1,'y']}}", NULL},
    {"{'bytes':1,'accesses':[{'by':'gpu0','pattern':'random'},{'by':'gpu1','pattern':null}]}",
     NULL},
    {"{'bytes':1,'accesses':[],'where':{},'kinds':['a','b','a'],'holes':[1,null]}", NULL},
    {"{'bytes':1,'tree':{'value':1,'left':{'value':2,'left':{'value':3}}}}", NULL},
    {"{}", "bytes"},
    {"{'bytes':9.3e18}", "bytes"},
    {"{'bytes':null}", "bytes"},
    {"{'bytes':1.0}", "bytes"},
    {"{'bytes':1.5}", "bytes"},
    {"{'bytes':'1'}", "bytes"},
    {"{'bytes':true}", "bytes"},
    {"{'bytes':1,'share':'x'}", "share"},
    {"{'bytes':1,'on':1}", "on"},
    {"{'bytes':1,'Bytes':1}", "Bytes"},
    {"{'bytes':1,'extra':null}", "extra"},
    {"{'bytes':1,'accesses':{}}", "accesses"},
    {"{'bytes':1,'accesses':[3]}", "accesses[0]"},
    {"{'bytes':1,'accesses':[null]}", "accesses[0]"},
    {"{'bytes':1,'accesses':[{'by':'x'},{'by':'x','pattern':'often'}]}", "accesses[1].pattern"},
    {"{'bytes':1,'accesses':[{'by':'x'},{'by':'x','pattern':3}]}", "accesses[1].pattern"},
    {"{'bytes':1,'accesses':[{'pattern':'random'}]}", "accesses[0].by"},
    {"{'bytes':1,'accesses':[{'by':'x','no':1}]}", "accesses[0].no"},
    {"{'bytes':1,'where':{'k':1,'l':'2'}}", "where.l"},
    {"{'bytes':1,'where':[]}", "where"},
    {"{'bytes':1,'any':[]}", "any"},
    {"{'bytes':1,'kinds':['a','c']}", "kinds[1]"},
    {"{'bytes':1,'holes':[1,null,'x']}", "holes[2]"},
    {"{'bytes':1,'tree':{'value':1,'left':{'value':2,'left':{}}}}", "tree.left.left.value"},
    {"[]", ""},
    {"[1]", ""},
};

static int set_up(void **state)
{
    struct idl *idl = NULL;
    struct berth_err err = {0};
    if (idl_parse(text, strlen(text), &idl, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    *state = idl;
    return 0;
}

static int tear_down(void **state)
{
    idl_free(*state);
    return 0;
}

static json_t *json(const char *single_quoted)
{
    char buffer[512];
    snprintf(buffer, sizeof buffer, "%s", single_quoted);
    for (char *c = buffer; *c != '\0'; c++)
        if (*c == '\'')
            *c = '"';
    json_t *value = json_loads(buffer, 0, NULL);
    assert_non_null(value);
    return value;
}

static void test_cases(void **state)
{
    const struct idl_type *in = idl_find(*state, IDL_METHOD, "M")->in;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *value = json(cases[i].json);
        struct berth_err err = {0};
        enum berth_code code = idl_check(in, value, &err);
        if (code != (cases[i].path == NULL ? BERTH_OK : BERTH_INVALID_PARAMETER))
            fail_msg("%s: %s", cases[i].json, err.detail);
        if (cases[i].path != NULL)
            assert_string_equal(err.arg[0].text, cases[i].path);
        json_decref(value);
    }
}

static void test_deep(void **state)
{
    const struct idl_type *in = idl_find(*state, IDL_METHOD, "M")->in;
    json_t *tree = json("{'value':'x'}");
    for (int i = 0; i < 1000; i++)
        tree = json_pack("{s:i,s:o}", "value", i, "left", tree);
    json_t *value = json_pack("{s:i,s:o}", "bytes", 1, "tree", tree);
    struct berth_err err = {0};
    assert_int_equal(idl_check(in, value, &err), BERTH_INVALID_PARAMETER);
    assert_int_equal(strncmp(err.arg[0].text, "tree.left.left.left", 19), 0);
    assert_true(strlen(err.arg[0].text) < sizeof err.arg[0].text);
    json_decref(value);
}

static void test_long_name(void **state)
{
    const struct idl_type *in = idl_find(*state, IDL_METHOD, "M")->in;
    char name[400];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    json_t *value = json_pack("{s:i,s:i}", "bytes", 1, name, 2);
    struct berth_err err = {0};
    assert_int_equal(idl_check(in, value, &err), BERTH_INVALID_PARAMETER);
    assert_int_equal(strlen(err.arg[0].text), 95);
    assert_int_equal(idl_check(in, value, NULL), BERTH_INVALID_PARAMETER);
    json_decref(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_long_name),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
