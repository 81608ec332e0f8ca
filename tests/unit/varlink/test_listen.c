/* Listening sockets: stale and live ones, locks, modes, and sockets of a service manager. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "varlink/listen.h"

static char directory[32], path[64], lock[80];

static int set_up(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/berth-test-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/socket", directory);
    snprintf(lock, sizeof lock, "%s.lock", path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    unlink(lock);
    return rmdir(directory);
}

static enum berth_code code_of(const char *at, const char *group)
{
    int fd = -1, lock_fd = -1;
    struct berth_err err = {0};
    enum berth_code code = listen_path(at, 0600, group, &fd, &lock_fd, &err);
    assert_true((code == BERTH_OK) == (fd >= 0 && lock_fd >= 0));
    assert_true((code == BERTH_OK) == (err.detail[0] == '\0'));
    if (code == BERTH_OK) {
        close(fd);
        close(lock_fd);
    }
    return code;
}

static bool can_connect(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    bool connected = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return connected;
}

static void test_listens(void **state)
{
    (void)state;
    mode_t umask_before = umask(0777);
    int fd = -1, lock_fd = -1;
    struct berth_err err = {0};
    struct stat status;
    assert_int_equal(listen_path(path, 0666, NULL, &fd, &lock_fd, &err), BERTH_OK);
    umask(umask_before);
    assert_true(can_connect());
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0666);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(lock_fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    close(lock_fd);
}

/* Returns the code that another process gets. */
static enum berth_code code_elsewhere(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit((int)code_of(path, NULL));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return (enum berth_code)WEXITSTATUS(status);
}

static void test_stale_and_live(void **state)
{
    (void)state;
    int fd = -1, lock_fd = -1;
    struct berth_err err = {0};
    assert_int_equal(listen_path(path, 0600, NULL, &fd, &lock_fd, &err), BERTH_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(code_elsewhere(), BERTH_BUSY); /* by the lock */
    close(lock_fd);
    close(fd);
    assert_int_equal(listen_path(path, 0600, NULL, &fd, &lock_fd, &err), BERTH_OK);
    close(lock_fd);
    assert_int_equal(code_elsewhere(), BERTH_BUSY); /* by the socket */
    assert_true(can_connect());
    close(fd);
    assert_false(can_connect());
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(code_of(path, NULL), BERTH_OK); /* stale: replaced */
}

/* A daemon is killed between fork and exec of a probe: its child has the socket and the lock. */
static void test_orphaned(void **state)
{
    (void)state;
    int ready[2], status;
    pid_t grandchild = -1;
    assert_int_equal(pipe(ready), 0);
    pid_t daemon = fork();
    if (daemon == 0) {
        int fd = -1, lock_fd = -1;
        struct berth_err err = {0};
        if (listen_path(path, 0600, NULL, &fd, &lock_fd, &err) != BERTH_OK)
            _exit(1);
        pid_t child = fork();
        if (child == 0)
            for (;;)
                pause();
        _exit(write(ready[1], &child, sizeof child) != sizeof child);
    }
    assert_int_equal(waitpid(daemon, &status, 0), daemon);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(read(ready[0], &grandchild, sizeof grandchild), sizeof grandchild);
    assert_true(can_connect());
    enum berth_code code = code_of(path, NULL);
    kill(grandchild, SIGKILL);
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(code, BERTH_OK);
}

static void test_refused(void **state)
{
    (void)state;
    char longest[200];
    memset(longest, 'x', sizeof longest);
    longest[108] = '\0';
    assert_int_equal(code_of(longest, NULL), BERTH_BAD_CONFIG);
    assert_int_equal(code_of("", NULL), BERTH_BAD_CONFIG);
    assert_int_equal(code_of("/nonexistent/berth/socket", NULL), BERTH_BAD_CONFIG);
    assert_int_equal(code_of(path, "no-such-group"), BERTH_BAD_CONFIG);
    assert_int_not_equal(access(path, F_OK), 0);

    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(code_of(path, NULL), BERTH_BAD_CONFIG);
    assert_int_equal(access(path, F_OK), 0); /* it is still there */
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(code_of(path, NULL), BERTH_BAD_CONFIG);
    unlink(path);
    unlink(lock);
    assert_int_equal(symlink("/tmp/elsewhere", lock), 0);
    assert_int_equal(code_of(path, NULL), BERTH_BAD_CONFIG);
}

static void test_group(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    const struct group *nogroup = getgrnam("nogroup");
    if (nogroup == NULL)
        skip();
    struct stat status;
    assert_int_equal(code_of(path, "nogroup"), BERTH_OK);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_gid, nogroup->gr_gid);
}

/* Runs a child with count descriptors from 3 on, as a service manager passes them, and its pid (or
 * another) in the environment. It exits with its result. */
enum { SEES_NONE = 100, SEES_ERROR = 200 };

static int activated(int fd, int count, bool wrong_pid)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        char number[24];
        snprintf(number, sizeof number, "%d", (int)getpid() + wrong_pid);
        setenv("LISTEN_PID", number, 1);
        snprintf(number, sizeof number, "%d", count);
        setenv("LISTEN_FDS", number, 1);
        if (fd >= 0)
            dup2(fd, 3);
        int first = -1, seen = -1;
        struct berth_err err = {0};
        enum berth_code code = listen_activated(&first, &seen, &err);
        if (getenv("LISTEN_FDS") != NULL || getenv("LISTEN_PID") != NULL)
            _exit(1);
        if (code != BERTH_OK)
            _exit(code == BERTH_BAD_CONFIG ? SEES_ERROR : 2);
        if (seen == 0)
            _exit(SEES_NONE);
        _exit(first == 3 && (fcntl(3, F_GETFD) & FD_CLOEXEC) && (fcntl(3, F_GETFL) & O_NONBLOCK)
                  ? 10 + seen
                  : 3);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_activated(void **state)
{
    (void)state;
    int first = -1, count = -1;
    struct berth_err err = {0};
    assert_int_equal(listen_activated(&first, &count, &err), BERTH_OK);
    assert_int_equal(count, 0);
    assert_int_equal(first, -1);

    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(activated(fd, 1, false), SEES_ERROR); /* it does not listen */
    assert_int_equal(listen(fd, 5), 0);
    assert_int_equal(activated(fd, 1, false), 11);
    assert_int_equal(activated(fd, 1, true), SEES_NONE);
    assert_int_equal(activated(fd, 0, false), SEES_NONE);
    assert_int_equal(activated(fd, 100000, false), SEES_ERROR);
    close(fd);
    fd = open("/dev/null", O_RDONLY);
    assert_int_equal(activated(fd, 1, false), SEES_ERROR);
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_listens),  TEST(test_stale_and_live),
                                       TEST(test_orphaned), TEST(test_refused),
                                       TEST(test_group),    TEST(test_activated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
