/* Life of a handle and of its connection. */
#include "lib/lib.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_TIMEOUT_MS  30000
#define FULL_QUEUE_RETRY_MS 5

int64_t lib_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int lib_left_ms(int64_t start_ms, int timeout_ms)
{
    if (timeout_ms < 0)
        return -1;
    int64_t left = start_ms + timeout_ms - lib_now_ms();
    return left < 0 ? 0 : (int)left;
}

struct berth *berth_new(void)
{
    struct berth *berth = calloc(1, sizeof *berth);
    if (berth == NULL)
        return NULL;
    berth->fd = -1;
    berth->timeout_ms = DEFAULT_TIMEOUT_MS;
    berth->last = &berth->first;
    return berth;
}

void lib_disconnect(struct berth *berth)
{
    if (berth->fd >= 0)
        close(berth->fd);
    berth->fd = -1;
    while (berth->first != NULL) {
        struct lib_pending *pending = berth->first;
        berth->first = pending->next;
        free(pending);
    }
    berth->last = &berth->first;
    lib_buffer_done(&berth->in);
    lib_buffer_done(&berth->out);
    berth->scanned = 0;
    lib_passed_drop(berth);
}

void berth_free(struct berth *berth)
{
    if (berth == NULL)
        return;
    lib_disconnect(berth);
    free(berth->error_parameters);
    free(berth);
}

void berth_set_timeout(struct berth *berth, int timeout_ms) { berth->timeout_ms = timeout_ms; }

static bool fill_address(const char *path, struct sockaddr_un *ret_address, socklen_t *ret_length)
{
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof ret_address->sun_path)
        return false;
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret_address->sun_path, path, length);
    if (path[0] == '@') /* an abstract name has an explicit length and no NUL at its end */
        ret_address->sun_path[0] = '\0';
    *ret_length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (path[0] == '@' ? 0 : 1));
    return true;
}

static int connect_failed(struct berth *berth, const char *path, int number)
{
    switch (number) {
    case ENOENT:
    case ECONNREFUSED:
    case ENOTDIR:
        return lib_fail(berth, BERTH_ERROR_NO_DAEMON, "no daemon at %s", path);
    case EACCES:
    case EPERM:
        return lib_fail(berth, BERTH_ERROR_PERMISSION_DENIED, "no permission to connect to %s",
                        path);
    case EPROTOTYPE:
        return lib_fail(berth, BERTH_ERROR_NO_DAEMON, "%s is not a stream socket", path);
    default:
        return lib_fail(berth, BERTH_ERROR_SYSTEM, "cannot connect to %s: %s", path,
                        strerror(number));
    }
}

int berth_connect(struct berth *berth, const char *path)
{
    if (berth->processing)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "a callback cannot connect its own handle");
    lib_disconnect(berth);
    if (path == NULL)
        path = secure_getenv("BERTH_SOCKET");
    if (path == NULL || *path == '\0')
        path = LIB_DEFAULT_SOCKET;

    struct sockaddr_un address;
    socklen_t length;
    if (!fill_address(path, &address, &length))
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "a socket path has 1 to %zu bytes, this one has %zu: %.60s...",
                        sizeof address.sun_path - 1, strlen(path), path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return lib_fail(berth, BERTH_ERROR_SYSTEM, "cannot make a socket: %s", strerror(errno));

    /* A Unix socket connects at once or fails. EAGAIN means that the daemon's queue is full; no
     * poll event reports free room. */
    int64_t start = lib_now_ms();
    while (connect(fd, (const struct sockaddr *)&address, length) != 0) {
        int number = errno;
        int left = lib_left_ms(start, berth->timeout_ms);
        if (number == EINTR)
            continue;
        if (number == EAGAIN && left != 0) {
            poll(NULL, 0, left < 0 || left > FULL_QUEUE_RETRY_MS ? FULL_QUEUE_RETRY_MS : left);
            continue;
        }
        close(fd);
        if (number == EAGAIN)
            return lib_fail(berth, BERTH_ERROR_TIMED_OUT,
                            "the daemon at %s accepts no connection: its queue is full", path);
        return connect_failed(berth, path, number);
    }
    berth->fd = fd;
    return BERTH_DONE;
}

int berth_connect_fd(struct berth *berth, int take_fd)
{
    if (berth->processing) {
        close(take_fd);
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "a callback cannot connect its own handle");
    }
    lib_disconnect(berth);
    int type = 0;
    socklen_t length = sizeof type;
    int flags = fcntl(take_fd, F_GETFL);
    if (flags < 0 || getsockopt(take_fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 ||
        type != SOCK_STREAM) {
        if (flags >= 0)
            close(take_fd);
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT, "descriptor %d is not a stream socket",
                        take_fd);
    }
    if (fcntl(take_fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(take_fd, F_SETFD, FD_CLOEXEC) != 0) {
        int number = errno;
        close(take_fd);
        return lib_fail(berth, BERTH_ERROR_SYSTEM, "cannot prepare descriptor %d: %s", take_fd,
                        strerror(number));
    }
    berth->fd = take_fd;
    return BERTH_DONE;
}

int berth_fd(const struct berth *berth) { return berth->fd; }

short berth_events(const struct berth *berth)
{
    return berth->out.end > berth->out.start ? POLLIN | POLLOUT : POLLIN;
}
