/* Messages to a service manager, on a path and on an abstract name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/service_manager.h"

/* A datagram socket at name, which NOTIFY_SOCKET then says. */
static int manager(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, name);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

static void hears(int fd, const char *expected)
{
    char text[2000];
    ssize_t length = recv(fd, text, sizeof text - 1, 0);
    assert_true(length >= 0);
    text[length] = '\0';
    assert_string_equal(text, expected);
}

static void talk(const char *name)
{
    int fd = manager(name);
    struct service_manager *notify = service_manager_new();
    assert_non_null(notify);
    service_manager_send(notify, "READY=1");
    service_manager_send(notify, "STATUS=%d of %s", 3, "many");
    service_manager_send(notify, "RELOADING=1\nMONOTONIC_USEC=%d", 7);
    hears(fd, "READY=1");
    hears(fd, "STATUS=3 of many");
    hears(fd, "RELOADING=1\nMONOTONIC_USEC=7");
    close(fd);
    service_manager_send(notify, "WATCHDOG=1"); /* nobody is there; nothing happens */
    service_manager_free(notify);
}

static void test_path(void **state)
{
    (void)state;
    char directory[] = "/tmp/berth-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/notify", directory);
    talk(path);
    unlink(path);
    rmdir(directory);
}

static void test_abstract(void **state)
{
    (void)state;
    char name[40];
    snprintf(name, sizeof name, "@berth-test-%d", (int)getpid());
    talk(name);
}

/* A manager that does not read costs its messages, not our time. */
static void test_full(void **state)
{
    (void)state;
    char name[40];
    snprintf(name, sizeof name, "@berth-test-full-%d", (int)getpid());
    int fd = manager(name);
    struct service_manager *notify = service_manager_new();
    for (int i = 0; i < 10000; i++)
        service_manager_send(notify, "STATUS=%d", i);
    hears(fd, "STATUS=0");
    service_manager_free(notify);
    close(fd);
}

static void test_nobody(void **state)
{
    (void)state;
    char long_name[200];
    memset(long_name, 'x', sizeof long_name);
    long_name[0] = '/';
    long_name[150] = '\0';
    const char *const names[] = {NULL, "", "/", "@", "relative", "vsock:2:1234", long_name};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i] == NULL)
            unsetenv("NOTIFY_SOCKET");
        else
            setenv("NOTIFY_SOCKET", names[i], 1);
        assert_null(service_manager_new());
    }
    service_manager_send(NULL, "READY=%d", 1);
    assert_int_equal(service_manager_watchdog_ms(NULL), 0);
    service_manager_free(NULL);
}

static uint64_t watchdog(const char *usec, long pid)
{
    char number[24];
    snprintf(number, sizeof number, "%ld", pid);
    setenv("NOTIFY_SOCKET", "@berth-test-watchdog", 1);
    setenv("WATCHDOG_USEC", usec, 1);
    if (pid == 0)
        unsetenv("WATCHDOG_PID");
    else
        setenv("WATCHDOG_PID", number, 1);
    struct service_manager *notify = service_manager_new();
    uint64_t ms = service_manager_watchdog_ms(notify);
    service_manager_free(notify);
    return ms;
}

static void test_watchdog(void **state)
{
    (void)state;
    assert_int_equal(watchdog("30000000", 0), 15000);
    assert_int_equal(watchdog("30000000", getpid()), 15000);
    assert_int_equal(watchdog("30000000", getpid() + 1), 0);
    assert_int_equal(watchdog("", 0), 0);
    assert_int_equal(watchdog("3x", 0), 0);
    assert_int_equal(watchdog("-3", 0), 0);
    assert_int_equal(watchdog("99999999999999999999999", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path),   cmocka_unit_test(test_abstract), cmocka_unit_test(test_full),
        cmocka_unit_test(test_nobody), cmocka_unit_test(test_watchdog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
