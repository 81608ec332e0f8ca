#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/config.h"

static char path[] = "/tmp/berth-test-config-XXXXXX";

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int setup(void **state)
{
    (void)state;
    strcpy(path + strlen(path) - 6, "XXXXXX");
    int fd = mkstemp(path);
    close(fd);
    unsetenv("STATE_DIRECTORY");
    return fd < 0;
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

static void defaults_are_in_range(void **state)
{
    (void)state;
    struct config config;
    struct berth_err err = {0};
    assert_int_equal(config_init(&config, &err), BERTH_OK);
    assert_string_equal(config.socket, "/run/berth/berth.sock");
    assert_string_equal(config.state_dir, "/var/lib/berth");
    assert_int_equal(config.socket_mode, 0666);
    assert_int_equal(config.max_message_bytes, 1 << 20);
    assert_true(config.probe_at_start);
    assert_null(config.admin_group);
    assert_true(config.duty_percent == 0.1 && !config.measure_beside_jobs);
    assert_int_equal(config_set(&config, "duty_percent", "100", &err), BERTH_OK);
    assert_int_equal(config_set(&config, "duty_percent", "012.50", &err), BERTH_OK);
    assert_true(config.duty_percent == 12.5);
    config_done(&config);
}

static void the_service_managers_directory_wins(void **state)
{
    (void)state;
    struct config config;
    struct berth_err err = {0};
    setenv("STATE_DIRECTORY", "/var/lib/other", 1);
    assert_int_equal(config_init(&config, &err), BERTH_OK);
    assert_string_equal(config.state_dir, "/var/lib/other");
    unsetenv("STATE_DIRECTORY");
    config_done(&config);
}

static void a_file_sets_keys(void **state)
{
    (void)state;
    struct config config;
    struct berth_err err = {0};
    assert_int_equal(config_init(&config, &err), BERTH_OK);
    write_file("# a comment\n\n  socket = /tmp/a b.sock  \nsocket_mode=0600\nprobe_at_start = "
               "no\nmax_connections = 7\nstate_dir =\n");
    assert_int_equal(config_read(&config, path, &err), BERTH_OK);
    assert_string_equal(config.socket, "/tmp/a b.sock");
    assert_int_equal(config.socket_mode, 0600);
    assert_false(config.probe_at_start);
    assert_int_equal(config.max_connections, 7);
    assert_null(config.state_dir);
    config_done(&config);
}

/* A refused file names file, line and cause, and changes nothing, not even what stood before the
 * wrong line. */
static void assert_refused(const char *text, const char *line, const char *word)
{
    struct config config;
    struct berth_err err = {0};
    assert_int_equal(config_init(&config, &err), BERTH_OK);
    write_file(text);
    assert_int_equal(config_read(&config, path, &err), BERTH_BAD_CONFIG);
    assert_non_null(strstr(err.detail, path));
    assert_non_null(strstr(err.detail, line));
    assert_non_null(strstr(err.detail, word));
    assert_int_equal(config.max_connections, 2048);
    config_done(&config);
}

static void wrong_files_are_refused(void **state)
{
    (void)state;
    assert_refused("max_connections = 9\nsocet = /x\n", ":2:", "did you mean socket?");
    assert_refused("max_connections = 9\nzzz = /x\n", ":2:", "there is no key zzz");
    assert_refused("max_connections = 0\n", ":1:", "from 1 to 100000");
    assert_refused("max_connections = 99999999999999999999\n", ":1:", "from 1 to 100000");
    assert_refused("max_connections = 12x\n", ":1:", "not \"12x\"");
    assert_refused("probe_at_start = maybe\n", ":1:", "yes or no");
    assert_refused("baseline = relative/path\n",
                   ":1:", "baseline takes an absolute path, not \"relative/path\"");
    assert_refused("socket_mode = 0999\n", ":1:", "octal");
    static const char *const decimals[] = {"-0.1", "100.000001", "1e1",   ".5", "5.",  "0x1",
                                           "nan",  "0.0000001",  "1.2.3", "",   "inf", "0.1%"};
    for (size_t i = 0; i < sizeof decimals / sizeof decimals[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "duty_percent = %s\n", decimals[i]);
        assert_refused(text, ":1:", "duty_percent takes a number from 0 to 100");
    }
    assert_refused("\n\nmax_connections\n", ":3:", "key = value");
    assert_refused("socket = /a\nsocket = /b\n", ":2:", "given twice");
    char *line = malloc(6000);
    memset(line, 'a', 5998);
    strcpy(line + 5998, "\n");
    assert_refused(line, ":1:", "too long");
    memcpy(line, "socket=/", 8);
    strcpy(line + 3000, "\n");
    assert_refused(line, ":1:", "socket is longer than 2048 bytes");
    free(line);
}

static void a_nul_byte_is_refused(void **state)
{
    (void)state;
    static const char bytes[] = "max_connections = 9\nsocket = /run/a\0/b\n";
    struct config config;
    struct berth_err err = {0};
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fwrite(bytes, 1, sizeof bytes - 1, file);
    fclose(file);
    assert_int_equal(config_init(&config, &err), BERTH_OK);
    assert_int_equal(config_read(&config, path, &err), BERTH_BAD_CONFIG);
    assert_non_null(strstr(err.detail, ":2: the line holds a NUL byte"));
    assert_int_equal(config.max_connections, 2048);
    config_done(&config);
}

static void a_missing_file_is_refused(void **state)
{
    (void)state;
    struct config config;
    struct berth_err err = {0};
    assert_int_equal(config_init(&config, &err), BERTH_OK);
    assert_int_equal(config_read(&config, "/nonexistent/berth.conf", &err), BERTH_BAD_CONFIG);
    assert_non_null(strstr(err.detail, "No such file"));
    config_done(&config);
}

static void what_is_printed_can_be_read(void **state)
{
    (void)state;
    struct config config, again;
    struct berth_err err = {0};
    assert_int_equal(config_init(&config, &err), BERTH_OK);
    assert_int_equal(config_set(&config, "admin_group", "wheel", &err), BERTH_OK);
    assert_int_equal(config_set(&config, "duty_percent", "0.000001", &err), BERTH_OK);
    FILE *file = fopen(path, "w");
    config_print(&config, file);
    fclose(file);
    assert_int_equal(config_init(&again, &err), BERTH_OK);
    assert_int_equal(config_read(&again, path, &err), BERTH_OK);
    assert_string_equal(again.admin_group, "wheel");
    assert_true(again.duty_percent == 0.000001);
    assert_int_equal(again.socket_mode, config.socket_mode);
    assert_int_equal(again.max_unsent_bytes, config.max_unsent_bytes);
    config_done(&config);
    config_done(&again);
}

/* etc/berth.conf shows every key at its default: nobody has to guess. Unit tests run in the top
 * folder. */
static void the_shipped_file_shows_the_defaults(void **state)
{
    (void)state;
    struct config config;
    struct berth_err err = {0};
    assert_int_equal(config_init(&config, &err), BERTH_OK);
    assert_int_equal(config_read(&config, "etc/berth.conf", &err), BERTH_OK);
    FILE *shipped = fopen("etc/berth.conf", "r");
    assert_non_null(shipped);
    char text[16384] = "\n", line[256], wanted[260];
    text[1 + fread(text + 1, 1, sizeof text - 2, shipped)] = '\0';
    fclose(shipped);
    FILE *file = fopen(path, "w+");
    config_print(&config, file);
    rewind(file);
    int keys = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        size_t length = strcspn(line, "\n");
        while (length > 0 && line[length - 1] == ' ')
            length--;
        snprintf(wanted, sizeof wanted, "\n%s%.*s\n", line[0] == '#' ? "" : "#", (int)length, line);
        if (strstr(text, wanted) == NULL)
            fail_msg("etc/berth.conf lacks %s", wanted);
        keys += line[0] != '#';
    }
    assert_true(keys > 10);
    fclose(file);
    config_done(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(defaults_are_in_range, setup, teardown),
        cmocka_unit_test_setup_teardown(the_service_managers_directory_wins, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_sets_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_files_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_nul_byte_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_missing_file_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_printed_can_be_read, setup, teardown),
        cmocka_unit_test_setup_teardown(the_shipped_file_shows_the_defaults, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
