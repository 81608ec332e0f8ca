#include "slurm/spank_setting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define READ(setting, why, ...)                                                                    \
    spank_setting_read((int)(sizeof(char *[]){__VA_ARGS__} / sizeof(char *)),                      \
                       (char *[]){__VA_ARGS__}, setting, why, sizeof(why))

static void every_key_is_taken(void **state)
{
    (void)state;
    struct spank_setting setting;
    char why[512] = "before";
    spank_setting_read(0, NULL, &setting, why, sizeof why);
    assert_string_equal(why, "");
    assert_null(setting.socket);
    assert_null(setting.gres_conf);
    assert_int_equal(setting.timeout_ms, 1000);
    assert_false(setting.is_default_wrong || setting.options.is_off);
    assert_int_equal(setting.options.gpus_per_task, -1);
    READ(&setting, why, "socket=/run/b", "gres_conf=/etc/g", "timeout_ms=60000",
         "default=visible=all,gpus=2");
    assert_string_equal(why, "");
    assert_string_equal(setting.socket, "/run/b");
    assert_string_equal(setting.gres_conf, "/etc/g");
    assert_int_equal(setting.timeout_ms, 60000);
    assert_int_equal(setting.options.visible, BERTH_VISIBLE_ALL);
    assert_int_equal(setting.options.gpus_per_task, 2);
    READ(&setting, why, "default=gpus=2", "default=off");
    assert_true(setting.options.is_off);
    assert_int_equal(setting.options.gpus_per_task, -1);
}

static void what_is_wrong_is_named_and_the_rest_holds(void **state)
{
    (void)state;
    struct spank_setting setting;
    char why[512];
    READ(&setting, why, "timeout_ms=0", "colour=red", "socket=/run/b");
    assert_string_equal(why, "plugstack.conf: timeout_ms takes 1 to 60000, not \"0\"");
    assert_int_equal(setting.timeout_ms, 1000);
    assert_string_equal(setting.socket, "/run/b");
    READ(&setting, why, "timeout_ms=60001");
    assert_non_null(strstr(why, "takes 1 to 60000"));
    READ(&setting, why, "colour=red");
    assert_string_equal(why, "plugstack.conf: there is no \"colour=red\"; there are socket=, "
                             "gres_conf=, timeout_ms= and default=");
    assert_false(setting.is_default_wrong);
}

static void a_wrong_default_is_the_sites_and_told_before_all(void **state)
{
    (void)state;
    struct spank_setting setting;
    char why[512], narrow[20];
    READ(&setting, why, "colour=red", "default=nonsense", "timeout_ms=0");
    assert_true(setting.is_default_wrong);
    assert_non_null(strstr(
        why, "plugstack.conf: default=nonsense: there is no \"nonsense\"; there are pattern,"));
    READ(&setting, why, "default=nonsense", "default=off");
    assert_false(setting.is_default_wrong);
    READ(&setting, narrow, "default=nonsense");
    assert_string_equal(narrow, "plugstack.conf: def");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_taken),
        cmocka_unit_test(what_is_wrong_is_named_and_the_rest_holds),
        cmocka_unit_test(a_wrong_default_is_the_sites_and_told_before_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
