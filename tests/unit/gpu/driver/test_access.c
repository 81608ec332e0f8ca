/* Device files without permission for the process, and the advice about it. Runs as a user without
 * rights, also when the test is root's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/driver/api.h"
#include "unit/base/tree.h"

#define NOBODY 65534

struct world {
    char root[TREE_SIZE];
    struct probe_why why;
};

static void put(const struct world *world, const char *path, mode_t mode)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s", world->root, path);
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    char path[64];
    assert_non_null(world);
    tree_make(world->root);
    assert_int_equal(chmod(world->root, 0755), 0);
    snprintf(path, sizeof path, "%s/dev", world->root);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/dev/dri", world->root);
    assert_int_equal(mkdir(path, 0755), 0);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    tree_remove(world->root);
    free(world);
    return 0;
}

/* Returns the advice to an unprivileged process; "" when every file is open to it. Runs in a child
 * with a pipe, because it cannot become root again. */
static const char *asked(struct world *world, const char *runtime)
{
    int pipes[2], status;
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool dropped = geteuid() != 0 ||
                       (setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
        struct probe_why why = {0};
        bool denied = dropped && gpu_access_denied(world->root, runtime, &why);
        bool is_right = dropped && denied == (why.text[0] != '\0') &&
                        write(pipes[1], &why, sizeof why) == (ssize_t)sizeof why;
        _exit(is_right ? 0 : 1);
    }
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &world->why, sizeof world->why), sizeof world->why);
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return world->why.text;
}

static void test_nothing_there_or_open(void **state)
{
    assert_string_equal(asked(*state, "hip"), "");
    put(*state, "/dev/kfd", 0666);
    put(*state, "/dev/dri/renderD128", 0666);
    put(*state, "/dev/dri/card0", 0600); /* nothing that a runtime needs */
    put(*state, "/dev/nvidiactl", 0600); /* not HIP's */
    assert_string_equal(asked(*state, "hip"), "");
}

static void test_the_group_is_named(void **state)
{
    char expected[256];
    const struct group *group = getgrgid(getegid());
    assert_non_null(group);
    snprintf(expected, sizeof expected,
             "/dev/kfd is closed to this process: it has to be in group %s", group->gr_name);
    if (geteuid() != 0)
        skip(); /* a file of one's own group would be open */
    put(*state, "/dev/kfd", 0660);
    assert_string_equal(asked(*state, "hip"), expected);
}

static void test_only_the_owner_may(void **state)
{
    char expected[256];
    put(*state, "/dev/kfd", 0666);
    put(*state, "/dev/dri/renderD128", 0666);
    put(*state, "/dev/dri/renderD129", geteuid() == 0 ? 0600 : 0);
    snprintf(expected, sizeof expected,
             "/dev/dri/renderD129 is closed to this process: only user %u may read and write it",
             (unsigned)geteuid());
    assert_string_equal(asked(*state, "hip"), expected);
    put(*state, "/dev/nvidiactl", 0666);
    put(*state, "/dev/nvidia0", 0666);
    assert_string_equal(asked(*state, "cuda"), "");
    put(*state, "/dev/nvidia7", 0);
    snprintf(expected, sizeof expected,
             "/dev/nvidia7 is closed to this process: only user %u may read and write it",
             (unsigned)geteuid());
    assert_string_equal(asked(*state, "cuda"), expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_there_or_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_group_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_the_owner_may, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
