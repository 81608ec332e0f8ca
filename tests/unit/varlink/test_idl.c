/* The parser of interface descriptions: its results, the positions of its errors, and its
 * robustness against any text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/embedded.h"
#include "varlink/idl.h"

static struct idl *parsed(const char *text)
{
    struct idl *idl = NULL;
    struct berth_err err = {0};
    if (idl_parse(text, strlen(text), &idl, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    return idl;
}

static void test_embedded(void **state)
{
    (void)state;
    size_t methods = 0;
    for (const struct embedded_file *file = embedded_interfaces; file->name != NULL; file++) {
        assert_int_equal(strlen(file->text), file->length);
        struct idl *idl = parsed(file->text);
        assert_int_equal(strncmp(idl->name, file->name, strlen(idl->name)), 0);
        assert_string_equal(file->name + strlen(idl->name), ".varlink");
        for (const struct idl_member *m = idl->members; m != NULL; m = m->next)
            methods += m->kind == IDL_METHOD;
        idl_free(idl);
    }
    assert_true(methods > 15);
}

static void test_tree(void **state)
{
    (void)state;
    struct idl *idl = parsed("# first\ninterface org.example-x.a1 # second\n"
                             "type T (kind: (one, two_2), more: ?[]T, map: [string]?float)\n"
                             "type E (a, b)\n"
                             "method Do(type: ?[](x, y), method: object) -> ()\r\n"
                             "error No (t: T, deep: (a: (b: ?bool)))# end");
    assert_string_equal(idl->name, "org.example-x.a1");
    const struct idl_member *t = idl_find(idl, IDL_TYPE, "T");
    const struct idl_name *field = t->in->names;
    assert_int_equal(t->in->kind, IDL_STRUCT);
    assert_string_equal(field->name, "kind");
    assert_int_equal(field->type->kind, IDL_ENUM);
    assert_string_equal(field->type->names->next->name, "two_2");
    field = field->next;
    assert_true(field->type->nullable);
    assert_int_equal(field->type->kind, IDL_ARRAY);
    assert_int_equal(field->type->element->kind, IDL_NAMED);
    assert_ptr_equal(field->type->element->element, t->in);
    field = field->next;
    assert_int_equal(field->type->kind, IDL_MAP);
    assert_true(field->type->element->nullable);
    assert_null(field->next);
    assert_int_equal(idl_find(idl, IDL_TYPE, "E")->in->kind, IDL_ENUM);
    const struct idl_member *call = idl_find(idl, IDL_METHOD, "Do");
    assert_int_equal(call->in->names->type->element->kind, IDL_ENUM);
    assert_int_equal(call->in->names->next->type->kind, IDL_OBJECT);
    assert_int_equal(call->out->kind, IDL_STRUCT);
    assert_null(call->out->names);
    assert_non_null(idl_find(idl, IDL_ERROR, "No"));
    assert_null(idl_find(idl, IDL_METHOD, "No"));
    idl_free(idl);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *detail;
    } cases[] = {
        {"", "line 1, column 1: expected interface, found the end"},
        {"interface a", "line 1, column 11: expected an interface name"},
        {"interface a..b", "expected an interface name"},
        {"interface a.-b", "expected an interface name"},
        {"interface a.b-", "expected a name or one of"},
        {"interface 1.b", "expected an interface name"},
        {"interface a.b\n\nmethd X() -> ()",
         "line 3, column 1: expected type, method or error, found methd"},
        {"interface a.b\nmethod x() -> ()",
         "line 2, column 8: expected a name that begins with a capital, found x"},
        {"interface a.b\nmethod X()", "line 2, column 11: expected ->, found the end"},
        {"interface a.b\nmethod X(a) -> ()",
         "line 2, column 9: expected fields with types, found ("},
        {"interface a.b\nmethod X() -> (a: in)", "line 2, column 19: expected a type, found in"},
        {"interface a.b\nmethod X(a: Y) -> ()",
         "line 2, column 13: expected a type of this interface, found Y"},
        {"interface a.b\nmethod X(a: X) -> ()", "expected a type of this interface, found X"},
        {"interface a.b\ntype X (a: ??int)", "line 2, column 13: expected a type, found ?"},
        {"interface a.b\ntype X (a: int, a: int)",
         "line 2, column 17: the same name twice, found a"},
        {"interface a.b\ntype X (a: int)\nerror X ()",
         "line 3, column 7: the same name twice, found X"},
        {"interface a.b\ntype X (a: int,)",
         "line 2, column 16: expected the name of a field or value, found )"},
        {"interface a.b\ntype X (a: int, b)", "line 2, column 18: expected :, found )"},
        {"interface a.b\ntype X (a, b: int)", "line 2, column 13: expected ), found :"},
        {"interface a.b\ntype X (a__b: int)", "expected the name of a field"},
        {"interface a.b\ntype X (a_: int)", "expected the name of a field"},
        {"interface a.b\ntype X (a: [ ]int)", "line 2, column 12: expected a name or one of"},
        {"interface a.b\ntype X (a: [int]string)", "expected a name or one of"},
        {"interface a.b\ntype X int", "line 2, column 8: expected (, found int"},
        {"interface a.b\n\x01", "line 2, column 1: expected a name or one of"},
        {"interface a.b\n\xff", "line 2, column 1: expected a name or one of"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct idl *idl = NULL;
        struct berth_err err = {0};
        assert_int_equal(idl_parse(cases[i].text, strlen(cases[i].text), &idl, &err),
                         BERTH_BAD_DATA);
        if (strstr(err.detail, cases[i].detail) == NULL)
            fail_msg("%s\ngave: %s\nnot:  %s", cases[i].text, err.detail, cases[i].detail);
        assert_null(idl);
    }
}

static void assert_refused(const char *text, size_t length, const char *detail)
{
    struct idl *idl = NULL;
    struct berth_err err = {0};
    assert_int_equal(idl_parse(text, length, &idl, &err), BERTH_BAD_DATA);
    if (strstr(err.detail, detail) == NULL)
        fail_msg("gave: %s\nnot:  %s", err.detail, detail);
}

static void test_limits(void **state)
{
    (void)state;
    char *text = malloc(IDL_TEXT_MAX + 2);
    memset(text, ' ', IDL_TEXT_MAX + 2);
    assert_refused(text, IDL_TEXT_MAX + 1, "at most 262144 are read");
    assert_refused(text, IDL_TEXT_MAX, "expected interface, found the end");

    const char *head = "interface a.b\ntype X (a: ";
    size_t used = strlen(head);
    memcpy(text, head, used);
    for (size_t i = used; i + 1 < IDL_TEXT_MAX; i += 2)
        memcpy(text + i, "[]", 2);
    assert_refused(text, IDL_TEXT_MAX, "types nested too deeply");
    for (size_t i = used; i + 3 < IDL_TEXT_MAX; i += 4)
        memcpy(text + i, "(a: ", 4);
    assert_refused(text, IDL_TEXT_MAX, "types nested too deeply");

    used = (size_t)sprintf(text, "interface a.b\ntype X (");
    for (unsigned i = 0; i <= IDL_NAMES_MAX; i++)
        used += (size_t)sprintf(text + used, "a%u,", i);
    assert_refused(text, used, "too many names in one type");
    used = (size_t)sprintf(text, "interface a.b\n");
    for (unsigned i = 0; i <= IDL_NAMES_MAX; i++)
        used += (size_t)sprintf(text + used, "error E%u ()\n", i);
    assert_refused(text, used, "too many members");
    free(text);
}

/* Every beginning of a good text, and every good text with one byte changed, is read or refused,
 * never worse. The texts are exactly as long as their memory, so that a sanitizer sees any read
 * past the end. */
static void test_mutations(void **state)
{
    (void)state;
    const char *good = "interface a.b-c\n# x\ntype T (a: ?[]int, b: [string](x, y))\nmethod M(t: "
                       "T) -> (o: object)\nerror E ()\n";
    size_t length = strlen(good);
    for (size_t i = 0; i <= length; i++)
        for (unsigned byte = 0; byte < 256; byte += i < length ? 7 : 256) {
            size_t size = byte == 0 ? i : length;
            char *text = malloc(size > 0 ? size : 1);
            memcpy(text, good, size);
            if (byte != 0)
                text[i] = (char)byte;
            struct idl *idl = NULL;
            struct berth_err err = {0};
            enum berth_code code = idl_parse(text, size, &idl, &err);
            assert_true((code == BERTH_OK) == (idl != NULL));
            assert_true(code == BERTH_OK || strncmp(err.detail, "line ", 5) == 0);
            idl_free(idl);
            free(text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embedded),  cmocka_unit_test(test_tree),
        cmocka_unit_test(test_errors),    cmocka_unit_test(test_limits),
        cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
