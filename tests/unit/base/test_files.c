#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "unit/base/tree.h"

static char root[TREE_SIZE];

static const char *at(const char *path)
{
    static char full[256];
    snprintf(full, sizeof full, "%s%s", root, path);
    return full;
}

static void write_file(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(at(path), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
}

static int make_tree(void **state)
{
    (void)state;
    tree_make(root);
    mkdir(at("/sys"), 0755);
    mkdir(at("/sys/nodes"), 0755);
    for (int i = 0; i < 12; i++) {
        char path[64];
        snprintf(path, sizeof path, "/sys/nodes/%d", i);
        mkdir(at(path), 0755);
    }
    write_file("/sys/nodes/name", "raven\n", 6);
    write_file("/sys/zero", "a\0b", 3);
    char target[64];
    snprintf(target, sizeof target, "nodes/name");
    if (symlink(target, at("/sys/inside")) != 0 || symlink("/etc/passwd", at("/sys/outside")) != 0)
        return -1;
    return mkfifo(at("/sys/pipe"), 0600);
}

static int remove_tree(void **state)
{
    (void)state;
    tree_remove(root);
    return 0;
}

static void reads_what_is_there(void **state)
{
    (void)state;
    const struct files io = {root};
    char *text = NULL;
    struct berth_err err = {0};
    assert_int_equal(files_read(&io, "/sys/nodes/name", 100, &text, &err), BERTH_OK);
    assert_string_equal(text, "raven\n");
    free(text);
    assert_int_equal(files_read(&io, "/sys/inside", 6, &text, &err), BERTH_OK);
    free(text);
    assert_true(files_exists(&io, "/sys/inside"));
    assert_false(files_exists(&io, "/sys/none"));
    assert_false(files_exists(&io, "/sys/outside"));
}

static void refuses_with_a_reason(void **state)
{
    (void)state;
    const struct files io = {root};
    const struct {
        const char *path;
        size_t max;
        enum berth_code code;
        const char *why;
    } cases[] = {
        {"/sys/none", 100, BERTH_ABSENT, "/sys/none"},
        {"/sys/nodes/name/deeper", 100, BERTH_ABSENT, "deeper"},
        {"/sys/nodes/name", 5, BERTH_BAD_DATA, "longer than 5"},
        {"/sys/zero", 100, BERTH_BAD_DATA, "NUL"},
        {"/sys/outside", 1 << 20, BERTH_BAD_DATA, "leaves the folder"},
        {"/../../etc/passwd", 1 << 20, BERTH_BAD_DATA, "leaves the folder"},
        {"/sys/nodes", 100, BERTH_BAD_DATA, "not a file"},
        {"/sys/pipe", 100, BERTH_BAD_DATA, "not a file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = (char *)"untouched";
        struct berth_err err = {0};
        assert_int_equal(files_read(&io, cases[i].path, cases[i].max, &text, &err), cases[i].code);
        assert_string_equal(text, "untouched");
        assert_non_null(strstr(err.detail, cases[i].why));
    }
}

static void a_long_file_comes_whole(void **state)
{
    (void)state;
    size_t length = 100000;
    char *much = malloc(length);
    assert_non_null(much);
    memset(much, 'x', length);
    write_file("/long", much, length);
    free(much);
    const struct files io = {root};
    char *text = NULL;
    assert_int_equal(files_read(&io, "/long", length, &text, NULL), BERTH_OK);
    assert_int_equal(strlen(text), length);
    free(text);
    assert_int_equal(files_read(&io, "/long", length - 1, &text, NULL), BERTH_BAD_DATA);
}

struct heard {
    size_t lines, bytes, longest, stop_at;
};

static enum berth_code hear(void *arg, const char *line, size_t length, struct berth_err *err)
{
    struct heard *heard = arg;
    assert_int_equal(strlen(line), length);
    assert_null(strchr(line, '\n'));
    heard->lines++;
    heard->bytes += length;
    heard->longest = length > heard->longest ? length : heard->longest;
    return heard->lines == heard->stop_at ? err_set(err, BERTH_NO_MEMORY, "enough") : BERTH_OK;
}

/* Lines come whole wherever a read ends; longer ones than a read, too, and the last one without its
 * end. */
static void lines_come_one_by_one(void **state)
{
    (void)state;
    enum { SIZE = 5000000, LONG = 3000000 };
    struct files io = {root};
    struct berth_err err = {0};
    char *text = malloc(SIZE);
    assert_non_null(text);
    memset(text, 'x', SIZE);
    size_t ends = 1;
    for (size_t i = 0; i < SIZE - LONG; i += 1 + i % 977, ends++)
        text[i] = '\n';
    write_file("/sys/lines", text, SIZE);
    struct heard heard = {0};
    assert_int_equal(files_read_lines(&io, "/sys/lines", SIZE, hear, &heard, &err), BERTH_OK);
    assert_true(heard.lines == ends && heard.bytes == SIZE - (ends - 1) && heard.longest >= LONG);
    heard = (struct heard){.stop_at = 7};
    assert_int_equal(files_read_lines(&io, "/sys/lines", SIZE, hear, &heard, &err),
                     BERTH_NO_MEMORY);
    assert_int_equal(heard.lines, 7);
    assert_int_equal(files_read_lines(&io, "/sys/lines", SIZE - 1, hear, &(struct heard){0}, NULL),
                     BERTH_BAD_DATA);
    assert_int_equal(files_read_lines(&io, "/sys/zero", SIZE, hear, &(struct heard){0}, NULL),
                     BERTH_BAD_DATA);
    assert_int_equal(files_read_lines(&io, "/sys/pipe", SIZE, hear, &(struct heard){0}, NULL),
                     BERTH_BAD_DATA);
    assert_int_equal(files_read_lines(&io, "/sys/nothing", SIZE, hear, &(struct heard){0}, NULL),
                     BERTH_ABSENT);
    write_file("/sys/empty", "", 0);
    heard = (struct heard){0};
    assert_int_equal(files_read_lines(&io, "/sys/empty", SIZE, hear, &heard, NULL), BERTH_OK);
    assert_int_equal(heard.lines, 0);
    free(text);
}

static void lists_numbers_by_value(void **state)
{
    (void)state;
    const struct files io = {root};
    char **names = NULL;
    assert_int_equal(files_list(&io, "/sys/nodes", &names, NULL), BERTH_OK);
    for (int i = 0; i < 12; i++)
        assert_int_equal(atoi(names[i]), i);
    assert_string_equal(names[12], "name");
    assert_null(names[13]);
    files_names_free(names);
    assert_int_equal(files_list(&io, "/sys/nodes/3", &names, NULL), BERTH_OK);
    assert_null(names[0]);
    files_names_free(names);
    assert_int_equal(files_list(&io, "/sys/none", &names, NULL), BERTH_ABSENT);
    files_names_free(NULL);
}

static void the_real_machine_has_no_root(void **state)
{
    (void)state;
    const struct files io = {""};
    char *text = NULL;
    assert_int_equal(files_read(&io, "/proc/self/stat", 65536, &text, NULL), BERTH_OK);
    assert_true(strlen(text) > 10);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_there),     cmocka_unit_test(refuses_with_a_reason),
        cmocka_unit_test(a_long_file_comes_whole), cmocka_unit_test(lists_numbers_by_value),
        cmocka_unit_test(lines_come_one_by_one),   cmocka_unit_test(the_real_machine_has_no_root),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
