/* Text of berth bind about the quality of its answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "ui/answer.h"

static void assert_says(const char *proven, const char *gap, const char *says)
{
    char text[512];
    struct ui ui = {.width = 100};
    snprintf(
        text, sizeof text,
        "{\"tasks\":[],\"predicted\":{\"time_ns\":1000000.0,\"low_ns\":null,\"high_ns\":null,"
        "\"bottleneck\":null,\"source\":\"measured\"},\"baseline\":null,\"proven_optimal\":%s,"
        "\"gap\":%s,"
        "\"reasons\":[],\"evidence\":[],\"warnings\":[],\"basis\":{\"snapshot\":\"a-1\",\"claims\":"
        "\"0\",\"origin\":\"live\"}}",
        proven, gap);
    json_t *reply = json_loads(text, 0, NULL);
    assert_non_null(reply);
    ui_bind(&ui, reply);
    if (strstr(ui.text, says) == NULL)
        fail_msg("\"%s\" is not in: %s", says, ui.text);
    json_decref(reply);
    ui_done(&ui);
}

static void how_far_an_answer_may_be_from_the_best_is_said(void **state)
{
    (void)state;
    assert_says("true", "0.0", "Proven: no other assignment is predicted to be better.\n");
    assert_says("false", "0.25",
                "Not proven to be the best; no assignment takes less than 800 us.\n");
    assert_says("false", "null", "Not proven to be the best; no bound is known.\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_far_an_answer_may_be_from_the_best_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
