/* Replies as text: printed replies parse to the same values, and error replies are the table's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "varlink/reply.h"

static json_t *parsed(const struct print *reply)
{
    assert_int_equal(reply->data[reply->length - 1], '\0');
    assert_int_equal(strlen(reply->data) + 1, reply->length);
    json_error_t why;
    json_t *message = json_loads(reply->data, JSON_REJECT_DUPLICATES, &why);
    if (message == NULL)
        fail_msg("%s: %s", why.text, reply->data);
    return message;
}

static void assert_round_trip(struct print *reply, const char *text)
{
    json_t *value = json_loads(text, 0, NULL), *wanted = json_pack("{s:o}", "parameters", value);
    assert_non_null(wanted);
    assert_true(reply_result(reply, value, false));
    json_t *message = parsed(reply);
    if (!json_equal(message, wanted))
        fail_msg("%s became %s", text, reply->data);
    json_decref(message);
    assert_true(reply_result(reply, value, true));
    message = parsed(reply);
    json_object_set_new(wanted, "continues", json_true());
    assert_true(json_equal(message, wanted));
    json_decref(message);
    json_decref(wanted);
}

static void test_values(void **state)
{
    (void)state;
    struct print reply;
    assert_true(reply_init(&reply));
    assert_round_trip(&reply, "{}");
    assert_round_trip(&reply,
                      "{\"a\":{},\"b\":[],\"c\":[[],{},[{}]],\"d\":null,\"e\":true,\"f\":false}");
    assert_round_trip(&reply, "{\"a\":[0,-1,9223372036854775807,-9223372036854775808]}");
    assert_round_trip(&reply, "{\"a\":[0.0,-0.5,96.2,1e300,2.5e-300,123456789012345.0,1e15,1e16]}");
    assert_round_trip(
        &reply, "{\"\":\"\",\"a\\\"b\":\"\\\\ \\\" \\/ \\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"}");
    assert_round_trip(&reply,
                      "{\"a\":\"na\xc3\xafve \xe2\x82\xac \xf0\x9f\x9a\xa2\",\"\xc3\xa9\":1}");
    assert_string_equal(reply.data, "{\"parameters\":{\"a\":\"na\xc3\xafve \xe2\x82\xac "
                                    "\xf0\x9f\x9a\xa2\",\"\xc3\xa9\":1},\"continues\":true}");
    assert_round_trip(&reply, "{\"value\":96.2,\"ten\":10.0}");
    assert_string_equal(reply.data,
                        "{\"parameters\":{\"value\":96.2,\"ten\":10.0},\"continues\":true}");
    print_done(&reply);
}

/* The buffer grows for a large reply and is given back after it. */
static void test_large(void **state)
{
    (void)state;
    struct print reply;
    assert_true(reply_init(&reply));
    size_t first = reply.size;
    json_t *names = json_array(), *value = json_pack("{s:o}", "names", names);
    for (int i = 0; i < 100000; i++)
        json_array_append_new(names, json_sprintf("name number %d", i));
    assert_true(reply_result(&reply, value, false));
    assert_true(reply.length > 1500000);
    json_t *message = parsed(&reply);
    assert_true(json_equal(json_object_get(message, "parameters"), value));
    json_decref(message);
    json_decref(value);
    struct berth_err err = {.code = BERTH_NO_MEMORY};
    reply_error(&reply, "io.berth.Fabric", &err);
    assert_int_equal(reply.size, first);
    print_done(&reply);
}

static void assert_error(struct print *reply, const struct berth_err *err, const char *expected)
{
    reply_error(reply, "a.b", err);
    assert_string_equal(reply->data, expected);
    json_decref(parsed(reply));
}

static void test_errors(void **state)
{
    (void)state;
    struct print reply;
    assert_true(reply_init(&reply));
    struct berth_err err = {.code = BERTH_NOT_ENOUGH,
                            .detail = "only two",
                            .arg = {{.text = "gpus"}, {.number = 4}, {.number = -2}}};
    assert_error(
        &reply, &err,
        "{\"error\":\"a.b.NotEnough\",\"parameters\":{\"resource\":\"gpus\",\"requested\":4,"
        "\"available\":-2,\"detail\":\"only two\"}}");
    err.detail[0] = '\0';
    assert_error(
        &reply, &err,
        "{\"error\":\"a.b.NotEnough\",\"parameters\":{\"resource\":\"gpus\",\"requested\":4,"
        "\"available\":-2}}");
    err = (struct berth_err){.code = BERTH_PERMISSION_DENIED, .detail = "not yours"};
    assert_error(&reply, &err,
                 "{\"error\":\"org.varlink.service.PermissionDenied\",\"parameters\":{\"detail\":"
                 "\"not yours\"}}");
    err = (struct berth_err){.code = BERTH_EXPECTED_MORE, .detail = "is not sent"};
    assert_error(&reply, &err,
                 "{\"error\":\"org.varlink.service.ExpectedMore\",\"parameters\":{}}");
    err = (struct berth_err){.code = BERTH_IO, .detail = "a disk"};
    assert_error(&reply, &err,
                 "{\"error\":\"a.b.Unavailable\",\"parameters\":{\"detail\":\"a disk\"}}");
    err.detail[0] = '\0';
    assert_error(&reply, &err, "{\"error\":\"a.b.Unavailable\",\"parameters\":{}}");
    print_done(&reply);
}

/* No text makes an error longer than the first buffer, or anything but JSON. */
static void test_any_bytes(void **state)
{
    (void)state;
    struct print reply;
    assert_true(reply_init(&reply));
    size_t first = reply.size;
    for (unsigned code = 1; code < BERTH_CODE_COUNT; code++)
        for (unsigned seed = 0; seed < 300; seed++) {
            struct berth_err err = {.code = (enum berth_code)code};
            unsigned random = seed;
            for (size_t i = 0; i + 1 < sizeof err.detail; i++)
                err.detail[i] =
                    (char)(seed < 256 ? seed : (random = random * 1103515245u + 12345u) >> 16);
            for (int a = 0; a < ERR_ARGS; a++) {
                memcpy(err.arg[a].text, err.detail, sizeof err.arg[a].text - 1);
                err.arg[a].number = INT64_MIN;
            }
            reply_error(&reply, "io.berth.Placement", &err);
            json_decref(parsed(&reply));
        }
    assert_int_equal(reply.size, first);
    print_done(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
