/* Children are found in the list of the kernel and, where there is none, among all processes; and
 * they are ended. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "measure/offspring.h"
#include "unit/base/tree.h"

struct found {
    pid_t pid[600];
    size_t count;
};

static void note(pid_t pid, void *arg)
{
    struct found *found = arg;
    assert_true(found->count < sizeof found->pid / sizeof *found->pid);
    found->pid[found->count++] = pid;
}

static bool has(const struct found *found, pid_t pid)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->pid[i] == pid)
            return true;
    return false;
}

static pid_t start_child(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        for (;;)
            pause();
    return child;
}

static void put(const char *folder, const char *path, const char *text)
{
    char full[300];
    snprintf(full, sizeof full, "/%s", path);
    tree_put(folder, full, text);
}

static void make(const char *folder, const char *path)
{
    char full[300];
    snprintf(full, sizeof full, "%s/%s", folder, path);
    assert_int_equal(mkdir(full, 0700), 0);
}

static void living_and_dead_children_are_found_and_killed(void **state)
{
    (void)state;
    pid_t first = start_child(), second = start_child();
    kill(second, SIGKILL); /* not reaped */
    struct found found = {0};
    assert_int_equal(offspring_each("/proc", note, &found), 2);
    assert_int_equal(found.count, 2);
    assert_true(has(&found, first) && has(&found, second));
    assert_int_equal(offspring_kill("/proc"), 2);
    int status;
    assert_int_equal(waitpid(first, &status, 0), first);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(waitpid(second, &status, 0), second);
    assert_int_equal(offspring_each("/proc", note, &found), 0);
}

/* The list is longer than any piece in which it is read, so that numbers are cut. */
static void a_long_list_is_read_whole(void **state)
{
    (void)state;
    char folder[TREE_SIZE], list[8000] = "";
    tree_make(folder);
    make(folder, "thread-self");
    size_t used = 0;
    for (int i = 0; i < 600; i++)
        used += (size_t)sprintf(list + used, "%d ", 100000 + 7919 * i);
    put(folder, "thread-self/children", list);
    struct found found = {0};
    assert_int_equal(offspring_each(folder, note, &found), 600);
    for (int i = 0; i < 600; i++)
        assert_int_equal(found.pid[i], 100000 + 7919 * i);
    tree_remove(folder);
}

/* A kernel without such a list. Names may contain any characters. */
static void without_a_list_all_processes_are_looked_at(void **state)
{
    (void)state;
    char folder[TREE_SIZE], mine[100], named[100], other[100], broken[100];
    tree_make(folder);
    snprintf(mine, sizeof mine, "10 (sh) S %d 1 1 0", getpid());
    snprintf(named, sizeof named, "11 (a) R 1 (b) Z %d 1 1 0", getpid());
    snprintf(other, sizeof other, "12 (x) S %d %d 1 0", getppid(), getpid());
    snprintf(broken, sizeof broken, "13 (y");
    const struct {
        const char *folder, *path, *text;
    } processes[] = {{"10", "10/stat", mine},   {"11", "11/stat", named},  {"12", "12/stat", other},
                     {"13", "13/stat", broken}, {"sys", "sys/stat", mine}, {"15", NULL, NULL}};
    for (size_t i = 0; i < sizeof processes / sizeof *processes; i++) {
        make(folder, processes[i].folder);
        if (processes[i].path != NULL)
            put(folder, processes[i].path, processes[i].text);
    }
    struct found found = {0};
    assert_int_equal(offspring_each(folder, note, &found), 2);
    assert_true(has(&found, 10) && has(&found, 11));
    tree_remove(folder);
    assert_int_equal(offspring_each(folder, note, &found), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(living_and_dead_children_are_found_and_killed),
        cmocka_unit_test(a_long_list_is_read_whole),
        cmocka_unit_test(without_a_list_all_processes_are_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
