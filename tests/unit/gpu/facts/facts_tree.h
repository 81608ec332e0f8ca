/* A folder in place of a machine, and the output of gpu_facts_print about it: for test_facts and
 * test_amd. */
#pragma once
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "gpu/facts/facts.h"
#include "node/record.h"
#include "unit/base/tree.h"

static char root[TREE_SIZE]; /* of this test: /sys, /proc, /dev, /usr/lib */

static int set_up(void **state)
{
    (void)state;
    tree_make(root);
    unsetenv("FAKE_NVML");
    unsetenv("FAKE_NVML_NODE");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tree_remove(root);
    return 0;
}

static void put(const char *name, const char *text) { tree_put(root, name, text); }

/* Returns the whole output, which must be records from the first line to the last. */
static char *facts_why(struct probe_why *why)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    struct probe_out out = {.fd = fileno(file), .gate = PTHREAD_MUTEX_INITIALIZER};
    assert_int_equal(gpu_facts_print(root, &out, why), 0);
    fseek(file, 0, SEEK_END);
    size_t length = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(1, length + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, length, file), length);
    fclose(file);
    bool ended = false;
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        struct record record;
        struct berth_err err = {0};
        assert_false(ended);
        assert_int_equal(record_parse(line, strcspn(line, "\n"), &record, &err), BERTH_OK);
        assert_int_equal(record.kind == RECORD_RUN, line == text);
        ended = record.kind == RECORD_END;
        record_done(&record);
    }
    assert_true(ended);
    return text;
}

static char *facts(void)
{
    struct probe_why why = {"untouched"};
    return facts_why(&why);
}

/* Returns the number'th record of a kind, which the caller frees. NULL: there are fewer. */
static json_t *nth(const char *text, const char *kind, int number)
{
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        json_t *record = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        if (strcmp(json_string_value(json_object_get(record, "record")), kind) == 0 &&
            number-- == 0)
            return record;
        json_decref(record);
    }
    return NULL;
}

/* Asserts that a record has at least the expected members. "absent" as a value: it lacks this
 * one. */
static void assert_has(const char *text, const char *kind, int number, const char *expected)
{
    json_t *record = nth(text, kind, number), *want = json_loads(expected, 0, NULL);
    assert_non_null(record);
    assert_non_null(want);
    const char *key;
    json_t *value;
    json_object_foreach(want, key, value)
    {
        json_t *is = json_object_get(record, key);
        bool absent = json_is_string(value) && strcmp(json_string_value(value), "absent") == 0;
        if (absent ? is != NULL : !json_equal(is, value)) {
            char *shown = json_dumps(record, 0);
            fail_msg("%s is not as expected (%s) in %s", key, expected, shown);
        }
    }
    json_decref(record);
    json_decref(want);
}

static const char *condition(const char *text, const char *key, char *buffer, size_t size)
{
    json_t *run = nth(text, "run", 0);
    const char *value = json_string_value(json_object_get(json_object_get(run, "conditions"), key));
    snprintf(buffer, size, "%s", value != NULL ? value : "");
    json_decref(run);
    return buffer;
}

/* Runs a check that needs another user: root may open all files. */
static void as_nobody(void (*check)(void))
{
    if (geteuid() != 0) {
        check();
        return;
    }
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", root);
    chmod(path, 0755);
    assert_int_equal(seteuid(65534), 0);
    check();
    assert_int_equal(seteuid(0), 0);
}

static void close_file(const char *name)
{
    char path[PATH_MAX];
    put(name, "");
    snprintf(path, sizeof path, "%s%s", root, name);
    assert_int_equal(chmod(path, 0000), 0);
}
