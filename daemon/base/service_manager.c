#include "base/service_manager.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct service_manager {
    int fd;
    struct sockaddr_un address;
    socklen_t address_size;
    uint64_t watchdog_ms;
};

int64_t service_manager_number(const char *name)
{
    const char *text = getenv(name);
    if (text == NULL || *text < '0' || *text > '9')
        return -1;
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0' ? number : -1;
}

struct service_manager *service_manager_new(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t length = path != NULL ? strlen(path) : 0;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (length < 2 || length >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@'))
        return NULL;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* an abstract name ends only with the address */
    struct service_manager *notify = calloc(1, sizeof *notify);
    if (notify == NULL)
        return NULL;
    notify->address = address;
    notify->address_size =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (path[0] == '/'));
    notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (notify->fd < 0) {
        free(notify);
        return NULL;
    }
    int64_t for_pid = service_manager_number("WATCHDOG_PID"),
            period_us = service_manager_number("WATCHDOG_USEC");
    if (period_us > 0 && (for_pid <= 0 || for_pid == getpid()))
        notify->watchdog_ms = (uint64_t)period_us / 2000;
    return notify;
}

void service_manager_free(struct service_manager *notify)
{
    if (notify == NULL)
        return;
    close(notify->fd);
    free(notify);
}

void service_manager_send(struct service_manager *notify, const char *format, ...)
{
    if (notify == NULL)
        return;
    char text[1024];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length <= 0)
        return;
    size_t size = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    sendto(notify->fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT,
           (const struct sockaddr *)&notify->address, notify->address_size);
}

uint64_t service_manager_watchdog_ms(const struct service_manager *notify)
{
    return notify != NULL ? notify->watchdog_ms : 0;
}
